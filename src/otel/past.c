/* past.c -- the spans of a stored session (chela/telemetry.h).
 *
 * The ids are those of the live export (follow.c): a collector that has a span already gets
 * the same span again. */
#include <string.h>

#include "base/arena.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "chela/telemetry.h"
#include "chela/trace.h"
#include "model/message/ids.h"
#include "otel/content.h"
#include "otel/exporter.h"
#include "otel/resource.h"
#include "otel/span.h"
#include "tool/call/wait.h"

/* A call that was repeated or that waited. */
struct past_repeat {
    uint64_t id; /* hash of the call's id */
    int64_t start;
};

/* The run of one level: of the session, of an agent that the session called, and so on. */
struct level {
    const char *run, *session, *agent; /* in the arena; run NULL: none yet */
    struct ch_trace_context context;   /* parent: of the run's span */
    struct ch_span_id span, call;      /* span of the run; of its last call */
    int64_t start;
    struct ch_sv model; /* model of the last request: "provider/model" */
    struct past_repeat waits[CH_LIMIT_OTEL_CALLS];
    size_t nwaits;
};

struct past {
    chela_store *store;
    bool content;
    struct ch_arena arena;
    struct level levels[CH_LIMIT_DELEGATE_DEPTH + 1];
    struct ch_buf items; /* owned: encoded spans, each after a comma */
};

static struct ch_sv text_of(const char *s) {
    return ch_sv_str(s ? s : "");
}

static const char *keep(struct past *p, const char *text) {
    return ch_arena_str(&p->arena, text_of(text));
}

struct agent_query {
    struct past *past;
    const char *agent;
};

static int past_on_session(const struct chela_store_session *s, void *user) {
    struct agent_query *q = user;
    q->agent = keep(q->past, s->agent);
    return 0;
}

static struct level *level_of(struct past *p, const struct chela_span *s) {
    unsigned depth = CH_MIN(s->depth, CH_LIMIT_DELEGATE_DEPTH);
    struct level *l = &p->levels[depth];
    if (l->run && strcmp(l->run, s->run) == 0)
        return l;
    struct agent_query q = {p, "agent"};
    chela_store_session(p->store, s->session, past_on_session, &q, NULL);
    *l = (struct level){.run = keep(p, s->run),
                        .session = keep(p, s->session),
                        .agent = q.agent,
                        .context = ch_trace_context_of_run(s->run),
                        .span = ch_span_id_of_run(s->run),
                        .start = s->start};
    if (depth > 0) {
        l->context = l[-1].context;
        l->context.has_parent = true;
        l->context.parent = l[-1].call;
    } else if (s->traceparent) {
        ch_trace_context_read(ch_sv_str(s->traceparent), &l->context);
    }
    return l;
}

/* --- spans */

static void add_item(struct past *p, const struct ch_otel_span *s) {
    ch_buf_addc(&p->items, ',');
    ch_otel_write_span(&p->items, true, s);
}

static struct ch_otel_span past_span(const struct level *l, const struct chela_span *s,
                                     struct ch_span_id id) {
    struct ch_otel_span out = {.context = l->context,
                               .id = id,
                               .kind = CH_OTEL_INTERNAL,
                               .start = s->start,
                               .end = s->end,
                               .failed = s->failed != 0};
    out.context.has_parent = true;
    out.context.parent = l->span;
    return out;
}

static void add_place(struct ch_otel_span *out, const struct level *l, const struct chela_span *s) {
    ch_otel_add_text(out, CH_OTEL_AGENT_NAME, ch_sv_str(l->agent));
    ch_otel_add_text(out, CH_OTEL_CONVERSATION, ch_sv_str(l->session));
    ch_otel_add_text(out, CH_OTEL_RUN, ch_sv_str(l->run));
    if (s->kind != CHELA_SPAN_END)
        ch_otel_add_int(out, CH_OTEL_TURN, s->turn);
}

static void add_tokens(struct ch_otel_span *out, const struct chela_span *s) {
    static const enum ch_otel_key keys[] = {CH_OTEL_INPUT_TOKENS, CH_OTEL_OUTPUT_TOKENS,
                                            CH_OTEL_CACHE_READ_TOKENS,
                                            CH_OTEL_CACHE_CREATION_TOKENS,
                                            CH_OTEL_REASONING_TOKENS};
    const int64_t counts[] = {s->input, s->output, s->cache_read, s->cache_write, s->reasoning};
    for (size_t i = 0; i < CH_LEN(keys); i++)
        if (counts[i])
            ch_otel_add_int(out, keys[i], counts[i]);
    if (s->cost >= 0)
        ch_otel_add_double(out, CH_OTEL_COST, s->cost);
}

