/* cmd_run.c -- `chela run`: one task, one answer.
 *
 * A reader of json or jsonl always gets exactly one run_end as the last line: the run's
 * own, or one made here if no run started. */
#include <string.h>
#include <sys/random.h>

#include "chela/gateway.h"
#include "cli/command/cmd.h"
#include "cli/command/command_help.h"
#include "cli/command/run_decisions.h"
#include "cli/command/run_flags.h"
#include "cli/command/stream_input.h"
#include "cli/report/last_end.h"
#include "cli/report/out.h"
#include "cli/report/out_json.h"
#include "cli/report/out_text.h"
#include "cli/report/outcome.h"
#include "cli/report/stream_json.h"
#include "cli/setup/memo.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/support/detach.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/signal.h"
#include "cli/term/ask.h"
#include "cli/term/status.h"

enum format { TEXT, JSON, JSONL, STREAM_JSON };

struct run {
    struct ch_run_flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_text text;
    struct ch_stream_json stream; /* owned; of STREAM_JSON */
    struct ch_stream_input *input; /* owned; of --input stream-json */
    struct ch_signals *signals; /* owned */
    struct ch_status *status;   /* owned */
    struct ch_asker asker;      /* owned */
    struct ch_detach detach;    /* owned; of a run in the background */
    chela_run *handle;          /* owned; NULL before the start */
    chela_session *session;     /* owned by the runtime */
    char *key;                  /* owned: the session's key; NULL: a new session */
    char *agent;                /* owned: agent of the session; NULL: unknown */
    struct ch_memo memo;        /* owned: settings of the session that is resumed */
    bool resume;                /* continue an unfinished run */
    bool paused;                /* the run waits for a person */
    bool compact;               /* only compact the session */
    bool replay;                /* repeat with a copy, or compare with the original */
    unsigned differences;       /* differences found by a replay */
    bool stored;                /* there is a store */
    bool no_store;              /* the error is a missing store */
    enum format format;
    char *id;     /* owned: id of the run, NULL before its first event */
    uint64_t seq; /* seq of the next event */
    bool ended;   /* run_end was received */
    int code;     /* exit code of the run */
};

/* --- events ------------------------------------------------------------------- */

/* The key that continues the session; NULL: it is not stored. */
static const char *run_stored_key(const struct run *r) {
    if (!r->stored)
        return NULL;
    return r->session ? chela_session_key(r->session) : r->key;
}

static void run_on_end(struct run *r, const struct chela_event *ev) {
    r->ended = true;
    bool unread = ch_console_failure(&r->console) && !ch_signals_caught(r->signals);
    r->code = unread && ev->end.status == CHELA_STATUS_CANCELLED ? CH_EXIT_ERROR
                                                                 : ch_text_exit(ev->end.status);
    ch_status_free(r->status);
    r->status = NULL;
    if (r->format == JSON)
        ch_json_end(&r->console, ev, run_stored_key(r));
    if (!ch_console_failure(&r->console) && !ch_signals_left(r->signals))
        ch_text_outcome(&r->console, ev);
    if (ev->end.review && !ch_signals_left(r->signals))
        ch_outcome_review(&r->console, chela_session_key(r->session));
}

/* Answer a question at once if a person is present, instead of pausing the run. */
static void run_put_question(struct run *r, const struct chela_event *ev) {
    bool interrupted, asks = ev->call.name.n == 8 && memcmp(ev->call.name.p, "ask_user", 8) == 0;
    if (!asks || !ch_asker_there(&r->asker))
        return;
    const char *answer =
        ch_asker_question(&r->asker, ev->call.arguments.p, ev->call.arguments.n, &interrupted);
    char *id = ch_format("%.*s", (int)ev->call.id.n, ev->call.id.p);
    if (answer)
        chela_session_answer(r->session, id, answer, strlen(answer), false, NULL);
    else if (interrupted)
        chela_cancel(r->handle, "interrupted");
    free(id);
}

static void on_start(struct run *r, const struct chela_event *ev) {
    const char *mode = chela_mode_name(ev->start.mode);
    if (r->resume && r->flags.mode && strcmp(r->flags.mode, mode) != 0)
        ch_console_note(&r->console, "note: the run continues in mode %s, in which it began",
                        mode);
}

