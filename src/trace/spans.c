/* spans.c -- builds the steps of a session from its records (chela/trace.h).
 *
 * Journals of older versions hold no requests. There a model call is assumed to begin where
 * the preceding record ends. */
#include <inttypes.h>

#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/redact.h"
#include "chela/trace.h"
#include "tool/call/wait.h"
#include "trace/parts.h"

/* Texts of the spans are in the arena. */
struct span_list {
    struct ch_arena arena;
    struct chela_span *list; /* owned */
    size_t n, cap;
};

#define NONE SIZE_MAX

/* A call without a result so far; texts are in the arena of the list. */
struct span_call {
    const char *id, *arguments, *child, *approval;
    int64_t start; /* of the attempt */
    int64_t until; /* end of the wait that was stored last */
    size_t wait;   /* index of the wait for a time; NONE */
    size_t asked;  /* index of the wait for an approval; NONE */
};

struct span_reading {
    struct span_list *out;
    const char *key;
    struct ch_trace_parts parts;
    const struct chela_store_record *r;
    const struct ch_json *v;
    int64_t last;            /* time of the preceding record */
    struct span_call *calls; /* owned: calls of the last reply */
    size_t ncalls;
    unsigned requests, turns;
    size_t open[2]; /* index of the request that waits: of the run, of a role; NONE */
};

/* --- members of a record */

/* A redacted copy of a text; NULL if it is empty. */
static const char *span_text(struct span_reading *rd, struct ch_sv text) {
    if (!text.n)
        return NULL;
    char *copy = ch_arena_str(&rd->out->arena, text);
    ch_redact(copy);
    return copy;
}

/* A redacted copy of a value: the content of a string, or JSON. */
static const char *span_value(struct span_reading *rd, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!v || ch_json_is(v, CH_JSON_STRING))
        return span_text(rd, ch_json_str(v));
    ch_jw_value(&w, v);
    return span_text(rd, ch_buf_sv(&out));
}

static const char *member(struct span_reading *rd, const char *name) {
    return span_value(rd, ch_json_get(rd->v, name));
}

static int64_t number(const struct ch_json *v, const char *name) {
    return ch_json_int(ch_json_get(v, name), 0);
}

/* All blocks of a type, joined; NULL: none. */
static const char *joined(struct span_reading *rd, const struct ch_json *content,
                          const char *type) {
    CH_BUF_AUTO out = {0};
    for (CH_JSON_EACH(b, content)) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), type))
            continue;
        if (out.n)
            ch_buf_addc(&out, '\n');
        ch_buf_add_sv(&out, ch_json_get_str(b, "text"));
    }
    return span_text(rd, ch_buf_sv(&out));
}

/* --- spans */

static struct chela_span *span_add(struct span_reading *rd, enum chela_span_kind kind,
                                   int64_t start) {
    struct span_list *l = rd->out;
    CH_GROW(l->list, l->n, l->cap, 64);
    struct chela_span *s = &l->list[l->n++];
    const char *run = member(rd, "run");
    bool call = kind == CHELA_SPAN_TOOL || kind == CHELA_SPAN_WAIT;
    *s = (struct chela_span){.kind = kind,
                             .session = rd->key,
                             .run = run ? run : "",
                             .turn = (unsigned)number(rd->v, "turn"),
                             .session_turn = call ? rd->turns : 0,
                             .start = CH_MIN(start, rd->r->ts),
                             .end = rd->r->ts,
                             .cost = -1};
    return s;
}

static void span_usage(const struct ch_json *v, struct chela_span *s) {
    const struct ch_json *u = ch_json_get(v, "usage");
    s->input = number(u, "input");
    s->output = number(u, "output");
    s->cache_read = number(u, "cache_read");
    s->cache_write = number(u, "cache_write");
    s->reasoning = number(u, "reasoning");
    s->cost = ch_json_double(ch_json_get(v, "cost"), -1);
}

/* --- model calls */

/* Closes the waiting request; NULL: the journal does not have it. */
static struct chela_span *close_request(struct span_reading *rd, bool role) {
    size_t at = rd->open[role];
    rd->open[role] = NONE;
    if (at == NONE)
        return NULL;
    struct chela_span *s = &rd->out->list[at];
    s->end = CH_MAX(rd->r->ts, s->start);
    return s;
}

