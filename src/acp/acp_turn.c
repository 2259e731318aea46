/* acp_turn.c -- a prompt, from its request to its answer.
 *
 *   prompt --> open --> run --> end: the prompt is answered, the session is released
 *                ^       |
 *                |       +--> pause: the session is released, the user is asked (acp_ask.c)
 *                +-------------- decided
 *
 * A prompt that arrives during a run steers the run; the run's end answers both. */
#include "acp/acp_turn.h"

#include "acp/acp_ask.h"
#include "acp/acp_content.h"
#include "acp/acp_follow.h"
#include "acp/acp_forward.h"
#include "acp/acp_reply.h"
#include "acp/acp_session.h"
#include "agent/context/context_budget.h"
#include "agent/handle/runtime.h"
#include "agent/handle/session.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/media.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "tool/process/jobs.h"

static void turn_proceed(struct ch_acp_session *s);

bool ch_acp_turn_busy(const struct ch_acp_session *s) {
    return s->run || s->opening || s->nprompts > 0;
}

/* --- the end --------------------------------------------------------------------------- */

void ch_acp_turn_end(struct ch_acp_session *s, const char *reason, const char *error) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    size_t n = s->nprompts;

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "stopReason", reason ? reason : "");
    ch_jw_end(&w, '}');
    s->nprompts = 0;
    s->cancelled = false;
    for (size_t i = 0; i < n; i++) {
        s->prompts[i]->gone = NULL;
        if (reason)
            ch_acp_reply(s->prompts[i], &out);
        else
            ch_acp_refuse(s->prompts[i], CH_RPC_INTERNAL, "%s", error);
    }
}

static void turn_failed(struct ch_acp_session *s, const struct chela_error *err) {
    ch_acp_input_free(CH_TAKE(s->input));
    ch_acp_turn_end(s, s->cancelled ? "cancelled" : NULL, err->message);
}

static const char *stop_reason(const struct chela_event *end) {
    switch (end->end.status) {
    case CHELA_STATUS_DONE:
    case CHELA_STATUS_DECLINED:
        return end->end.reason == CHELA_REASON_REFUSED  ? "refusal"
               : end->end.reason == CHELA_REASON_LENGTH ? "max_tokens"
                                                        : "end_turn";
    case CHELA_STATUS_STOPPED:
        return end->end.reason == CHELA_REASON_LENGTH ? "max_tokens" : "max_turn_requests";
    case CHELA_STATUS_CANCELLED:
    case CHELA_STATUS_PAUSED:
        return "cancelled";
    default:
        return NULL;
    }
}

/* --- the session of the store ------------------------------------------------------------ */

static bool has_jobs(const chela_session *session) {
    struct ch_job *jobs[CH_LIMIT_JOBS];
    size_t n = session->jobs ? ch_jobs_list(session->jobs, jobs, CH_LEN(jobs)) : 0;
    for (size_t i = 0; i < n; i++)
        if (ch_job_running(jobs[i]))
            return true;
    return false;
}

static void release_session(struct ch_acp_session *s) {
    if (s->session)
        chela_session_close(s->session);
    s->session = NULL;
    s->opening = false;
}

void ch_acp_turn_leave(struct ch_acp_session *s) {
    ch_task_cancel(s->acp->rt->loop, &s->closing);
    if (s->run) {
        chela_run_leave(s->run);
        chela_run_free(s->run);
        s->run = NULL;
    }
    release_session(s);
}

/* After the callback of RUN_END: programs in the background keep the session open. */
static void on_closing(struct ch_task *t) {
    struct ch_acp_session *s = CH_CONTAINER(t, struct ch_acp_session, closing);
    if (s->close) {
        ch_acp_session_end(s);
        return;
    }
    if (s->session && (!has_jobs(s->session) || !ch_list_empty(&s->asks)))
        release_session(s);
    if (!ch_list_empty(&s->asks))
        ch_acp_ask_next(s);
    ch_acp_follow(s);
}

/* --- events ------------------------------------------------------------------------------ */

static char *dup_str(struct chela_str t) {
    return ch_strndup(t.p, t.n);
}

static void add_ask(struct ch_acp_session *s, const struct chela_event *ev) {
    struct ch_acp_ask ask = {0};
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        ask = (struct ch_acp_ask){.approval = dup_str(ev->approval.approval_id),
                                  .call = dup_str(ev->approval.id),
                                  .name = dup_str(ev->approval.name),
                                  .arguments = dup_str(ev->approval.arguments),
                                  .summary = dup_str(ev->approval.summary),
                                  .can_remember = ev->approval.can_remember};
    else
        ask = (struct ch_acp_ask){.call = dup_str(ev->call.id),
                                  .name = dup_str(ev->call.name),
                                  .arguments = dup_str(ev->call.arguments)};
    ch_acp_ask_add(s, &ask);
}

static int take_title(const struct chela_store_session *row, void *user) {
    *(char **)user = ch_strdup(row->title);
    return 1;
}