static void run_on_event(const struct chela_event *ev, void *user) {
    struct run *r = user;
    if (!r->id)
        r->id = ch_dup(ev->run);
    r->seq = ev->seq + 1;
    ch_status_event(r->status, ev);
    if (ev->type == CHELA_EV_RUN_START && r->flags.background)
        ch_detach_begun(&r->detach);
    if (r->flags.background && (ev->type == CHELA_EV_RUN_START || ev->type == CHELA_EV_RUN_END))
        ch_signals_work(r->signals, r->key,
                        ev->type == CHELA_EV_RUN_END && ev->end.status == CHELA_STATUS_PAUSED);
    if (ev->type == CHELA_EV_RUN_START)
        on_start(r, ev);
    if (r->format == JSONL && ev->type == CHELA_EV_RUN_END)
        ch_json_end(&r->console, ev, run_stored_key(r));
    else if (r->format == JSONL)
        ch_json_event(&r->console, ev);
    else if (r->format == STREAM_JSON)
        ch_stream_json_event(&r->stream, ev);
    else
        ch_text_event(&r->text, ev);
    if (ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        run_put_question(r, ev);
    if (ev->type == CHELA_EV_RUN_END)
        run_on_end(r, ev);
    else if (ch_console_failure(&r->console))
        chela_cancel(r->handle, "nobody reads the output");
}

/* --- failures before and around the run ------------------------------------------ */

/* Write the run_end that no run will send. */
static void send_end(struct run *r, const struct chela_error *err) {
    bool cancelled = err->code == CHELA_ECANCELED;
    struct chela_event ev = {
        .type = CHELA_EV_RUN_END, .run = r->id ? r->id : "", .seq = r->seq, .ts = ch_wall_ms()};
    ev.end.status = cancelled ? CHELA_STATUS_CANCELLED : CHELA_STATUS_ERROR;
    ev.end.reason = cancelled      ? CHELA_REASON_CANCELLED
                    : r->no_store ? CHELA_REASON_STORE
                                  : CHELA_REASON_INTERNAL;
    ev.end.text = (struct chela_str){"", 0};
    ev.end.error = (struct chela_str){err->message, strlen(err->message)};
    ev.end.usage.cost_usd = -1;
    ch_json_event(&r->console, &ev);
}

static int run_fail(struct run *r, const struct chela_error *err) {
    ch_status_free(r->status);
    r->status = NULL;
    ch_console_error(&r->console, "%s", err->message);
    if (r->format == STREAM_JSON && !r->ended)
        ch_stream_json_failure(&r->stream, err->message);
    else if (r->format != TEXT && !r->ended)
        send_end(r, err);
    return ch_problem_exit(err);
}

/* --- prompt ------------------------------------------------------------------------ */

static void say_waiting(void *user) {
    ch_console_note(user, "reading the prompt from standard input; end it with Ctrl-D, or start "
                          "with </dev/null if there is none");
}

/* Messages are lines of standard input. */
static bool run_is_fed(const struct run *r) {
    return r->flags.input && strcmp(r->flags.input, "stream-json") == 0;
}

static int read_prompt(struct run *r, struct ch_cli_input *prompt, struct chela_error *err) {
    struct ch_cli_input in = {0};
    bool asked = ch_args_want_stdin(&r->args);
    if (asked || ch_input_piped()) {
        int rc = ch_input_stdin(CH_INPUT_PROMPT, ch_signals_fd(r->signals), say_waiting,
                                &r->console, &in, err);
        if (rc < 0)
            return rc;
    }
    *prompt = ch_args_join(&r->args, &in);
    ch_input_release(&in);
    if (prompt->n > CH_INPUT_PROMPT)
        return ch_problem(err, CHELA_ELIMIT, "the prompt is larger than %d MB",
                          CH_INPUT_PROMPT >> 20);
    if (strspn(prompt->p, " \t\r\n") == prompt->n)
        return ch_problem(err, CHELA_EINVAL,
                          "there is no prompt; usage: chela run [flags] PROMPT... ('chela run "
                          "--help')");
    return CHELA_OK;
}

/* --- the run ------------------------------------------------------------------------- */

/* Default of --approve: a resumed run asks; a new run asks if a person is present or can
 * attach, and denies otherwise. */
static enum chela_approve consent(const struct run *r) {
    if (r->flags.approve)
        return ch_setup_approve(r->flags.approve);
    bool ask = r->resume || r->flags.background || ch_asker_there(&r->asker);
    return ask ? CHELA_APPROVE_ASK : CHELA_APPROVE_DENY;
}

/* Texts from the command line and from files it names. */
struct texts {
    struct ch_cli_input prompt, system, schema;
    struct ch_cli_input files[sizeof(((struct ch_texts *)0)->list) / sizeof(char *)];
    struct chela_media images[sizeof(((struct ch_texts *)0)->list) / sizeof(char *)];
    const char *stop[sizeof(((struct ch_texts *)0)->list) / sizeof(char *) + 1];
};

/* Options of the command line that come in groups. */
struct groups {
    struct chela_limits limits;
    struct chela_request_opts request;
    struct chela_planning_opts planning;
};

static struct groups group_opts(const struct ch_run_flags *f, const struct texts *texts) {
    return (struct groups){
        .limits =
            CHELA_LIMITS(.max_turns = f->max_turns, .max_tool_calls = f->max_tool_calls,
                         .max_consecutive_errors = f->max_errors, .token_budget = f->token_budget,
                         .cost_budget_usd = ch_run_opts_cost(f->cost_budget),
                         .sum_up = f->sum_up ? 1 : -f->no_sum_up,
                         .timeout_ms = ch_run_opts_timeout(f->timeout)),
        .request =
            CHELA_REQUEST_OPTS(.top_p = f->top_p.set ? &f->top_p.value : NULL,
                               .stop = f->stop.n ? texts->stop : NULL,
                               .output_by = ch_args_choice(CHELA_CHOICE_OUTPUT_BY, f->output_by),
                               .no_stream = f->no_stream),
        .planning = CHELA_PLANNING_OPTS(.review_plan = f->review_plan)};
}

static struct chela_agent_opts agent_opts(const struct ch_run_flags *f, const struct texts *texts,
                                          const struct groups *g) {
    return (struct chela_agent_opts)
        CHELA_AGENT_OPTS(.model = f->model, .base_url = f->base_url, .api_key_env = f->api_key_env,
                         .system = texts->system.p, .tool_choice = f->tool_choice,
                         .mode = ch_args_choice(CHELA_CHOICE_MODE, f->mode),
                         .reasoning = ch_args_choice(CHELA_CHOICE_REASONING, f->reasoning),
                         .max_output_tokens = f->max_output_tokens,
                         .temperature = f->temperature.set ? &f->temperature.value : NULL,
                         .output_schema = texts->schema.p, .limits = &g->limits,
                         .request = &g->request, .planning = &g->planning);
}

/* Flag for the suggested resume command. A run keeps its mode, but mode heartbeat must also
 * be set for the agent. */
static const char *mode_again(const struct run *r) {
    bool companion = r->flags.mode && strcmp(r->flags.mode, "heartbeat") == 0;
    return companion ? " --mode heartbeat" : "";
}

static void say_left(struct run *r) {
    ch_console_error(&r->console, "told to end; 'chela sessions resume%s %s' goes on",
                     mode_again(r), chela_session_key(r->session));
}

/* A limit ends the run, not the conversation. */
static void say_stopped(struct run *r) {
    ch_console_note(&r->console, "'chela run --session %s \"go on\"' goes on from there",
                    chela_session_key(r->session));
}

/* True if only the end of the run is printed, so that no partial reply was shown. */
static bool can_take_back(const struct run *r) {
    return r->format == JSON || (r->format == TEXT && !ch_text_streams(&r->text));
}

/* Approvals not decided by flags are decided at the terminal, if any. */
static enum chela_flow run_decide(chela_run *run, struct chela_approval *a, void *user) {
    struct run *r = user;
    if (r->input)
        return ch_stream_input_approve(r->input, run, a);
    bool ask = !ch_run_decisions_apply(&r->flags.decisions, a) && ch_asker_there(&r->asker);
    return ask ? ch_asker_approve(run, a, &r->asker) : CHELA_GO;
}

/* --- the session ---------------------------------------------------------------------- */

static int run_keep_key(const struct chela_store_session *s, void *user) {
    struct run *r = user;
    free(r->key);
    size_t n = r->resume ? strlen(s->key) : chela_session_root(s->key); /* skip child sessions */
    r->key = ch_format("%.*s", (int)n, s->key);
    r->paused = strcmp(s->status, "paused") == 0;
    if (r->resume && !r->flags.setup.agent && *s->agent && strcmp(s->agent, "main") != 0)
        r->agent = ch_dup(s->agent);
    return 1;
}

/* Copy the session up to that turn and continue with the copy. */
static int choose_copy(struct run *r, chela_store *store, struct chela_error *err) {
    int rc = CHELA_EEXIST;
    for (int i = 2; rc == CHELA_EEXIST; i++) {
        free(r->key);
        r->key = ch_format("%s-%d", r->args.words[0], i);
        *err = (struct chela_error){0};
        rc = chela_store_fork_before(store, r->args.words[0], r->flags.from_turn, r->key, err);
    }
    if (rc == 0)
        ch_console_note(&r->console, "going on as session %s", r->key);
    return rc;
}

static int run_choose_session(struct run *r, chela_store *store, struct chela_error *err) {
    int found = r->resume ? chela_store_session(store, r->args.words[0], run_keep_key, r, err) : 0;
    if (r->resume)
        return found == 0 && r->flags.from_turn ? choose_copy(r, store, err) : found;
    if (r->flags.session)
        r->key = r->key ? r->key : ch_dup(r->flags.session);
    if (!r->flags.resume_last)
        return CHELA_OK;
    if (r->key)
        return ch_problem(err, CHELA_EINVAL,
                          "--session and --continue both choose a session: use one");
    return ch_memo_latest(store, NULL, &r->key, err);
}

static void tell_last_end(const struct chela_event *ev, void *user) {
    ch_text_outcome(user, ev);
}

/* Nothing is unfinished: print the last answer again, or the event that contained it. */
static int show_last(struct run *r, chela_session *session, chela_store *store,
                     struct chela_error *err) {
    char *text = chela_session_last_text(session);
    if (r->format != TEXT && store) {
        int rc = ch_last_end_tell(store, r->key, text, run_on_event, r, err);
        if (rc != 0) {
            chela_free(text);
            return rc < 0 ? rc : CHELA_OK;
        }
    }
    ch_console_note(&r->console, "session %s has nothing to resume; its last answer was:", r->key);
    ch_console_answer(&r->console, text, strlen(text));
    ch_console_answer_end(&r->console);
    int rc = store ? ch_last_end_tell(store, r->key, text, tell_last_end, &r->console, err) : 0;
    chela_free(text);
    r->ended = true;
    return rc < 0 ? rc : CHELA_OK;
}

/* A run that is refused because the session is parked can continue in two ways. */
static int run_take_up(struct run *r, chela_session *session, const struct chela_run_opts *opt,
                       struct chela_error *err) {
    int rc = chela_run_resume(session, opt, &r->handle, err);
    if (rc < 0 && chela_session_status(session) == CHELA_SESSION_PARKED)
        ch_console_note(&r->console,
                        "'chela sessions resume --force %s' tries once more; a new message, 'chela "
                        "run --session %s', leaves that run behind",
                        r->key, r->key);
    return rc;
}

static int run_begin(struct run *r, chela_session *session, const struct texts *texts,
                     struct chela_error *err) {
    struct chela_run_opts opt =
        CHELA_RUN_OPTS(.on_event = run_on_event, .user = r, .may_redo = can_take_back(r),
                       .media = texts->images, .nmedia = r->flags.images.n,
                       .insist = r->flags.force);
    enum chela_session_status status = chela_session_status(session);
    if (r->compact)
        return chela_session_compact(session, r->flags.focus, &opt, &r->handle, err);
    if (r->resume)
        return run_take_up(r, session, &opt, err);
    if (status == CHELA_SESSION_PAUSED)
        return ch_problem(err, CHELA_ESTATE,
                          "session %s waits for an answer or approval: 'chela sessions resume %s'",
                          r->key, r->key);
    if (status != CHELA_SESSION_IDLE)
        ch_console_note(&r->console,
                        "note: the interrupted run of this session is not resumed "
                        "('chela sessions resume%s' would resume it)",
                        status == CHELA_SESSION_PARKED ? " --force" : "");
    return chela_run_start(session, texts->prompt.p, texts->prompt.n, &opt, &r->handle, err);
}

/* Opens the session and applies the decisions of the flags to its waiting calls. */
static int run_open_session(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                            struct chela_error *err) {
    int rc = chela_session_new(agent, r->key, &r->session, err);
    if (rc < 0)
        return rc;
    if (setup->store && chela_session_wait(r->session, err) < 0) {
        r->no_store = true;
        ch_problem_in_use(err, r->key);
        return err->code = CHELA_EINTERNAL; /* any error: exit 1 */
    }
    rc = ch_run_decisions_check(&r->flags.decisions, setup->store, r->key, err);
    return rc < 0 ? rc : ch_run_decisions_answer(&r->flags.decisions, r->session, err);
}

static int run_take_over(struct run *r, const char *answer, struct chela_error *err) {
    int rc = chela_run_take_over(r->handle, answer, strlen(answer));
    return rc < 0 ? ch_problem(err, rc, "--take-over '%s': %s", answer, chela_error_text(rc)) : rc;
}

/* Tells how to continue a run that did not end with an answer. */
static void run_tell_continuation(struct run *r, const chela_store *store) {
    if (r->code == CH_EXIT_PAUSED && ch_signals_left(r->signals)) {
        say_left(r);
        r->code = CH_EXIT_DONE;
    } else if (r->code == CH_EXIT_PAUSED) {
        ch_outcome_waits(&r->console, chela_run_reason(r->handle), chela_session_key(r->session),
                         store ? mode_again(r) : NULL);
    } else if (r->code == CH_EXIT_STOPPED && store) {
        say_stopped(r);
    }
}

/* Waits for the end of the run, and frees its handle. */
static int run_wait(struct run *r, const chela_store *store, struct chela_error *err) {
    if (store)
        ch_signals_drain(r->signals, chela_session_key(r->session));
    ch_signals_attach(r->signals, r->handle);
    int rc = chela_run_wait(r->handle);
    ch_stream_input_attach(r->input, NULL);
    if (r->input)
        ch_signals_attach(r->signals, NULL);
    else
        ch_signals_detach(r->signals);
    run_tell_continuation(r, store);
    chela_run_free(r->handle);
    r->handle = NULL;
    if (r->ended)
        return CHELA_OK;
    rc = rc < 0 ? rc : CHELA_EINTERNAL;
    return ch_problem(err, rc, "the run was lost: %s", chela_error_text(rc));
}

static bool run_has_status(const struct run *r) {
    return r->format != JSONL && r->format != STREAM_JSON;
}

/* The message that "/skill NAME words", or "/NAME words" for a skill or a command of that name,
 * stands for. Another text that begins with a slash stays as it is. */
static int run_expand(const chela_agent *agent, struct ch_cli_input *prompt,
                      struct chela_error *err) {
    bool named = strncmp(prompt->p, "/skill", strlen("/skill")) == 0 &&
                 strchr(" \t\n", prompt->p[strlen("/skill")]);
    struct chela_error unknown = {0};
    if (*prompt->p != '/')
        return CHELA_OK;
    char *call = named ? ch_dup(prompt->p) : ch_format("/skill %s", prompt->p + 1);
    char *text = chela_agent_expand(agent, call, strlen(call), named ? err : &unknown);
    free(call);
    if (!text && named)
        return err->code = CHELA_EINVAL;
    if (!text)
        return CHELA_OK;
    ch_input_release(prompt);
    *prompt = (struct ch_cli_input){.p = ch_dup(text), .n = strlen(text)};
    chela_free(text);
    return CHELA_OK;
}

/* --- messages as lines of standard input --------------------------------------------------- */

static int run_feed_message(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                            struct ch_stream_message *m, struct chela_error *err) {
    struct chela_run_opts opt = CHELA_RUN_OPTS(.on_event = run_on_event, .user = r,
                                               .may_redo = can_take_back(r), .media = m->media,
                                               .nmedia = m->nmedia);
    r->ended = false;
    r->text.fresh = true;
    r->text.said_n = 0; /* drop the previous answer */
    free(r->id);
    r->id = NULL;
    if (r->flags.echo && r->format == STREAM_JSON)
        ch_stream_json_echo(&r->stream, m->content);
    struct ch_cli_input text = {.p = ch_dup(m->text), .n = strlen(m->text)};
    int rc = run_expand(agent, &text, err);
    if (rc == 0)
        rc = chela_run_start(r->session, text.p, text.n, &opt, &r->handle, err);
    ch_input_release(&text);
    if (rc < 0)
        return rc;
    r->status = run_has_status(r) ? ch_status_new(&r->console) : NULL;
    ch_stream_input_attach(r->input, r->handle);
    return run_wait(r, setup->store, err);
}

/* One run for each message. The exit code is that of the last run; a run that waits ends the
 * program, because the session takes no message then. */
static int run_feed(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                    struct chela_error *err) {
    struct ch_stream_message m = {0};
    int rc = 0;
    bool any = false;
    if (chela_session_status(r->session) == CHELA_SESSION_PAUSED)
        return ch_problem(err, CHELA_ESTATE,
                          "session %s waits for an answer or approval: 'chela sessions resume %s'",
                          r->key, r->key);
    while (r->code != CH_EXIT_PAUSED && !ch_signals_caught(r->signals) &&
           !ch_console_failure(&r->console) &&
           (rc = ch_stream_input_next(r->input, &m, err)) > 0) {
        rc = run_feed_message(r, setup, agent, &m, err);
        ch_stream_message_release(&m);
        any = true;
        if (rc < 0)
            break;
    }
    ch_stream_message_release(&m);
    if (rc < 0)
        r->ended = false; /* the reader gets a last line about the failure */
    else if (!any)
        rc = ch_problem(err, CHELA_EINVAL, "standard input has no message");
    return rc < 0 ? rc : CHELA_OK;
}

static int run_converse(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                        const struct texts *texts, struct chela_error *err) {
    int rc = run_open_session(r, setup, agent, err);
    if (rc < 0)
        return rc;
    if (r->resume && !r->compact && chela_session_status(r->session) == CHELA_SESSION_IDLE)
        return show_last(r, r->session, setup->store, err);
    if (run_is_fed(r))
        return run_feed(r, setup, agent, err);
    r->status = run_has_status(r) ? ch_status_new(&r->console) : NULL;
    rc = run_begin(r, r->session, texts, err);
    if (rc == 0 && r->flags.take_over)
        rc = run_take_over(r, r->flags.take_over, err);
    return rc < 0 ? rc : run_wait(r, setup->store, err);
}

/* --- in the background ------------------------------------------------------------------ */

/* The new process works as a gateway for this session only. At SIGTERM, the run has some seconds
 * to finish; then, or while the run waits for a person, the process ends: the journal has
 * everything that is needed to resume. */
static int run_work(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                    const struct texts *texts, struct chela_error *err) {
    chela_agent *agents[] = {agent, NULL};
    struct chela_gateway_opts gateway = CHELA_GATEWAY_OPTS(.agents = agents, .store = setup->store);
    struct chela_run_opts opt =
        CHELA_RUN_OPTS(.on_event = run_on_event, .user = r, .may_redo = can_take_back(r),
                       .media = texts->images, .nmedia = r->flags.images.n, .approve = consent(r));
    int rc = ch_run_decisions_check(&r->flags.decisions, setup->store, r->key, err);
    if (rc < 0)
        return rc;
    ch_signals_work(r->signals, r->key, false);
    rc = chela_gateway_work(setup->rt, &gateway, r->key, r->resume ? NULL : texts->prompt.p,
                            texts->prompt.n, &opt, err);
    if (rc == 0 && !r->ended)
        rc = ch_problem(err, CHELA_EINTERNAL, "the run was lost");
    return rc;
}

/* The key must be known before the run, because it names the log. */
static void run_make_key(struct run *r) {
    unsigned char bytes[8];
    if (r->flags.session || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return;
    r->key = ch_format("s_%02x%02x%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                       bytes[4], bytes[5], bytes[6], bytes[7]);
    r->flags.session = r->key;
}

/* Returns true in the process that continues the run. In the other process, *code becomes
 * the exit code. */
static bool run_detach(struct run *r, const struct ch_env *env, int *code) {
    struct chela_error err = {0};
    if (!r->resume)
        run_make_key(r);
    const char *key = r->resume ? r->args.words[0] : r->flags.session;
    if (ch_detach(&r->detach, env, key, &err) < 0) {
        ch_console_error(&r->console, "%s", err.message);
        *code = ch_problem_exit(&err);
        return false;
    }
    if (r->detach.pid == 0) {
        ch_console_release(&r->console);
        ch_console_init(&r->console, env, ch_setup_verbosity(&r->flags.setup), true);
        return true;
    }
    if (ch_detach_wait(&r->detach, code)) {
        char *line = ch_format("%s\n", key);
        ch_console_print(&r->console, line, strlen(line));
        free(line);
        ch_console_note(&r->console,
                        "process %ld goes on with session %s; 'chela attach %s' follows it, log: "
                        "%s",
                        (long)r->detach.pid, key, key, r->detach.log);
        *code = CH_EXIT_DONE;
    }
    return false;
}

/* --- replay ---------------------------------------------------------------------------- */

static void on_step(const struct chela_replay_step *step, void *user) {
    struct run *r = user;
    if (step->same) {
        ch_console_verbose(&r->console, "[replay] record %llu: %s", (unsigned long long)step->seq,
                           step->now);
        return;
    }
    r->differences++;
    char *line = ch_format("record %llu: then %s; now %s\n", (unsigned long long)step->seq,
                           step->then, step->now);
    ch_console_print(&r->console, line, strlen(line));
    free(line);
}

static int run_compare(struct run *r, const struct ch_setup *setup, chela_agent *agent,
                       struct chela_error *err) {
    int rc = chela_gateway_tools(agent, err);
    if (rc == 0)
        rc = chela_replay(agent, setup->store, r->key, on_step, r, err);
    if (rc < 0)
        return rc;
    if (r->differences == 0)
        ch_console_note(&r->console, "session %s goes the same way", r->key);
    r->code = r->differences ? CH_EXIT_ERROR : CH_EXIT_DONE;
    r->ended = true;
    return CHELA_OK;
}

static bool run_is_url(const char *s) {
    return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0 ||
           strncmp(s, "data:", 5) == 0;
}

static int read_images(const struct ch_texts *given, struct texts *t, struct chela_error *err) {
    for (size_t i = 0; i < given->n; i++) {
        struct chela_media *m = &t->images[i];
        if (run_is_url(given->list[i])) {
            m->url = given->list[i];
            continue;
        }
        int rc = ch_input_file(given->list[i], CH_INPUT_BODY, &t->files[i], err);
        if (rc < 0)
            return rc;
        const char *slash = strrchr(given->list[i], '/');
        *m = (struct chela_media){.data = t->files[i].p,
                                  .len = t->files[i].n,
                                  .name = slash ? slash + 1 : given->list[i]};
    }
    return CHELA_OK;
}

static int run_read_texts(struct run *r, struct texts *t, struct chela_error *err) {
    const struct ch_run_flags *f = &r->flags;
    chela_schema *schema = NULL;
    int rc = f->system ? ch_input_text(f->system, CH_INPUT_SYSTEM, &t->system, err) : 0;
    if (rc == 0 && f->schema)
        rc = ch_input_file(f->schema, CH_INPUT_SYSTEM, &t->schema, err);
    if (rc == 0 && f->schema &&
        (rc = chela_schema_new(t->schema.p, t->schema.n, NULL, &schema, err)) < 0)
        ch_problem_in(err, f->schema);
    chela_schema_free(schema);
    if (rc == 0)
        rc = read_images(&f->images, t, err);
    if (rc == 0 && !r->resume && !run_is_fed(r))
        rc = read_prompt(r, &t->prompt, err);
    for (size_t i = 0; i < f->stop.n; i++)
        t->stop[i] = f->stop.list[i];
    return rc;
}

static void release_texts(struct texts *t) {
    for (size_t i = 0; i < sizeof(t->files) / sizeof(t->files[0]); i++)
        ch_input_release(&t->files[i]);
    ch_input_release(&t->prompt);
    ch_input_release(&t->system);
    ch_input_release(&t->schema);
}

/* The settings that the session was used with count where the command line says nothing. */
static void run_recall(struct run *r) {
    struct ch_run_flags *f = &r->flags;
    ch_memo_use(&r->memo, r->key, &r->console, &f->model, &f->setup, &f->approve);
}

/* A run that a person starts is stored, so that --continue goes on with it; without a place to
 * store it, the run goes on. */
static bool run_is_kept(const struct run *r) {
    return ch_asker_there(&r->asker) && !r->flags.no_session && !r->flags.replay && !r->input;
}

/* Opens the store, and finds the session in it. */
static int run_open_store(struct run *r, struct ch_setup *setup, struct chela_error *err) {
    const struct ch_run_flags *f = &r->flags;
    bool wanted = r->resume || f->session || f->resume_last || f->background;
    int rc = 0;
    if (!f->no_session && !wanted && run_is_kept(r)) {
        struct chela_error why = {0};
        if (ch_setup_store(setup, CH_STORE_WANTED, &why) < 0)
            ch_console_note(&r->console, "the session is not stored: %s", why.message);
    } else if (!f->no_session) {
        rc = ch_setup_store(setup, wanted ? CH_STORE_WANTED : CH_STORE_IF_CHOSEN, err);
    }
    r->no_store = rc == CHELA_EINTERNAL && !setup->store;
    r->stored = setup->store != NULL;
    if (rc == 0 && f->background)
        rc = ch_setup_store_lasts(setup, err);
    if (rc == 0)
        rc = run_choose_session(r, setup->store, err);
    if (rc == 0)
        ch_memo_load(&r->memo, setup->store, r->key);
    if (rc == 0 && (r->resume || f->resume_last))
        run_recall(r);
    if (r->memo.questions)
        setup->silent = r->memo.questions == CH_MEMO_SILENT;
    else if (r->resume && r->paused)
        setup->silent = false; /* a question stays open until a person answers */
    return rc;
}

/* How calls are approved, in the words of the form. */
static const char *run_permission_mode(const struct run *r) {
    const char *word = r->flags.approve ? r->flags.approve : "";
    if (strcmp(word, "edits") == 0)
        return "acceptEdits";
    if (strcmp(word, "plan") == 0)
        return "plan";
    switch (consent(r)) {
    case CHELA_APPROVE_AUTO:
        return "bypassPermissions";
    case CHELA_APPROVE_DENY:
        return "dontAsk";
    case CHELA_APPROVE_DEFAULT:
    case CHELA_APPROVE_ASK:
    case CHELA_APPROVE_SANDBOX:
        break;
    }
    return "default";
}

static void run_describe(struct run *r, const struct ch_setup *setup, chela_agent *agent) {
    r->stream.partial = r->flags.partial;
    r->stream.permission_mode = run_permission_mode(r);
    r->stream.rt = setup->rt;
    r->stream.agent = agent;
    r->stream.configs[0] = setup->config;
    r->stream.configs[1] = setup->mcp[0];
    r->stream.configs[2] = setup->mcp[1];
}

static int run_make_agent(struct run *r, struct ch_setup *setup, struct texts *texts,
                          chela_agent **out, struct chela_error *err) {
    struct ch_run_flags *f = &r->flags;
    if (r->agent)
        f->setup.agent = r->agent;
    struct groups groups = group_opts(f, texts);
    struct chela_agent_opts opt = agent_opts(f, texts, &groups);
    opt.approve = consent(r);
    int rc = ch_setup_agent(setup, &opt, out, err);
    if (rc == 0)
        run_describe(r, setup, *out);
    if (rc == 0 && setup->store)
        ch_memo_keep(*out, f->model, setup, f->approve, f->base_url != NULL);
    if (rc == 0 && (r->resume || r->input || ch_asker_there(&r->asker))) {
        struct chela_hooks hooks = CHELA_HOOKS(.user = r, .approve = run_decide);
        rc = ch_setup_hooks(setup, *out, &hooks, err);
    }
    return rc == 0 && texts->prompt.p ? run_expand(*out, &texts->prompt, err) : rc;
}

static int run_perform(struct run *r, const struct ch_env *env, struct chela_error *err) {
    struct texts texts = {0};
    struct ch_setup setup = {.env = env,
                             .flags = &r->flags.setup,
                             .console = &r->console,
                             .ca_file = r->flags.ca_file,
                             .record = r->flags.record,
                             .replay = r->flags.replay,
                             .uses = CH_USES_MODEL | CH_USES_TOOLS |
                                     (r->flags.no_session ? 0 : CH_USES_STORE),
                             .model = r->flags.model,
                             .signals = r->signals,
                             .local = true,
                             .approve = r->flags.approve,
                             .silent = !ch_asker_there(&r->asker) && !r->flags.background};
    chela_agent *agent = NULL;
    int rc = run_read_texts(r, &texts, err);
    if (rc == 0)
        rc = ch_setup_config(&setup, err);
    if (rc == 0)
        rc = ch_setup_runtime(&setup, err);
    if (rc == 0)
        rc = run_open_store(r, &setup, err);
    if (rc == 0)
        rc = run_make_agent(r, &setup, &texts, &agent, err);
    if (rc == 0 && r->replay && !r->flags.from_turn)
        rc = run_compare(r, &setup, agent, err);
    else if (rc == 0 && r->flags.background)
        rc = run_work(r, &setup, agent, &texts, err);
    else if (rc == 0)
        rc = run_converse(r, &setup, agent, &texts, err);
    ch_status_free(r->status);
    r->status = NULL;
    ch_setup_release(&setup);
    release_texts(&texts);
    return rc;
}

/* --- the command --------------------------------------------------------------------- */

static enum format run_format_of(const char *output) {
    if (!output || strcmp(output, "text") == 0)
        return TEXT;
    return strcmp(output, "json") == 0          ? JSON
           : strcmp(output, "stream-json") == 0 ? STREAM_JSON
                                                : JSONL;
}

static int run_check_words(const struct run *r, struct chela_error *err) {
    if (r->flags.no_session && (r->flags.session || r->flags.resume_last))
        return ch_problem(err, CHELA_EINVAL, "--no-session stores nothing that could be continued");
    if (r->flags.background && (r->flags.no_session || r->flags.resume_last || r->flags.take_over))
        return ch_problem(err, CHELA_EINVAL,
                          "--background takes --session KEY, not --no-session, --continue or "
                          "--take-over");
    if (run_is_fed(r) && (r->args.n > 0 || r->flags.background))
        return ch_problem(err, CHELA_EINVAL,
                          "--input stream-json takes its messages from standard input, not from "
                          "words, and not with --background");
    if (r->format == JSON && run_is_fed(r))
        return ch_problem(err, CHELA_EINVAL,
                          "--input stream-json has several runs: use --output stream-json, jsonl "
                          "or text");
    if (!r->resume || r->args.n == 1)
        return CHELA_OK;
    return ch_problem(err, CHELA_EINVAL, "expected one session key; usage: chela %s [flags] KEY",
                      r->replay    ? "replay"
                      : r->compact ? "sessions compact"
                                   : "sessions resume");
}

static int run_command(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    bool replay = cmd == &ch_cmd_replay;
    bool compact = cmd == &ch_cmd_sessions_compact;
    struct run r = {.detach = {.file = -1, .says = -1, .begun = {-1, -1}},
                    .resume = replay || compact || cmd == &ch_cmd_sessions_resume,
                    .compact = compact,
                    .replay = replay};
    struct chela_error err = {0};

    int rc = ch_args_parse(cmd->opts, NULL, argc, argv, &r.flags, &r.args, &err);
    ch_console_init(&r.console, env, ch_setup_verbosity(&r.flags.setup), r.flags.setup.no_color);
    r.format = run_format_of(r.flags.output);
    r.text = (struct ch_text){.console = &r.console, .no_answer = r.format != TEXT, .fresh = true};
    ch_stream_json_init(&r.stream, &r.console);
    if (rc == 0 && !r.args.help)
        rc = run_check_words(&r, &err);
    if (r.args.help) {
        ch_command_help_print(&r.console, cmd);
        rc = CH_EXIT_DONE;
    } else if (rc < 0 || !r.flags.background || run_detach(&r, env, &rc)) {
        r.signals = ch_signals_new();
        ch_asker_open(&r.asker, &r.console, r.signals);
        if (rc == 0 && run_is_fed(&r))
            r.input = ch_stream_input_new(&r.console, ch_signals_fd(r.signals));
        if (rc == 0)
            rc = run_perform(&r, env, &err);
        rc = rc == 0 ? r.code : run_fail(&r, &err);
        ch_stream_input_free(r.input);
        ch_asker_close(&r.asker);
    }
    ch_signals_free(r.signals);
    rc = ch_console_exit(&r.console, rc);
    ch_text_release(&r.text);
    ch_stream_json_release(&r.stream);
    ch_console_release(&r.console);
    ch_args_release(&r.args);
    ch_detach_release(&r.detach);
    free(r.id);
    free(r.key);
    free(r.agent);
    ch_memo_release(&r.memo);
    return rc;
}

const struct ch_cmd ch_cmd_run = {
    .name = "run",
    .args = "PROMPT...",
    .summary = "give an agent one task",
    .about =
        "Gives an agent one task and prints its answer. The words of PROMPT are joined by spaces. "
        "If standard input is a pipe or a file, or one of the words is '-', its content is "
        "appended to the prompt after a blank line. Without words, standard input is the "
        "prompt.\n\n"
        "The answer goes to standard output. Reasoning, tool calls, retries and warnings go to "
        "standard error. On a terminal, text is shown as it arrives. Elsewhere, standard output "
        "contains only the final answer, for use in pipes. Ctrl-C cancels the run; a second "
        "Ctrl-C exits at once.\n\n"
        "With --background, the command prints the session's key and ends as soon as the run has "
        "begun. The run goes on in another process, also after the terminal was closed, and "
        "writes its output to a log. Calls that need approval wait for 'chela attach'.\n\n"
        "Without --model and without a configuration file, the environment decides the model: the "
        "first key found, else a local server, else the built-in scripted/demo, which needs "
        "neither key nor network.",
    .opts = ch_run_opts,
    .run = run_command,
};

const struct ch_cmd ch_cmd_sessions_resume = {
    .name = "sessions resume",
    .args = "KEY",
    .summary = "continue an interrupted or paused run",
    .about =
        "Continues the unfinished run of a session: a run whose process was killed, or a run that "
        "waits for approval. Tool calls that change nothing are repeated. Calls that may have "
        "taken effect are not repeated, and the model is told that their outcome is unknown. "
        "--allow, --refuse, --edit and --answer decide about waiting calls. For the other waiting "
        "calls chela asks on the terminal; without a terminal the run pauses again. --take-over "
        "ends the run instead.\n\n"
        "A run that was interrupted four times without a model reply in between is parked, and is "
        "resumed only with --force. If no run is unfinished, the last answer is printed.",
    .opts = ch_resume_opts,
    .run = run_command,
};

const struct ch_cmd ch_cmd_sessions_compact = {
    .name = "sessions compact",
    .args = "KEY",
    .summary = "shorten a session's conversation",
    .about =
        "Shortens the conversation of a session: a summary that a model writes replaces all but "
        "the last messages. Statements of the user and identifiers are kept. Later requests are "
        "shorter. The journal keeps all messages, and 'chela sessions show' prints them.",
    .opts = ch_compact_opts,
    .run = run_command,
};

const struct ch_cmd ch_cmd_replay = {
    .name = "replay",
    .args = "KEY",
    .summary = "check a session's decisions, or rerun from a turn",
    .about =
        "Without --from-turn: feeds the recorded model replies and tool results of the session "
        "through chela's decisions again and prints every decision that differs now, for example "
        "with another version or other limits. No model and no tool is called. The exit status is "
        "1 if there is a difference.\n\n"
        "With --from-turn N: copies the session up to the model call of turn N and continues from "
        "there with a real model and real tools. --model chooses another model.",
    .opts = ch_replay_opts,
    .run = run_command,
};
