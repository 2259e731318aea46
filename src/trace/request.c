/* request.c -- see request.h: rebuilds a request from its journal. */
#include "trace/request.h"

#include "agent/journal/journal.h"
#include "agent/journal/journal_replay.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/sha256.h"
#include "chela/trace.h"
#include "model/codec/codec.h"
#include "model/message/message_json.h"
#include "model/wire/wire_encode.h"
#include "trace/request_text.h"

#define CHANGED "this version encodes the request differently, or parts of it are missing"

struct request_reading {
    struct ch_request_past *out;
    struct ch_journal_replay *past; /* owned; the transcript before the request */
    unsigned wanted;                /* 0: the last */
    struct chela_error *err;
    int rc;
};

static const struct ch_json *request_keep(struct ch_request_past *p,
                                          const struct chela_store_record *r) {
    const struct ch_json *v = NULL;
    struct ch_sv text = ch_arena_sv(&p->arena, ch_sv(r->data, r->n));
    ch_json_parse(&p->arena, text, CH_JSON_REPLACE, &v, NULL, NULL);
    return v;
}

static void keep_messages(struct request_reading *rd) {
    struct ch_request_past *p = rd->out;
    const struct ch_json *view = ch_json_get(p->record, "view");
    const struct ch_transcript *t = &rd->past->transcript;
    struct ch_jw w = ch_jw(&p->messages);
    ch_buf_clear(&p->messages);
    if (view) {
        ch_jw_value(&w, view);
        return;
    }
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < t->n; i++)
        ch_msg_write(t->msgs[i], &w);
    ch_jw_end(&w, ']');
}

static void found(struct request_reading *rd, const struct chela_store_record *r) {
    struct ch_request_past *p = rd->out;
    p->number = p->of;
    p->record = request_keep(p, r);
    p->ts = r->ts;
    p->ended = 0;
    p->reply = p->failure = NULL;
    keep_messages(rd);
}

static bool is_own(const struct ch_request_past *p, const struct ch_json *v) {
    return ch_sv_eq(ch_json_get_str(v, "run"), ch_json_get_str(p->record, "run"));
}

/* Looks for the outcome of the request. */
static void look_for_end(struct ch_request_past *p, const struct chela_store_record *r) {
    bool role = ch_json_get(p->record, "role") != NULL;
    if (p->ended || (r->type != CH_REC_MESSAGE && r->type != CH_REC_ROLE &&
                     r->type != CH_REC_FAILURE && r->type != CH_REC_STATE &&
                     r->type != CH_REC_COMPACTION))
        return;
    const struct ch_json *v = request_keep(p, r);
    struct ch_sv status = ch_json_get_str(v, "status");
    bool reply = role ? r->type == CH_REC_ROLE || r->type == CH_REC_COMPACTION
                      : r->type == CH_REC_MESSAGE &&
                            ch_sv_is(ch_json_str(ch_json_path(v, "message", "role", NULL)),
                                     "assistant");
    bool failure = r->type == CH_REC_FAILURE && role == (ch_json_get(v, "role") != NULL);
    bool ends = r->type == CH_REC_STATE && status.n && !ch_sv_is(status, "running");
    if (!is_own(p, v) || (!reply && !failure && !ends))
        return;
    p->ended = r->ts;
    if (reply)
        p->reply = v;
    else
        p->failure = v;
}

static int request_on_record(const struct chela_store_record *r, void *user) {
    struct request_reading *rd = user;
    struct ch_request_past *p = rd->out;
    bool done = rd->wanted && p->number == rd->wanted;
    if (r->type == CH_REC_PART && !done)
        ch_trace_parts_add(&p->parts, r);
    if (r->type == CH_REC_REQUEST) {
        p->of++;
        if (!rd->wanted || p->of == rd->wanted)
            found(rd, r);
        return 0;
    }
    if (p->number)
        look_for_end(p, r);
    if (done)
        return 0;
    if (r->type == CH_REC_COMPACTION)
        p->rewrite = request_keep(p, r);
    rd->rc = ch_journal_replay_fold(r, rd->past, rd->err);
    return rd->rc < 0;
}

