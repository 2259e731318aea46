/* db.c -- open the database, check the durability of the server, run
 * transactions.
 *
 * A transaction is one call of the script in script.c with this writer's id and
 * a number. If the answer was lost, the call is sent again with the same
 * number. The script recognizes the number, so the transaction takes effect
 * once.
 *
 * Redis answers from memory. The server's settings decide what is on disk by
 * then, so they are queried when the store is opened, and guarantees that do
 * not hold are stated in a note. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/redis/db.h"
#include "store/redis/link.h"
#include "store/redis/url.h"
#include "store/writer.h" /* CH_LEASE_ENDED */

#define JUDGE_MS 4000       /* between two looks at the server's settings */
#define CLOCK_SLACK_MS 1000 /* smaller differences between clocks are ignored */

/* --- transactions ---------------------------------------------------------------- */

/* The error of a database that may not be used any more; the first reason stays. */
static int redis_db_say_lost(const struct chela_store_db *db, struct chela_error *err) {
    return ch_fail(err, CHELA_EPROTO, "%s", db->lost);
}

static int redis_db_lose(struct chela_store_db *db, struct chela_error *err) {
    CH_BUF_AUTO why = {0};

    ch_buf_addf(&why,
                "store %s is not the one that this process opened: it was emptied, replaced, "
                "restored or converted, or it lost committed data. Nothing more is written. "
                "Restart the program if this is the right store", db->shown);
    if (!db->lost)
        db->lost = ch_buf_take(&why);
    return redis_db_say_lost(db, err);
}

static int redis_db_attempt(struct chela_store_db *db, struct ch_redis_cmd *cmd, char **results,
                            struct chela_error *err) {
    redisReply *r = NULL;
    int rc = ch_redis_connect(db, err);

    if (rc == 0)
        rc = ch_redis_send(db, cmd, err);
    if (rc == 0)
        rc = ch_redis_receive(db, &r, err);
    if (rc < 0)
        return rc;
    if (r->type == REDIS_REPLY_STRING)
        *results = ch_strndup(r->str, r->len);
    else
        rc = ch_redis_strange(db, err);
    freeReplyObject(r);
    return rc;
}

int ch_redis_transact(struct chela_store_db *db, const struct ch_redis_cmd *changes,
                      char **results, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    int rc;

    if (db->read_only)
        return ch_fail(err, CHELA_EPERM, "store %s was opened for reading only", db->shown);
    if (db->lost)
        return redis_db_say_lost(db, err);
    if (changes->args.n > CH_LIMIT_STORE_COMMAND)
        return ch_fail(err, CHELA_ELIMIT, "store %s: a transaction of more than %u MB", db->shown,
                       (unsigned)(CH_LIMIT_STORE_COMMAND / CH_MB));
    ch_redis_addf(&cmd, "EVALSHA");
    ch_redis_add(&cmd, db->script, strlen(db->script));
    ch_redis_add(&cmd, "0", 1);
    ch_redis_add(&cmd, db->url.prefix, strlen(db->url.prefix));
    ch_redis_add(&cmd, db->id, strlen(db->id));
    ch_redis_addf(&cmd, "%llu", (unsigned long long)++db->number);
    ch_redis_addf(&cmd, "%lld", (long long)db->url.ttl);
    ch_redis_add(&cmd, db->identity, strlen(db->identity));
    ch_redis_addf(&cmd, "%llu", (unsigned long long)db->answered);
    ch_buf_add(&cmd.args, ch_buf_str(&changes->args), changes->args.n);
    cmd.count += changes->count;
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->again = false;
        rc = redis_db_attempt(db, &cmd, results, &why);
        if (rc < 0 && strstr(why.message, "FOREIGN store"))
            rc = redis_db_lose(db, &why);
        if (rc == 0 || db->lost || !ch_redis_try_again(db, i)) {
            *err = why;
            break;
        }
    }
    if (rc == 0 && changes->count) /* without changes there is no mark */
        db->answered = db->number;
    ch_buf_release(&cmd.args);
    return rc;
}

