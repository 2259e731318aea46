/* follow.c -- see follow.h. */
#include "otel/follow.h"

#include <stdio.h>

#include "agent/handle/run_origin.h"
#include "agent/journal/journal_replay.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "base/limits.h"
#include "base/random_id.h"
#include "base/list.h"
#include "base/mix.h"
#include "base/redact.h"
#include "model/codec/errors.h"
#include "model/provider/target.h"
#include "net/url.h"
#include "tool/call/call.h"
#include "tool/call/wait.h"
#include "otel/content.h"
#include "otel/log_event.h"

#define BUCKETS 256

/* A call that has not ended. */
struct open_call {
    uint64_t id;       /* hash of the call's id */
    int64_t start;     /* 0: the call has not started, because a person is asked */
    int64_t asked;     /* time of the question to a person; 0: no person is asked */
    int64_t since;     /* begin of the attempt or of the wait */
    int64_t until;     /* end of the wait; 0: the call does not wait */
    unsigned attempts; /* attempts that ended */
    bool sleeps;       /* the wait is the work of the call */
    bool waited;       /* the call waits or has waited: its attempts have spans */
};

/* A request to a model that has no reply yet. */
struct open_request {
    bool open;
    struct ch_span_id id;
    int64_t start, first; /* first: time of the first piece of the reply; 0: none */
    unsigned turn, attempt;
    struct ch_target *target; /* borrowed from the agent */
};

#define SERIES_ATTRIBUTES 6

/* The common part of the spans and metrics of a run's requests, while the run asks the same
 * model. Texts are borrowed from the target. */
struct request_memo {
    const chela_agent *agent;
    const struct ch_target *target; /* NULL: nothing is known yet */
    struct ch_otel_attribute attributes[SERIES_ATTRIBUTES]; /* of the metrics */
    size_t n;
    struct ch_buf span; /* template */
    struct ch_otel_point *duration, *first_chunk, *tokens[2];
};

/* As struct request_memo, for the run's calls of a tool. */
struct call_memo {
    char tool[64]; /* its name; empty: nothing is known yet */
    struct ch_buf span; /* template; empty: not known */
    struct ch_otel_point *duration; /* NULL: not known */
};

#define CALL_MEMOS 4 /* of a run; tools whose hashes collide replace each other */

struct follow_run {
    struct ch_link link; /* in its bucket */
    struct ch_link age;  /* in order of creation */
    char id[24];
    char *agent; /* owned */
    struct ch_trace_context context; /* parent: of the run's span */
    struct ch_span_id span;
    bool is_role; /* the run has no span; its requests are below the run that asks */
    int64_t start;
    unsigned turn;
    struct open_request request;
    struct request_memo asks;
    struct call_memo acts[CALL_MEMOS];
    struct open_call *calls; /* owned */
    size_t ncalls, cap;
};

struct ch_otel_follow {
    const struct ch_otel_settings *settings;
    struct ch_otel_sink sink;
    struct ch_list buckets[BUCKETS];
    struct ch_list ages;
    size_t n;
    struct follow_run *last;  /* the run that was found last; NULL: none */
    struct follow_run *spare; /* owned: memory for the next run; NULL: none */
};

/* --- runs */

struct ch_otel_follow *ch_otel_follow_new(const struct ch_otel_settings *settings,
                                          const struct ch_otel_sink *sink) {
    struct ch_otel_follow *f = ch_alloc(sizeof(*f));
    f->settings = settings;
    f->sink = *sink;
    ch_list_init(&f->ages);
    for (size_t i = 0; i < BUCKETS; i++)
        ch_list_init(&f->buckets[i]);
    return f;
}

/* Releases the memory for templates. The next spans are encoded anew. */
static void release_memos(struct follow_run *r) {
    ch_buf_release(&r->asks.span);
    r->asks = (struct request_memo){0};
    for (size_t i = 0; i < CALL_MEMOS; i++) {
        ch_buf_release(&r->acts[i].span);
        r->acts[i] = (struct call_memo){0};
    }
}

static void free_run(struct follow_run *r) {
    release_memos(r);
    ch_free(r->calls);
    ch_free(r);
}

/* Clears a run, and keeps its memory. */
static void clear_run(struct follow_run *r) {
    struct follow_run clear = {.calls = r->calls, .cap = r->cap, .asks.span = r->asks.span};
    ch_buf_clear(&clear.asks.span);
    for (size_t i = 0; i < CALL_MEMOS; i++) {
        clear.acts[i].span = r->acts[i].span;
        ch_buf_clear(&clear.acts[i].span);
    }
    *r = clear;
}

static void forget_run(struct ch_otel_follow *f, struct follow_run *r) {
    if (f->last == r)
        f->last = NULL;
    ch_list_del(&r->link);
    ch_list_del(&r->age);
    ch_free(r->agent);
    f->n--;
    if (f->spare) {
        free_run(r);
        return;
    }
    clear_run(r);
    f->spare = r;
}

void ch_otel_follow_free(struct ch_otel_follow *f) {
    for (struct follow_run *r; (r = CH_LIST_FIRST(&f->ages, struct follow_run, age));)
        forget_run(f, r);
    if (f->spare)
        free_run(f->spare);
    ch_free(f);
}