int ch_request_past_read(struct ch_request_past *p, chela_store *store, const char *key,
                         unsigned n, struct chela_error *err) {
    struct chela_error why = {0};
    *p = (struct ch_request_past){0};
    struct request_reading rd = {
        .out = p, .past = ch_journal_replay_new(), .wanted = n, .err = err ? err : &why};
    int rc = chela_store_records(store, key, 1, request_on_record, &rd, rd.err);
    ch_journal_replay_free(rd.past);
    rc = rc < 0 ? rc : rd.rc;
    /* Parts may follow the request, and the list moves as it grows. */
    p->setup = ch_trace_parts_find(&p->parts, ch_json_get_str(p->record, "setup"));
    if (rc == 0 && !p->number && p->of)
        rc = ch_fail(rd.err, CHELA_ENOENT, "session '%s' has %u requests", key, p->of);
    else if (rc == 0 && !p->number)
        rc = ch_fail(rd.err, CHELA_ENOENT,
                     "session '%s' holds no request to a model: an older version wrote it, or no "
                     "model was asked",
                     key);
    if (rc < 0)
        ch_request_past_release(p);
    return rc;
}

void ch_request_past_release(struct ch_request_past *p) {
    ch_trace_parts_release(&p->parts);
    ch_arena_release(&p->arena);
    ch_buf_release(&p->messages);
    *p = (struct ch_request_past){0};
}

/* --- by turn -------------------------------------------------------------------------- */

struct turn_reading {
    unsigned turn, turns, requests, last, found;
};

static int turn_on_record(const struct chela_store_record *r, void *user) {
    struct turn_reading *t = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    t->requests += r->type == CH_REC_REQUEST;
    if ((r->type != CH_REC_REQUEST && r->type != CH_REC_MESSAGE) ||
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    if (r->type == CH_REC_REQUEST && !ch_json_get(v, "role"))
        t->last = t->requests;
    if (r->type == CH_REC_MESSAGE &&
        ch_sv_is(ch_json_str(ch_json_path(v, "message", "role", NULL)), "assistant")) {
        t->turns++;
        if (!t->turn || t->turns == t->turn)
            t->found = t->last;
        t->last = 0;
    }
    return t->turn && t->turns >= t->turn;
}

int ch_request_past_of_turn(chela_store *store, const char *key, unsigned turn, unsigned *found,
                            unsigned *n, struct chela_error *err) {
    struct turn_reading t = {.turn = turn};
    int rc = chela_store_records(store, key, 1, turn_on_record, &t, err);
    *n = t.found;
    *found = t.turns;
    if (rc == 0 && t.turns < turn)
        return ch_fail(err, CHELA_ENOENT, "session '%s' has %u turns", key, t.turns);
    if (rc == 0 && !t.found)
        return ch_fail(err, CHELA_ENOENT,
                       "the request of this turn is not in the journal of '%s': an older version "
                       "wrote it, or no model was asked",
                       key);
    return rc;
}

/* --- writing -------------------------------------------------------------------------- */

void ch_request_past_neutral(const struct ch_request_past *p, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    const struct ch_trace_part *system =
        ch_trace_parts_find(&p->parts, ch_json_get_str(p->setup->v, "system"));
    struct ch_sv note = ch_json_get_str(p->record, "note");
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(k, m, ch_json_get(p->setup->v, "request"))) {
        ch_jw_key_sv(&w, ch_json_str(k));
        ch_jw_value(&w, m);
    }
    if (system)
        ch_jw_kstr(&w, "system", ch_json_get_str(system->v, "text"));
    ch_jw_key(&w, "tools");
    ch_trace_parts_write_tools(&p->parts, p->setup, &w);
    if (note.n)
        ch_jw_kstr(&w, "note", note);
    ch_jw_kraw(&w, "messages", ch_buf_sv(&p->messages));
    ch_jw_end(&w, '}');
}

