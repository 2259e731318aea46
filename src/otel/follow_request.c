/* follow_request.c -- see follow_request.h. */
#include "otel/follow_request.h"

#include <stdio.h>

#include "agent/handle/run_origin.h"
#include "base/redact.h"
#include "model/codec/errors.h"
#include "model/provider/target.h"
#include "net/url.h"
#include "otel/content.h"
#include "otel/follow_run.h"

static void add_server(struct ch_otel_span *s, const char *base_url) {
    struct ch_url url;
    if (!base_url || ch_url_parse(ch_sv_str(base_url), &url, NULL) < 0)
        return;
    ch_otel_add_text(s, CH_OTEL_SERVER_ADDRESS, url.host);
    ch_otel_add_int(s, CH_OTEL_SERVER_PORT, url.port);
}

void ch_otel_add_model(struct ch_otel_span *s, struct ch_sv operation, const struct ch_endpoint *ep,
                       struct ch_sv model) {
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

static struct ch_follow_request_memo *memo_of_requests(const struct ch_otel_output *o,
                                                       struct ch_follow_run *r,
                                                       const chela_run *run,
                                                       const struct ch_target *t) {
    const chela_agent *agent = run->session->agent;
    struct ch_follow_request_memo *m = &r->request_memo;
    if (m->target == t && m->agent == agent)
        return m;
    struct ch_otel_span s = ch_follow_run_span(r, r->request.id, 0, 0);
    struct ch_sv stops[CH_OTEL_ATTRIBUTES];
    add_chat(&s, t);
    *m = (struct ch_follow_request_memo){.agent = agent, .target = t, .n = s.n, .span = m->span};
    memcpy(m->attributes, s.attributes, s.n * sizeof(*s.attributes));
    ch_follow_run_place(&s, r, run);
    add_parameters(&s, agent, stops);
    if (ch_follow_run_wants_span(o, r))
        ch_otel_template_set(&m->span, o->settings->signals[CH_OTEL_TRACES].json, &s);
    return m;
}

static void measure_request(const struct ch_otel_output *o, struct ch_follow_request_memo *m,
                            const struct ch_otel_span *s, struct ch_sv error_type, int64_t first,
                            const struct chela_usage *u) {
    static const struct ch_otel_attribute kinds[] = {
        {.key = CH_OTEL_TOKEN_TYPE, .type = CH_OTEL_TEXT, .text = {"input", 5}},
        {.key = CH_OTEL_TOKEN_TYPE, .type = CH_OTEL_TEXT, .text = {"output", 6}}};
    struct ch_otel_attribute list[CH_FOLLOW_SERIES + 2];
    size_t n = m->n;
    if (!o->sink.measure)
        return;
    memcpy(list, m->attributes, n * sizeof(*list));
    if (s->failed)
        list[n++] = (struct ch_otel_attribute){
            .key = CH_OTEL_ERROR_TYPE, .type = CH_OTEL_TEXT, .text = error_type};
    ch_otel_output_measure(o, CH_OTEL_METRIC_OPERATION_DURATION, ch_otel_seconds(s->end - s->start),
                           list, n, s->failed ? NULL : &m->duration);
    if (first)
        ch_otel_output_measure(o, CH_OTEL_METRIC_FIRST_CHUNK, ch_otel_seconds(first - s->start),
                               list, n, s->failed ? NULL : &m->first_chunk);
    if (!u || (!u->input && !u->output))
        return;
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        list[n] = kinds[i];
        ch_otel_output_measure(o, CH_OTEL_METRIC_TOKEN_USAGE, (double)(i ? u->output : u->input),
                               list, n + 1, s->failed ? NULL : &m->tokens[i]);
    }
}

