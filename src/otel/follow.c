/* follow.c -- see follow.h. */
#include "otel/follow.h"

#include <stdio.h>

#include "agent/handle/run_origin.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "base/limits.h"
#include "base/mix.h"
#include "base/random_id.h"
#include "base/redact.h"
#include "model/provider/target.h"
#include "otel/follow_run.h"
#include "otel/log_event.h"
#include "tool/call/call.h"
#include "tool/call/wait.h"

#define BUCKETS 256

struct ch_otel_follow {
    struct ch_otel_output output;
    struct ch_list buckets[BUCKETS];
    struct ch_list ages;
    size_t n;
    struct ch_follow_run *last;  /* the run that was found last; NULL: none */
    struct ch_follow_run *spare; /* owned: memory for the next run; NULL: none */
};

/* --- runs */

struct ch_otel_follow *ch_otel_follow_new(const struct ch_otel_settings *settings,
                                          const struct ch_otel_sink *sink) {
    struct ch_otel_follow *f = ch_alloc(sizeof(*f));
    f->output = (struct ch_otel_output){settings, *sink};
    ch_list_init(&f->ages);
    for (size_t i = 0; i < BUCKETS; i++)
        ch_list_init(&f->buckets[i]);
    return f;
}

/* Releases the memory for templates. The next spans are encoded anew. */
static void release_memos(struct ch_follow_run *r) {
    ch_buf_release(&r->request_memo.span);
    r->request_memo = (struct ch_follow_request_memo){0};
    for (size_t i = 0; i < CH_FOLLOW_CALL_MEMOS; i++) {
        ch_buf_release(&r->calls.memos[i].span);
        r->calls.memos[i] = (struct ch_follow_call_memo){0};
    }
}

static void free_run(struct ch_follow_run *r) {
    release_memos(r);
    ch_free(r->calls.open);
    ch_free(r);
}

/* Clears a run, and keeps its memory. */
static void clear_run(struct ch_follow_run *r) {
    struct ch_follow_run clear = {.calls = {.open = r->calls.open, .cap = r->calls.cap},
                                  .request_memo.span = r->request_memo.span};
    ch_buf_clear(&clear.request_memo.span);
    for (size_t i = 0; i < CH_FOLLOW_CALL_MEMOS; i++) {
        clear.calls.memos[i].span = r->calls.memos[i].span;
        ch_buf_clear(&clear.calls.memos[i].span);
    }
    *r = clear;
}

static void forget_run(struct ch_otel_follow *f, struct ch_follow_run *r) {
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
    for (struct ch_follow_run *r; (r = CH_LIST_FIRST(&f->ages, struct ch_follow_run, age));)
        forget_run(f, r);
    if (f->spare)
        free_run(f->spare);
    ch_free(f);
}

static struct ch_list *bucket_of(struct ch_otel_follow *f, const char *run) {
    return &f->buckets[ch_mix_text(0, ch_sv_str(run)) % BUCKETS];
}

static struct ch_follow_run *find_run(struct ch_otel_follow *f, const char *id) {
    if (f->last && strcmp(f->last->id, id) == 0)
        return f->last;
    struct ch_list *bucket = bucket_of(f, id);
    for (CH_LIST_EACH(k, bucket)) {
        struct ch_follow_run *r = CH_CONTAINER(k, struct ch_follow_run, link);
        if (strcmp(r->id, id) == 0)
            return f->last = r;
    }
    return NULL;
}

static struct ch_follow_run *follow(struct ch_otel_follow *f, chela_run *run, int64_t now);

/* The trace of the run, and its parent span. */
static struct ch_trace_context context_of(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct ch_trace_context c = ch_trace_context_of_run(run->id);
    const char *given = ch_run_origin_principal(run)->traceparent;
    chela_run *above = ch_parent_of(run);
    if (above || run->session->asks_for) {
        struct ch_follow_run *r = follow(f, above ? above : run->session->asks_for, now);
        c = r->context;
        c.has_parent = true;
        c.parent = above ? ch_span_id_of_call(r->id, r->turn,
                                              ch_sv_str(run->session->child->call->id))
                         : r->span;
    } else if (given && ch_trace_context_read(ch_sv_str(given), &c)) {
        if (!f->output.settings->heeds_parent)
            c.sampled = ch_trace_context_in_share(&c, f->output.settings->share);
    } else {
        c.sampled = ch_trace_context_in_share(&c, f->output.settings->share);
    }
    return c;
}

