/* completion.c -- see completion.h.
 *
 *   request --read--> history, tools, options --> lane --ready--> run --events--> response
 *
 * The protocols format the response (struct ch_completion_ops). If the client leaves, the
 * response ends, and with a temporary lane its run. An error before the first text of a
 * stream is sent with its HTTP status. */
#include "gateway/http/completion.h"

#include <stdio.h>

#include "agent/handle/run.h"
#include "agent/machine/ending.h"
#include "agent/machine/event.h"
#include "agent/run/think.h"
#include "base/chars.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random_id.h"
#include "gateway/http/admission.h"
#include "gateway/http/kept_replay.h"
#include "gateway/http/openai.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "model/catalog/model_facts.h"
#include "model/provider/target.h"

static void free_completion(struct ch_completion *r) {
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->wait.link);
    ch_list_del(&r->budget.link);
    if (r->delivery)
        ch_delivery_leave(r->delivery);
    if (r->lane && !r->lane->stored)
        ch_lane_close(r->lane);
    r->ops->release(r);
    ch_client_history_release(&r->history);
    ch_free(r->agent);
    ch_free(r);
}

static void completion_on_disconnect(struct ch_request *req) {
    free_completion(req->user);
}

const chela_run *ch_completion_run(const struct ch_completion *r) {
    return r->lane ? r->lane->run : NULL;
}

struct ch_completion_failure ch_completion_failure_of(const struct ch_completion *r,
                                                      const struct chela_event *end) {
    const chela_run *run = ch_completion_run(r);
    const struct ch_model_failure *f = run ? &run->failure : NULL;
    const char *reason = chela_reason_name(end->end.reason);
    if (end->end.reason == CHELA_REASON_CONTEXT_OVERFLOW)
        return (struct ch_completion_failure){400, "context_length_exceeded", 0};
    bool model = end->end.reason == CHELA_REASON_MODEL_ERROR ||
                 end->end.reason == CHELA_REASON_REFUSED;
    if (!model || !f)
        return (struct ch_completion_failure){502, reason, 0};
    if (f->cls == CH_ERR_RATE_LIMIT)
        return (struct ch_completion_failure){429, "rate_limit_exceeded", f->retry_after_ms};
    if (f->cls == CH_ERR_OVERLOADED)
        return (struct ch_completion_failure){r->ops->overloaded, "overloaded", f->retry_after_ms};
    bool rejected = f->cls == CH_ERR_FORMAT || f->cls == CH_ERR_REFUSED;
    if (rejected && f->status >= 400 && f->status < 500)
        return (struct ch_completion_failure){f->status, "invalid_request", 0};
    return (struct ch_completion_failure){502, reason, 0};
}

const char *ch_completion_message(const struct ch_completion *r, const struct chela_event *end) {
    struct ch_sv ending = ch_unstr(end->end.ending);
    bool rejected = strcmp(ch_completion_failure_of(r, end).code, "invalid_request") == 0 &&
                    end->end.reason == CHELA_REASON_MODEL_ERROR;
    return rejected ? ch_ending_rejected(ch_ending_language(ending))
           : ending.n ? ending.p
                      : chela_reason_name(end->end.reason);
}

static void completion_fail(struct ch_completion *r, const struct chela_event *ev) {
    struct ch_completion_failure f = ch_completion_failure_of(r, ev);
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%ld", (f.retry_after_ms + 999) / 1000);
    if (f.retry_after_ms)
        ch_request_add_header(r->request, "Retry-After", seconds);
    /* The vendors' clients repeat a request that failed, unless told otherwise. */
    if (r->acted || ev->end.reason == CHELA_REASON_CANCELLED)
        ch_request_add_header(r->request, "X-Should-Retry", "false");
    ch_request_fail(r->request, f.status, f.code, "%s", ch_completion_message(r, ev));
}

/* --- reasoning */

bool ch_completion_plain(const struct ch_completion *r, const struct ch_block *b) {
    const struct ch_msg_author *vendor = &r->history.vendor;
    const chela_run *run = ch_completion_run(r);
    struct ch_msg_author by = run ? ch_think_author(run) : (struct ch_msg_author){0};
    return b->extra.n && r->turn <= 1 && vendor->api && by.api &&
           strcmp(vendor->api, by.api) == 0 && ch_sv_eq(vendor->asked, by.asked);
}

