/* cmd_chat.c -- `chela chat`: a conversation at a terminal, or line by line.
 *
 * On a terminal the runtime uses the loop of chat.c. If input or output is no terminal, or
 * the terminal cannot rewrite lines, each line of standard input is a message, and the
 * output is that of `chela run`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/out_text.h"
#include "cli/term/ask.h"
#include "cli/chat/chat.h"
#include "cli/chat/chat_call.h"
#include "cli/chat/chat_sessions.h"
#include "cli/command/cmd.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/memo.h"
#include "cli/setup/run_opts.h"
#include "cli/support/signal.h"
#include "cli/term/status.h"

struct flags {
    struct ch_setup_flags setup;
    const char *model, *base_url, *api_key_env, *ca_file, *record, *replay;
    const char *session, *system, *mode, *reasoning, *approve;
    int64_t max_turns, max_tool_calls, max_errors, token_budget;
    struct ch_real timeout, cost_budget;
    bool no_session, resume_last, pick, no_stream;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_RUN_OPTS_SESSION(struct flags),
    {"resume", 0, CH_OPT_SWITCH, AT(pick), NULL, 0, 0, "Configuration",
     "choose the session to continue from a list"},
    CH_RUN_OPTS_SERVICE(struct flags),
    CH_RUN_OPTS_WIRE(struct flags),
    CH_RUN_OPT_SYSTEM(struct flags),
    CH_RUN_OPT_REASONING(struct flags),
    CH_RUN_OPT_MODE(struct flags),
    CH_RUN_OPT_NO_STREAM(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_RUN_OPT_APPLY(struct flags),
    CH_RUN_OPT_APPROVE(struct flags,
                       "calls that need approval: ask, and ask about changes of files, too (ask), "
                       "change files unasked and ask about the rest (edits, the default on a "
                       "terminal), only read and answer with a plan (plan), run commands in the "
                       "full sandbox without a network and ask about the rest (sandbox), run them "
                       "(auto), or refuse them (deny, the default elsewhere)"),
    CH_RUN_OPTS_CALLS(struct flags, "model calls for one message, at most (no limit)",
                      "tool calls for one message, at most (200; 0: no limit)"),
    CH_RUN_OPT_ERRORS(struct flags),
    CH_RUN_OPTS_BUDGETS(struct flags, "tokens for one message, input and output together (no "
                                      "limit)",
                        "cost for one message in US dollars, where prices are known (no limit)"),
    CH_RUN_OPT_TIMEOUT(struct flags, "time for one message in seconds (no limit)"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct talk {
    struct flags flags;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_cli_input system; /* owned */
    struct ch_signals *signals; /* owned; only in line mode */
    struct ch_asker asker;      /* owned; only in line mode */
    struct ch_status *status;   /* owned; only in line mode */
    struct ch_text text;
    chela_agent *agent;
    const char *model; /* of the agent; borrowed from flags or the configuration */
    char *key; /* owned: key of the session; NULL: a new session */
    struct ch_memo memo; /* owned: settings that the session was used with */
    bool alone; /* nobody can be asked */
    int code;
};

/* --- set-up --------------------------------------------------------------------------- */

static int chat_choose_session(struct talk *t, struct chela_error *err) {
    if (t->flags.session)
        t->key = ch_dup(t->flags.session);
    if ((t->key != NULL) + t->flags.resume_last + t->flags.pick > 1)
        return ch_problem(err, CHELA_EINVAL,
                          "--session, --continue and --resume choose a session: use one");
    if (!t->flags.resume_last)
        return CHELA_OK;
    return ch_memo_latest(t->setup.store, CH_CHAT_TAKEN_BACK, &t->key, err);
}

/* A conversation is stored if possible; failure is an error only if a store was requested. */
static int open_store(struct talk *t, struct chela_error *err) {
    struct chela_error why = {0};
    bool asked = t->flags.session || t->flags.resume_last || t->flags.pick || t->flags.setup.store;

    if (t->flags.no_session && asked && !t->flags.setup.store)
        return ch_problem(err, CHELA_EINVAL, "--no-session stores nothing that could be continued");
    if (t->flags.no_session)
        return CHELA_OK;
    int rc = ch_setup_store(&t->setup, CH_STORE_WANTED, asked ? err : &why);
    if (rc < 0 && !asked) {
        ch_console_note(&t->console, "warning: this conversation is not kept: %s", why.message);
        return CHELA_OK;
    }
    return rc;
}