static struct ch_list *bucket_of(struct ch_otel_follow *f, const char *run) {
    return &f->buckets[ch_mix_text(0, ch_sv_str(run)) % BUCKETS];
}

static struct follow_run *find_run(struct ch_otel_follow *f, const char *id) {
    if (f->last && strcmp(f->last->id, id) == 0)
        return f->last;
    struct ch_list *bucket = bucket_of(f, id);
    for (CH_LIST_EACH(k, bucket)) {
        struct follow_run *r = CH_CONTAINER(k, struct follow_run, link);
        if (strcmp(r->id, id) == 0)
            return f->last = r;
    }
    return NULL;
}

static struct follow_run *follow(struct ch_otel_follow *f, chela_run *run, int64_t now);

/* The trace of the run, and its parent span. */
static struct ch_trace_context context_of(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct ch_trace_context c = ch_trace_context_of_run(run->id);
    const char *given = ch_run_origin_principal(run)->traceparent;
    chela_run *above = ch_parent_of(run);
    if (above || run->session->asks_for) {
        struct follow_run *r = follow(f, above ? above : run->session->asks_for, now);
        c = r->context;
        c.has_parent = true;
        c.parent = above ? ch_span_id_of_call(r->id, r->turn,
                                              ch_sv_str(run->session->child->call->id))
                         : r->span;
    } else if (given && ch_trace_context_read(ch_sv_str(given), &c)) {
        if (!f->settings->heeds_parent)
            c.sampled = ch_trace_context_in_share(&c, f->settings->share);
    } else {
        c.sampled = ch_trace_context_in_share(&c, f->settings->share);
    }
    return c;
}

bool ch_otel_follow_enter(struct ch_sv caller, char out[CH_TRACEPARENT]) {
    struct ch_trace_context c = {0};
    char random[24];
    if (!ch_trace_context_read(caller, &c))
        return false;
    ch_random_id("", random);
    ch_trace_context_write(&c, ch_span_id_below(c.parent, ch_sv_str(random), 0), out);
    return true;
}

/* Apart from follow, which is called for every event. */
__attribute__((noinline)) static struct follow_run *
begin_run(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct ch_trace_context context = context_of(f, run, now);
    int64_t began = ch_run_began(run);
    if (f->n == CH_LIMIT_OTEL_RUNS)
        forget_run(f, CH_LIST_FIRST(&f->ages, struct follow_run, age));
    struct follow_run *r = f->spare ? f->spare : ch_alloc(sizeof(*r));
    f->spare = NULL;
    memcpy(r->id, run->id, sizeof(r->id));
    r->context = context;
    r->is_role = run->session->asks_for != NULL;
    r->span = r->is_role ? context.parent : ch_span_id_of_run(run->id);
    r->agent = ch_strdup(run->session->agent->id);
    r->start = began && began < now ? began : now;
    r->turn = run->m.turns;
    ch_list_add(bucket_of(f, run->id), &r->link);
    ch_list_add(&f->ages, &r->age);
    f->n++;
    return r;
}

/* The state of a run; made when its first event is heard. */
static struct follow_run *follow(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct follow_run *r = f->last; /* the usual case: the same run as before */
    if (r && memcmp(r->id, run->id, sizeof(r->id)) == 0)
        return r;
    r = find_run(f, run->id);
    return r ? r : begin_run(f, run, now);
}

/* --- what spans have in common */

static struct ch_otel_span begin_span(const struct follow_run *r, struct ch_span_id id,
                                      int64_t start, int64_t end) {
    struct ch_otel_span s; /* the attributes are not cleared */
    s.template = NULL;
    s.context = r->context;
    s.id = id;
    s.name = s.target = s.error = CH_SV("");
    s.kind = CH_OTEL_INTERNAL;
    s.start = start;
    s.end = end;
    s.failed = false;
    s.n = 0;
    s.dropped = 0;
    if (memcmp(id.bytes, r->span.bytes, CH_SPAN_ID) != 0) {
        s.context.has_parent = true;
        s.context.parent = r->span;
    }
    return s;
}

static void add_usage(struct ch_otel_span *s, const struct chela_usage *u) {
    ch_otel_add_int(s, CH_OTEL_INPUT_TOKENS, u->input);
    ch_otel_add_int(s, CH_OTEL_OUTPUT_TOKENS, u->output);
    if (u->cache_read)
        ch_otel_add_int(s, CH_OTEL_CACHE_READ_TOKENS, u->cache_read);
    if (u->cache_write)
        ch_otel_add_int(s, CH_OTEL_CACHE_CREATION_TOKENS, u->cache_write);
    if (u->reasoning)
        ch_otel_add_int(s, CH_OTEL_REASONING_TOKENS, u->reasoning);
    if (u->cost_usd >= 0)
        ch_otel_add_double(s, CH_OTEL_COST, u->cost_usd);
}