void ch_completion_seal(const struct ch_completion *r, const struct ch_block *b,
                        struct ch_buf *out) {
    const chela_run *run = ch_completion_run(r);
    struct ch_sealed_reasoning sealed = {*b, {0}, r->turn};
    if (run)
        sealed.by = ch_think_author(run);
    if (sealed.by.api)
        ch_reasoning_seal(&sealed, out);
}

/* Reports the blocks of reasoning that are complete. Reasoning in progress is the last block:
 * it stays open until something else follows. */
static void completion_report_reasoning(struct ch_completion *r, bool in_progress) {
    struct ch_block b, next;
    const chela_run *run = ch_completion_run(r);
    while (r->ops->reasoned && run && ch_think_reasoning(run, r->nreasoning, &b)) {
        if (in_progress && !ch_think_reasoning(run, r->nreasoning + 1, &next))
            return;
        r->nreasoning++;
        r->ops->reasoned(r, &b);
    }
}

/* Reports the reasoning of a reply, complete or in progress, when an event shows that there
 * is more. */
static void completion_follow_reply(struct ch_completion *r, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        r->nreasoning = 0;
    if (ev->type == CHELA_EV_TURN_START)
        r->turn++;
    if (ev->type == CHELA_EV_TURN_END)
        r->stop = ev->turn.stop_reason;
    r->acted |= ev->type == CHELA_EV_TOOL_START;
    if (ev->type == CHELA_EV_TEXT_DELTA || ev->type == CHELA_EV_TOOL_CALL ||
        ev->type == CHELA_EV_TURN_END)
        completion_report_reasoning(r, false);
    else if (ev->type == CHELA_EV_REASONING_DELTA)
        completion_report_reasoning(r, true);
}

bool ch_completion_failed(const struct chela_event *end) {
    bool blocked = end->end.reason == CHELA_REASON_REFUSED && end->end.error.n > 0;
    return blocked || end->end.status == CHELA_STATUS_ERROR ||
           end->end.status == CHELA_STATUS_CANCELLED;
}

/* An answer that does not fit its schema because the token limit cut it is reported with the limit,
 * for which the vendors' clients look. */
struct chela_event ch_completion_end_of(const struct chela_event *ev, enum chela_stop stop) {
    struct chela_event end = *ev;
    if (end.end.reason == CHELA_REASON_MODEL_ERROR && stop == CHELA_STOP_LENGTH) {
        end.end.status = CHELA_STATUS_DONE;
        end.end.reason = CHELA_REASON_LENGTH;
    }
    return end;
}

/* Responds at RUN_END. */
static void completion_end(struct ch_completion *r, const struct chela_event *ev) {
    struct chela_event end = ch_completion_end_of(ev, r->stop);
    r->outcome = ev;
    if (end.end.status == CHELA_STATUS_PAUSED && r->lane && !r->lane->stored && r->lane->run)
        ch_kept_calls_put(&r->kept, r->lane->run, r->began);
    /* The session has the message, and another process may continue the run: a repeated request
     * must not store a second one. */
    if (end.end.reason == CHELA_REASON_CANCELLED || end.end.reason == CHELA_REASON_STORE)
        r->request->unknown = true;
    if (ch_completion_failed(&end) && !r->request->streams)
        completion_fail(r, &end);
    else
        r->ops->end(r, &end);
}

static void completion_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        completion_follow_reply(r, ev);
        if (ev->type != CHELA_EV_TEXT_DELTA || !ch_completion_structured(r))
            r->ops->event(r, ev);
        return;
    }
    r->request->on_disconnect = NULL;
    completion_end(r, ev);
    free_completion(r);
}

static void completion_refuse(struct ch_completion *r, const struct chela_error *err) {
    struct ch_request *req = r->request;
    req->on_disconnect = NULL;
    free_completion(r);
    ch_request_fail_with(req, err);
}

static void completion_settled(const struct chela_error *err, void *user) {
    if (err)
        completion_refuse(user, err);
}

static void completion_accepted(struct ch_completion *r, bool started) {
    r->request->on_disconnect = NULL;
    r->ops->accepted(r, started);
    free_completion(r);
}