/* Encodes the request again; true: its body has the digest of the one that was sent. */
static bool request_encode(const struct ch_request_past *p, struct ch_buf *http,
                           struct ch_sv *body, struct chela_error *err) {
    CH_BUF_AUTO neutral = {0};
    const struct ch_codec *codec = ch_codec_find(ch_json_get_str(p->setup->v, "api"));
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    *body = CH_SV("");
    if (!codec)
        return ch_fail(err, CHELA_EINVAL, "this version has no such protocol"), false;
    ch_request_past_neutral(p, &neutral);
    if (ch_wire_encode_body(codec, CH_SV(""), ch_buf_sv(&neutral), http, body, err) < 0)
        return false;
    ch_sha256_of(*body, digest);
    ch_sha256_hex(digest, hex);
    return ch_sv_is(ch_json_get_str(p->record, "digest"), hex);
}

static void request_write_http(const struct ch_request_past *p, struct ch_jw *w) {
    CH_BUF_AUTO http = {0};
    CH_ARENA_AUTO arena = {0};
    struct chela_error why = {0};
    const struct ch_json *v;
    struct ch_sv body;
    bool same = request_encode(p, &http, &body, &why);
    if (http.n &&
        ch_json_parse(&arena, ch_buf_sv(&http), CH_JSON_REPLACE, &v, NULL, NULL) == 0) {
        ch_jw_key(w, "http");
        ch_write_redacted(w, v);
    }
    ch_jw_kbool(w, "verified", same);
    if (!same)
        ch_jw_kcstr(w, "not_verified",
                    why.message[0] ? why.message : CHANGED);
}

static void write_raw_redacted(struct ch_jw *w, struct ch_sv json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        ch_write_redacted(w, v);
    else
        ch_jw_null(w);
}

/* The parts that were removed from the request, and why. */
static void write_cuts(const struct ch_request_past *p, struct ch_jw *w) {
    const struct ch_trace_part *system =
        p->setup ? ch_trace_parts_find(&p->parts, ch_json_get_str(p->setup->v, "system")) : NULL;
    ch_jw_kbegin(w, "cut", '[');
    for (CH_JSON_EACH(s, system ? ch_json_get(system->v, "sections") : NULL)) {
        if (!ch_json_get(s, "of"))
            continue;
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "what", ch_json_get_str(s, "name"));
        ch_jw_kcstr(w, "why", "the system prompt has a share of the context");
        ch_jw_kint(w, "tokens_before", ch_json_int(ch_json_get(s, "of"), 0));
        ch_jw_kint(w, "tokens_after", ch_json_int(ch_json_get(s, "tokens"), 0));
        ch_jw_end(w, '}');
    }
    if (p->rewrite) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "what", "history");
        ch_jw_kstr(w, "why", ch_json_get_str(p->rewrite, "strategy"));
        ch_jw_kint(w, "tokens_before", ch_json_int(ch_json_get(p->rewrite, "tokens_before"), 0));
        ch_jw_kint(w, "tokens_after", ch_json_int(ch_json_get(p->rewrite, "tokens_after"), 0));
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void write_outcome(const struct ch_request_past *p, struct ch_jw *w) {
    const struct ch_json *of = p->reply ? p->reply : p->failure;
    if (p->ended)
        ch_jw_kint(w, "ms", p->ended - p->ts);
    if (ch_json_get(of, "usage") && (p->reply || ch_json_get(p->failure, "class")))
        ch_jw_kvalue(w, "usage", ch_json_get(of, "usage"));
    if (ch_json_get(of, "cost") && !ch_json_get(of, "state"))
        ch_jw_kvalue(w, "cost_usd", ch_json_get(of, "cost"));
    if (p->reply) {
        const struct ch_json *m = ch_json_get(p->reply, "message");
        ch_jw_key(w, "reply");
        if (!m)
            m = ch_json_get(p->reply, "answer");
        ch_write_redacted(w, m ? m : ch_json_at(ch_json_get(p->reply, "messages"), 0));
        if (ch_json_get(p->reply, "stop"))
            ch_jw_kstr(w, "stop", ch_json_get_str(p->reply, "stop"));
        return;
    }
    ch_jw_kbegin(w, "failure", '{');
    struct ch_sv cls = ch_json_get_str(p->failure, "class");
    struct ch_sv reason = ch_json_get_str(p->failure, "reason");
    ch_jw_kstr(w, "class", cls.n ? cls : reason.n ? reason : CH_SV("no_reply"));
    if (ch_json_get(p->failure, "text")) {
        ch_jw_key(w, "text");
        ch_write_redacted(w, ch_json_get(p->failure, "text"));
    }
    if (cls.n && ch_json_get(p->failure, "status"))
        ch_jw_kvalue(w, "status", ch_json_get(p->failure, "status"));
    ch_jw_end(w, '}');
}

