/* client_input.c -- see client_input.h. */
#include "gateway/lane/client_input.h"

#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/inbox.h"
#include "agent/journal/run_journal.h"
#include "agent/run/parent.h"
#include "agent/run/recover.h"
#include "agent/session/input_queue.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/random_id.h"
#include "base/limits.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/lane.h"
#include "model/message/message_json.h"

void ch_client_input_write(struct ch_jw *w, const struct ch_msg *m, struct ch_sv mode) {
    ch_jw_kstr(w, "mode", mode);
    ch_jw_key(w, "message");
    ch_msg_write(m, w);
}

void ch_client_input_write_result(struct ch_jw *w, struct ch_sv id, struct ch_sv content,
                                  bool is_error) {
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "id", id);
    ch_jw_kstr(w, "content", content);
    ch_jw_kbool(w, "is_error", is_error);
    ch_jw_end(w, '}');
}

void ch_client_input_write_context(struct ch_buf *data, const struct ch_request *req,
                                   bool awaited) {
    struct ch_jw w = {.out = data, .comma = data->n > 0};
    if (awaited)
        ch_jw_kbool(&w, "awaited", true);
    if (req->traceparent.n && req->traceparent.n <= CH_LIMIT_TRACEPARENT)
        ch_jw_kstr(&w, "traceparent", req->traceparent);
}

struct ch_delivery *ch_client_input_accept(chela_gateway *gw, const struct ch_delivery_kind *kind,
                                           const char *key, const char *agent,
                                           const struct ch_buf *data, const char *event,
                                           ch_delivery_fn *on_stage, void *user) {
    char random[24];
    CH_BUF_AUTO id = {0};
    ch_random_id("", random);
    ch_buf_addf(&id, CH_API_EVENT "%s", event ? event : random);
    struct ch_delivery *d =
        ch_delivery_new(gw, kind->name, ch_buf_str(&id), key, agent, ch_buf_sv(data));
    if (kind->turn != CH_TURN_CONTROLS)
        ch_delivery_admit(d, on_stage, user);
    else
        ch_delivery_accept(d, on_stage, user);
    return d;
}

/* An event that waits, or of a message with which another run began, is not the event of the run
 * in progress. */
static bool client_is_of_another_run(const struct ch_delivery *d, const struct ch_lane *l) {
    const char *event = l->run ? ch_run_origin_event(l->run) : NULL;
    return d->still_waits || (l->inbox && ch_lane_inbox_holds(l, d->id)) ||
           (event && d->kind == &ch_client_turn && strcmp(event, d->id) != 0);
}

struct ch_lane *ch_client_input_find_run(const struct ch_delivery *d) {
    struct ch_lane *l = ch_lane_find(d->gw, ch_sv_str(d->key));
    struct chela_error ignored = {0};
    if (l && client_is_of_another_run(d, l))
        return NULL;
    if (l && l->ready && ch_lane_was_interrupted(l))
        ch_lane_resume(l, CHELA_APPROVE_ASK, &ignored);
    return l && l->running ? l : NULL;
}

/* The leading results answer the calls that a paused run waits for, all of them; the user's text
 * after them follows the run. */
static void client_write_results(const struct ch_client_history *h, struct ch_jw *w) {
    ch_jw_kbool(w, "all", true);
    ch_jw_kbegin(w, "results", '[');
    for (uint32_t i = 0; i < h->msgs[0]->nblocks; i++) {
        const struct ch_block *b = &h->msgs[0]->blocks[i];
        if (b->type == CH_BLOCK_TOOL_RESULT)
            ch_client_input_write_result(w, b->id, b->text, b->flags & CH_F_ERROR);
    }
    ch_jw_end(w, ']');
    ch_jw_kbegin(w, "texts", '[');
    for (size_t i = 1; i < h->n; i++)
        for (uint32_t k = 0; k < h->msgs[i]->nblocks; k++)
            if (h->msgs[i]->blocks[k].type == CH_BLOCK_TEXT)
                ch_jw_str(w, h->msgs[i]->blocks[k].text);
    ch_jw_end(w, ']');
}