/* Where the span belongs. */
static void add_place(struct ch_otel_span *s, const struct follow_run *r, const chela_run *run) {
    ch_otel_add_text(s, CH_OTEL_AGENT_NAME, ch_sv_str(r->agent));
    ch_otel_add_text(s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_otel_add_text(s, CH_OTEL_RUN, ch_sv_str(r->id));
}

static bool wants_span(const struct ch_otel_follow *f, const struct follow_run *r) {
    return f->sink.span && r->context.sampled;
}

static void emit_span(struct ch_otel_follow *f, const struct ch_otel_span *s) {
    if (f->sink.span && s->context.sampled)
        f->sink.span(s, f->sink.user);
}

/* The attributes have few values. memo: see ch_otel_metrics_add. */
static void measure(struct ch_otel_follow *f, enum ch_otel_metric metric, double value,
                    const struct ch_otel_attribute *attributes, size_t n,
                    struct ch_otel_point **memo) {
    if (f->sink.measure)
        f->sink.measure(metric, value, attributes, n, memo, f->sink.user);
}

void ch_otel_follow_leave(struct ch_otel_follow *f, const struct ch_listener_request *q) {
    struct ch_trace_context inside = {0};
    struct ch_otel_span s = {.kind = CH_OTEL_SERVER,
                             .name = ch_sv_str(q->method),
                             .target = ch_sv_str(q->route),
                             .start = q->start,
                             .end = q->end,
                             .failed = q->status >= 500};
    char type[16];
    if (!ch_trace_context_read(ch_sv_str(q->caller), &s.context) ||
        !ch_trace_context_read(ch_sv_str(q->inside), &inside))
        return;
    if (!f->settings->heeds_parent)
        s.context.sampled = ch_trace_context_in_share(&s.context, f->settings->share);
    s.id = inside.parent;
    ch_otel_add_text(&s, CH_OTEL_HTTP_METHOD, s.name);
    ch_otel_add_text(&s, CH_OTEL_HTTP_ROUTE, s.target);
    ch_otel_add_int(&s, CH_OTEL_HTTP_STATUS, q->status);
    snprintf(type, sizeof(type), "%d", q->status);
    if (s.failed)
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, ch_sv_str(type));
    emit_span(f, &s);
}

static double seconds(int64_t ms) {
    return (double)CH_MAX(ms, 0) / 1000;
}

/* --- requests to models */

static void add_server(struct ch_otel_span *s, const char *base_url) {
    struct ch_url url;
    if (!base_url || ch_url_parse(ch_sv_str(base_url), &url, NULL) < 0)
        return;
    ch_otel_add_text(s, CH_OTEL_SERVER_ADDRESS, url.host);
    ch_otel_add_int(s, CH_OTEL_SERVER_PORT, url.port);
}

void ch_otel_add_model(struct ch_otel_span *s, struct ch_sv operation,
                       const struct ch_endpoint *ep, struct ch_sv model) {
    s->kind = CH_OTEL_CLIENT;
    s->name = operation;
    s->target = model;
    ch_otel_add_text(s, CH_OTEL_OPERATION, operation);
    ch_otel_add_text(s, CH_OTEL_PROVIDER, ch_otel_provider(ch_sv_str(ep->provider)));
    ch_otel_add_text(s, CH_OTEL_REQUEST_MODEL, model);
    add_server(s, ep->base_url);
}

static void add_chat(struct ch_otel_span *s, const struct ch_target *t) {
    ch_otel_add_model(s, CH_SV(CH_OTEL_CHAT), &t->ep, ch_sv_str(t->model));
}

static void add_parameters(struct ch_otel_span *s, const chela_agent *a, struct ch_sv *stops) {
    if (a->max_output_tokens)
        ch_otel_add_int(s, CH_OTEL_REQUEST_MAX_TOKENS, a->max_output_tokens);
    if (a->has_temperature)
        ch_otel_add_double(s, CH_OTEL_REQUEST_TEMPERATURE, a->temperature);
    if (a->has_top_p)
        ch_otel_add_double(s, CH_OTEL_REQUEST_TOP_P, a->top_p);
    if (a->top_k)
        ch_otel_add_int(s, CH_OTEL_REQUEST_TOP_K, a->top_k);
    if (a->has_seed)
        ch_otel_add_int(s, CH_OTEL_REQUEST_SEED, a->seed);
    for (size_t i = 0; i < a->nstop && i < CH_OTEL_ATTRIBUTES; i++)
        stops[i] = a->stop[i];
    ch_otel_add_texts(s, CH_OTEL_REQUEST_STOP, stops, CH_MIN(a->nstop, CH_OTEL_ATTRIBUTES));
    ch_otel_add_bool(s, CH_OTEL_REQUEST_STREAM, !a->no_stream);
    ch_otel_add_text(s, CH_OTEL_OUTPUT_TYPE, a->output ? CH_SV("json") : CH_SV("text"));
}

/* A word with few values for a failed model call. */
static struct ch_sv failure_type(const struct ch_model_failure *failure, char buf[16]) {
    if (failure->status >= 400) {
        snprintf(buf, 16, "%d", failure->status);
        return ch_sv_str(buf);
    }
    return ch_sv_str(failure->cls == CH_ERR_NONE ? "_OTHER" : ch_error_class_name(failure->cls));
}

struct contents {
    struct ch_buf system, input, output;
};

static void release_contents(struct contents *c) {
    ch_buf_release(&c->system);
    ch_buf_release(&c->input);
    ch_buf_release(&c->output);
}

static void add_content(struct ch_otel_span *s, enum ch_otel_key key, bool written,
                        const struct ch_buf *text) {
    if (written)
        ch_otel_add_text(s, key, ch_buf_sv(text));
    else
        s->dropped++;
}