static void send_title(struct ch_acp_session *s) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    CH_AUTOFREE char *title = NULL;
    if (s->titled ||
        chela_store_session(s->place->given.store, s->id, take_title, &title, NULL) < 0 || !title ||
        !*title)
        return;
    s->titled = true;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionUpdate", "session_info_update");
    ch_jw_kcstr(&w, "title", title);
    ch_jw_end(&w, '}');
    ch_acp_send_update(ch_buf_sv(&out), s);
}

static void run_ended(struct ch_acp_session *s, const struct chela_event *ev) {
    const struct ch_run_journal *k = s->session->journal;
    if (k && k->safe > s->seen)
        s->seen = k->safe;
    s->kept = true;
    chela_run_free(s->run);
    s->run = NULL;
    ch_acp_shown_release(&s->shown);
    ch_task_defer(s->acp->rt->loop, &s->closing);
    if (ev->end.status == CHELA_STATUS_PAUSED && !ch_list_empty(&s->asks))
        return; /* the prompt stays open while the user is asked */
    send_title(s);
    ch_event_log_end(s->id, ev);
    CH_AUTOFREE char *error = dup_str(ev->end.ending.n ? ev->end.ending : ev->end.error);
    ch_acp_turn_end(s, s->cancelled ? "cancelled" : stop_reason(ev), error);
}

static void on_event(const struct chela_event *ev, void *user) {
    struct ch_acp_session *s = user;
    if (ev->type == CHELA_EV_TURN_END && s->run)
        s->shown.window = ch_context_budget_room(s->run).window;
    s->acp->version->event(&s->shown, ev, ch_acp_send_update, s);
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED || ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        add_ask(s, ev);
    else if (ev->type == CHELA_EV_RUN_END)
        run_ended(s, ev);
}

/* --- starting ------------------------------------------------------------------------------ */

/* Programs in the background may keep a session with the options before the last change. The
 * user's choice about consent holds at once. */
static struct chela_run_opts run_opts(struct ch_acp_session *s) {
    return (struct chela_run_opts)CHELA_RUN_OPTS(
        .on_event = on_event, .user = s, .insist = 1,
        .approve = s->stale ? s->choice.approve : CHELA_APPROVE_DEFAULT);
}

/* A program in the background has ended: the model gets a note. */
static void on_wake(chela_session *session, void *user) {
    struct ch_acp_session *s = user;
    struct chela_run_opts opts = run_opts(s);
    if (!s->run && ch_list_empty(&s->asks) && session == s->session)
        chela_run_wake(session, &opts, &s->run, NULL);
}

/* "/compact FOCUS": the rest of the text; NULL: another text. */
static const char *compact_focus(const char *text) {
    if (strncmp(text, "/compact", 8) != 0 || (text[8] && text[8] != ' ' && text[8] != '\n'))
        return NULL;
    return text + 8 + strspn(text + 8, " \n");
}

/* A slash command that names a skill becomes its instructions; other texts stay. */
static char *expand(struct ch_acp_session *s, const struct ch_buf *text) {
    CH_BUF_AUTO command = {0};
    if (text->n < 2 || text->p[0] != '/')
        return ch_strndup(ch_buf_str(text), text->n);
    ch_buf_add_str(&command, "/skill ");
    ch_buf_add(&command, text->p + 1, text->n - 1);
    char *full = chela_agent_expand(s->agent, command.p, command.n, NULL);
    return full ? full : ch_strndup(text->p, text->n);
}

static int start_input(struct ch_acp_session *s, struct chela_error *err) {
    struct ch_acp_input *in = CH_TAKE(s->input);
    struct chela_run_opts opts = run_opts(s);
    const char *focus = compact_focus(ch_buf_str(&in->text));
    int rc;
    opts.media = in->media;
    opts.nmedia = in->nmedia;
    if (focus) {
        rc = chela_session_compact(s->session, *focus ? focus : NULL, &opts, &s->run, err);
    } else {
        char *text = expand(s, &in->text);
        rc = chela_run_start(s->session, text, strlen(text), &opts, &s->run, err);
        chela_free(text);
    }
    ch_acp_input_free(in);
    return rc;
}

/* Add a prompt to the run in progress. */
static int turn_enqueue(struct ch_acp_session *s, const struct ch_acp_input *in, bool follow_up,
                        struct chela_error *err) {
    const struct ch_media_input text = {
        .kind = CH_MSG_USER, .text = ch_buf_sv(&in->text), .ts = ch_run_now(s->run)};
    struct ch_msg *m;
    int rc = in->text.n > CH_LIMIT_INPUT
                 ? ch_fail(err, CHELA_ELIMIT, "the prompt is too long")
                 : ch_media_message(&text, in->media, in->nmedia, &m, err);
    if (rc < 0)
        return rc;
    rc = ch_session_enqueue(s->run, follow_up, m, NULL);
    if (rc < 0)
        ch_msg_free(m);
    return rc;
}

/* Continue the run that the session has; a new prompt follows it. */
static int resume_run(struct ch_acp_session *s, struct chela_error *err) {
    struct chela_run_opts opts = run_opts(s);
    int rc = chela_run_resume(s->session, &opts, &s->run, err);
    if (rc == 0 && s->input) {
        rc = turn_enqueue(s, s->input, true, err);
        ch_acp_input_free(CH_TAKE(s->input));
    }
    return rc;
}