/* --- clocks ------------------------------------------------------------------------ */

static int ask_time(struct chela_store_db *db, int64_t *ms, struct chela_error *err) {
    redisReply *r = NULL;
    int rc = ch_redis_connect(db, err);

    if (rc == 0)
        rc = ch_redis_ask(db, "TIME", &r, err);
    if (rc < 0)
        return rc;
    if (r->type == REDIS_REPLY_ARRAY && r->elements == 2 && r->element[0]->str &&
        r->element[1]->str)
        *ms = strtoll(r->element[0]->str, NULL, 10) * 1000 +
              strtoll(r->element[1]->str, NULL, 10) / 1000;
    else
        rc = ch_redis_strange(db, err);
    freeReplyObject(r);
    return rc;
}

int ch_redis_set_clock(struct chela_store_db *db, struct chela_error *err) {
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        int64_t before = ch_now_ms(&ch_clock_system), theirs = 0;
        db->again = false;
        int rc = ask_time(db, &theirs, &why);
        if (rc == 0) {
            int64_t ours = before + (ch_now_ms(&ch_clock_system) - before) / 2;
            if (llabs(theirs - ours - db->skew) >= CLOCK_SLACK_MS)
                db->skew = theirs - ours;
            return 0;
        }
        if (!ch_redis_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

/* CH_LEASE_ENDED and less are no times. */
int64_t ch_redis_server_time(const struct chela_store_db *db, int64_t ours) {
    int64_t theirs;
    bool none = ours <= CH_LEASE_ENDED || __builtin_add_overflow(ours, db->skew, &theirs);

    return none ? ours : theirs;
}

int64_t ch_redis_local_time(const struct chela_store_db *db, int64_t theirs) {
    int64_t ours;
    bool none = theirs <= CH_LEASE_ENDED || __builtin_sub_overflow(theirs, db->skew, &ours);

    return none ? theirs : ours;
}

/* --- durability of the server --------------------------------------------------------- */

/* The value of "name:value" in INFO; "" if absent. */
static struct ch_sv redis_db_field(const redisReply *info, const char *name) {
    struct ch_sv rest = ch_sv(info->str, info->len);

    while (rest.n) {
        struct ch_sv value = ch_sv_trim(ch_sv_split(&rest, '\n'));
        struct ch_sv key = ch_sv_split(&value, ':');
        if (ch_sv_is(key, name))
            return value;
    }
    return CH_SV("");
}

/* Owned by the caller; "" if the server does not report the setting. */
static char *setting(struct chela_store_db *db, const char *words) {
    struct chela_error ignored = {0}; /* hosted services may refuse the query */
    redisReply *r = NULL;
    char *value = NULL;

    if (ch_redis_ask(db, words, &r, &ignored) == 0 && r->type == REDIS_REPLY_ARRAY &&
        r->elements == 2 && r->element[1]->type == REDIS_REPLY_STRING)
        value = ch_strndup(r->element[1]->str, r->element[1]->len);
    freeReplyObject(r);
    return value ? value : ch_strdup("");
}

static void redis_db_note(struct ch_buf *out, const char *text) {
    if (out->n)
        ch_buf_add_str(out, "; ");
    ch_buf_add_str(out, text);
}

enum { NO_FILE = 1, UNKNOWN_SYNC = 2, LAZY_SYNC = 4, EVICTS = 8 };

static const struct {
    unsigned fault;
    const char *text;
} faults[] = {
    {NO_FILE, "appendonly is no, so data that is not saved is lost when the server ends: "
              "accepted messages may be lost (P1), a once tool may start again (P2), an "
              "answer may be given again (P3); set appendonly yes and appendfsync always"},
    {UNKNOWN_SYNC, "the server does not say how it writes; without appendonly yes and "
                   "appendfsync always, accepted messages may be lost when it ends (P1), a once "
                   "tool may start again (P2), an answer may be given again (P3)"},
    {LAZY_SYNC, "appendfsync is not always, so a power failure may lose the last seconds: "
                "accepted messages (P1), the record that a once tool was started (P2) or an "
                "answer given (P3); set appendfsync always"},
    {EVICTS, "maxmemory-policy lets the server throw sessions away when memory is short; "
             "set noeviction"},
};

/* The settings that lose data. */
static unsigned redis_db_faults(struct chela_store_db *db, const redisReply *info) {
    CH_AUTOFREE char *sync = setting(db, "CONFIG GET appendfsync");
    struct ch_sv policy = redis_db_field(info, "maxmemory_policy");
    unsigned found = 0;

    if (ch_sv_is(redis_db_field(info, "aof_enabled"), "0"))
        found = NO_FILE;
    else if (!*sync)
        found = UNKNOWN_SYNC;
    else if (strcmp(sync, "always") != 0)
        found = LAZY_SYNC;
    if (policy.n && !ch_sv_is(policy, "noeviction") &&
        !ch_sv_is(redis_db_field(info, "maxmemory"), "0"))
        found |= EVICTS;
    return found;
}

static void add_faults(struct ch_buf *out, unsigned found) {
    for (size_t i = 0; i < CH_LEN(faults); i++)
        if (found & faults[i].fault)
            redis_db_note(out, faults[i].text);
}

static void redis_db_judge(struct chela_store_db *db, const redisReply *info) {
    CH_BUF_AUTO whole = {0}, out = {0};

    db->faults = redis_db_faults(db, info);
    add_faults(&out, db->faults);
    if (out.n == 0)
        return;
    ch_buf_addf(&whole, "store %s: %s", db->shown, ch_buf_str(&out));
    ch_free(db->note);
    db->note = ch_buf_take(&whole);
}

/* A setting that was changed to the worse since the store was opened. */
static int redis_db_judge_again(struct chela_store_db *db, struct chela_error *err) {
    redisReply *info = NULL;
    CH_BUF_AUTO why = {0}, whole = {0};
    int rc = ch_redis_ask(db, "INFO", &info, err);

    if (rc == 0 && info->type == REDIS_REPLY_STRING)
        add_faults(&why, redis_db_faults(db, info) & ~(db->faults | UNKNOWN_SYNC));
    freeReplyObject(info);
    if (rc < 0 || !why.n)
        return rc;
    ch_buf_addf(&whole, "store %s changed its settings: %s. Nothing more is written. Restore the "
                "settings and restart", db->shown, ch_buf_str(&why));
    db->lost = ch_buf_take(&whole);
    return redis_db_say_lost(db, err);
}

static int redis_db_check_server(struct chela_store_db *db, struct chela_error *err) {
    redisReply *info = NULL;
    int rc = ch_redis_ask(db, "INFO", &info, err);

    if (rc < 0)
        return rc;
    if (info->type != REDIS_REPLY_STRING)
        rc = ch_redis_strange(db, err);
    else if (ch_sv_is(redis_db_field(info, "cluster_enabled"), "1"))
        rc = ch_fail(err, CHELA_EPROTO, "store %s is a cluster; a single server is needed",
                     db->shown);
    else if (!db->read_only && ch_sv_is(redis_db_field(info, "role"), "slave"))
        rc = ch_fail(err, CHELA_EPERM, "store %s cannot be written: the server is a replica",
                     db->shown);
    else
        redis_db_judge(db, info);
    freeReplyObject(info);
    return rc;
}

/* --- the version -------------------------------------------------------------------- */

static int redis_db_check_version(struct chela_store_db *db, const redisReply *r, long long *out,
                                  struct chela_error *err) {
    char *end = NULL;
    long long version = r->type == REDIS_REPLY_STRING ? strtoll(r->str, &end, 10) : -1;

    if (!end || end == r->str || *end || version < 1)
        return ch_fail(err, CHELA_EPROTO, "store %s: its keys %s* are no store of chela",
                       db->shown, db->url.prefix);
    if (version > CHELA_STORE_VERSION)
        return ch_fail(err, CHELA_EPROTO,
                       "store %s has format %lld, this chela knows up to %d: use a newer chela",
                       db->shown, version, CHELA_STORE_VERSION);
    *out = version;
    return 0;
}

static int raise_version(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};

    ch_redis_add(&cmd, "EVAL", 4);
    ch_redis_add(&cmd, ch_redis_migration, strlen(ch_redis_migration));
    ch_redis_add(&cmd, "0", 1);
    ch_redis_add(&cmd, db->url.prefix, strlen(db->url.prefix));
    ch_redis_addf(&cmd, "%d", CHELA_STORE_VERSION);
    return ch_redis_call(db, &cmd, NULL, err);
}

static void redis_db_make_id(char out[33]) {
    unsigned char raw[16];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        abort();
    for (size_t i = 0; i < sizeof(raw); i++)
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

/* --- identity ------------------------------------------------------------------------ */

static int read_identity(struct chela_store_db *db, char out[64], struct chela_error *err) {
    CH_BUF_AUTO words = {0};
    redisReply *r = NULL;

    ch_buf_addf(&words, "GET %sidentity", db->url.prefix);
    int rc = ch_redis_ask(db, ch_buf_str(&words), &r, err);
    if (rc == 0 && r->type == REDIS_REPLY_STRING && r->len < 64)
        memcpy(out, r->str, r->len + 1);
    else if (rc == 0)
        rc = ch_fail(err, CHELA_EPARSE, "store %s is damaged: it has no identity", db->shown);
    freeReplyObject(r);
    return rc;
}

/* Gives a store its name, unless it has one. */
static int redis_db_identify(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    char name[33];

    redis_db_make_id(name);
    ch_redis_add(&cmd, "SET", 3);
    ch_redis_addf(&cmd, "%sidentity", db->url.prefix);
    ch_redis_addf(&cmd, "%s 1", name);
    ch_redis_add(&cmd, "NX", 2);
    int rc = ch_redis_call(db, &cmd, NULL, err);
    return rc == 0 ? read_identity(db, db->identity, err) : rc;
}

int ch_redis_verify(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd nothing = {0};
    CH_AUTOFREE char *results = NULL;
    int64_t now = ch_mono_ms(&ch_clock_system);

    if (db->read_only)
        return 0;
    ch_redis_start(db);
    int rc = ch_redis_transact(db, &nothing, &results, err);
    if (rc < 0 || now - db->judged < JUDGE_MS)
        return rc;
    db->judged = now;
    return redis_db_judge_again(db, err);
}

static int raise_epoch(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    unsigned long long epoch = strtoull(db->identity + strcspn(db->identity, " "), NULL, 10);

    ch_redis_add(&cmd, "SET", 3);
    ch_redis_addf(&cmd, "%sidentity", db->url.prefix);
    ch_redis_addf(&cmd, "%.*s %llu", (int)strcspn(db->identity, " "), db->identity, epoch + 1);
    int rc = ch_redis_call(db, &cmd, NULL, err);
    return rc == 0 ? read_identity(db, db->identity, err) : rc;
}

int ch_redis_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                      struct chela_error *err) {
    CH_BUF_AUTO words = {0};
    char identity[64] = "";
    redisReply *r = NULL;

    ch_redis_start(db);
    int rc = ch_redis_connect(db, err);
    if (rc == 0 && raise)
        rc = raise_epoch(db, err);
    if (rc == 0)
        rc = read_identity(db, identity, err);
    ch_buf_addf(&words, "GET %sw:%s", db->url.prefix, *inout->writer ? inout->writer : db->id);
    if (rc == 0)
        rc = ch_redis_ask(db, ch_buf_str(&words), &r, err);
    if (rc < 0)
        return rc;
    inout->mark = r->type == REDIS_REPLY_STRING ? strtoull(r->str, NULL, 10) : 0;
    freeReplyObject(r);
    size_t n = CH_MIN(strcspn(identity, " "), sizeof(inout->store) - 1);
    memcpy(inout->store, identity, n);
    inout->store[n] = '\0';
    inout->epoch = strtoull(identity + n, NULL, 10);
    inout->format = CHELA_STORE_VERSION;
    memcpy(inout->writer, db->id, sizeof(db->id));
    return 0;
}

/* The server rewrites its file in the background; a service may not allow the command. */
int ch_redis_purge(struct chela_store_db *db, int whole, const char **remains,
                   struct chela_error *err) {
    struct chela_error refused = {0};

    ch_redis_start(db);
    int rc = ch_redis_connect(db, err);
    *remains = "deleted text in Redis' append-only file and snapshots until the server has "
               "rewritten them (BGREWRITEAOF, BGSAVE), and in replicas and backups";
    if (rc == 0 && whole && ch_redis_ask(db, "BGREWRITEAOF", NULL, &refused) == 0)
        *remains = "deleted text in Redis' append-only file until the rewrite that was begun has "
                   "ended, and in snapshots, replicas and backups";
    return rc;
}

/* --- opening ------------------------------------------------------------------------- */

static int redis_db_prepare(struct chela_store_db *db, struct chela_error *err) {
    CH_BUF_AUTO words = {0};
    long long version = CHELA_STORE_VERSION;
    redisReply *r = NULL;
    int rc = 0;

    if (!db->read_only) {
        ch_buf_addf(&words, "SET %sformat %d NX", db->url.prefix, CHELA_STORE_VERSION);
        rc = ch_redis_ask(db, ch_buf_str(&words), NULL, err);
    }
    ch_buf_clear(&words);
    ch_buf_addf(&words, "GET %sformat", db->url.prefix);
    if (rc == 0)
        rc = ch_redis_ask(db, ch_buf_str(&words), &r, err);
    if (rc < 0)
        return rc;
    if (r->type != REDIS_REPLY_NIL) /* a reader may find an empty database */
        rc = redis_db_check_version(db, r, &version, err);
    freeReplyObject(r);
    if (rc == 0 && !db->read_only && version < CHELA_STORE_VERSION)
        rc = raise_version(db, err);
    return rc == 0 && !db->read_only ? redis_db_identify(db, err) : rc;
}

static void redis_db_describe(struct chela_store_db *db) {
    bool six = strchr(db->url.host, ':');
    CH_BUF_AUTO out = {0};

    ch_buf_addf(&out, "redis://%s%s%s:%d/%d", six ? "[" : "", db->url.host, six ? "]" : "",
                db->url.port, db->url.index);
    db->shown = ch_buf_take(&out);
}

static int try_open(struct chela_store_db *db, struct chela_error *err) {
    int rc = ch_redis_connect(db, err);

    if (rc == 0)
        rc = redis_db_check_server(db, err);
    return rc == 0 ? redis_db_prepare(db, err) : rc;
}

/* If no server answers, fail at once: the address may be wrong. Wait for a
 * server that is still loading its data. */
static int redis_db_open_when_ready(struct chela_store_db *db, struct chela_error *err) {
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->starting = false;
        int rc = try_open(db, &why);
        if (rc == 0)
            return 0;
        if (!db->starting || !ch_redis_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

int ch_redis_open(const char *target, int read_only, struct chela_store_db **out,
                  const char **note_out, struct chela_error *err) {
    struct chela_store_db *db = ch_alloc(sizeof(*db));
    int rc = ch_redis_url_parse(target, &db->url, err);

    db->read_only = read_only;
    redis_db_make_id(db->id);
    ch_redis_start(db);
    if (rc == 0) {
        redis_db_describe(db);
        rc = redis_db_open_when_ready(db, err);
    }
    if (rc < 0) {
        ch_redis_close(db);
        return rc;
    }
    *note_out = db->note;
    *out = db;
    return 0;
}

void ch_redis_close(struct chela_store_db *db) {
    if (!db)
        return;
    ch_redis_drop(db);
    ch_redis_url_release(&db->url);
    ch_free(db->shown);
    ch_free(db->note);
    ch_free(db->lost);
    ch_free(db);
}