/* Apart from follow, which is called for every event. */
__attribute__((noinline)) static struct ch_follow_run *
begin_run(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct ch_trace_context context = context_of(f, run, now);
    int64_t began = ch_run_began(run);
    if (f->n == CH_LIMIT_OTEL_RUNS)
        forget_run(f, CH_LIST_FIRST(&f->ages, struct ch_follow_run, age));
    struct ch_follow_run *r = f->spare ? f->spare : ch_alloc(sizeof(*r));
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
static struct ch_follow_run *follow(struct ch_otel_follow *f, chela_run *run, int64_t now) {
    struct ch_follow_run *r = f->last; /* the usual case: the same run as before */
    if (r && memcmp(r->id, run->id, sizeof(r->id)) == 0)
        return r;
    r = find_run(f, run->id);
    return r ? r : begin_run(f, run, now);
}

/* --- requests of clients */

bool ch_otel_follow_enter(struct ch_sv caller, char out[CH_TRACEPARENT]) {
    struct ch_trace_context c = {0};
    char random[24];
    if (!ch_trace_context_read(caller, &c))
        return false;
    ch_random_id("", random);
    ch_trace_context_write(&c, ch_span_id_below(c.parent, ch_sv_str(random), 0), out);
    return true;
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
    if (!f->output.settings->heeds_parent)
        s.context.sampled = ch_trace_context_in_share(&s.context, f->output.settings->share);
    s.id = inside.parent;
    ch_otel_add_text(&s, CH_OTEL_HTTP_METHOD, s.name);
    ch_otel_add_text(&s, CH_OTEL_HTTP_ROUTE, s.target);
    ch_otel_add_int(&s, CH_OTEL_HTTP_STATUS, q->status);
    snprintf(type, sizeof(type), "%d", q->status);
    if (s.failed)
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, ch_sv_str(type));
    ch_otel_output_span(&f->output, &s);
}

/* --- the end of a run */

