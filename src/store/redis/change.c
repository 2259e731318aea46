/* change.c -- see change.h. */
#include "store/redis/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/redis/db.h"
#include "store/redis/link.h"
#include "store/redis/read.h"

static void redis_change_text(struct ch_redis_cmd *cmd, const char *s) {
    ch_redis_add(cmd, s ? s : "", s ? strlen(s) : 0);
}

static void redis_change_number(struct ch_redis_cmd *cmd, int64_t n) {
    ch_redis_addf(cmd, "%lld", (long long)n);
}

static void data(struct ch_redis_cmd *cmd, const struct chela_store_change *c) {
    ch_redis_add(cmd, c->data ? c->data : "", c->n);
}

/* "" keeps the current value. */
static void redis_change_optional(struct ch_redis_cmd *cmd, const char *s) {
    if (s)
        ch_redis_addf(cmd, "=%s", s);
    else
        redis_change_text(cmd, "");
}

/* Add "SEQ TYPE TS SUM DATA" without an extra copy of the data. */
static void record(struct ch_redis_cmd *cmd, const struct chela_store_record *r) {
    CH_BUF_AUTO head = {0};

    ch_buf_addf(&head, "%llu %u %lld %u ", (unsigned long long)r->seq, r->type, (long long)r->ts,
                r->sum);
    ch_buf_addf(&cmd->args, "$%zu\r\n", head.n + r->n);
    ch_buf_add(&cmd->args, ch_buf_str(&head), head.n);
    ch_buf_add(&cmd->args, r->data, r->n);
    ch_buf_add(&cmd->args, "\r\n", 2);
    cmd->count++;
}

static void redis_change_append(struct ch_redis_cmd *cmd, const struct chela_store_change *c) {
    redis_change_text(cmd, "append");
    redis_change_text(cmd, c->key);
    redis_change_number(cmd, (int64_t)c->token);
    redis_change_number(cmd, c->nrecords ? (int64_t)c->records[0].seq - 1 : 0);
    redis_change_number(cmd, (int64_t)c->nrecords);
    redis_change_number(cmd, c->now);
    redis_change_optional(cmd, c->head.status);
    redis_change_optional(cmd, c->head.title);
    redis_change_number(cmd, (int64_t)c->head.window);
    redis_change_number(cmd, (int64_t)c->head.turns);
    redis_change_number(cmd, (int64_t)c->head.messages);
    redis_change_number(cmd, (int64_t)c->ntakes);
    for (size_t i = 0; i < c->ntakes; i++)
        redis_change_text(cmd, c->takes[i]);
    redis_change_number(cmd, (int64_t)c->nsends);
    for (size_t i = 0; i < c->nsends; i++) {
        redis_change_text(cmd, c->sends[i].id);
        ch_redis_add(cmd, c->sends[i].data ? c->sends[i].data : "", c->sends[i].n);
    }
    for (size_t i = 0; i < c->nrecords; i++)
        record(cmd, &c->records[i]);
}

static void item(struct ch_redis_cmd *cmd, const char *name, const struct chela_store_change *c) {
    redis_change_text(cmd, name);
    redis_change_text(cmd, c->id);
    redis_change_text(cmd, c->key);
    data(cmd, c);
    redis_change_number(cmd, c->now);
}

static void redis_change_keyed(struct ch_redis_cmd *cmd, const char *name, const char *key) {
    redis_change_text(cmd, name);
    redis_change_text(cmd, key);
}

static void put_past(struct ch_redis_cmd *cmd, const char *key) {
    char name[CH_PAST_NAME];

    ch_past_name(key, name);
    redis_change_text(cmd, name);
}

static int redis_change_put(struct chela_store_db *db, struct ch_redis_cmd *cmd,
                            const struct chela_store_change *c, struct chela_error *err) {
    switch (c->kind) {
    case CHELA_STORE_APPEND:
        redis_change_append(cmd, c);
        return 0;
    case CHELA_STORE_RENEW:
        redis_change_keyed(cmd, "renew", c->key);
        redis_change_number(cmd, (int64_t)c->token);
        redis_change_number(cmd, ch_redis_server_time(db, c->until));
        return 0;
    case CHELA_STORE_RELEASE:
        redis_change_keyed(cmd, "release", c->key);
        redis_change_number(cmd, (int64_t)c->token);
        return 0;
    case CHELA_STORE_CREATE:
        redis_change_keyed(cmd, "create", c->key);
        data(cmd, c);
        redis_change_text(cmd, c->id);
        redis_change_number(cmd, c->now);
        put_past(cmd, c->key);
        return 0;
    case CHELA_STORE_TITLE:
        redis_change_keyed(cmd, "title", c->key);
        data(cmd, c);
        return 0;
    case CHELA_STORE_DELETE:
        redis_change_keyed(cmd, "delete", c->key);
        redis_change_number(cmd, ch_redis_server_time(db, c->now));
        redis_change_number(cmd, c->until);
        redis_change_number(cmd, (int64_t)c->token);
        redis_change_number(cmd, CH_LIMIT_GONE_EVENTS);
        redis_change_number(cmd, CH_DEFAULT_DONE_MS);
        put_past(cmd, c->key);
        redis_change_number(cmd, ch_past_until());
        return 0;
    case CHELA_STORE_ACCEPT:
        item(cmd, "accept", c);
        return 0;
    case CHELA_STORE_INTENT:
        item(cmd, "intent", c);
        return 0;
    case CHELA_STORE_SETTLE:
        redis_change_keyed(cmd, "settle", c->id);
        return 0;
    case CHELA_STORE_RECEIPT:
        redis_change_keyed(cmd, "receipt", c->id);
        redis_change_text(cmd, c->state);
        data(cmd, c);
        return 0;
    case CHELA_STORE_NOTE:
        item(cmd, "note", c);
        redis_change_number(cmd, (int64_t)c->token);
        return 0;
    case CHELA_STORE_FORGET:
        redis_change_keyed(cmd, "forget", c->id);
        return 0;
    case CHELA_STORE_EXPIRE:
        redis_change_text(cmd, "expire");
        redis_change_number(cmd, c->until);
        redis_change_number(cmd, CH_LIMIT_EXPIRED);
        redis_change_number(cmd, CH_LIMIT_PAST);
        redis_change_number(cmd, ch_past_until());
        return 0;
    case CHELA_STORE_KEEP:
        redis_change_keyed(cmd, "keep", c->id);
        data(cmd, c);
        redis_change_number(cmd, c->until);
        redis_change_number(cmd, (int64_t)c->token);
        redis_change_number(cmd, c->now);
        redis_change_text(cmd, c->key);
        return 0;
    }
    return ch_fail(err, CHELA_EINVAL, "store %s: unknown change", db->shown);
}