/* The transcript's last message, if a model wrote it; else NULL. */
static const struct ch_msg *last_reply(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_msg *m = t->n ? t->msgs[t->n - 1] : NULL;
    return m && m->kind == CH_MSG_ASSISTANT ? m : NULL;
}

static void add_contents(struct ch_otel_span *s, const chela_run *run, const char *finish,
                         struct contents *c) {
    const chela_session *session = run->session;
    const struct ch_transcript *t = &session->transcript;
    const struct ch_msg *reply = s->failed ? NULL : last_reply(run);
    size_t n = reply ? t->n - 1 : t->n;
    const char *system = session->system ? session->system : session->context.system;
    if (system)
        add_content(s, CH_OTEL_SYSTEM_INSTRUCTIONS,
                    ch_otel_write_instructions(&c->system, ch_sv_str(system)), &c->system);
    add_content(s, CH_OTEL_INPUT_MESSAGES,
                ch_otel_write_messages(&c->input, (const struct ch_msg *const *)t->msgs, n),
                &c->input);
    if (reply)
        add_content(s, CH_OTEL_OUTPUT_MESSAGES, ch_otel_write_reply(&c->output, reply, finish),
                    &c->output);
}

static struct request_memo *memo_of_requests(struct ch_otel_follow *f, struct follow_run *r,
                                            const chela_run *run, const struct ch_target *t) {
    const chela_agent *agent = run->session->agent;
    struct request_memo *m = &r->asks;
    if (m->target == t && m->agent == agent)
        return m;
    struct ch_otel_span s = begin_span(r, r->request.id, 0, 0);
    struct ch_sv stops[CH_OTEL_ATTRIBUTES];
    add_chat(&s, t);
    *m = (struct request_memo){.agent = agent, .target = t, .n = s.n, .span = m->span};
    memcpy(m->attributes, s.attributes, s.n * sizeof(*s.attributes));
    add_place(&s, r, run);
    add_parameters(&s, agent, stops);
    if (wants_span(f, r))
        ch_otel_template_set(&m->span, f->settings->signals[CH_OTEL_TRACES].json, &s);
    return m;
}

static void measure_request(struct ch_otel_follow *f, struct request_memo *m,
                            const struct ch_otel_span *s, struct ch_sv error_type,
                            int64_t first, const struct chela_usage *u) {
    static const struct ch_otel_attribute kinds[] = {
        {.key = CH_OTEL_TOKEN_TYPE, .type = CH_OTEL_TEXT, .text = {"input", 5}},
        {.key = CH_OTEL_TOKEN_TYPE, .type = CH_OTEL_TEXT, .text = {"output", 6}}};
    struct ch_otel_attribute list[SERIES_ATTRIBUTES + 2];
    size_t n = m->n;
    if (!f->sink.measure)
        return;
    memcpy(list, m->attributes, n * sizeof(*list));
    if (s->failed)
        list[n++] = (struct ch_otel_attribute){
            .key = CH_OTEL_ERROR_TYPE, .type = CH_OTEL_TEXT, .text = error_type};
    measure(f, CH_OTEL_METRIC_OPERATION_DURATION, seconds(s->end - s->start), list, n,
            s->failed ? NULL : &m->duration);
    if (first)
        measure(f, CH_OTEL_METRIC_FIRST_CHUNK, seconds(first - s->start), list, n,
                s->failed ? NULL : &m->first_chunk);
    if (!u || (!u->input && !u->output))
        return;
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        list[n] = kinds[i];
        measure(f, CH_OTEL_METRIC_TOKEN_USAGE, (double)(i ? u->output : u->input), list, n + 1,
                s->failed ? NULL : &m->tokens[i]);
    }
}

/* The request got its reply, or failed. stop and u are NULL if there is no reply. */
static void end_request(struct ch_otel_follow *f, struct follow_run *r, chela_run *run,
                        int64_t now, const char *stop, const struct chela_usage *u,
                        struct ch_sv error) {
    struct open_request *q = &r->request;
    if (!q->open)
        return;
    q->open = false;
    struct request_memo *m = memo_of_requests(f, r, run, q->target);
    struct ch_otel_span s = begin_span(r, q->id, q->start, now);
    struct contents contents = {0};
    struct ch_sv finish, failure = CH_SV("");
    const struct ch_msg *reply = last_reply(run);
    CH_BUF_AUTO shown = {0};
    char type[16];
    s.failed = !stop || strcmp(stop, "error") == 0;
    if (s.failed)
        failure = failure_type(&run->failure, type);
    measure_request(f, m, &s, failure, q->first, u);
    if (!wants_span(f, r))
        return;
    s.template = &m->span;
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, failure);
    ch_otel_add_int(&s, CH_OTEL_TURN, q->turn);
    if (q->attempt)
        ch_otel_add_int(&s, CH_OTEL_ATTEMPT, q->attempt);
    if (q->first)
        ch_otel_add_double(&s, CH_OTEL_RESPONSE_FIRST_CHUNK, seconds(q->first - q->start));
    if (stop && !s.failed) {
        finish = ch_sv_str(ch_otel_finish(stop));
        ch_otel_add_texts(&s, CH_OTEL_RESPONSE_FINISH, &finish, 1);
        if (reply)
            ch_otel_add_text(&s, CH_OTEL_RESPONSE_MODEL, ch_msg_author(reply).model);
    }
    if (u)
        add_usage(&s, u);
    if (s.failed) {
        ch_redact_copy(&shown, error);
        s.error = ch_buf_sv(&shown);
    }
    if (f->settings->content)
        add_contents(&s, run, stop ? ch_otel_finish(stop) : NULL, &contents);
    emit_span(f, &s);
    release_contents(&contents);
}

