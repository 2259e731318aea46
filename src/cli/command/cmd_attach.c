/* cmd_attach.c -- `chela attach`: follows a session that another process runs, and passes on
 * the person's input. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "chela/hooks.h"
#include "cli/command/cmd.h"
#include "cli/command/run_decisions.h"
#include "cli/report/last_end.h"
#include "cli/report/out.h"
#include "cli/report/out_json.h"
#include "cli/report/out_text.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/signal.h"
#include "cli/term/ask.h"

enum { LOOK_MS = 100, HOLDER_LOOKS = 20 };

struct flags {
    struct ch_setup_flags setup;
    struct ch_run_decisions decisions; /* allow and refuse */
    const char *say, *output;
    bool cancel;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    {"say", 0, CH_OPT_TEXT, AT(say), "TEXT", 0, 0, "Requests",
     "send a message to the run first; the model receives it with its next request"},
    {"cancel", 0, CH_OPT_SWITCH, AT(cancel), NULL, 0, 0, "Requests", "cancel the run"},
    {"allow", 0, CH_OPT_TEXTS, AT(decisions.allow), "ID|all", 0, 0, "Requests",
     "approve this waiting call; can be repeated"},
    {"refuse", 0, CH_OPT_TEXTS, AT(decisions.refuse), "ID|all", 0, 0, "Requests",
     "refuse this waiting call; the model is told"},
    CH_RUN_OPT_OUTPUT(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

/* A call that waits for the person. */
struct waiting {
    struct waiting *next;
    char *id, *name, *arguments, *summary; /* owned; name NULL: an approval */
    bool can_remember;
};

struct attach {
    struct flags flags;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_text text;
    struct ch_signals *signals; /* owned */
    struct ch_asker asker;      /* owned */
    chela_follow *follow;       /* owned */
    char *key;                  /* owned */
    struct waiting *waiting;    /* owned: a list, oldest first */
    bool json, jsonl;
    bool begun, ended, paused;
    int code;
};

/* --- events ----------------------------------------------------------------------------- */

static char *attach_copy(struct chela_str s) {
    return ch_format("%.*s", (int)s.n, s.n ? s.p : "");
}

static void attach_drop_waiting(struct attach *a) {
    struct waiting *w = a->waiting;
    a->waiting = w->next;
    free(w->id);
    free(w->name);
    free(w->arguments);
    free(w->summary);
    free(w);
}

static void attach_keep(struct attach *a, const struct chela_event *ev) {
    struct waiting *w = ch_must(calloc(1, sizeof(*w))), **end = &a->waiting;
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED) {
        w->id = attach_copy(ev->approval.approval_id);
        w->arguments = attach_copy(ev->approval.arguments);
        w->summary = attach_copy(ev->approval.summary);
        w->can_remember = ev->approval.can_remember;
    } else {
        w->id = attach_copy(ev->call.id);
        w->name = attach_copy(ev->call.name);
        w->arguments = attach_copy(ev->call.arguments);
    }
    while (*end)
        end = &(*end)->next;
    *end = w;
}

static void attach_on_end(struct attach *a, const struct chela_event *ev) {
    a->paused = ev->end.status == CHELA_STATUS_PAUSED;
    a->ended = !a->paused;
    a->code = ch_text_exit(ev->end.status);
    if (a->json)
        ch_json_event(&a->console, ev);
    if (a->ended)
        ch_text_outcome(&a->console, ev);
}

static void attach_on_event(const struct chela_event *ev, void *user) {
    struct attach *a = user;
    if (ev->type == CHELA_EV_RUN_START) {
        a->begun = true;
        a->ended = a->paused = false;
        a->text.fresh = true;
        while (a->waiting)
            attach_drop_waiting(a);
    }
    if (a->jsonl)
        ch_json_event(&a->console, ev);
    else if (!a->json && !(ev->type == CHELA_EV_RUN_END && ev->end.status == CHELA_STATUS_PAUSED))
        ch_text_event(&a->text, ev);
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED || ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        attach_keep(a, ev);
    if (ev->type == CHELA_EV_RUN_END)
        attach_on_end(a, ev);
}

/* --- requests --------------------------------------------------------------------------- */