const struct ch_delivery_kind *ch_client_input_of_history(const char *key,
                                                          struct ch_client_history *h,
                                                          struct ch_jw *w,
                                                          struct chela_error *err) {
    ch_client_history_keep_new(h);
    if (ch_client_history_check_media(h, err) < 0)
        return NULL;
    if (h->n && h->msgs[0]->kind == CH_MSG_RESULTS) {
        client_write_results(h, w);
        return &ch_client_results;
    }
    struct ch_msg *input = ch_client_history_join_user(h);
    if (!input) {
        ch_fail(err, CHELA_EINVAL, "no new message for session '%s'", key);
        return NULL;
    }
    ch_client_input_write(w, input, CH_SV("run"));
    ch_msg_free(input);
    return &ch_client_turn;
}

static bool client_waits(const struct ch_delivery *d) {
    return d->on_stage || d->awaited;
}

static const char *client_text(struct ch_delivery *d, const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return text.n ? ch_arena_str(&d->arena, text) : NULL;
}

/* --- messages */

/* The mode that the client asked for, else the mode of the session. */
static const char *client_mode(struct ch_delivery *d, const struct ch_lane *l) {
    const char *mode = client_text(d, d->data, "mode");
    return mode ? mode : chela_queue_mode_name(ch_input_queue_mode(l->session));
}

static int client_join_run(struct ch_delivery *d, struct ch_lane *l, struct ch_msg *m,
                           struct chela_error *err) {
    const char *mode = client_mode(d, l);
    struct ch_inbound_origin from = {.event = d->id};
    bool later = strcmp(mode, "follow_up") == 0, apart = strcmp(mode, "run") == 0;
    int rc = apart ? CHELA_EBUSY : ch_session_enqueue(l->run, later, m, &from);
    d->action = later ? "follow_up" : "steer";
    if (rc == 0)
        return 0;
    ch_msg_free(m);
    if (!apart && rc != CHELA_ESTATE) /* ESTATE: the run is about to end */
        return ch_fail(err, rc, "the message cannot be delivered: %s", chela_error_text(rc));
    return apart && client_waits(d)
               ? ch_fail(err, CHELA_EBUSY, "session '%s' is busy with a run", d->key)
               : CH_TURN_WAITS;
}

/* True: the message neither joins the run nor begins one at once. */
static bool client_is_queued(struct ch_delivery *d, const struct ch_lane *l) {
    enum chela_queue_mode mode = ch_input_queue_mode(l->session);
    return !ch_json_get_str(d->data, "mode").n &&
           (mode == CHELA_QUEUE_COLLECT ||
            (mode == CHELA_QUEUE_INTERRUPT && ch_lane_is_busy(l)));
}

bool ch_client_input_begins_later(const struct ch_delivery *d) {
    return d->action && (strcmp(d->action, "interrupt") == 0 || strcmp(d->action, "collect") == 0);
}

static int client_apply_message(struct ch_delivery *d, struct ch_lane *l,
                                struct chela_error *err) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK, .event_id = d->id,
                                                .traceparent =
                                                    client_text(d, d->data, "traceparent"));
    if (strcmp(client_mode(d, l), "run") != 0)
        ch_lane_wake(l, CHELA_APPROVE_ASK);
    bool paused = chela_session_status(l->session) == CHELA_SESSION_PAUSED;
    struct ch_msg *m;
    if (!client_waits(d) && !l->running && paused)
        return CH_TURN_WAITS;
    /* An interrupted run is resumed first, unless a person who sends a message to a run that
     * another program left may abandon the run. */
    if ((!d->on_stage || l->session->inherited) && ch_lane_was_interrupted(l) &&
        ch_lane_resume(l, CHELA_APPROVE_ASK, err) == 0)
        return CH_TURN_WAITS;
    if (!client_is_queued(d, l) && ch_lane_start_waiting(l))
        return CH_TURN_WAITS; /* until the run begins: the message may join it */
    int rc = ch_msg_read(ch_json_get(d->data, "message"), &m, err);
    if (rc < 0)
        return rc;
    if (client_is_queued(d, l) && !paused) {
        d->action = client_mode(d, l);
        return ch_lane_queue(l, m, &opts, err);
    }
    if (l->running)
        return client_join_run(d, l, m, err);
    d->action = "run";
    return ch_lane_begin(l, m, &opts, err);
}

const struct ch_delivery_kind ch_client_message = {
    .name = "message", .turn = CH_TURN_JOINS, .apply = client_apply_message};