static struct chela_span *model_span(struct span_reading *rd, bool role) {
    struct chela_span *s = close_request(rd, role);
    return s ? s : span_add(rd, CHELA_SPAN_MODEL, rd->last);
}

/* A request that got neither a reply nor an error: the run or its process ended. */
static void leave_request(struct span_reading *rd, bool role, const char *why) {
    struct chela_span *s = close_request(rd, role);
    if (!s)
        return;
    s->failed = 1;
    s->stop = why;
    s->title = ch_arena_printf(&rd->out->arena, "%s, %s", s->title, why);
}

static void add_request(struct span_reading *rd) {
    const char *role = member(rd, "role");
    leave_request(rd, role != NULL, "no reply");
    struct chela_span *s = span_add(rd, CHELA_SPAN_MODEL, rd->r->ts);
    struct ch_sv id = ch_json_get_str(rd->v, "setup");
    const struct ch_trace_part *setup = ch_trace_parts_find(&rd->parts, id);
    const char *model = span_text(rd, ch_sv_str(setup ? setup->model : "model"));
    s->request = ++rd->requests;
    s->attempt = (unsigned)number(rd->v, "attempt");
    s->model = model;
    s->api = setup ? span_text(rd, ch_json_get_str(setup->v, "api")) : NULL;
    s->setup = span_text(rd, id);
    s->messages = (size_t)number(rd->v, "messages");
    s->bytes = (size_t)number(rd->v, "bytes");
    s->role = role;
    s->title = role ? ch_arena_printf(&rd->out->arena, "%s: %s", role, model) : model;
    rd->open[role != NULL] = rd->out->n - 1;
}

static void note_call(struct span_reading *rd, const struct ch_json *b) {
    rd->calls = ch_realloc(rd->calls, (rd->ncalls + 1) * sizeof(*rd->calls));
    rd->calls[rd->ncalls++] =
        (struct span_call){.id = span_value(rd, ch_json_get(b, "id")),
                           .arguments = span_value(rd, ch_json_get(b, "arguments")),
                           .start = rd->r->ts,
                           .wait = NONE,
                           .asked = NONE};
}

static struct span_call *find_call(struct span_reading *rd, struct ch_sv id) {
    for (size_t i = 0; id.n && i < rd->ncalls; i++)
        if (rd->calls[i].id && ch_sv_is(id, rd->calls[i].id))
            return &rd->calls[i];
    return NULL;
}

/* The text of a reply, then its calls. */
static const char *reply_text(struct span_reading *rd, const struct ch_json *content) {
    CH_BUF_AUTO out = {0};
    const char *words = joined(rd, content, "text");
    if (words)
        ch_buf_addf(&out, "%s\n", words);
    for (CH_JSON_EACH(b, content)) {
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_call"))
            continue;
        note_call(rd, b);
        const char *arguments = rd->calls[rd->ncalls - 1].arguments;
        ch_buf_addf(&out, "-> %.*s %s\n", CH_SV_FMT(ch_json_get_str(b, "name")),
                    arguments ? arguments : "");
    }
    return out.n ? ch_arena_str(&rd->out->arena, ch_buf_sv(&out)) : NULL;
}

static void add_reply(struct span_reading *rd, const struct ch_json *m) {
    const struct ch_json *content = ch_json_get(m, "content");
    bool person = ch_json_bool(ch_json_get(rd->v, "person"), false);
    const char *model = span_value(rd, ch_json_get(m, "model")), *stop = member(rd, "stop");
    struct chela_span *s =
        model && !person ? model_span(rd, false) : span_add(rd, CHELA_SPAN_MODEL, rd->last);
    size_t at = (size_t)(s - rd->out->list);
    const char *sent = joined(rd, content, "reasoning");
    rd->ncalls = 0;
    s->session_turn = ++rd->turns;
    const char *got = reply_text(rd, content);
    s = &rd->out->list[at];
    s->title = ch_arena_printf(&rd->out->arena, "%s%s%s",
                               person  ? "a person"
                               : model ? model
                                       : "runtime",
                               stop ? ", " : "", stop ? stop : "");
    s->sent = sent;
    s->got = got;
    s->stop = stop;
    span_usage(rd->v, s);
}

