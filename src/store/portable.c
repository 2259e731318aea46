/* portable.c -- copy whole sessions: fork, export, import.
 *
 * An export is one JSON object per line: {"chela_session":1,"key",...} and then
 * {"seq","type","ts","data"} for each record, whose numbers begin after "base". A fork is a copy
 * up to a turn. Forks and imports are written in one transaction: a session with all its
 * records, or nothing. */
#include <stdlib.h>

#include "agent/journal/journal.h"
#include "agent/session/session.h"
#include "base/arena.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "json/writer.h"
#include "store/past.h"
#include "store/store.h"
#include "tool/call/wait.h"

#define FORMAT 1
#define BASE_MAX ((int64_t)1 << 39) /* half of the numbers of a session */

/* A session being copied; its data is in the arena. */
struct copy {
    struct ch_arena arena;
    const char *key, *agent, *parent;
    uint64_t base;                   /* the number before the first record */
    struct chela_store_record *list; /* owned */
    size_t n, cap;
    struct chela_store_head head;
    int64_t turns_wanted; /* fork: number of turns; negative: all */
    bool inputs;          /* fork: include the input of the next turn */
    struct chela_error *err;
    int rc;
};

static void copy_release(struct copy *c) {
    ch_arena_release(&c->arena);
    ch_free(c->list);
}

static void portable_add(struct copy *c, const struct chela_store_record *r, struct ch_sv data) {
    CH_GROW(c->list, c->n, c->cap, 64);
    struct chela_store_record *to = &c->list[c->n++];
    *to = *r;
    to->data = ch_arena_sv(&c->arena, data).p;
    to->n = data.n;
    to->sum = ch_record_sum(to);
}

static int add_past(const struct chela_store_item *i, void *user) {
    uint64_t *number = user;
    CH_AUTOFREE char *text = ch_strndup(i->data, i->n);

    *number = CH_MAX(*number, strtoull(text, NULL, 10));
    return 0;
}

/* The number before the first record of a new session with this key (past.h). */
static int next_base(chela_store *s, const char *key, uint64_t *out, struct chela_error *err) {
    char own[CH_PAST_NAME];
    const char *names[] = {own, CH_PAST};
    int rc = 0;

    *out = 0;
    ch_past_name(key, own);
    for (size_t i = 0; rc == 0 && i < CH_LEN(names); i++) {
        struct chela_error why = {0};
        rc = ch_store_kept(s, names[i], add_past, out, &why);
        if (rc == CHELA_ENOENT)
            rc = 0;
        else if (rc < 0)
            *err = why;
    }
    return rc;
}

static uint64_t moved(const struct copy *c, uint64_t number, uint64_t base) {
    return number > c->base ? number - c->base + base : base + 1;
}

/* A compaction names the first record that is needed. */
static struct ch_sv move_keep(struct copy *c, const struct chela_store_record *r, uint64_t base) {
    CH_BUF_AUTO out = {0};
    const struct ch_json *v;
    struct ch_sv data = ch_sv(r->data, r->n);
    struct ch_jw w = ch_jw(&out);

    if (r->type != CH_REC_COMPACTION ||
        ch_json_parse(&c->arena, data, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !ch_json_get(v, "keep"))
        return data;
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(k, member, v)) {
        ch_jw_key_sv(&w, ch_json_str(k));
        int64_t keep = ch_sv_is(ch_json_str(k), "keep") ? ch_json_int(member, 0) : 0;
        if (keep > 0) /* 0: none */
            ch_jw_int(&w, (int64_t)moved(c, (uint64_t)keep, base));
        else
            ch_jw_value(&w, member);
    }
    ch_jw_end(&w, '}');
    return ch_arena_sv(&c->arena, ch_buf_sv(&out));
}

/* The numbers of the copy begin after those that sessions with its key have had. */
static void move_to(struct copy *c, uint64_t base) {
    for (size_t i = 0; base != c->base && i < c->n; i++) {
        struct chela_store_record *r = &c->list[i];
        struct ch_sv data = move_keep(c, r, base);
        r->data = data.p;
        r->n = data.n;
        r->seq = base + i + 1;
        r->sum = ch_record_sum(r);
    }
    if (c->head.window)
        c->head.window = moved(c, c->head.window, base);
    c->base = base;
}