/* Resumes an interrupted run first. Earlier runs of the lane may have had other options. */
int ch_client_input_apply_turn(struct ch_delivery *d, struct ch_lane *l,
                               struct chela_error *err) {
    struct ch_lane_opts o = d->lane_opts ? *d->lane_opts : (struct ch_lane_opts){0};
    o.agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent)); /* it may have been loaded again */
    if (ch_lane_resume_first(l, CHELA_APPROVE_ASK))
        return CH_TURN_WAITS;
    if (d->lane_opts && o.agent && chela_session_status(l->session) != CHELA_SESSION_PAUSED) {
        int rc = ch_lane_use(d->gw, &o, &l, err);
        if (rc < 0 || !l->ready)
            return rc < 0 ? rc : CH_TURN_WAITS;
    }
    return client_apply_message(d, l, err);
}

const struct ch_delivery_kind ch_client_turn = {.name = "turn",
                                                .turn = CH_TURN_BEGINS,
                                                .sender_waits = true,
                                                .apply = ch_client_input_apply_turn};

/* --- results of tools that the client runs */

/* Does an earlier result have the same id? */
static bool client_repeats(const struct ch_json *results, const struct ch_json *result) {
    for (CH_JSON_EACH(r, results))
        if (r == result || ch_sv_eq(ch_json_get_str(r, "id"), ch_json_get_str(result, "id")))
            return r != result;
    return false;
}

/* The number of calls that wait and have no result here; `people`: calls that wait for a person
 * count, too. */
static size_t client_left_calls(const struct ch_delivery *d, const struct ch_lane *l, bool people) {
    const struct ch_json *results = ch_json_get(d->data, "results");
    bool stored = l->session->journal && l->session->journal->past;
    if (!stored && !l->run)
        return 0;
    struct ch_batch_waits waits = stored ? ch_recover_waits(l->session) : ch_run_waits(l->run);
    size_t n = people ? waits.answers + waits.approvals : waits.answers - waits.questions;
    return n - CH_MIN(n, results ? results->n : 0);
}