static void add_role(struct span_reading *rd) {
    const char *role = member(rd, "role"), *model = member(rd, "model");
    struct chela_span *s = model_span(rd, true);
    s->role = role ? role : "role";
    s->title = ch_arena_printf(&rd->out->arena, "%s: %s", s->role, model ? model : "?");
    const char *answer = member(rd, "answer"), *notes = member(rd, "notes");
    s->got = notes ? ch_arena_printf(&rd->out->arena, "%s\n\nHow this was read:\n%s",
                                     answer ? answer : "", notes)
                   : answer;
    span_usage(rd->v, s);
}

static void add_failure(struct span_reading *rd) {
    bool role = ch_json_get(rd->v, "role") != NULL;
    struct chela_span *s = model_span(rd, role);
    const char *cls = member(rd, "class");
    s->failed = 1;
    s->stop = cls;
    s->title = ch_arena_printf(&rd->out->arena, "%s, %s", s->title ? s->title : "model",
                               cls ? cls : "failed");
    s->got = member(rd, "text");
    span_usage(rd->v, s);
}

/* --- other records */

static void add_message(struct span_reading *rd) {
    const struct ch_json *m = ch_json_get(rd->v, "message");
    if (ch_json_get(rd->v, "of")) /* delivers queued input whose own record was shown */
        return;
    if (ch_sv_is(ch_json_get_str(m, "role"), "assistant")) {
        add_reply(rd, m);
        return;
    }
    struct chela_span *s = span_add(rd, CHELA_SPAN_INPUT, rd->r->ts);
    const char *note = member(rd, "note");
    s->title = note ? "note of the runtime" : span_value(rd, ch_json_get(m, "role"));
    s->got = note ? note : joined(rd, ch_json_get(m, "content"), "text");
    s->traceparent = span_value(rd, ch_json_path(rd->v, "for", "traceparent", NULL));
}

/* The wait of a call is over, and its next attempt begins. */
static void end_wait(struct span_reading *rd, struct span_call *call, int64_t end) {
    if (call->wait == NONE)
        return;
    struct chela_span *s = &rd->out->list[call->wait];
    s->end = CH_MAX(s->start, end);
    call->start = s->end;
    call->wait = NONE;
}

/* An attempt failed, and the call is repeated. */
static void add_attempt(struct span_reading *rd, const struct span_call *call,
                        const struct ch_wait_state *w) {
    struct chela_span *s = span_add(rd, CHELA_SPAN_TOOL, call->start);
    s->id = call->id;
    s->title = member(rd, "name");
    s->sent = call->arguments;
    s->got = span_text(rd, w->error);
    s->attempt = w->attempts ? w->attempts - 1 : 0;
    s->failed = 1;
    s->stop = "retried";
}

static void add_wait(struct span_reading *rd, struct span_call *call,
                     const struct ch_wait_state *w) {
    const char *name = member(rd, "name");
    struct chela_span *s = span_add(rd, CHELA_SPAN_WAIT, rd->r->ts);
    s->id = call->id;
    s->attempt = w->attempts;
    s->stop = w->sleeps ? "timer" : "retry";
    s->title = w->sleeps ? name
                         : ch_arena_printf(&rd->out->arena, "for attempt %u of %s",
                                           w->attempts + 1, name ? name : "the call");
    s->sent = w->sleeps ? call->arguments : NULL;
    call->wait = rd->out->n - 1;
    call->until = w->until;
}

/* A call with an effect has a separate start record, and so has each wait of a call. A call
 * without an effect has no record of an attempt that follows a wait. */
static void note_start(struct span_reading *rd) {
    struct span_call *call = find_call(rd, ch_json_get_str(rd->v, "id"));
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w = {0};
    if (!call)
        return;
    const char *child = member(rd, "child");
    call->child = child ? child : call->child;
    if (!ch_wait_read(ch_json_get_str(rd->v, "state"), &arena, &w) || !w.until) {
        end_wait(rd, call, rd->r->ts);
        call->start = rd->r->ts;
        return;
    }
    end_wait(rd, call, CH_MIN(call->until, rd->r->ts));
    if (!w.sleeps)
        add_attempt(rd, call, &w);
    add_wait(rd, call, &w);
}