/* Set up everything but the configuration and the agent. */
static int chat_set_up(struct talk *t, struct chela_error *err) {
    const struct flags *f = &t->flags;
    int rc = f->system ? ch_input_text(f->system, CH_INPUT_SYSTEM, &t->system, err) : 0;

    if (rc == 0)
        rc = ch_setup_runtime(&t->setup, err);
    if (rc == 0)
        rc = open_store(t, err);
    return rc < 0 ? rc : chat_choose_session(t, err);
}

/* key: session that is continued; NULL: none. */
static int chat_make_agent(struct talk *t, const char *model, const char *key,
                           struct chela_error *err) {
    struct flags *f = &t->flags;
    if (key && t->setup.store && !t->memo.model && !t->memo.workspace) {
        ch_memo_load(&t->memo, t->setup.store, key);
        ch_memo_use(&t->memo, key, &t->console, model ? &model : &f->model, &f->setup,
                    &f->approve);
        if (t->memo.questions)
            t->setup.silent = t->memo.questions == CH_MEMO_SILENT;
    }
    model = model ? model : f->model;
    enum chela_approve approve = t->alone ? CHELA_APPROVE_DENY : CHELA_APPROVE_ASK;
    struct chela_limits limits = CHELA_LIMITS(
        .max_turns = f->max_turns, .max_tool_calls = f->max_tool_calls,
        .max_consecutive_errors = f->max_errors, .token_budget = f->token_budget,
        .cost_budget_usd = ch_run_opts_cost(f->cost_budget),
        .timeout_ms = ch_run_opts_timeout(f->timeout));
    t->setup.open_ended = true;
    struct chela_request_opts request = CHELA_REQUEST_OPTS(.no_stream = f->no_stream);
    struct chela_agent_opts opt =
        CHELA_AGENT_OPTS(.model = model, .base_url = f->base_url, .api_key_env = f->api_key_env,
                         .system = t->system.p, .mode = ch_args_choice(CHELA_CHOICE_MODE, f->mode),
                         .reasoning = ch_args_choice(CHELA_CHOICE_REASONING, f->reasoning),
                         .approve = f->approve ? ch_setup_approve(f->approve) : approve,
                         .limits = &limits, .request = &request);
    t->setup.approve = f->approve;
    int rc = ch_setup_agent(&t->setup, &opt, &t->agent, err);
    t->model = opt.model;
    if (rc == 0)
        ch_memo_keep(t->agent, model, &t->setup, f->approve, f->base_url != NULL);
    return rc;
}

/* --- on a terminal --------------------------------------------------------------------- */

static enum chela_flow before_model(chela_run *run, struct chela_turn_patch *patch, void *user) {
    const struct ch_chat *c = user;
    (void)run;
    patch->model = c->model;
    patch->reasoning = c->reasoning;
    return CHELA_GO;
}

/* Open a separate file description, because the loop makes it non-blocking, and that of
 * standard input is shared with the shell. */