static int portable_put(chela_store *s, struct copy *c, struct chela_error *err) {
    int64_t now = ch_store_now();
    uint64_t base;
    int rc = next_base(s, c->key, &base, err);

    if (rc < 0)
        return rc;
    move_to(c, base);
    struct chela_store_change changes[] = {{.kind = CHELA_STORE_CREATE,
                                            .key = c->key,
                                            .id = c->parent,
                                            .data = c->agent,
                                            .n = strlen(c->agent),
                                            .now = now},
                                           {.kind = CHELA_STORE_APPEND,
                                            .key = c->key,
                                            .now = now,
                                            .records = c->list,
                                            .nrecords = c->n,
                                            .head = c->head}};
    rc = ch_store_commit(s, changes, CH_LEN(changes), true, err);

    if (rc == 0 && changes[0].rc == CHELA_EEXIST)
        rc = ch_fail(err, CHELA_EEXIST, "there is a session '%s' already", c->key);
    if (rc == 0 && changes[1].rc < 0) { /* another program has made and deleted one meanwhile */
        struct chela_error ignored = {0};
        chela_store_delete(s, c->key, &ignored);
        rc = ch_fail(err, changes[1].rc, "session '%s' was deleted meanwhile: try again", c->key);
    }
    return rc;
}

/* --- summaries of records ------------------------------------------------------------- */

struct gist {
    bool reply;      /* a reply of the model: one turn */
    bool call;       /* a turn's call of the model */
    bool input;      /* the start of a run */
    bool message;    /* part of the transcript */
    uint64_t keep;   /* first record kept by a compaction */
    const char *status;
};

static const char *portable_status_of(struct ch_sv status) {
    static const char *const lasting[] = {"running", "paused", "parked"};

    for (size_t i = 0; i < CH_LEN(lasting); i++)
        if (ch_sv_is(status, lasting[i]))
            return lasting[i];
    return "idle";
}

static struct gist gist_of(uint32_t type, const struct ch_json *v) {
    struct gist g = {0};

    switch (type) {
    case CH_REC_INBOUND:
        g.input = g.message = ch_sv_is(ch_json_get_str(v, "mode"), "start");
        break;
    case CH_REC_MESSAGE:
        g.message = !ch_json_get(v, "note"); /* a note is a part of a message */
        g.reply = ch_sv_is(ch_json_str(ch_json_path(v, "message", "role", NULL)), "assistant");
        break;
    case CH_REC_REQUEST:
        g.call = !ch_json_get(v, "role");
        break;
    case CH_REC_COMPACTION:
        g.keep = (uint64_t)ch_json_int(ch_json_get(v, "keep"), 0);
        break;
    case CH_REC_STATE:
        g.status = portable_status_of(ch_json_get_str(v, "status"));
        break;
    default:
        break;
    }
    return g;
}

static void portable_count(struct copy *c, const struct gist *g) {
    c->head.turns += g->reply;
    c->head.messages += g->message;
    c->head.window = CH_MAX(c->head.window, g->keep);
    if (g->status)
        c->head.status = g->status;
}

/* --- forks --------------------------------------------------------------------------- */

/* Whether the copy ends before this record: it begins the turn after the last
 * wanted one, or another run. */
static bool ends_before(const struct copy *c, const struct gist *g) {
    int64_t turns = (int64_t)c->head.turns;

    if (c->turns_wanted < 0)
        return false;
    bool ends = g->reply || g->call || (g->input && c->n > 0 && !c->inputs);
    return ends && turns >= c->turns_wanted;
}

/* A decision names an approval and no session, so the copy of a waiting call needs an id of its
 * own. The records of a call get the same id, which is as long as the original. */
static struct ch_sv fork_approval(const struct copy *c, struct ch_arena *arena,
                                  const struct ch_json *v, struct ch_sv data) {
    struct ch_sv id = ch_json_get_str(v, "approval");
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    const char *at = id.n > 3 ? memmem(data.p, data.n, id.p, id.n) : NULL;
    if (!at)
        return data;
    ch_hmac_sha256(ch_sv_str(c->key), id, digest);
    ch_sha256_hex(digest, hex);
    char *copy = memcpy(ch_arena_alloc(arena, data.n), data.p, data.n);
    memcpy(copy + (at - data.p) + 3, hex, CH_MIN(id.n - 3, sizeof(hex) - 1)); /* after "ap_" */
    return ch_sv(copy, data.n);
}

static int fork_record(const struct chela_store_record *r, void *user) {
    struct copy *c = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_sv data = ch_sv(r->data, r->n);

    c->rc = ch_json_parse(&arena, data, CH_JSON_STRICT, &v, NULL, c->err);
    if (c->rc < 0)
        return 1;
    struct gist g = gist_of(r->type, v);
    if (ends_before(c, &g))
        return 1;
    portable_count(c, &g);
    portable_add(c, r, fork_approval(c, &arena, v, data));
    return 0;
}

static int fork_row(const struct chela_store_session *s, void *user) {
    struct copy *c = user;

    c->agent = ch_arena_str(&c->arena, ch_sv_str(s->agent));
    c->base = s->base;
    c->head.title = ch_arena_str(&c->arena, ch_sv_str(s->title));
    if (c->turns_wanted > (int64_t)s->turns)
        c->rc = ch_fail(c->err, CHELA_ENOENT, "session '%s' has %llu turns", s->key,
                        (unsigned long long)s->turns);
    return 0;
}