static void add_result(struct span_reading *rd) {
    const struct ch_json *b = ch_json_at(ch_json_path(rd->v, "message", "content", NULL), 0);
    struct span_call *call = find_call(rd, ch_json_get_str(b, "id"));
    int64_t attempts = number(rd->v, "attempts");
    if (call)
        end_wait(rd, call, CH_MIN(CH_MAX(call->until, rd->last), rd->r->ts));
    struct chela_span *s = span_add(rd, CHELA_SPAN_TOOL, call ? call->start : rd->last);
    s->id = span_value(rd, ch_json_get(b, "id"));
    s->attempt = attempts > 1 ? (unsigned)attempts - 1 : 0;
    s->title = span_value(rd, ch_json_get(b, "name"));
    s->sent = call ? call->arguments : NULL;
    s->got = span_value(rd, ch_json_get(b, "content"));
    s->child = call ? call->child : NULL;
    s->failed = ch_json_bool(ch_json_get(b, "is_error"), false);
}

/* The turn of the session that is this turn of the run; 0: it has no reply. */
static unsigned turn_in_session(const struct span_reading *rd, int64_t turn) {
    struct ch_sv run = ch_json_get_str(rd->v, "run");
    for (size_t i = rd->out->n; i > 0; i--) {
        const struct chela_span *s = &rd->out->list[i - 1];
        if (s->kind == CHELA_SPAN_MODEL && s->session_turn && s->turn == turn &&
            ch_sv_is(run, s->run))
            return s->session_turn;
    }
    return 0;
}

/* The reason of the end, then earlier errors, one per line. NULL: none. */
static const char *troubles(struct span_reading *rd) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_sv(&out, ch_json_get_str(rd->v, "error"));
    for (CH_JSON_EACH(e, ch_json_get(rd->v, "error_log"))) {
        unsigned turn = turn_in_session(rd, number(e, "turn"));
        ch_buf_add_str(&out, out.n ? "\n" : "");
        if (turn)
            ch_buf_addf(&out, "in turn %u, ", turn);
        ch_buf_addf(&out, "%.*s, %.*s: %.*s", CH_SV_FMT(ch_json_get_str(e, "of")),
                    CH_SV_FMT(ch_json_get_str(e, "class")),
                    CH_SV_FMT(ch_json_get_str(e, "text")));
    }
    return span_text(rd, ch_buf_sv(&out));
}

static void add_state(struct span_reading *rd) {
    const char *status = member(rd, "status"), *reason = member(rd, "reason");
    if (!status || !reason || strcmp(status, "running") == 0)
        return;
    leave_request(rd, true, reason);
    leave_request(rd, false, reason);
    struct chela_span *s = span_add(rd, CHELA_SPAN_END, rd->r->ts);
    s->title = ch_arena_printf(&rd->out->arena, "%s: %s", status, reason);
    s->sent = member(rd, "goal");
    s->got = troubles(rd);
    s->failed = strcmp(status, "error") == 0 || strcmp(status, "stopped") == 0;
    s->turn = (unsigned)number(rd->v, "turns");
    s->stop = reason;
    span_usage(rd->v, s);
}

/* The wait that a decision ends: of the call that asked, or the newest one. */
static struct chela_span *asked_span(struct span_reading *rd) {
    struct ch_sv id = ch_json_get_str(rd->v, "approval");
    struct span_list *l = rd->out;
    for (size_t i = 0; id.n && i < rd->ncalls; i++)
        if (rd->calls[i].approval && ch_sv_is(id, rd->calls[i].approval))
            return &l->list[rd->calls[i].asked];
    for (size_t i = l->n; i > 0; i--) {
        struct chela_span *s = &l->list[i - 1];
        if (s->kind == CHELA_SPAN_WAIT && !s->got && strcmp(s->stop, "approval") == 0)
            return s;
    }
    return NULL;
}

static void add_answer(struct span_reading *rd) {
    struct chela_span *s = asked_span(rd);
    if (!s)
        return;
    s->end = CH_MAX(s->start, rd->r->ts);
    s->got = member(rd, "decision");
    s->failed = s->got && strcmp(s->got, "deny") == 0;
}

static void add_question(struct span_reading *rd) {
    struct chela_span *s = span_add(rd, CHELA_SPAN_WAIT, rd->r->ts);
    size_t at = (size_t)number(rd->v, "call");
    s->title = "consent";
    s->sent = member(rd, "summary");
    s->stop = "approval";
    if (at >= rd->ncalls || ch_json_get(rd->v, "child"))
        return;
    struct span_call *call = &rd->calls[at];
    s->id = call->id;
    call->approval = member(rd, "approval");
    call->asked = rd->out->n - 1;
}