/* The request got no reply. */
static void fail_request(struct ch_otel_follow *f, struct follow_run *r, chela_run *run,
                         int64_t now, struct ch_sv error) {
    end_request(f, r, run, now, NULL, NULL, error);
}

static void begin_request(struct ch_otel_follow *f, struct follow_run *r, chela_run *run,
                          const struct chela_event *ev) {
    struct ch_sv model = ch_sv_str(ev->request.model);
    const chela_run *owner = r->is_role && run->session->asks_for ? run->session->asks_for : run;
    const char *role = r->is_role ? ch_run_origin_prompt(run) : NULL;
    unsigned turn = owner == run ? ev->request.turn : owner->m.turns;
    if (ev->request.role || !run->target) /* the role's own run is followed, too */
        return;
    struct ch_sv named = ch_sv(role, role ? strcspn(role, "@") : 0);
    fail_request(f, r, run, ev->ts, CH_SV("no reply"));
    r->request = (struct open_request){
        .open = true,
        .id = ch_span_id_of_request(owner->id, turn, run->m.attempt, ev->request.messages, model,
                                    named),
        .start = ev->ts,
        .turn = turn,
        .attempt = run->m.attempt,
        .target = run->target};
}

static struct ch_sv query_failure(const struct ch_listener_query *q, char buf[16]) {
    struct ch_model_failure failure = {.cls = q->reply->error.cls,
                                       .status = q->reply->error.status};
    return failure_type(&failure, buf);
}

static struct ch_span_id id_of_query(const struct follow_run *r,
                                     const struct ch_listener_query *q) {
    return ch_span_id_of_request(r->id, q->turn, 0, q->messages, ch_sv_str(q->target->spec),
                                 ch_sv_str(q->role));
}

void ch_otel_follow_query(struct ch_otel_follow *f, chela_run *run,
                          const struct ch_listener_query *q) {
    struct follow_run *r = follow(f, run, q->start);
    struct ch_otel_span s = begin_span(r, id_of_query(r, q), q->start, q->end);
    struct chela_usage usage = ch_public_usage(&q->reply->usage, -1);
    char type[16];
    s.failed = q->error.n > 0;
    add_chat(&s, q->target);
    if (s.failed)
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, query_failure(q, type));
    measure(f, CH_OTEL_METRIC_OPERATION_DURATION, seconds(s.end - s.start), s.attributes, s.n,
            NULL);
    add_place(&s, r, run);
    ch_otel_add_int(&s, CH_OTEL_TURN, q->turn);
    ch_otel_add_text(&s, CH_OTEL_ROLE, ch_sv_str(q->role));
    add_usage(&s, &usage);
    s.error = q->error; /* redacted */
    emit_span(f, &s);
}

/* --- calls of tools */

/* The state of a call, made if there is none; NULL: too many. */
static struct open_call *open_call(struct follow_run *r, struct ch_sv id) {
    uint64_t hash = ch_mix_text(0, id);
    size_t i = 0;
    while (i < r->ncalls && r->calls[i].id != hash)
        i++;
    if (i == CH_LIMIT_OTEL_CALLS)
        return NULL;
    if (i == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 4;
        r->calls = ch_realloc(r->calls, r->cap * sizeof(*r->calls));
    }
    if (i == r->ncalls)
        r->calls[r->ncalls++] = (struct open_call){.id = hash};
    return &r->calls[i];
}

/* A call of a run that is followed. */
struct call_ref {
    struct ch_otel_follow *f;
    const struct follow_run *r;
    const chela_run *run;
    struct ch_sv id;
};

/* Emits the span of an attempt or a wait of a call. The wait for an approval comes before the
 * call, and is below the run. */
static void emit_below(const struct call_ref *at, unsigned n, struct ch_otel_span s) {
    const struct follow_run *r = at->r;
    struct ch_span_id call = ch_span_id_of_call(r->id, r->turn, at->id);
    bool approval = ch_sv_is(s.target, "approval"), wait = ch_sv_is(s.name, CH_OTEL_WAIT);
    s.context = r->context;
    s.context.has_parent = true;
    s.context.parent = approval ? r->span : call;
    s.id = ch_span_id_below(call, approval ? s.target : s.name, n);
    s.kind = CH_OTEL_INTERNAL;
    add_place(&s, r, at->run);
    ch_otel_add_int(&s, CH_OTEL_TURN, r->turn);
    ch_otel_add_text(&s, CH_OTEL_TOOL_CALL_ID, at->id);
    if (n)
        ch_otel_add_int(&s, CH_OTEL_ATTEMPT, n);
    if (wait)
        ch_otel_add_text(&s, CH_OTEL_WAIT_REASON, s.target);
    emit_span(at->f, &s);
}

static void emit_wait(const struct call_ref *at, unsigned n, const char *reason, int64_t start,
                      int64_t end) {
    emit_below(
        at, n,
        (struct ch_otel_span){
            .name = CH_SV(CH_OTEL_WAIT), .target = ch_sv_str(reason), .start = start, .end = end});
}