/* CHELA_ESTATE: the holder takes no requests. */
static int attach_check_holder(struct attach *a, struct chela_error *err) {
    enum chela_holder holder;
    int rc = chela_follow_holder(a->follow, &holder, err);
    if (rc < 0 || holder == CHELA_HOLDER_SERVES)
        return rc;
    if (holder == CHELA_HOLDER_NONE)
        return ch_problem(err, CHELA_ESTATE,
                          "no process runs session %s; 'chela sessions resume %s' continues it",
                          a->key, a->key);
    return ch_problem(err, CHELA_ESTATE,
                      "session %s is run by a chat or 'chela run', which takes messages from its "
                      "own terminal only", a->key);
}

static int attach_send(struct attach *a, struct chela_error *err) {
    const struct flags *f = &a->flags;
    if (f->cancel && !a->begun && !f->say)
        return ch_problem(err, CHELA_ESTATE, "no run of session %s is in progress", a->key);
    int rc = f->say || f->cancel ? attach_check_holder(a, err) : CHELA_OK;
    if (rc == 0 && f->say)
        rc = chela_follow_say(a->follow, f->say, strlen(f->say), err);
    if (rc == 0 && f->cancel)
        rc = chela_follow_cancel(a->follow, err);
    return rc;
}

/* Asks the person, or finds the decision in the flags. 1: no decision is possible. */
static int attach_decide(struct attach *a, const struct waiting *w, struct chela_error *err) {
    struct chela_approval ap = {.approval_id = {w->id, strlen(w->id)},
                                .arguments = {w->arguments, strlen(w->arguments)},
                                .summary = {w->summary, strlen(w->summary)},
                                .can_remember = w->can_remember};
    if (!ch_run_decisions_apply(&a->flags.decisions, &ap) && ch_asker_there(&a->asker) &&
        ch_asker_approve(NULL, &ap, &a->asker) != CHELA_GO)
        return 1;
    if (ap.decision == CHELA_UNDECIDED)
        return 1;
    return chela_follow_decide(a->follow, w->id, ap.decision, ap.reason, err);
}

static int attach_answer(struct attach *a, const struct waiting *w, struct chela_error *err) {
    bool interrupted;
    const char *answer = strcmp(w->name, "ask_user") == 0 && ch_asker_there(&a->asker)
                             ? ch_asker_question(&a->asker, w->arguments, strlen(w->arguments),
                                                 &interrupted)
                             : NULL;
    return answer ? chela_follow_answer(a->follow, w->id, answer, strlen(answer), err) : 1;
}