static void add_rewrite(struct span_reading *rd) {
    struct chela_span *asked = close_request(rd, true);
    if (asked)
        span_usage(rd->v, asked);
    struct chela_span *s =
        span_add(rd, CHELA_SPAN_REWRITE, asked ? asked->start : rd->last);
    s->title = ch_arena_printf(&rd->out->arena,
                               "the history was made shorter: %" PRId64 " to %" PRId64 " tokens",
                               number(rd->v, "tokens_before"), number(rd->v, "tokens_after"));
    const struct ch_json *first = ch_json_at(ch_json_get(rd->v, "messages"), 0);
    s->got = joined(rd, ch_json_get(first, "content"), "text");
}

static int span_on_record(const struct chela_store_record *r, void *user) {
    static void (*const readers[CH_REC_TYPES])(struct span_reading *) = {
        [CH_REC_INBOUND] = add_message,  [CH_REC_MESSAGE] = add_message,
        [CH_REC_DONE] = add_result,      [CH_REC_STARTED] = note_start,
        [CH_REC_STATE] = add_state,      [CH_REC_ROLE] = add_role,
        [CH_REC_ASKED] = add_question,   [CH_REC_ANSWERED] = add_answer,
        [CH_REC_REQUEST] = add_request,  [CH_REC_FAILURE] = add_failure,
        [CH_REC_COMPACTION] = add_rewrite,
    };
    struct span_reading *rd = user;
    CH_ARENA_AUTO arena = {0};
    rd->r = r;
    if (r->type == CH_REC_PART)
        ch_trace_parts_add(&rd->parts, r);
    else if (r->type < CH_REC_TYPES && readers[r->type] &&
             ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &rd->v, NULL, NULL) == 0)
        readers[r->type](rd);
    rd->last = r->ts;
    return 0;
}

static int read_session(struct span_list *l, chela_store *store, const char *key,
                        struct chela_error *err) {
    struct span_reading rd = {
        .out = l, .key = ch_arena_str(&l->arena, ch_sv_str(key)), .open = {NONE, NONE}};
    int rc = chela_store_records(store, key, 1, span_on_record, &rd, err);
    ch_trace_parts_release(&rd.parts);
    ch_free(rd.calls);
    return rc;
}

static void release_list(struct span_list *l) {
    ch_arena_release(&l->arena);
    ch_free(l->list);
}

/* --- passing on */

struct span_walk {
    chela_store *store;
    const char *run; /* only this run; NULL: all */
    chela_span_fn *fn;
    void *user;
    unsigned children; /* sessions of called agents so far */
};

/* Passes the spans on, and the spans of called agents after their calls; deleted sessions
 * are skipped. An imported journal may name any session as that of a called agent, also its own.
 * Nonzero: fn ended the listing. */
static int pass_on(struct span_walk *w, struct span_list *l, unsigned depth) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        struct chela_span *s = &l->list[i];
        if (w->run && depth == 0 && strcmp(s->run, w->run) != 0)
            continue;
        s->depth = depth;
        rc = w->fn(s, w->user);
        struct span_list below = {0};
        if (rc == 0 && s->child && depth < CH_LIMIT_DELEGATE_DEPTH &&
            w->children++ < CH_LIMIT_TRACE_CHILDREN &&
            read_session(&below, w->store, s->child, NULL) == 0)
            rc = pass_on(w, &below, depth + 1);
        release_list(&below);
    }
    return rc;
}

static bool has_run(const struct span_list *l, const char *run) {
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->list[i].run, run) == 0)
            return true;
    return false;
}

int chela_trace_spans(chela_store *store, const char *key, const char *run, chela_span_fn *fn,
                      void *user, struct chela_error *err) {
    CH_NEEDS(store, err);
    struct span_list l = {0};
    struct span_walk w = {.store = store, .run = run, .fn = fn, .user = user};
    int rc = read_session(&l, store, key, err);
    if (rc == 0 && run && !*run)
        w.run = l.n ? l.list[l.n - 1].run : NULL;
    else if (rc == 0 && run && !has_run(&l, run))
        rc = ch_fail(err, CHELA_ENOENT, "session %s has no run %s", key, run);
    if (rc == 0)
        pass_on(&w, &l, 0);
    release_list(&l);
    return rc;
}