static int portable_fork_session(chela_store *s, const char *from, int64_t turn, bool inputs,
                                 const char *to, struct chela_error *err) {
    struct chela_error why = {0};
    struct copy c = {.key = to,
                     .parent = from,
                     .turns_wanted = turn,
                     .inputs = inputs,
                     .err = err ? err : &why};

    int rc = ch_session_key_check(ch_sv_str(to), c.err);
    if (rc == 0)
        rc = chela_store_session(s, from, fork_row, &c, c.err);
    if (rc == 0 && c.rc == 0)
        rc = chela_store_records(s, from, 1, fork_record, &c, c.err);
    if (rc == 0)
        rc = c.rc;
    if (rc == 0)
        rc = portable_put(s, &c, c.err);
    copy_release(&c);
    return rc;
}

int chela_store_fork(chela_store *s, const char *from, int64_t turn, const char *to,
                     struct chela_error *err) {
    CH_NEEDS(s, err);
    return portable_fork_session(s, from, turn, false, to, err);
}

int chela_store_fork_before(chela_store *s, const char *from, int64_t turn, const char *to,
                            struct chela_error *err) {
    CH_NEEDS(s, err);
    if (turn < 1)
        return ch_fail(err, CHELA_EINVAL, "turns are counted from 1");
    return portable_fork_session(s, from, turn - 1, true, to, err);
}

/* --- export ----------------------------------------------------------------------------- */

struct sink {
    int (*line)(const char *p, size_t n, void *user);
    void *user;
    struct ch_buf text;
    int rc;
};

static int portable_send(struct sink *s) {
    ch_buf_addc(&s->text, '\n');
    s->rc = s->line(s->text.p, s->text.n, s->user);
    return s->rc != 0;
}

static int export_row(const struct chela_store_session *row, void *user) {
    struct sink *s = user;
    struct ch_jw w = ch_jw(&s->text);

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "chela_session", FORMAT);
    ch_jw_kcstr(&w, "key", row->key);
    ch_jw_kcstr(&w, "agent", row->agent);
    ch_jw_kcstr(&w, "title", row->title);
    ch_jw_kcstr(&w, "status", row->status);
    ch_jw_kint(&w, "created", row->created);
    ch_jw_kint(&w, "updated", row->updated);
    ch_jw_kint(&w, "records", (int64_t)(row->last - row->base));
    if (row->base)
        ch_jw_kint(&w, "base", (int64_t)row->base);
    ch_jw_end(&w, '}');
    return portable_send(s);
}

void ch_store_record_write(const struct chela_store_record *r, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "seq", (int64_t)r->seq);
    ch_jw_kcstr(&w, "type", ch_record_name(r->type));
    ch_jw_kint(&w, "ts", r->ts);
    ch_jw_kraw(&w, "data", ch_sv(r->data, r->n));
    ch_jw_end(&w, '}');
}

static int export_record(const struct chela_store_record *r, void *user) {
    struct sink *s = user;

    ch_buf_clear(&s->text);
    ch_store_record_write(r, &s->text);
    return portable_send(s);
}

int chela_store_export(chela_store *s, const char *key,
                       int (*line)(const char *p, size_t n, void *user), void *user,
                       struct chela_error *err) {
    CH_NEEDS(s, err);
    struct sink sink = {.line = line, .user = user};

    int rc = chela_store_session(s, key, export_row, &sink, err);
    if (rc == 0 && sink.rc == 0)
        rc = chela_store_records(s, key, 1, export_record, &sink, err);
    ch_buf_release(&sink.text);
    return rc < 0 ? rc : sink.rc < 0 ? sink.rc : 0;
}

/* --- import ------------------------------------------------------------------------------ */

static int portable_bad_line(struct copy *c, size_t number, const char *why) {
    return ch_fail(c->err, CHELA_EPARSE, "line %zu: %s", number, why);
}

static int import_head(struct copy *c, const struct ch_json *v, const char *key) {
    struct ch_sv own = ch_json_get_str(v, "key");
    int64_t format = ch_json_int(ch_json_get(v, "chela_session"), 0);

    if (format < 1)
        return portable_bad_line(c, 1, "this is not an exported session");
    if (format > FORMAT)
        return portable_bad_line(c, 1, "a newer version of chela wrote this file");
    c->key = key ? key : ch_arena_str(&c->arena, own);
    c->agent = ch_arena_str(&c->arena, ch_json_get_str(v, "agent"));
    int64_t base = ch_json_int(ch_json_get(v, "base"), 0);
    if (base < 0 || base > BASE_MAX)
        return portable_bad_line(c, 1, "base is no number of a record");
    c->base = (uint64_t)base;
    struct ch_sv title = ch_json_get_str(v, "title");
    title.n = CH_MIN(title.n, (size_t)CH_LIMIT_TITLE);
    c->head.title = ch_arena_str(&c->arena, title);
    return ch_session_key_check(ch_sv_str(c->key), c->err);
}