static void attach_tell_waiting(struct attach *a, const struct waiting *w) {
    const char *line = w->summary ? w->summary : w->name;
    ch_console_note(&a->console, "session %s waits for %s %s:", a->key,
                    w->name ? "the answer to" : "approval", w->id);
    while (*line) {
        size_t n = strcspn(line, "\n");
        ch_console_note(&a->console, "  %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    if (!w->name)
        ch_console_note(&a->console,
                        "'chela attach %s --allow %s' approves it, --refuse refuses it", a->key,
                        w->id);
    else if (strcmp(w->name, "ask_user") == 0)
        ch_console_note(&a->console, "'chela attach %s' on a terminal takes the answer", a->key);
}

/* The run waits for the person. 1: nobody can answer. */
static int attach_ask(struct attach *a, struct chela_error *err) {
    int rc = a->waiting ? attach_check_holder(a, err) : CHELA_OK;
    while (rc == 0 && a->waiting) {
        rc = a->waiting->name ? attach_answer(a, a->waiting, err)
                              : attach_decide(a, a->waiting, err);
        if (rc == 1)
            attach_tell_waiting(a, a->waiting);
        else if (rc == 0)
            attach_drop_waiting(a);
    }
    a->paused = a->paused && rc != 0;
    return rc;
}

static bool attach_waits_for(const struct attach *a, const char *id) {
    for (const struct waiting *w = a->waiting; w; w = w->next)
        if (strcmp(id, w->id) == 0)
            return true;
    return strcmp(id, "all") == 0 && a->begun;
}

/* A decision about a call that does not wait is an error. */
static int attach_check_ids(const struct attach *a, struct chela_error *err) {
    const struct ch_texts *lists[] = {&a->flags.decisions.allow, &a->flags.decisions.refuse};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < lists[i]->n; k++)
            if (!attach_waits_for(a, lists[i]->list[k]))
                return ch_problem(err, CHELA_EINVAL,
                                  "session %s does not ask for approval %s%s", a->key,
                                  lists[i]->list[k],
                                  a->begun ? "" : ": no run of the session is in progress");
    return CHELA_OK;
}

/* --- following -------------------------------------------------------------------------- */

/* Handles a line from the terminal. False: the person leaves. */
static bool attach_take_line(struct attach *a) {
    char *line = NULL;
    size_t cap = 0;
    struct chela_error err = {0};
    ssize_t n = getline(&line, &cap, stdin);
    bool stays = n >= 0;
    while (n > 0 && strchr("\r\n", line[n - 1]))
        line[--n] = '\0';
    if (n > 0 && (strcmp(line, "/detach") == 0 || strcmp(line, "/quit") == 0)) {
        stays = false;
    } else if (n > 0 && line[0] == '/' && strcmp(line, "/cancel") != 0) {
        ch_console_error(&a->console, "%s is no command here: /cancel, /detach", line);
    } else if (n > 0) {
        int rc = attach_check_holder(a, &err);
        if (rc == 0)
            rc = strcmp(line, "/cancel") == 0 ? chela_follow_cancel(a->follow, &err)
                                              : chela_follow_say(a->follow, line, (size_t)n, &err);
        if (rc < 0)
            ch_console_error(&a->console, "%s", err.message);
    }
    free(line);
    return stays;
}

/* Waits until the next poll. False: the person leaves. */
static bool attach_wait(struct attach *a) {
    bool listens = ch_asker_there(&a->asker) && isatty(STDIN_FILENO) == 1;
    struct pollfd fds[] = {{.fd = ch_signals_fd(a->signals), .events = POLLIN},
                           {.fd = listens ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(fds, 2, LOOK_MS) <= 0)
        return true;
    return !fds[0].revents && (!fds[1].revents || attach_take_line(a));
}

static bool attach_is_abandoned(struct attach *a) {
    enum chela_holder holder;
    return chela_follow_holder(a->follow, &holder, NULL) == 0 && holder == CHELA_HOLDER_NONE;
}

static int attach_loop(struct attach *a, struct chela_error *err) {
    for (unsigned looks = 1;; looks++) {
        bool abandoned = looks % HOLDER_LOOKS == 0 && attach_is_abandoned(a);
        int rc = chela_follow_read(a->follow, attach_on_event, a, err);
        if (rc < 0 || a->ended || ch_console_failure(&a->console))
            return rc;
        bool asks = a->paused && !a->flags.cancel; /* a cancelled run ends without an answer */
        if (asks && (rc = attach_ask(a, err)) != 0) {
            a->code = CH_EXIT_PAUSED;
            return rc < 0 ? rc : CHELA_OK;
        }
        if (abandoned)
            return ch_problem(err, CHELA_ESTATE,
                              "no process runs session %s any more; 'chela sessions resume %s' "
                              "continues it", a->key, a->key);
        if (!attach_wait(a)) {
            ch_console_note(&a->console, "detached; session %s goes on", a->key);
            return CHELA_OK;
        }
    }
}

/* No run is unfinished: the last end and its answer. */
static void attach_on_last(const struct chela_event *ev, void *user) {
    struct attach *a = user;
    a->ended = true;
    if (a->jsonl)
        ch_json_event(&a->console, ev);
    attach_on_end(a, ev);
}

/* *user: the text of the last reply. */
static int attach_on_message(const char *message, size_t n, void *user) {
    char **text = user, *role = chela_json_get(message, n, "/role", NULL);
    char *said = role && strcmp(role, "assistant") == 0
                     ? chela_json_get(message, n, "/content/0/text", NULL)
                     : NULL;
    if (said) {
        chela_free(*text);
        *text = said;
    }
    chela_free(role);
    return 0;
}

static int attach_show_last(struct attach *a, struct chela_error *err) {
    char *json, *text = NULL;
    int rc = chela_store_show(a->setup.store, a->key, &json, err);
    if (rc < 0)
        return rc;
    char *messages = chela_json_get(json, strlen(json), "/transcript", NULL);
    if (messages)
        chela_json_each(messages, strlen(messages), attach_on_message, &text);
    chela_free(messages);
    chela_free(json);
    rc = ch_last_end_tell(a->setup.store, a->key, text ? text : "", attach_on_last, a, err);
    if (rc >= 0 && !a->json && !a->jsonl) {
        ch_console_note(&a->console, "no run of session %s is in progress; its last answer was:",
                        a->key);
        ch_console_answer(&a->console, text ? text : "", text ? strlen(text) : 0);
        ch_console_answer_end(&a->console);
    }
    chela_free(text);
    return rc < 0 ? rc : CHELA_OK;
}

/* --- the session ------------------------------------------------------------------------- */

struct choice {
    char *key; /* owned: the first; NULL: none */
    struct ch_draft names;
    size_t n;
};

static int attach_on_session(const struct chela_store_session *s, void *user) {
    struct choice *c = user;
    if (s->key[chela_session_root(s->key)])
        return 0; /* belongs to an agent that another agent called */
    if (!c->key)
        c->key = ch_dup(s->key);
    fprintf(c->names.f, "%s%s", c->n++ ? ", " : "", s->key);
    return 0;
}

/* Without a key, the only session with an unfinished run. */
static int attach_choose(struct attach *a, const struct ch_args *args, struct chela_error *err) {
    static const char *const statuses[] = {"running", "paused"};
    struct choice c = {0};
    int rc = CHELA_OK;
    if (args->n == 1) {
        a->key = ch_dup(args->words[0]);
        return CHELA_OK;
    }
    ch_draft_init(&c.names);
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        struct chela_store_filter filter = CHELA_STORE_FILTER(.status = statuses[i], .limit = 20);
        rc = chela_store_list(a->setup.store, &filter, attach_on_session, &c, err);
    }
    ch_draft_finish(&c.names);
    if (rc == 0 && c.n != 1)
        rc = ch_problem(err, CHELA_EINVAL, c.n ? "which session? %s" : "no run is in progress",
                        c.names.p);
    a->key = c.key;
    free(c.names.p);
    return rc;
}

static int attach_perform(struct attach *a, const struct ch_args *args, struct chela_error *err) {
    int rc = args->n <= 1 ? ch_setup_config(&a->setup, err)
                          : ch_problem(err, CHELA_EINVAL, "usage: chela attach [flags] [SESSION]");
    if (rc == 0)
        rc = ch_setup_store(&a->setup, CH_STORE_WANTED, err);
    if (rc == 0)
        rc = attach_choose(a, args, err);
    if (rc == 0)
        rc = chela_follow_new(a->setup.store, a->key, &a->follow, err);
    if (rc == 0)
        rc = chela_follow_read(a->follow, attach_on_event, a, err);
    if (rc == 0)
        rc = attach_check_ids(a, err);
    if (rc == 0)
        rc = attach_send(a, err);
    if (rc == 0 && !a->begun && !a->flags.say)
        return attach_show_last(a, err);
    return rc < 0 ? rc : attach_loop(a, err);
}

static int attach_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct attach a = {0};
    struct ch_args args;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &a.flags, &args);
    if (code < 0) {
        ch_setup_begin(&a.setup, env, &a.flags.setup, &a.console);
        a.setup.uses = CH_USES_STORE;
        a.json = a.flags.output && strcmp(a.flags.output, "json") == 0;
        a.jsonl = a.flags.output && strcmp(a.flags.output, "jsonl") == 0;
        a.text = (struct ch_text){.console = &a.console, .fresh = true};
        a.signals = ch_signals_new();
        ch_asker_open(&a.asker, &a.console, a.signals);
        int rc = attach_perform(&a, &args, &err);
        chela_follow_close(a.follow);
        while (a.waiting)
            attach_drop_waiting(&a);
        ch_asker_close(&a.asker);
        ch_signals_free(a.signals);
        ch_text_release(&a.text);
        free(a.key);
        code = ch_setup_finish(&a.setup, rc, &err);
        code = rc < 0 ? code : code ? code : a.code;
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_attach = {
    .name = "attach",
    .args = "[SESSION]",
    .summary = "follow a run that another process carries out",
    .about =
        "Follows the run in progress of a session, which 'chela run --background', a gateway or "
        "another terminal carries out: prints its messages, calls and results as they are stored, "
        "and the end. Without SESSION, the only session with an unfinished run is followed. The "
        "exit code is that of the run.\n\n"
        "On a terminal, calls that need approval and questions are asked, and each line that you "
        "type is sent to the run. /cancel cancels the run. Ctrl-C, Ctrl-D or /detach leave; the "
        "run goes on. A run of 'chela chat' or of 'chela run' in the foreground can be followed, "
        "but takes no messages from here.",
    .opts = opts,
    .run = attach_run,
};