/* The event of a background response has a name before the store has it. */
static int completion_admit_background(struct ch_completion *r, uint64_t after,
                                       const struct ch_delivery_kind **kind, struct ch_jw *w,
                                       struct chela_error *err) {
    struct ch_request *req = r->request;
    if (!req->event)
        req->event = ch_arena_str(&req->arena, ch_sv_str(r->id));
    return r->ops->admit(r, ch_arena_printf(&req->arena, CH_API_EVENT "%s", req->event), after,
                         kind, w, err);
}

static void completion_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                            const struct chela_error *err, void *user) {
    struct ch_completion *r = user;
    struct chela_error why = err ? *err : (struct chela_error){0};
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    ch_delivery_leave(d);
    r->delivery = NULL;
    ch_admission_note(r->request, stage, err);
    if (r->background && !err) {
        completion_accepted(r, l != NULL);
        return;
    }
    if (stage == CH_DELIVERY_DUPLICATE)
        l = ch_client_input_find_run(d);
    if (l) {
        ch_lane_unwatch(&r->watcher); /* the session may have come here meanwhile */
        r->lane = l;
        ch_lane_watch(l, &r->watcher);
        r->request->quiet = r->stream;
        return;
    }
    if (stage == CH_DELIVERY_QUEUED && r->watcher.tail) {
        ch_tail_await(&r->watcher, d->id, d->kind->turn != CH_TURN_CONTROLS,
                      completion_settled, r);
        return;
    }
    if (!why.code && stage == CH_DELIVERY_DUPLICATE)
        ch_fail(&why, CHELA_EBUSY, "the request was accepted before: session '%s' has the answer",
                d->key);
    if (!why.code)
        ch_admission_waits(r->request, d, &why);
    completion_refuse(r, &why);
}

/* The history was imported without its last message. */
static const struct ch_delivery_kind *completion_write_input(struct ch_completion *r,
                                                             struct ch_jw *w) {
    ch_client_input_write(w, r->history.msgs[r->history.n - 1], CH_SV("run"));
    return &ch_client_turn;
}

/* A stored session has its own history: the messages after the last reply become an event of
 * the session. */
static void completion_admit(struct ch_completion *r) {
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    const struct ch_delivery_kind *kind =
        r->imports ? completion_write_input(r, &w)
                   : ch_client_input_of_history(r->session, &r->history, &w, &err);
    uint64_t after = r->lane ? ch_lane_committed(r->lane) : 0;
    r->lane = NULL; /* the lane that takes the event up may be another one */
    if (!kind ||
        (r->background && completion_admit_background(r, after, &kind, &w, &err) < 0) ||
        (!r->watcher.tail && ch_admission_stops(r->request, kind, r->session, &err))) {
        completion_refuse(r, &err);
        return;
    }
    ch_client_input_write_context(&data, r->request, r->watcher.tail != NULL);
    r->delivery = ch_client_input_accept(r->request->gw, kind, r->session, r->agent, &data,
                                         r->request->event, completion_told, r);
    r->delivery->lane_opts = &r->opts;
}

/* Another gateway has the session: the answer comes from its journal. */
static void completion_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                               void *user) {
    struct ch_completion *r = user;
    (void)w;
    (void)gap;
    if (err)
        completion_refuse(r, err);
    else
        completion_admit(r);
}

/* The trace context of the client; NULL: none. */
static const char *completion_context(struct ch_completion *r) {
    struct ch_request *req = r->request;
    return req->traceparent.n ? ch_arena_str(&req->arena, req->traceparent) : NULL;
}

/* A temporary session: the request has the history. */
static void completion_converse(struct ch_budget_wait *w) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, budget);
    struct chela_error err = {0};
    struct ch_spender who = {.agent = r->agent};
    int rc = ch_budgets_admit(r->request->gw, &who, &err);
    ch_kept_replay(&r->kept, &r->history);
    if (rc == 0)
        rc = ch_lane_converse(r->lane, &r->history, completion_context(r), &err);
    if (rc < 0) {
        completion_refuse(r, &err);
        return;
    }
    r->began = r->history.n + 1;
    ch_lane_watch(r->lane, &r->watcher);
    r->request->quiet = r->stream;
}

static void completion_await_budget(struct ch_completion *r) {
    r->budget.known = completion_converse;
    ch_budgets_when_known(r->request->gw, &r->budget);
}

static void completion_on_kept(struct ch_request *req, struct ch_store_lookup *l) {
    struct ch_completion *r = l->user;
    req->user = r;
    req->on_disconnect = completion_on_disconnect;
    completion_await_budget(r);
}