static void end_run(struct ch_otel_follow *f, struct ch_follow_run *r, chela_run *run,
                    const struct chela_event *ev) {
    const chela_agent *a = run->session->agent;
    const struct ch_target *t = run->target ? run->target : a->targets[0];
    const char *reason = chela_reason_name(ev->end.reason);
    struct ch_otel_span s = ch_follow_run_span(r, r->span, r->start, ev->ts);
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
    ch_otel_output_measure(&f->output, CH_OTEL_METRIC_AGENT_DURATION,
                           ch_otel_seconds(s.end - s.start), s.attributes, s.n, NULL);
    ch_otel_add_text(&s, CH_OTEL_AGENT_ID, ch_sv_str(a->id));
    ch_otel_add_text(&s, CH_OTEL_AGENT_DESCRIPTION,
                     ch_sv_str(a->description ? a->description : ""));
    ch_otel_add_text(&s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_otel_add_text(&s, CH_OTEL_RUN, ch_sv_str(r->id));
    ch_otel_add_text(&s, CH_OTEL_STATUS, ch_sv_str(chela_status_name(ev->end.status)));
    ch_otel_add_text(&s, CH_OTEL_REASON, ch_sv_str(reason));
    if (run->session->channel->name)
        ch_otel_add_text(&s, CH_OTEL_CHANNEL, ch_sv_str(run->session->channel->name));
    ch_otel_add_usage(&s, &ev->end.usage);
    if (s.failed) {
        ch_redact_copy(&shown, ch_unstr(ev->end.error));
        s.error = ch_buf_sv(&shown);
    }
    ch_otel_output_span(&f->output, &s);
}

/* --- log events */

/* Events of a role's run are emitted by the run that asks, too. */
static void log_event(struct ch_otel_follow *f, const struct ch_follow_run *r, const chela_run *run,
                      const struct chela_event *ev) {
    if (r->is_role || !f->output.sink.log || !r->context.sampled)
        return;
    struct ch_otel_span s =
        ch_follow_run_span(r, r->request.open ? r->request.id : r->span, ev->ts, ev->ts);
    enum ch_otel_severity severity;
    char name[CH_OTEL_EVENT_NAME];
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO content = {0};
    if (!ch_otel_log_event(&s, run, ev, f->output.settings->content ? &content : NULL, &severity,
                           name))
        return;
    ch_otel_add_text(&s, CH_OTEL_RUN, ch_sv_str(r->id));
    ch_otel_add_text(&s, CH_OTEL_CONVERSATION, ch_sv_str(run->session->key));
    ch_redact_copy(&text, s.error);
    s.error = ch_buf_sv(&text);
    f->output.sink.log(&s, severity, f->output.sink.user);
}

/* --- events */

/* Most events are pieces of a reply, of which only the first one counts. */
static inline bool is_later_piece(const struct ch_otel_follow *f, const chela_run *run,
                                  enum chela_event_type type) {
    const struct ch_follow_run *r = f->last;
    return (type == CHELA_EV_TEXT_DELTA || type == CHELA_EV_REASONING_DELTA ||
            type == CHELA_EV_TOOL_CALL_DELTA) &&
           r && r->request.first && memcmp(r->id, run->id, sizeof(r->id)) == 0;
}

void ch_otel_follow_event(struct ch_otel_follow *f, chela_run *run, const struct chela_event *ev) {
    if (is_later_piece(f, run, ev->type))
        return;
    const struct ch_otel_output *o = &f->output;
    struct ch_follow_run *r = follow(f, run, ev->ts);
    struct chela_usage usage;
    r->turn = run->m.turns;
    switch (ev->type) {
    case CHELA_EV_MODEL_REQUEST:
        ch_follow_request_begin(o, r, run, ev);
        return;
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
    case CHELA_EV_TOOL_CALL_DELTA:
        if (r->request.open && !r->request.first)
            r->request.first = ev->ts;
        return;
    case CHELA_EV_TOOL_CALL: /* the reply is complete; TURN_END follows the results */
        usage = ch_public_usage(&run->m.turn.usage, run->m.turn.cost);
        ch_follow_request_end(o, r, run, ev->ts, chela_stop_name(CHELA_STOP_TOOL_USE), &usage,
                              CH_SV(""));
        return;
    case CHELA_EV_TURN_END:
        ch_follow_request_end(o, r, run, ev->ts, chela_stop_name(ev->turn.stop_reason),
                              &ev->turn.usage, ch_sv_str(run->error));
        return;
    case CHELA_EV_RETRY:
        log_event(f, r, run, ev);
        ch_follow_request_fail(o, r, run, ev->ts, ch_unstr(ev->retry.reason));
        return;
    case CHELA_EV_FALLBACK:
        log_event(f, r, run, ev);
        ch_follow_request_fail(o, r, run, ev->ts, ch_unstr(ev->fallback.reason));
        return;
    case CHELA_EV_TOOL_START:
        ch_follow_call_begin(o, r, run, ch_unstr(ev->call.id), ev->ts);
        return;
    case CHELA_EV_APPROVAL_REQUIRED:
        ch_follow_call_asked(r, ch_unstr(ev->approval.id), ev->ts);
        log_event(f, r, run, ev);
        return;
    case CHELA_EV_TOOL_RESULT:
        ch_follow_call_end(o, r, run, ev);
        return;
    case CHELA_EV_RUN_END:
        ch_follow_request_fail(o, r, run, ev->ts, ch_sv_str(run->error));
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

void ch_otel_follow_checkpoint(struct ch_otel_follow *f, chela_run *run,
                               const struct ch_block *call, const char *state, int64_t now) {
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w;
    if (!ch_wait_read(ch_sv_str(state), &arena, &w) || !w.until)
        return;
    struct ch_follow_run *r = follow(f, run, now);
    r->turn = run->m.turns;
    ch_follow_call_wait(&f->output, r, run, call, &w, now);
}

void ch_otel_follow_query(struct ch_otel_follow *f, chela_run *run,
                          const struct ch_listener_query *q) {
    ch_follow_request_query(&f->output, follow(f, run, q->start), run, q);
}

bool ch_otel_follow_context(struct ch_otel_follow *f, const char *run, struct ch_sv call,
                            const struct ch_listener_query *q, char out[CH_TRACEPARENT]) {
    const struct ch_follow_run *r = find_run(f, run);
    if (!r)
        return false;
    ch_trace_context_write(&r->context,
                           call.n            ? ch_span_id_of_call(r->id, r->turn, call)
                           : q               ? ch_follow_request_query_id(r, q)
                           : r->request.open ? r->request.id
                                             : r->span,
                           out);
    return true;
}