/* The session is open: start the work it was opened for. */
static void turn_proceed(struct ch_acp_session *s) {
    struct chela_error err = {0};
    int rc;
    if (!ch_list_empty(&s->asks)) {
        rc = ch_acp_ask_apply(s, &err);
        if (rc == 0)
            rc = resume_run(s, &err);
    } else if (chela_session_status(s->session) != CHELA_SESSION_IDLE) {
        rc = resume_run(s, &err);
    } else {
        rc = s->input ? start_input(s, &err) : CHELA_ESTATE;
    }
    if (rc < 0) {
        if (!s->run) /* a run that continues keeps its session */
            ch_task_defer(s->acp->rt->loop, &s->closing);
        turn_failed(s, &err);
    } else if (s->cancelled) {
        chela_cancel(s->run, "cancelled in the editor");
    }
}

static void on_ready(chela_session *session, const struct chela_error *err, void *user) {
    struct ch_acp_session *s = user;
    if (session != s->session)
        return;
    s->opening = false;
    if (!err || err->code == 0) {
        turn_proceed(s);
        return;
    }
    ch_task_defer(s->acp->rt->loop, &s->closing);
    if (err->code == CHELA_EBUSY && !ch_list_empty(&s->asks)) {
        ch_acp_forward_decisions(s);
        ch_acp_ask_drop_all(s);
    } else if (err->code != CHELA_EBUSY || s->cancelled || !ch_acp_forward_input(s)) {
        turn_failed(s, err);
    }
}

void ch_acp_turn_open(struct ch_acp_session *s) {
    struct chela_error err = {0};
    ch_task_cancel(s->acp->rt->loop, &s->closing);
    s->closing.fn = on_closing;
    if (s->session) {
        if (s->delayed)
            ch_acp_notice(s, "warning", "Mode, model and reasoning stay as they were until the "
                                        "programs in the background have ended.");
        turn_proceed(s);
        return;
    }
    int rc = ch_acp_session_agent(s, &err);
    if (rc == 0)
        rc = chela_session_new(s->agent, s->id, &s->session, &err);
    if (rc < 0) {
        turn_failed(s, &err);
        return;
    }
    s->opening = true;
    chela_session_on_wake(s->session, on_wake, s);
    chela_session_on_ready(s->session, on_ready, s);
}

/* --- requests ------------------------------------------------------------------------------- */

static void on_prompt_gone(struct ch_rpc_request *r) {
    ch_acp_turn_cancel(r->user);
}

static void add_prompt(struct ch_acp_session *s, struct ch_rpc_request *r) {
    r->user = s;
    r->gone = on_prompt_gone;
    s->prompts[s->nprompts++] = r;
}

/* A prompt during a run. */
static void turn_steer(struct ch_acp_session *s, struct ch_rpc_request *r,
                       const struct ch_acp_input *in) {
    bool fits = s->nprompts < CH_LEN(s->prompts);
    if (!fits || turn_enqueue(s, in, false, NULL) < 0)
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST,
                      "session %s works on a prompt, and this one cannot join it", s->id);
    else
        add_prompt(s, r);
}

void ch_acp_turn_prompt(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params) {
    struct chela_error err = {0};
    struct ch_acp_input *in;
    struct ch_acp_session *s = ch_acp_session_of(acp, r, params);
    if (!s)
        return;
    if (ch_acp_input_read(ch_json_get(params, "prompt"), &in, &err) < 0) {
        ch_acp_refuse_error(r, &err);
        return;
    }
    if (s->run) {
        turn_steer(s, r, in);
        ch_acp_input_free(in);
    } else if (ch_acp_ask_answer(s, ch_buf_str(&in->text))) {
        ch_acp_input_free(in);
        add_prompt(s, r);
        ch_acp_ask_next(s);
    } else if (s->input || s->opening || s->nprompts > 0 || ch_acp_ask_is_open(s)) {
        ch_acp_input_free(in);
        ch_acp_refuse(r, CH_RPC_INVALID_REQUEST,
                      "session %s waits for a decision about an earlier prompt", s->id);
    } else {
        s->input = in;
        add_prompt(s, r);
        ch_acp_ask_next(s);
    }
}

void ch_acp_turn_cancel(struct ch_acp_session *s) {
    bool again = s->cancelled;
    s->cancelled = ch_acp_turn_busy(s);
    if (s->run)
        chela_cancel(s->run, "cancelled in the editor");
    else if (!ch_list_empty(&s->asks))
        ch_acp_ask_refuse(s);
    else if (s->input && !s->opening) { /* the user has not decided about the configuration */
        ch_acp_input_free(CH_TAKE(s->input));
        ch_acp_turn_end(s, "cancelled", NULL);
    } else if (s->cancelled && !s->opening && !again && !ch_acp_forward_cancel(s)) {
        ch_acp_turn_end(s, "cancelled", NULL);
    }
}