static void completion_gone(void *user) {
    free_completion(user);
}

static void completion_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                     const struct chela_error *failed) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, wait);
    if (!failed && l->stored) {
        completion_admit(r);
        return;
    }
    if (failed)
        r->lane = NULL;
    if (failed && failed->code == CHELA_EBUSY && r->session && r->background) {
        completion_admit(r); /* the session's holder takes the event up */
        return;
    }
    if (failed && failed->code == CHELA_EBUSY && r->session) {
        ch_tail_open(r->request->gw, r->session, CH_TAIL_AWAIT, CH_SV(""), &r->watcher,
                     completion_on_tail, r);
        return;
    }
    if (failed) {
        completion_refuse(r, failed);
        return;
    }
    if (!ch_kept_calls_fetch(r->request, &r->kept, &r->history, completion_on_kept,
                             completion_gone, r))
        completion_await_budget(r);
}

static struct ch_completion *new_completion(struct ch_request *req,
                                            const struct ch_completion_ops *ops) {
    struct ch_completion *r = ch_alloc(ops->size);
    int64_t now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    char id[24];
    ch_random_id("", id);
    snprintf(r->id, sizeof(r->id), "%s%s", ops->prefix, id);
    r->ops = ops;
    r->request = req;
    r->created = now / 1000;
    r->stream = ch_json_bool(ch_json_get(req->json, "stream"), false);
    r->watcher.event = completion_on_event;
    r->wait.ready = completion_on_lane_ready;
    ch_client_history_init(&r->history, &req->arena, now);
    return r;
}

/* The model of the agent that speaks the protocol of the request. */
static void completion_set_vendor(struct ch_completion *r, const chela_agent *a) {
    struct ch_arena *arena = &r->request->arena;
    for (size_t i = 0; i < a->ntargets; i++) {
        const struct ch_target *t = a->targets[i];
        if (strcmp(t->ep.codec->name, r->ops->api) != 0)
            continue;
        r->history.vendor = (struct ch_msg_author){
            r->ops->api, ch_sv_str(ch_arena_printf(arena, "%s", t->model)),
            ch_sv_str(ch_arena_printf(arena, "%s/%s", t->ep.provider, t->model))};
        return;
    }
}

static void completion_warn(struct ch_completion *r) {
    CH_BUF_AUTO text = {0};
    const struct ch_sv *tools = &r->tools.skipped, *lost = &r->history.lost;
    if (tools->n || lost->n)
        ch_buf_addf(&text, "left out, because only the vendor has them: %.*s%s%.*s",
                    CH_SV_FMT(*tools), tools->n && lost->n ? ", " : "", CH_SV_FMT(*lost));
    if (r->history.lacks_media)
        ch_buf_addf(&text, "%sleft out: uploaded files or videos", text.n ? "; " : "");
    if (!text.n)
        return;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || (unsigned char)text.p[i] > '~')
            text.p[i] = '?';
    ch_log(CH_LOG_WARN, "gateway", "%s", ch_buf_str(&text));
    ch_request_add_header(r->request, "X-Chela-Warning", ch_buf_str(&text));
}

/* What the model of the agent takes of the client's request as it is. */
static struct ch_contract_passed completion_passes(const struct ch_completion *r) {
    const struct ch_target *t = r->opts.agent->targets[0];
    const struct ch_model_facts *f =
        t->ep.facts ? t->ep.facts : ch_model_facts(ch_sv_str(t->model));
    bool passes = strcmp(t->ep.codec->name, r->ops->api) == 0;
    return (struct ch_contract_passed){
        .passes = passes, .samples = passes && !f->efforts && !(f->flags & CH_M_NO_SAMPLING)};
}