void ch_follow_request_end(const struct ch_otel_output *o, struct ch_follow_run *r, chela_run *run,
                           int64_t now, const char *stop, const struct chela_usage *u,
                           struct ch_sv error) {
    struct ch_follow_request *q = &r->request;
    if (!q->open)
        return;
    q->open = false;
    struct ch_follow_request_memo *m = memo_of_requests(o, r, run, q->target);
    struct ch_otel_span s = ch_follow_run_span(r, q->id, q->start, now);
    struct contents contents = {0};
    struct ch_sv finish, failure = CH_SV("");
    const struct ch_msg *reply = last_reply(run);
    CH_BUF_AUTO shown = {0};
    char type[16];
    s.failed = !stop || strcmp(stop, "error") == 0;
    if (s.failed)
        failure = failure_type(&run->failure, type);
    measure_request(o, m, &s, failure, q->first, u);
    if (!ch_follow_run_wants_span(o, r))
        return;
    s.template = &m->span;
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, failure);
    ch_otel_add_int(&s, CH_OTEL_TURN, q->turn);
    if (q->attempt)
        ch_otel_add_int(&s, CH_OTEL_ATTEMPT, q->attempt);
    if (q->first)
        ch_otel_add_double(&s, CH_OTEL_RESPONSE_FIRST_CHUNK, ch_otel_seconds(q->first - q->start));
    if (stop && !s.failed) {
        finish = ch_sv_str(ch_otel_finish(stop));
        ch_otel_add_texts(&s, CH_OTEL_RESPONSE_FINISH, &finish, 1);
        if (reply)
            ch_otel_add_text(&s, CH_OTEL_RESPONSE_MODEL, ch_msg_author(reply).model);
    }
    if (u)
        ch_otel_add_usage(&s, u);
    if (s.failed) {
        ch_redact_copy(&shown, error);
        s.error = ch_buf_sv(&shown);
    }
    if (o->settings->content)
        add_contents(&s, run, stop ? ch_otel_finish(stop) : NULL, &contents);
    ch_otel_output_span(o, &s);
    release_contents(&contents);
}

void ch_follow_request_begin(const struct ch_otel_output *o, struct ch_follow_run *r,
                             chela_run *run, const struct chela_event *ev) {
    struct ch_sv model = ch_sv_str(ev->request.model);
    const chela_run *owner = r->is_role && run->session->asks_for ? run->session->asks_for : run;
    const char *role = r->is_role ? ch_run_origin_prompt(run) : NULL;
    unsigned turn = owner == run ? ev->request.turn : owner->m.turns;
    if (ev->request.role || !run->target) /* the role's own run is followed, too */
        return;
    struct ch_sv named = ch_sv(role, role ? strcspn(role, "@") : 0);
    ch_follow_request_fail(o, r, run, ev->ts, CH_SV("no reply"));
    r->request =
        (struct ch_follow_request){.open = true,
                                   .id = ch_span_id_of_request(owner->id, turn, run->m.attempt,
                                                               ev->request.messages, model, named),
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

struct ch_span_id ch_follow_request_query_id(const struct ch_follow_run *r,
                                             const struct ch_listener_query *q) {
    return ch_span_id_of_request(r->id, q->turn, 0, q->messages, ch_sv_str(q->target->spec),
                                 ch_sv_str(q->role));
}

void ch_follow_request_query(const struct ch_otel_output *o, const struct ch_follow_run *r,
                             const chela_run *run, const struct ch_listener_query *q) {
    struct ch_otel_span s =
        ch_follow_run_span(r, ch_follow_request_query_id(r, q), q->start, q->end);
    struct chela_usage usage = ch_public_usage(&q->reply->usage, -1);
    char type[16];
    s.failed = q->error.n > 0;
    add_chat(&s, q->target);
    if (s.failed)
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, query_failure(q, type));
    ch_otel_output_measure(o, CH_OTEL_METRIC_OPERATION_DURATION, ch_otel_seconds(s.end - s.start),
                           s.attributes, s.n, NULL);
    ch_follow_run_place(&s, r, run);
    ch_otel_add_int(&s, CH_OTEL_TURN, q->turn);
    ch_otel_add_text(&s, CH_OTEL_ROLE, ch_sv_str(q->role));
    ch_otel_add_usage(&s, &usage);
    s.error = q->error; /* redacted */
    ch_otel_output_span(o, &s);
}