static int chat_open_terminal(const struct ch_console *console) {
    if (!console->out.live || isatty(STDIN_FILENO) != 1)
        return -1;
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

struct host { /* context of the chat's callbacks */
    struct talk *talk;
    struct ch_chat chat;
};

static int set_up_chat(void *user, const char **key, struct chela_error *err) {
    struct host *h = user;
    int rc = chat_set_up(h->talk, err);
    *key = h->talk->key;
    return rc;
}

static int make_chat_agent(void *user, const char *model, chela_agent **out,
                           struct chela_error *err) {
    struct host *h = user;
    struct chela_hooks hooks = CHELA_HOOKS(.user = &h->chat, .before_model = before_model);
    int rc = chat_make_agent(h->talk, model, h->chat.key, err);
    h->chat.approve_name = h->talk->flags.approve ? h->talk->flags.approve : "ask";
    if (rc == 0)
        rc = chela_agent_hooks(h->talk->agent, &hooks, err);
    if (rc == 0)
        *out = h->talk->agent;
    if (rc == 0 && !h->chat.asked_model && h->talk->model)
        h->chat.asked_model = ch_call_safe(h->talk->model, strlen(h->talk->model));
    return rc;
}

static int on_terminal(struct talk *t, int tty, struct chela_error *err) {
    struct host *h = ch_must(calloc(1, sizeof(*h)));

    h->talk = t;
    h->chat.console = &t->console;
    h->chat.setup = &t->setup;
    h->chat.set_up = set_up_chat;
    h->chat.make_agent = make_chat_agent;
    h->chat.user = h;
    h->chat.tty = tty;
    h->chat.pick_first = t->flags.pick;
    h->chat.approve_name = "ask";
    uv_loop_init(&h->chat.loop);
    t->setup.uv_loop = &h->chat.loop;
    t->setup.background = true;
    int rc = ch_chat_run(&h->chat, err);
    uv_loop_close(&h->chat.loop);
    t->code = rc > 0 ? rc : 0;
    free(h);
    return rc < 0 ? rc : CHELA_OK;
}

/* --- line by line ---------------------------------------------------------------------- */

static void chat_on_event_in_command(const struct chela_event *ev, void *user) {
    struct talk *t = user;
    ch_status_event(t->status, ev);
    if (ev->type == CHELA_EV_RUN_END) {
        ch_status_free(t->status);
        t->status = NULL;
    }
    ch_text_event(&t->text, ev);
    if (ev->type == CHELA_EV_RUN_END) {
        ch_text_outcome(&t->console, ev);
        t->code = ch_text_exit(ev->end.status);
    }
}

static int send_line(struct talk *t, chela_session *session, const char *line, size_t n,
                     struct chela_error *err) {
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = chat_on_event_in_command, .user = t,
                                               .may_redo = !ch_text_streams(&t->text));
    chela_run *run;

    t->text.fresh = true;
    t->text.said_n = 0; /* drop the previous answer */
    int rc = chela_run_start(session, line, n, &how, &run, err);
    if (rc < 0)
        return rc;
    t->status = ch_status_new(&t->console);
    ch_signals_attach(t->signals, run);
    rc = chela_run_wait(run);
    ch_signals_attach(t->signals, NULL);
    chela_run_free(run);
    return rc < 0 ? ch_problem(err, rc, "the run was lost: %s", chela_error_text(rc)) : CHELA_OK;
}

/* Wait for input. A terminal delivers whole lines, so stdio's buffer is empty here. False:
 * a signal came first. */
static bool wait_for_line(struct talk *t) {
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = ch_signals_fd(t->signals), .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
    return !fds[1].revents;
}

/* A person types the lines. */
static bool chat_is_typed(const struct talk *t) {
    return isatty(STDIN_FILENO) == 1 && t->console.out.tty;
}

/* A person's Ctrl-C cancels the run only. */
static bool chat_goes_on(struct talk *t) {
    return !ch_signals_caught(t->signals) || (chat_is_typed(t) && ch_signals_forget(t->signals));
}

/* Read the next message; blank lines are skipped. */
static ssize_t chat_read_message(struct talk *t, char **line, size_t *cap) {
    bool ask = chat_is_typed(t);
    ssize_t n;
    do {
        if (ask)
            ch_console_ask(&t->console, "> ", 2);
        if (ask && !wait_for_line(t))
            return -1;
        n = getline(line, cap, stdin);
        if (ask)
            ch_console_asked(&t->console, n > 0);
        while (n > 0 && strchr("\r\n", (*line)[n - 1]))
            (*line)[--n] = '\0';
    } while (n >= 0 && strspn(*line, " \t") == (size_t)n);
    return n;
}