static void add_model(struct ch_otel_span *out, struct ch_sv asked) {
    struct ch_sv model = asked, provider = ch_sv_split(&model, '/');
    ch_otel_add_text(out, CH_OTEL_PROVIDER, ch_otel_provider(provider));
    ch_otel_add_text(out, CH_OTEL_REQUEST_MODEL, model);
}

static struct ch_sv model_name(struct ch_sv asked) {
    ch_sv_split(&asked, '/');
    return asked;
}

static void past_request(struct past *p, struct level *l, const struct chela_span *s) {
    if (!s->request)
        return; /* no model was asked, or an older journal does not say which */
    l->model = ch_arena_sv(&p->arena, text_of(s->model));
    struct ch_otel_span out = past_span(
        l, s,
        ch_span_id_of_request(l->run, s->turn, s->attempt, s->messages, l->model,
                              text_of(s->role)));
    struct ch_sv finish = CH_SV("");
    out.kind = CH_OTEL_CLIENT;
    out.name = CH_SV(CH_OTEL_CHAT);
    out.target = model_name(l->model);
    ch_otel_add_text(&out, CH_OTEL_OPERATION, out.name);
    add_model(&out, l->model);
    add_place(&out, l, s);
    ch_otel_add_text(&out, CH_OTEL_ROLE, text_of(s->role));
    if (s->attempt)
        ch_otel_add_int(&out, CH_OTEL_ATTEMPT, s->attempt);
    if (s->failed) {
        ch_otel_add_text(&out, CH_OTEL_ERROR_TYPE, s->stop ? ch_sv_str(s->stop) : CH_SV("_OTHER"));
        out.error = text_of(s->got);
    } else if (s->stop) {
        finish = ch_sv_str(ch_otel_finish(s->stop));
        ch_otel_add_texts(&out, CH_OTEL_RESPONSE_FINISH, &finish, 1);
    }
    add_tokens(&out, s);
    add_item(p, &out);
}

/* --- attempts and waits of a call; the call's own span follows */

static struct past_repeat *find_wait(struct level *l, const struct chela_span *s) {
    uint64_t id = ch_hash(0, text_of(s->id));
    for (size_t i = 0; i < l->nwaits; i++)
        if (l->waits[i].id == id)
            return &l->waits[i];
    return NULL;
}

static void note_wait(struct level *l, const struct chela_span *s) {
    if (!find_wait(l, s) && l->nwaits < CH_LIMIT_OTEL_CALLS)
        l->waits[l->nwaits++] = (struct past_repeat){ch_hash(0, text_of(s->id)), s->start};
}

static void past_below(struct past *p, const struct level *l, const struct chela_span *s,
                       struct ch_sv name, struct ch_sv target, bool approval) {
    struct ch_span_id call = ch_span_id_of_call(l->run, s->turn, text_of(s->id));
    struct ch_otel_span out =
        past_span(l, s, ch_span_id_below(call, approval ? target : name, s->attempt));
    if (!approval)
        out.context.parent = call;
    out.name = name;
    out.target = target;
    add_place(&out, l, s);
    ch_otel_add_text(&out, CH_OTEL_TOOL_CALL_ID, text_of(s->id));
    if (s->attempt)
        ch_otel_add_int(&out, CH_OTEL_ATTEMPT, s->attempt);
    if (s->kind == CHELA_SPAN_WAIT)
        ch_otel_add_text(&out, CH_OTEL_WAIT_REASON, target);
    out.failed = s->failed && s->kind == CHELA_SPAN_TOOL;
    if (out.failed)
        ch_otel_add_text(&out, CH_OTEL_ERROR_TYPE,
                         s->stop ? ch_wait_error_type(text_of(s->got)) : CH_SV("tool_error"));
    add_item(p, &out);
}

static void past_attempt(struct past *p, struct level *l, const struct chela_span *s) {
    note_wait(l, s);
    past_below(p, l, s, CH_SV(CH_OTEL_TRY), text_of(s->title), false);
}

static void past_wait(struct past *p, struct level *l, const struct chela_span *s) {
    struct ch_sv reason = text_of(s->stop);
    bool approval = ch_sv_is(reason, "approval");
    if (!approval)
        note_wait(l, s);
    past_below(p, l, s, CH_SV(CH_OTEL_WAIT), reason, approval);
}