static void emit_attempt(const struct call_ref *at, unsigned n, struct ch_sv tool, int64_t start,
                         int64_t end, struct ch_sv error) {
    struct ch_otel_span s = {.name = CH_SV(CH_OTEL_TRY),
                             .target = tool,
                             .start = start,
                             .end = end,
                             .failed = error.n > 0};
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, error);
    emit_below(at, n, s);
}

/* The wait of a call is over, if there is one. */
static void leave_wait(const struct call_ref *at, struct open_call *c, int64_t now) {
    if (c->asked)
        emit_wait(at, 0, "approval", c->asked, now);
    c->asked = 0;
    if (!c->until)
        return;
    int64_t end = CH_MAX(c->since, CH_MIN(c->until, now));
    emit_wait(at, c->attempts, c->sleeps ? "timer" : "retry", c->since, end);
    c->since = end;
    c->until = 0;
}

/* Reads the journal about a call that an earlier process began: when a person was asked, and
 * the wait that is over now. */
static void recall_call(const chela_run *run, struct ch_sv id, struct open_call *c) {
    const struct ch_journal_replay *p = run->past;
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w;
    for (size_t i = 0; p && p->reply && i < p->ncalls; i++) {
        const struct ch_replay_call *known = &p->calls[i];
        if (known->result || !ch_sv_eq(ch_journal_replay_block(p, i)->id, id))
            continue;
        if (known->approval && !known->started)
            c->asked = known->asked_at;
        if (!known->state || !ch_wait_read(ch_sv_str(known->state), &arena, &w) || !w.until)
            continue;
        c->start = w.since;
        c->since = w.from ? w.from : w.until;
        c->until = w.until;
        c->attempts = w.attempts;
        c->sleeps = w.sleeps;
        c->waited = true;
    }
}

static void begin_call(struct ch_otel_follow *f, struct follow_run *r, const chela_run *run,
                       struct ch_sv id, int64_t now) {
    struct open_call *c = open_call(r, id);
    if (!c)
        return;
    if (!c->asked)
        recall_call(run, id, c);
    leave_wait(&(struct call_ref){f, r, run, id}, c, now);
    c->since = now;
    if (!c->start)
        c->start = now;
}

void ch_otel_follow_checkpoint(struct ch_otel_follow *f, chela_run *run,
                               const struct ch_block *call, const char *state, int64_t now) {
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w;
    if (!ch_wait_read(ch_sv_str(state), &arena, &w) || !w.until)
        return;
    struct follow_run *r = follow(f, run, now);
    r->turn = run->m.turns;
    struct open_call *c = open_call(r, call->id);
    if (!c)
        return;
    struct call_ref at = {f, r, run, call->id};
    leave_wait(&at, c, now);
    if (!c->waited) /* the next process knows the beginning from the state */
        c->start = c->since = w.since;
    if (!w.sleeps)
        emit_attempt(&at, w.attempts ? w.attempts - 1 : 0, call->name, c->since, now,
                     ch_wait_error_type(w.error));
    *c = (struct open_call){.id = c->id,
                            .start = c->start,
                            .since = now,
                            .until = w.until,
                            .attempts = w.attempts,
                            .sleeps = w.sleeps,
                            .waited = true};
}

/* The argument text of a call of the last reply. */
static struct ch_sv arguments_of(const chela_run *run, struct ch_sv id) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t n = t->n;
    while (n && t->msgs[n - 1]->kind != CH_MSG_ASSISTANT)
        n--;
    for (uint32_t i = 0; n && i < t->msgs[n - 1]->nblocks; i++) {
        const struct ch_block *b = &t->msgs[n - 1]->blocks[i];
        if (b->type == CH_BLOCK_TOOL_CALL && ch_sv_eq(b->id, id))
            return b->text;
    }
    return CH_SV("");
}

/* Empty: the call did not fail. */
static struct ch_sv error_type(const struct chela_event *ev) {
    if (!ev->result.is_error)
        return CH_SV("");
    return ch_sv_str(ev->result.error_type ? ev->result.error_type : "tool_error");
}

/* NULL: the tool has no memo, because its name is long. */
static struct call_memo *memo_of_calls(struct follow_run *r, struct ch_sv tool) {
    struct call_memo *m = &r->acts[ch_mix_text(0, tool) % CALL_MEMOS];
    if (tool.n >= sizeof(m->tool))
        return NULL;
    if (!ch_sv_is(tool, m->tool)) {
        ch_buf_clear(&m->span);
        m->duration = NULL;
        memcpy(m->tool, tool.p, tool.n);
        m->tool[tool.n] = '\0';
    }
    return m;
}

/* Adds the attributes of all calls of the tool. tool: NULL: there is no such tool,
 * because a model may invent names. */
static void add_tool(struct ch_otel_span *s, const struct follow_run *r, const chela_run *run,
                     struct ch_sv name, const struct ch_tool *tool) {
    s->name = CH_SV(CH_OTEL_EXECUTE_TOOL);
    s->target = name;
    ch_otel_add_text(s, CH_OTEL_OPERATION, CH_SV(CH_OTEL_EXECUTE_TOOL));
    ch_otel_add_text(s, CH_OTEL_TOOL_TYPE, CH_SV("function"));
    add_place(s, r, run);
    ch_otel_add_text(s, CH_OTEL_TOOL_NAME, name);
    if (tool)
        ch_otel_add_text(s, CH_OTEL_TOOL_DESCRIPTION, ch_tool_summary(tool));
}