/* --- answers -------------------------------------------------------------------- */

static const struct {
    const char *word;
    int code;
} answers[] = {
    {"ok", 0},
    {"absent", CHELA_ENOENT},
    {"fenced", CHELA_EPERM},
    {"misfit", CHELA_ESTATE},
    {"damaged", CHELA_EPARSE},
    {"there", CHELA_EEXIST},
    {"busy", CHELA_EBUSY},
};

/* False: an unknown word. */
static bool redis_change_code_of(struct ch_sv word, int *out) {
    for (size_t i = 0; i < CH_LEN(answers); i++)
        if (ch_sv_is(word, answers[i].word)) {
            *out = answers[i].code;
            return true;
        }
    return false;
}

/* WORD, or ok:WORD,WORD... with one word for each message that was sent. */
static bool redis_change_read_answer(struct ch_sv answer, struct chela_store_change *c) {
    struct ch_sv rest = answer, first = ch_sv_split(&rest, ':');

    for (size_t i = 0; rest.p && i < c->nsends; i++)
        if (!redis_change_code_of(ch_sv_split(&rest, ','), &c->sends[i].rc))
            return false;
    return redis_change_code_of(first, &c->rc);
}

static bool redis_change_needs_clock(const struct chela_store_change *c, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c[i].kind == CHELA_STORE_RENEW || c[i].kind == CHELA_STORE_DELETE)
            return true;
    return false;
}

/* sync has no effect: the server's settings decide when data is on disk. */
int ch_redis_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                    int sync, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    CH_AUTOFREE char *results = NULL;

    (void)sync;
    if (n == 0)
        return ch_redis_verify(db, err);
    ch_redis_start(db);
    int rc = redis_change_needs_clock(changes, n) ? ch_redis_set_clock(db, err) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = redis_change_put(db, &cmd, &changes[i], err);
    if (rc == 0)
        rc = ch_redis_transact(db, &cmd, &results, err);
    ch_buf_release(&cmd.args);
    struct ch_sv rest = ch_sv_str(results);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!redis_change_read_answer(ch_sv_split(&rest, ' '), &changes[i]))
            rc = ch_redis_strange(db, err);
    return rc;
}

/* --- opening a session ------------------------------------------------------------ */

static void put_claim(struct chela_store_db *db, struct ch_redis_cmd *cmd,
                      const struct chela_store_claim *c) {
    redis_change_keyed(cmd, "claim", c->key);
    redis_change_text(cmd, c->agent);
    redis_change_text(cmd, c->owner);
    redis_change_number(cmd, ch_redis_server_time(db, c->now));
    redis_change_number(cmd, ch_redis_server_time(db, c->until));
    redis_change_number(cmd, c->now);
    redis_change_number(cmd, (int64_t)c->steal);
    redis_change_number(cmd, c->create ? 1 : 0);
    redis_change_number(cmd, c->judge ? 1 : 0);
    put_past(cmd, c->key);
}

int ch_redis_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                          chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    CH_AUTOFREE char *results = NULL;
    uint64_t token = 0;
    int busy = 0;

    ch_redis_start(db);
    int rc = ch_redis_set_clock(db, err);
    put_claim(db, &cmd, claim);
    if (rc == 0)
        rc = ch_redis_transact(db, &cmd, &results, err);
    ch_buf_release(&cmd.args);
    if (rc < 0)
        return rc;
    if (strncmp(results, "ok:", 3) == 0)
        token = strtoull(results + 3, NULL, 10);
    else if (!redis_change_code_of(ch_sv_str(results), &busy))
        return ch_redis_strange(db, err);
    if (busy == CHELA_ENOENT)
        return ch_fail(err, CHELA_ENOENT, "there is no session '%s'", claim->key);
    rc = ch_redis_row(db, claim->key, token, fn, user, err);
    if (rc == 0 && busy)
        rc = ch_fail(err, CHELA_EBUSY, "session '%s' is in use", claim->key);
    return rc;
}