static void past_call(struct past *p, struct level *l, const struct chela_span *s) {
    struct ch_otel_span out = past_span(l, s, ch_span_id_of_call(l->run, s->turn, text_of(s->id)));
    struct past_repeat *wait = find_wait(l, s);
    CH_BUF_AUTO sent = {0};
    CH_BUF_AUTO got = {0};
    if (wait) {
        if (s->attempt)
            past_attempt(p, l, s);
        out.start = wait->start;
        *wait = l->waits[--l->nwaits];
    }
    l->call = out.id;
    out.name = CH_SV(CH_OTEL_EXECUTE_TOOL);
    out.target = text_of(s->title);
    ch_otel_add_text(&out, CH_OTEL_OPERATION, out.name);
    ch_otel_add_text(&out, CH_OTEL_TOOL_NAME, out.target);
    ch_otel_add_text(&out, CH_OTEL_TOOL_TYPE, CH_SV("function"));
    ch_otel_add_text(&out, CH_OTEL_TOOL_CALL_ID, text_of(s->id));
    add_place(&out, l, s);
    if (s->failed)
        ch_otel_add_text(&out, CH_OTEL_ERROR_TYPE, CH_SV("tool_error"));
    if (p->content) {
        ch_otel_write_text(&sent, text_of(s->sent));
        ch_otel_write_text(&got, text_of(s->got));
        ch_otel_add_text(&out, CH_OTEL_TOOL_ARGUMENTS, ch_buf_sv(&sent));
        ch_otel_add_text(&out, CH_OTEL_TOOL_RESULT, ch_buf_sv(&got));
    }
    add_item(p, &out);
}

/* The error of the end, as in the live export: lines about earlier errors quote results. */
static struct ch_sv own_error(struct ch_sv got) {
    static const char earlier[] = "\nin turn ";
    const char *at = got.n ? memmem(got.p, got.n, earlier, strlen(earlier)) : NULL;
    if (ch_sv_starts(got, earlier + 1))
        return CH_SV("");
    return at ? ch_sv(got.p, (size_t)(at - got.p)) : got;
}

/* A pause is no end. The title is "status: reason". */
static void past_end(struct past *p, const struct level *l, const struct chela_span *s) {
    struct ch_sv reason = text_of(s->title), status = ch_sv_split(&reason, ':');
    if (ch_sv_is(status, "paused"))
        return;
    struct ch_otel_span out = past_span(l, s, l->span);
    out.context = l->context;
    out.start = l->start;
    out.name = CH_SV(CH_OTEL_INVOKE_AGENT);
    out.target = ch_sv_str(l->agent);
    ch_otel_add_text(&out, CH_OTEL_OPERATION, out.name);
    add_model(&out, l->model);
    ch_otel_add_text(&out, CH_OTEL_AGENT_ID, ch_sv_str(l->agent));
    add_place(&out, l, s);
    ch_otel_add_text(&out, CH_OTEL_STATUS, status);
    ch_otel_add_text(&out, CH_OTEL_REASON, text_of(s->stop));
    if (s->failed) {
        ch_otel_add_text(&out, CH_OTEL_ERROR_TYPE, text_of(s->stop));
        out.error = own_error(text_of(s->got));
    }
    add_tokens(&out, s);
    add_item(p, &out);
}

static int past_on_span(const struct chela_span *s, void *user) {
    struct past *p = user;
    struct level *l = level_of(p, s);
    if (s->kind == CHELA_SPAN_MODEL)
        past_request(p, l, s);
    else if (s->kind == CHELA_SPAN_TOOL && s->stop)
        past_attempt(p, l, s);
    else if (s->kind == CHELA_SPAN_TOOL)
        past_call(p, l, s);
    else if (s->kind == CHELA_SPAN_WAIT)
        past_wait(p, l, s);
    else if (s->kind == CHELA_SPAN_END)
        past_end(p, l, s);
    return 0;
}

int chela_telemetry_past(chela_store *store, const char *key, const char *run,
                         const struct chela_telemetry_opts *given, char **out,
                         struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS(store, err);
    struct chela_telemetry_opts opts;
    int rc = CH_OPTS_READ(chela_telemetry_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    struct past p = {.store = store, .content = opts.content};
    struct ch_otel_settings settings = {.service = opts.service ? opts.service : "chela"};
    CH_BUF_AUTO resource = {0};
    CH_BUF_AUTO scope = {0};
    CH_BUF_AUTO foot = {0};
    struct ch_buf text = {0};
    rc = chela_trace_spans(store, key, run, past_on_span, &p, err);
    if (rc == 0) {
        ch_otel_write_resource(&resource, true, &settings, false);
        ch_otel_write_scope(&scope, true);
        ch_otel_write_frame(&text, &foot, true, CH_OTEL_TRACES,
                            &(struct ch_otel_frame){ch_buf_sv(&resource), ch_buf_sv(&scope)}, 0);
        if (p.items.n)
            ch_buf_add(&text, p.items.p + 1, p.items.n - 1);
        ch_buf_add_sv(&text, ch_buf_sv(&foot));
        *out = ch_buf_take(&text);
    }
    ch_buf_release(&p.items);
    ch_arena_release(&p.arena);
    return rc;
}