static struct ch_buf *call_template(const struct ch_otel_follow *f, const struct follow_run *r,
                                    const chela_run *run, const struct ch_tool *tool,
                                    struct call_memo *m) {
    struct ch_otel_span s = begin_span(r, (struct ch_span_id){{0}}, 0, 0);
    if (m->span.n)
        return &m->span;
    add_tool(&s, r, run, ch_sv_str(m->tool), tool);
    ch_otel_template_set(&m->span, f->settings->signals[CH_OTEL_TRACES].json, &s);
    return &m->span;
}

static void measure_call(struct ch_otel_follow *f, struct call_memo *m,
                         const struct ch_otel_span *s, struct ch_sv tool, struct ch_sv error) {
    struct ch_otel_attribute list[] = {
        {.key = CH_OTEL_OPERATION, .type = CH_OTEL_TEXT, .text = CH_SV(CH_OTEL_EXECUTE_TOOL)},
        {.key = CH_OTEL_TOOL_NAME, .type = CH_OTEL_TEXT, .text = tool},
        {.key = CH_OTEL_ERROR_TYPE, .type = CH_OTEL_TEXT, .text = error}};
    measure(f, CH_OTEL_METRIC_TOOL_DURATION, seconds(s->end - s->start), list,
            error.n ? 3 : 2, m && !error.n ? &m->duration : NULL);
}

static void end_call(struct ch_otel_follow *f, struct follow_run *r, chela_run *run,
                     const struct chela_event *ev) {
    struct ch_sv id = ch_unstr(ev->result.id), name = ch_unstr(ev->result.name);
    const struct ch_tool *tool = ch_registry_find(&run->session->agent->registry, name);
    struct open_call *c = open_call(r, id);
    int64_t start = ev->ts - ev->result.duration_ms;
    CH_BUF_AUTO arguments = {0};
    CH_BUF_AUTO content = {0};
    if (c) {
        struct call_ref at = {f, r, run, id};
        if (!c->start && !c->asked)
            recall_call(run, id, c);
        leave_wait(&at, c, ev->ts);
        if (c->waited && ev->result.attempts > 1)
            emit_attempt(&at, ev->result.attempts - 1, name, c->since, ev->ts, error_type(ev));
        start = c->start ? c->start : start;
        *c = r->calls[--r->ncalls];
    }
    struct ch_otel_span s = begin_span(r, ch_span_id_of_call(r->id, r->turn, id), start, ev->ts);
    s.failed = ev->result.is_error;
    /* names that a model invents are measured as one */
    struct call_memo *m = tool ? memo_of_calls(r, name) : NULL;
    measure_call(f, m, &s, tool ? name : CH_SV("_OTHER"), error_type(ev));
    if (!wants_span(f, r))
        return;
    if (m)
        s.template = call_template(f, r, run, tool, m);
    else
        add_tool(&s, r, run, name, tool);
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, error_type(ev));
    ch_otel_add_text(&s, CH_OTEL_TOOL_CALL_ID, id);
    ch_otel_add_int(&s, CH_OTEL_TURN, r->turn);
    if (f->settings->content) {
        ch_otel_write_text(&arguments, arguments_of(run, id));
        ch_otel_write_text(&content, ch_unstr(ev->result.content));
        ch_otel_add_text(&s, CH_OTEL_TOOL_ARGUMENTS, ch_buf_sv(&arguments));
        ch_otel_add_text(&s, CH_OTEL_TOOL_RESULT, ch_buf_sv(&content));
    }
    emit_span(f, &s);
}

/* --- the end of a run */

static void end_run(struct ch_otel_follow *f, struct follow_run *r, chela_run *run,
                    const struct chela_event *ev) {
    const chela_agent *a = run->session->agent;
    const struct ch_target *t = run->target ? run->target : a->targets[0];
    const char *reason = chela_reason_name(ev->end.reason);
    struct ch_otel_span s = begin_span(r, r->span, r->start, ev->ts);
    CH_BUF_AUTO shown = {0};
    s.name = CH_SV(CH_OTEL_INVOKE_AGENT);
    s.target = ch_sv_str(a->id);
    s.failed = ev->end.status == CHELA_STATUS_ERROR || ev->end.status == CHELA_STATUS_STOPPED;
    ch_otel_add_text(&s, CH_OTEL_OPERATION, s.name);
    ch_otel_add_text(&s, CH_OTEL_PROVIDER, ch_otel_provider(ch_sv_str(t->provider)));
    ch_otel_add_text(&s, CH_OTEL_AGENT_NAME, ch_sv_str(a->id));
    ch_otel_add_text(&s, CH_OTEL_REQUEST_MODEL, ch_sv_str(t->model));
    if (s.failed)
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, ch_sv_str(reason));
    measure(f, CH_OTEL_METRIC_AGENT_DURATION, seconds(s.end - s.start), s.attributes, s.n, NULL);
    ch_otel_add_text(&s, CH_OTEL_AGENT_ID, ch_sv_str(a->id));
    ch_otel_add_text(&s, CH_OTEL_AGENT_DESCRIPTION,
                     ch_sv_str(a->description ? a->description : ""));
    ch_otel_add_text(&s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_otel_add_text(&s, CH_OTEL_RUN, ch_sv_str(r->id));
    ch_otel_add_text(&s, CH_OTEL_STATUS, ch_sv_str(chela_status_name(ev->end.status)));
    ch_otel_add_text(&s, CH_OTEL_REASON, ch_sv_str(reason));
    if (run->session->channel->name)
        ch_otel_add_text(&s, CH_OTEL_CHANNEL, ch_sv_str(run->session->channel->name));
    add_usage(&s, &ev->end.usage);
    if (s.failed) {
        ch_redact_copy(&shown, ch_unstr(ev->end.error));
        s.error = ch_buf_sv(&shown);
    }
    emit_span(f, &s);
}