static void request_write(const struct ch_request_past *p, const char *key, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "session", key);
    ch_jw_kint(w, "request", p->number);
    ch_jw_kint(w, "of", p->of);
    ch_jw_kstr(w, "run", ch_json_get_str(p->record, "run"));
    ch_jw_kint(w, "turn", ch_json_int(ch_json_get(p->record, "turn"), 0));
    if (ch_json_get(p->record, "attempt"))
        ch_jw_kint(w, "attempt", ch_json_int(ch_json_get(p->record, "attempt"), 0));
    if (ch_json_get(p->record, "role"))
        ch_jw_kstr(w, "role", ch_json_get_str(p->record, "role"));
    ch_jw_kint(w, "ts", p->ts);
    ch_jw_kcstr(w, "model", p->setup ? p->setup->model : "?");
    ch_jw_kint(w, "bytes", ch_json_int(ch_json_get(p->record, "bytes"), 0));
    if (p->setup)
        ch_trace_parts_write_setup(&p->parts, p->setup, w);
    ch_jw_key(w, "messages");
    write_raw_redacted(w, ch_buf_sv(&p->messages));
    if (ch_json_get(p->record, "note")) {
        ch_jw_key(w, "note");
        ch_write_redacted(w, ch_json_get(p->record, "note"));
    }
    write_cuts(p, w);
    write_outcome(p, w);
    if (p->setup)
        request_write_http(p, w);
    ch_jw_end(w, '}');
}

static int request_write_body(const struct ch_request_past *p, struct ch_buf *out,
                              struct chela_error *err) {
    CH_BUF_AUTO http = {0};
    struct chela_error why = {0};
    struct ch_sv body;
    bool same = request_encode(p, &http, &body, &why);
    if (!same)
        return ch_fail(err, CHELA_ESTATE, "the bytes cannot be rebuilt: %s",
                       why.message[0] ? why.message : CHANGED);
    ch_buf_add_sv(out, body);
    return 0;
}

static int request_show(const struct ch_request_past *p, const char *key,
                        enum chela_request_form form, struct ch_buf *out,
                        struct chela_error *err) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(form == CHELA_REQUEST_TEXT ? &json : out);
    if (form > CHELA_REQUEST_WIRE)
        return ch_fail(err, CHELA_EINVAL, "there is no such form of a request");
    if (form >= CHELA_REQUEST_BODY && !p->setup)
        return ch_fail(err, CHELA_ESTATE, "the journal lacks the setup of this request");
    if (form == CHELA_REQUEST_BODY)
        return request_write_body(p, out, err);
    if (form == CHELA_REQUEST_WIRE)
        ch_request_past_neutral(p, out);
    else
        request_write(p, key, &w);
    return form == CHELA_REQUEST_TEXT ? ch_request_text(ch_buf_sv(&json), out, err) : 0;
}

int chela_trace_request(chela_store *store, const char *key, unsigned n,
                        enum chela_request_form form, char **out, size_t *out_len,
                        struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS(store, err);
    struct ch_request_past p;
    struct ch_buf text = {0};
    int rc = ch_request_past_read(&p, store, key, n, err);
    if (rc < 0)
        return rc;
    rc = request_show(&p, key, form, &text, err);
    ch_request_past_release(&p);
    if (rc < 0) {
        ch_buf_release(&text);
        return rc;
    }
    if (out_len)
        *out_len = text.n;
    *out = ch_buf_take(&text);
    return 0;
}