/* All results, or none if one is refused: the client may send all of them again. */
static int client_give_results(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    const struct ch_json *results = ch_json_get(d->data, "results");
    for (CH_JSON_EACH(r, results)) {
        const char *id = client_text(d, r, "id");
        int rc = ch_session_may_answer(l->session, id ? id : "", ch_json_get_str(r, "content").n,
                                       err);
        if (rc < 0)
            return rc;
        if (client_repeats(results, r))
            return ch_fail(err, CHELA_EEXIST, "call %s has two results", id);
    }
    bool all = ch_json_bool(ch_json_get(d->data, "all"), false);
    size_t left = all ? client_left_calls(d, l, false) : 0;
    if (left)
        return ch_fail(err, CHELA_EINVAL, "%zu tool call%s without a result: send all results",
                       left, left == 1 ? " is" : "s are");
    for (CH_JSON_EACH(r, results)) {
        const char *id = client_text(d, r, "id");
        struct ch_sv content = ch_json_get_str(r, "content");
        int rc = chela_session_answer(l->session, id ? id : "", content.p ? content.p : "",
                                      content.n, ch_json_bool(ch_json_get(r, "is_error"), false),
                                      err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A refusal of the text must come before the results are given: a client that sends both again
 * would be told that no call waits. */
static int client_check_texts(const struct ch_delivery *d, const struct ch_lane *l,
                              struct chela_error *err) {
    const struct ch_json *texts = ch_json_get(d->data, "texts");
    size_t n = l->run ? l->run->follow_ups.n : 0;
    if (texts && texts->n > ch_input_queue_room(l->session) && client_left_calls(d, l, true))
        return ch_fail(err, CHELA_ELIMIT, "too many messages follow the results");
    for (CH_JSON_EACH(t, texts)) {
        if (ch_json_str(t).n > CH_LIMIT_INPUT)
            return ch_fail(err, CHELA_ELIMIT, "the input is larger than %zu MB",
                           CH_LIMIT_INPUT / CH_MB);
        if (++n > CH_LIMIT_QUEUE || ch_input_queue_is_full(l->session))
            return ch_fail(err, CHELA_ELIMIT, "too many messages follow the results");
    }
    return 0;
}

/* Text after the results follows the run, or waits with it for the results of other calls. */
static int client_follow_up(struct ch_delivery *d, struct ch_lane *l, bool resumed,
                            struct chela_error *err) {
    int64_t now = ch_now_ms(ch_loop_clock(d->gw->rt->loop));
    int rc = 0;
    for (CH_JSON_EACH(t, ch_json_get(d->data, "texts"))) {
        struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK);
        if (rc == 0 && resumed)
            rc = chela_run_follow_up(l->run, ch_json_str(t).p, ch_json_str(t).n);
        else if (rc == 0)
            rc = ch_lane_queue(l, ch_msg_text(CH_MSG_USER, ch_json_str(t), now), &opts, err);
    }
    return rc;
}

/* The run resumes with the last result. */
static int client_apply_results(struct ch_delivery *d, struct ch_lane *l,
                                struct chela_error *err) {
    const struct ch_json *results = ch_json_get(d->data, "results");
    int rc = client_check_texts(d, l, err);
    if (rc == 0)
        rc = client_give_results(d, l, err);
    if (rc < 0)
        return rc;
    d->action = "results";
    rc = ch_lane_resume(l, CHELA_APPROVE_ASK, err); /* CHELA_ESTATE: other calls wait */
    if (rc < 0 && (rc != CHELA_ESTATE || !results || !results->n))
        return rc;
    rc = client_follow_up(d, l, rc == 0, err);
    if (rc < 0)
        return rc;
    ch_lane_take_later(l, d->id);
    return 0;
}

const struct ch_delivery_kind ch_client_results = {
    .name = "results", .turn = CH_TURN_CONTROLS, .apply = client_apply_results};

/* --- results and decisions of a page: those that no call waits for are ignored */

static size_t client_give_answers(struct ch_delivery *d, struct ch_lane *l) {
    size_t taken = 0;
    for (CH_JSON_EACH(r, ch_json_get(d->data, "results"))) {
        struct ch_sv text = ch_json_get_str(r, "content");
        const char *id = client_text(d, r, "id");
        taken += chela_session_answer(l->session, id ? id : "", text.p ? text.p : "", text.n,
                                      ch_json_bool(ch_json_get(r, "is_error"), false), NULL) == 0;
    }
    for (CH_JSON_EACH(a, ch_json_get(d->data, "approvals"))) {
        bool yes = ch_json_bool(ch_json_get(a, "approved"), false);
        const char *id = client_text(d, a, "id");
        taken += chela_session_approve(l->session, id ? id : "",
                                       yes ? CHELA_ALLOW_ONCE : CHELA_DENY,
                                       client_text(d, a, "reason"), NULL) == 0;
    }
    return taken;
}

static int client_apply_answers(struct ch_delivery *d, struct ch_lane *l,
                                struct chela_error *err) {
    if (chela_session_status(l->session) != CHELA_SESSION_PAUSED)
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for no answer", d->key);
    if (!client_give_answers(d, l))
        return ch_fail(err, CHELA_ESTATE, "chat '%s' waits for other answers than these", d->key);
    d->action = "answers";
    int rc = ch_lane_resume(l, CHELA_APPROVE_ASK, err);
    if (rc < 0 && (rc != CHELA_ESTATE || client_waits(d)))
        return rc;
    ch_lane_take_later(l, d->id);
    return 0;
}

const struct ch_delivery_kind ch_client_answers = {
    .name = "answers", .turn = CH_TURN_CONTROLS, .apply = client_apply_answers};

/* --- decisions */

static int client_apply_decision(struct ch_delivery *d, struct ch_lane *l,
                                 struct chela_error *err) {
    enum chela_decision decision =
        (enum chela_decision)ch_json_int(ch_json_get(d->data, "decision"), CHELA_UNDECIDED);
    const char *approval = client_text(d, d->data, "approval");
    struct chela_error waits = {0};
    int rc = chela_session_approve(l->session, approval ? approval : "", decision,
                                   client_text(d, d->data, "text"), err);
    if (rc < 0)
        return rc;
    ch_inbox_take(l->session, d->id);
    rc = ch_lane_resume(l, CHELA_APPROVE_ASK, &waits); /* CHELA_ESTATE: other calls wait */
    d->action = rc == 0 ? "resumed" : "";
    return 0;
}

const struct ch_delivery_kind ch_client_decision = {
    .name = "decision", .turn = CH_TURN_CONTROLS, .apply = client_apply_decision};

/* --- cancelling, taking over, resuming */

int ch_client_input_cancel(struct ch_delivery *d, struct ch_lane *l, const char *reason,
                           struct chela_error *err) {
    bool stored = l->session->journal && l->session->journal->past;
    if (stored && ch_lane_recall(l, CHELA_APPROVE_ASK, err) < 0)
        return err->code;
    if (ch_lane_start_waiting(l))
        return CH_TURN_WAITS; /* until the run begins that is cancelled */
    if (!l->running && chela_session_status(l->session) != CHELA_SESSION_PAUSED)
        return ch_fail(err, CHELA_ESTATE, "no run in progress in session '%s'", d->key);
    ch_lane_take_later(l, d->id);
    l->running = true;
    chela_cancel(l->run, reason);
    return 0;
}

/* True: the run in progress, or what an earlier process left of it, is not the run of the event. */
static bool client_is_another(const struct ch_lane *l, struct ch_sv event) {
    const char *own = l->run ? ch_run_origin_event(l->run) : NULL;
    bool stored = l->session->journal && l->session->journal->past;
    return event.n && !stored && (!own || !ch_sv_is(event, own));
}

/* "of": the event whose run is meant; an event that waits loses its turn. */
static int client_apply_cancel(struct ch_delivery *d, struct ch_lane *l,
                               struct chela_error *err) {
    const char *of = client_text(d, d->data, "of");
    if (of && l->inbox && ch_lane_inbox_holds(l, of)) {
        ch_lane_inbox_settle(d->gw, d->key, of, NULL, NULL);
        ch_inbox_take(l->session, d->id);
        d->action = CH_CLIENT_DROPPED;
        return 0;
    }
    if (client_is_another(l, ch_sv_str(of ? of : "")))
        return ch_fail(err, CHELA_ESTATE, "the run has ended");
    return ch_client_input_cancel(d, l, "cancelled by a request", err);
}

const struct ch_delivery_kind ch_client_cancel = {
    .name = "cancel", .turn = CH_TURN_CONTROLS, .apply = client_apply_cancel};

/* Replaces the run's answer by a person's text; the run ends. */
static int client_apply_take_over(struct ch_delivery *d, struct ch_lane *l,
                                  struct chela_error *err) {
    struct ch_sv text = ch_json_get_str(d->data, "text");
    bool stored = l->session->journal && l->session->journal->past;
    int rc = stored ? ch_lane_recall(l, CHELA_APPROVE_ASK, err) : 0;
    if (rc < 0)
        return rc;
    rc = l->run ? chela_run_take_over(l->run, text.p, text.n) : CHELA_ESTATE;
    if (rc == CHELA_ELIMIT)
        return ch_fail(err, rc, "the text is larger than %zu MB", CH_LIMIT_INPUT / CH_MB);
    if (rc < 0)
        return ch_fail(err, rc, "no run in session '%s' to take over", d->key);
    ch_lane_take_later(l, d->id);
    l->running = true;
    d->action = "take_over";
    return 0;
}

const struct ch_delivery_kind ch_client_take_over = {
    .name = "take_over", .turn = CH_TURN_CONTROLS, .apply = client_apply_take_over};

/* The gateway may have resumed the run itself. */
static int client_apply_resume(struct ch_delivery *d, struct ch_lane *l,
                               struct chela_error *err) {
    int rc = l->running ? 0 : ch_lane_resume(l, CHELA_APPROVE_ASK, err);
    if (rc < 0)
        return rc;
    ch_inbox_take(l->session, d->id);
    d->action = "resume";
    return 0;
}

const struct ch_delivery_kind ch_client_resume = {
    .name = "resume", .turn = CH_TURN_CONTROLS, .apply = client_apply_resume};

static int client_apply_release(struct ch_delivery *d, struct ch_lane *l,
                                struct chela_error *err) {
    if (l->running)
        return ch_fail(err, CHELA_EBUSY, "a run is in progress: cancel it first");
    ch_lane_inbox_settle(d->gw, d->key, d->id, NULL, NULL);
    ch_lane_close(l);
    return 0;
}

const struct ch_delivery_kind ch_client_release = {
    .name = "release",
    .turn = CH_TURN_CONTROLS,
    .needs_open_lane = true,
    .apply = client_apply_release};