/* --- log events */

/* Events of a role's run are emitted by the run that asks, too. */
static void log_event(struct ch_otel_follow *f, const struct follow_run *r, const chela_run *run,
                      const struct chela_event *ev) {
    if (r->is_role || !f->sink.log || !r->context.sampled)
        return;
    struct ch_otel_span s =
        begin_span(r, r->request.open ? r->request.id : r->span, ev->ts, ev->ts);
    enum ch_otel_severity severity;
    char name[CH_OTEL_EVENT_NAME];
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO content = {0};
    if (!ch_otel_log_event(&s, run, ev, f->settings->content ? &content : NULL, &severity, name))
        return;
    ch_otel_add_text(&s, CH_OTEL_RUN, ch_sv_str(r->id));
    ch_otel_add_text(&s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_redact_copy(&text, s.error);
    s.error = ch_buf_sv(&text);
    f->sink.log(&s, severity, f->sink.user);
}

/* --- events */

/* Most events are pieces of a reply, of which only the first one counts. */
static inline bool is_later_piece(const struct ch_otel_follow *f, const chela_run *run,
                                  enum chela_event_type type) {
    const struct follow_run *r = f->last;
    return (type == CHELA_EV_TEXT_DELTA || type == CHELA_EV_REASONING_DELTA ||
            type == CHELA_EV_TOOL_CALL_DELTA) &&
           r && r->request.first && memcmp(r->id, run->id, sizeof(r->id)) == 0;
}

void ch_otel_follow_event(struct ch_otel_follow *f, chela_run *run, const struct chela_event *ev) {
    if (is_later_piece(f, run, ev->type))
        return;
    struct follow_run *r = follow(f, run, ev->ts);
    struct open_call *asked;
    struct chela_usage usage;
    r->turn = run->m.turns;
    switch (ev->type) {
    case CHELA_EV_MODEL_REQUEST:
        begin_request(f, r, run, ev);
        return;
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
    case CHELA_EV_TOOL_CALL_DELTA:
        if (r->request.open && !r->request.first)
            r->request.first = ev->ts;
        return;
    case CHELA_EV_TOOL_CALL: /* the reply is complete; TURN_END follows the results */
        usage = ch_public_usage(&run->m.turn.usage, run->m.turn.cost);
        end_request(f, r, run, ev->ts, chela_stop_name(CHELA_STOP_TOOL_USE), &usage, CH_SV(""));
        return;
    case CHELA_EV_TURN_END:
        end_request(f, r, run, ev->ts, chela_stop_name(ev->turn.stop_reason), &ev->turn.usage,
                    ch_sv_str(run->error));
        return;
    case CHELA_EV_RETRY:
        log_event(f, r, run, ev);
        fail_request(f, r, run, ev->ts, ch_unstr(ev->retry.reason));
        return;
    case CHELA_EV_FALLBACK:
        log_event(f, r, run, ev);
        fail_request(f, r, run, ev->ts, ch_unstr(ev->fallback.reason));
        return;
    case CHELA_EV_TOOL_START:
        begin_call(f, r, run, ch_unstr(ev->call.id), ev->ts);
        return;
    case CHELA_EV_APPROVAL_REQUIRED:
        if ((asked = open_call(r, ch_unstr(ev->approval.id))))
            asked->asked = ev->ts;
        log_event(f, r, run, ev);
        return;
    case CHELA_EV_TOOL_RESULT:
        end_call(f, r, run, ev);
        return;
    case CHELA_EV_RUN_END:
        fail_request(f, r, run, ev->ts, ch_sv_str(run->error));
        log_event(f, r, run, ev);
        if (!r->is_role && ev->end.status == CHELA_STATUS_PAUSED) {
            release_memos(r);
            return; /* its calls wait */
        }
        if (!r->is_role)
            end_run(f, r, run, ev);
        forget_run(f, r);
        return;
    default:
        log_event(f, r, run, ev);
    }
}

bool ch_otel_follow_context(struct ch_otel_follow *f, const char *run, struct ch_sv call,
                            const struct ch_listener_query *q, char out[CH_TRACEPARENT]) {
    const struct follow_run *r = find_run(f, run);
    if (!r)
        return false;
    ch_trace_context_write(&r->context,
                           call.n            ? ch_span_id_of_call(r->id, r->turn, call)
                           : q               ? id_of_query(r, q)
                           : r->request.open ? r->request.id
                                             : r->span,
                           out);
    return true;
}