/* True if the member of a record is not imported: a file cannot approve calls, nor say that a
 * skill with allowed-tools is active, nor choose the settings of the host, nor start runs in the
 * background, nor name the place of an answer. CH_REC_NONE: a member of the principal
 * (agent/machine/principal.h), whose rights a file cannot extend. */
static bool is_left_out(uint32_t type, struct ch_sv name, const struct ch_json *v) {
    if (type == CH_REC_NONE)
        return ch_sv_is(name, "approve") && !ch_sv_is(ch_json_str(v), "deny");
    if (type == CH_REC_STATE)
        return ch_sv_is(name, "skills") || ch_sv_is(name, "host") || ch_sv_is(name, "background");
    if (type == CH_REC_INBOUND)
        return ch_sv_is(name, "to");
    return type == CH_REC_ANSWERED || (type == CH_REC_COMPACTION && ch_sv_is(name, "allowed"));
}

/* True if the member is the state of a call whose work is done or goes on elsewhere: a file
 * cannot say what is left to do, such as which files to put back. The state of a wait
 * (tool/call/wait.h) is imported. */
static bool is_work_left(uint32_t type, struct ch_sv name, const struct ch_json *v) {
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state wait;

    return type == CH_REC_STARTED && ch_sv_is(name, "state") &&
           !ch_wait_read(ch_json_str(v), &arena, &wait);
}

static void copy_data(uint32_t type, const struct ch_json *data, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, v, data)) {
        if (is_left_out(type, ch_json_str(k), v))
            continue;
        ch_jw_key_sv(w, ch_json_str(k));
        if (type != CH_REC_NONE && ch_sv_is(ch_json_str(k), "for"))
            copy_data(CH_REC_NONE, v, w);
        else if (is_work_left(type, ch_json_str(k), v))
            ch_jw_cstr(w, ""); /* replaces an earlier state; the outcome of the call is unknown */
        else
            ch_jw_value(w, v);
    }
    ch_jw_end(w, '}');
}

static int import_record(struct copy *c, const struct ch_json *v, size_t number) {
    struct chela_store_record r = {.seq = c->base + c->n + 1,
                                   .ts = ch_json_int(ch_json_get(v, "ts"), 0),
                                   .type = ch_record_type(ch_json_get_str(v, "type"))};
    const struct ch_json *data = ch_json_get(v, "data");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (ch_json_int(ch_json_get(v, "seq"), 0) != (int64_t)r.seq)
        return portable_bad_line(c, number, "a record before this one is missing");
    if (r.type == CH_REC_NONE)
        return portable_bad_line(c, number, "unknown type of record");
    if (!ch_json_is(data, CH_JSON_OBJECT))
        return portable_bad_line(c, number, "the record has no data");
    copy_data(r.type, data, &w);
    if (text.overflow || text.n > CH_LIMIT_RECORD)
        return portable_bad_line(c, number, "the record is too large");
    struct gist g = gist_of(r.type, data);
    portable_count(c, &g);
    portable_add(c, &r, ch_buf_sv(&text));
    return 0;
}

static int import_line(struct copy *c, struct ch_sv line, size_t number, const char *key) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct chela_error why = {0};

    if (line.n > CH_LIMIT_IMPORT_LINE)
        return portable_bad_line(c, number, "the line is too long");
    if (ch_json_parse(&arena, line, CH_JSON_STRICT, &v, NULL, &why) < 0)
        return portable_bad_line(c, number, why.message);
    return number == 1 ? import_head(c, v, key) : import_record(c, v, number);
}

int chela_store_import(chela_store *s, const char *text, size_t n, const char *key, char **out,
                       struct chela_error *err) {
    if (out)
        *out = NULL;
    CH_NEEDS(s, err);
    struct chela_error why = {0};
    struct copy c = {.parent = "", .err = err ? err : &why};
    struct ch_sv rest = ch_sv(text, n);
    size_t number = 0;
    int rc = 0;

    while (rc == 0 && rest.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (line.n)
            rc = import_line(&c, line, ++number, key);
    }
    if (rc == 0 && number == 0)
        rc = ch_fail(c.err, CHELA_EPARSE, "the input is empty");
    if (rc == 0)
        rc = portable_put(s, &c, c.err);
    if (out)
        *out = rc == 0 ? ch_strdup(c.key) : NULL;
    copy_release(&c);
    return rc;
}