/* The session takes no message while a call waits for a person. */
static bool chat_waits(struct talk *t, const chela_session *session) {
    if (t->code != CH_EXIT_PAUSED)
        return false;
    const char *key = chela_session_key(session);
    if (t->setup.store)
        ch_console_error(&t->console,
                         "session %s waits for an answer or approval: 'chela sessions resume %s' "
                         "goes on",
                         key, key);
    return true;
}

static int line_by_line(struct talk *t, struct chela_error *err) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    chela_session *session;
    struct chela_hooks hooks = CHELA_HOOKS(.user = &t->asker, .approve = ch_asker_approve);

    if (t->flags.pick) {
        ch_setup_release(&t->setup);
        return ch_problem(err, CHELA_EINVAL,
                          "--resume needs a terminal; --continue or --session KEY does not");
    }
    t->signals = ch_signals_new();
    ch_asker_open(&t->asker, &t->console, t->signals);
    t->alone = t->setup.silent = !ch_asker_there(&t->asker);
    int rc = chat_set_up(t, err);
    if (rc == 0)
        rc = chat_make_agent(t, NULL, t->key, err);
    if (rc == 0 && ch_asker_there(&t->asker))
        rc = chela_agent_hooks(t->agent, &hooks, err);
    if (rc == 0)
        rc = chela_session_new(t->agent, t->key, &session, err);
    if (rc == 0 && t->setup.store && (rc = chela_session_wait(session, err)) < 0)
        ch_problem_in_use(err, chela_session_key(session));
    while (rc == 0 && !chat_waits(t, session) && chat_goes_on(t) &&
           !ch_console_failure(&t->console) &&
           (n = chat_read_message(t, &line, &cap)) >= 0 && strcmp(line, "/quit") != 0)
        rc = send_line(t, session, line, (size_t)n, err);
    free(line);
    ch_setup_release(&t->setup);
    ch_asker_close(&t->asker);
    ch_signals_free(t->signals);
    return rc;
}

/* --- the command ------------------------------------------------------------------------ */

static int chat_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct talk t = {0};
    struct ch_args args;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &t.flags, &args);

    if (code < 0) {
        ch_console_init(&t.console, env, ch_setup_verbosity(&t.flags.setup),
                        t.flags.setup.no_color);
        t.setup = (struct ch_setup){.env = env,
                                    .flags = &t.flags.setup,
                                    .console = &t.console,
                                    .ca_file = t.flags.ca_file,
                                    .record = t.flags.record,
                                    .replay = t.flags.replay,
                                    .uses = t.flags.no_session ? CH_USES_MODEL | CH_USES_TOOLS
                                                               : CH_USES_RUN,
                                    .model = t.flags.model,
                                    .local = true};
        t.text = (struct ch_text){.console = &t.console, .fresh = true};
        int tty = chat_open_terminal(&t.console);
        int rc = ch_setup_config(&t.setup, &err);
        if (rc < 0)
            ch_setup_release(&t.setup);
        else
            rc = tty >= 0 ? on_terminal(&t, tty, &err) : line_by_line(&t, &err);
        if (rc < 0)
            ch_console_error(&t.console, "%s", err.message);
        code = ch_console_exit(&t.console, rc < 0 ? ch_problem_exit(&err) : t.code);
        if (tty >= 0)
            close(tty);
        ch_text_release(&t.text);
        ch_input_release(&t.system);
        ch_console_release(&t.console);
        ch_memo_release(&t.memo);
        free(t.key);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_chat = {
    .name = "chat",
    .args = "",
    .summary = "talk with an agent",
    .about =
        "Starts a conversation with an agent at the terminal. Enter sends a message; Alt-Enter, "
        "or a backslash at the end of a line, starts a new line. Answers are shown as they "
        "arrive. A message that you send while the agent works steers the run. Ctrl-C cancels the "
        "run and keeps the conversation. Ctrl-D exits. /help lists the commands.\n\n"
        "The conversation is stored if a store can be opened; --continue continues it, and "
        "--resume lists the conversations to choose one.\n\n"
        "If standard input or output is not a terminal, or TERM is \"dumb\", each line of "
        "standard input is a message, and answers go to standard output as with 'chela run'.",
    .opts = opts,
    .run = chat_run,
};