/* Tells the client what has no effect on the answer, or refuses the request. */
static int completion_name_dropped(struct ch_completion *r, struct chela_error *err) {
    CH_BUF_AUTO all = {0};
    struct ch_sv types = r->tools.skipped, lost = r->history.lost;
    const char *where = ch_json_get(r->request->json, "input") ? "input[]." : "content[].";
    ch_buf_add_sv(&all, r->dropped);
    struct ch_contract_passed passed = completion_passes(r);
    int rc = ch_contract_apply(r->ops->contract, r->request->json, &passed, &all, err);
    if (passed.members.n) {
        r->opts.patch.passed = ch_arena_str(&r->request->arena, ch_buf_sv(&passed.members));
        r->opts.patch.passed_api = r->ops->api;
    }
    ch_buf_release(&passed.members);
    while (types.n) {
        struct ch_sv type = ch_sv_trim(ch_sv_split(&types, ','));
        bool member = ch_json_get(r->request->json, ch_arena_str(&r->request->arena, type));
        ch_contract_drop(&all, member ? "" : "tools[].", type);
    }
    while (lost.n)
        ch_contract_drop(&all, where, ch_sv_trim(ch_sv_split(&lost, ',')));
    if (r->history.lacks_media)
        ch_contract_drop(&all, "content[].", CH_SV("file"));
    if (rc == 0 && all.n)
        ch_request_add_header(r->request, "X-Chela-Dropped", ch_buf_str(&all));
    return rc;
}

static int completion_read_request(struct ch_completion *r, struct chela_error *err) {
    struct ch_request *req = r->request;
    struct ch_lane_opts *opts = &r->opts;
    int rc = ch_openai_agent(req, opts, err);
    if (rc < 0)
        return rc;
    completion_set_vendor(r, opts->agent);
    r->tools.arena = &req->arena;
    rc = r->ops->read(r, opts, err);
    if (rc < 0)
        return rc;
    rc = completion_name_dropped(r, err);
    if (rc < 0)
        return rc;
    completion_warn(r);
    r->agent = ch_strdup(opts->agent->id);
    ch_client_history_settle(&r->history);
    r->kept = ch_kept_calls_scope(req, r->agent, &r->history);
    opts->tools = r->tools.opts;
    opts->ntools = r->tools.n;
    opts->patch.system = ch_buf_str(&r->history.system);
    return 0;
}

static void completion_end_early(struct ch_completion *r, const struct chela_error *err) {
    struct ch_request *req = r->request;
    free_completion(r);
    if (err->code == CHELA_ENOENT)
        ch_request_fail(req, 404, "model_not_found", "%s", err->message);
    else
        ch_request_fail_with(req, err);
}

static void completion_open_lane(struct ch_completion *r) {
    struct chela_error err = {0};
    if (ch_lane_for_request(r->request, &r->opts, &r->lane, &err) < 0) {
        completion_end_early(r, &err);
        return;
    }
    r->session = r->opts.key;
    r->request->user = r;
    r->request->on_disconnect = completion_on_disconnect;
    ch_lane_when_ready(r->lane, &r->wait);
}

static int completion_import(struct ch_store_lookup *l, struct chela_error *err) {
    chela_store_import(l->store, l->key, strlen(l->key), NULL, NULL, err);
    return 0; /* completion_on_imported has the error */
}

static void completion_on_imported(struct ch_request *req, struct ch_store_lookup *l) {
    struct ch_completion *r = l->user;
    (void)req;
    if (l->err.code)
        completion_end_early(r, &l->err);
    else
        completion_open_lane(r);
}

/* A background response without a session gets a session of its own, which has the history. */
static int completion_write_history(struct ch_completion *r, struct ch_buf *out,
                                    struct chela_error *err) {
    struct ch_client_history *h = &r->history;
    struct ch_msg *input;
    int rc = ch_client_history_finish(h, &input, err);
    if (rc < 0)
        return rc;
    h->n++; /* the input stays the last message */
    if (input->kind == CH_MSG_RESULTS)
        ch_client_history_ask_on(h);
    if (h->n > 1)
        ch_client_history_export(h, r->request->session, r->agent, out);
    return 0;
}

static void completion_begin_session(struct ch_completion *r) {
    struct chela_error err = {0};
    CH_BUF_AUTO lines = {0};
    if (r->imports && completion_write_history(r, &lines, &err) < 0) {
        completion_end_early(r, &err);
        return;
    }
    if (!lines.n) {
        completion_open_lane(r);
        return;
    }
    ch_store_lookup_start(r->request, ch_buf_sv(&lines), 0, completion_import,
                          completion_on_imported);
    ch_store_lookup_own(r->request, completion_gone, r);
}

void ch_completion_begin(struct ch_request *req, const struct ch_completion_ops *ops) {
    struct chela_error err = {0};
    struct ch_completion *r = new_completion(req, ops);
    if (completion_read_request(r, &err) < 0)
        completion_end_early(r, &err);
    else
        completion_begin_session(r);
}
