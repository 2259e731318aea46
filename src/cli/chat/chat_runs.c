/* chat_runs.c -- see chat_runs.h. */
#include "cli/chat/chat_runs.h"

#include <string.h>

#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_past.h"
#include "cli/chat/chat_queue.h"
#include "cli/chat/chat_show.h"
#include "cli/chat/chat_tasks.h"
#include "cli/chat/chat_undo.h"
#include "cli/setup/memo.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/ask.h"

static void chat_on_event(const struct chela_event *ev, void *user);

/* --- runs --------------------------------------------------------------------------- */

static struct chela_run_opts chat_run_opts(struct ch_chat *c) {
    return (struct chela_run_opts)CHELA_RUN_OPTS(.on_event = chat_on_event, .user = c,
                                                 .approve = c->approve);
}

/* Returns rc: the outcome of the function that starts a run. */
static int began(struct ch_chat *c, int rc, const struct chela_error *err) {
    if (rc < 0) {
        ch_console_error(c->console, "%s", err->message);
        return rc;
    }
    c->started = uv_now(&c->loop);
    uv_timer_again(&c->tick);
    return rc;
}

static int chat_start(struct ch_chat *c, const struct ch_chat_message *m, const char *text,
                      const char *typed) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};

    how.media = m->media;
    how.nmedia = m->nmedia;
    c->used = (struct chela_usage){0};
    c->turn = 0;
    int rc = chela_run_start(c->session, text, strlen(text), &how, &c->run, &err);
    if (rc == 0) {
        c->sent = ch_dup(typed);
        c->sent_outputs = c->outputs;
        c->outputs = NULL;
    }
    return began(c, rc, &err);
}

/* Steer the run in progress, or start one. Negative: nothing was sent, and the reason was
 * shown. */
static int chat_deliver(struct ch_chat *c, const struct ch_chat_message *m, const char *text,
                        const char *typed, bool shown) {
    if (c->run && m->nmedia > 0) {
        ch_console_error(c->console, "an image cannot be sent during a run (Ctrl-C cancels it)");
        return CHELA_ESTATE;
    }
    int rc = c->run ? chela_run_steer(c->run, text, strlen(text)) : CHELA_ESTATE;
    if (rc == CHELA_ESTATE) {
        if (!shown)
            ch_chat_user(c, typed, strlen(typed));
        return chat_start(c, m, text, typed);
    } else if (rc < 0) {
        ch_console_error(c->console, "the run takes no more messages: %s", chela_error_text(rc));
        return rc;
    } else {
        ch_chat_queue_add(c, text, typed);
        ch_console_note(c->console, "(for the agent, as soon as it listens) %s", typed);
    }
    return CHELA_OK;
}

void ch_chat_give_back(struct ch_chat *c, const char *typed) {
    char *text = ch_format("%s%s%s", typed, c->edit.n > 0 ? "\n" : "", c->edit.text);
    ch_edit_set(&c->edit, text);
    free(text);
    ch_chat_attach_served(c, NULL);
}

void ch_chat_say(struct ch_chat *c, const char *text, const char *typed, bool shown) {
    struct ch_chat_message m = {0};
    struct chela_error err = {0};
    char *whole = NULL;

    if (c->run && c->compacting) {
        ch_chat_queue_add(c, text, typed);
        ch_console_note(c->console, "(for the agent, after the conversation is condensed) %s",
                        typed);
        return;
    }
    int rc = ch_chat_ready(c) ? ch_chat_attach(c, text, typed, &m, &whole, &err) : CHELA_ESTATE;
    if (rc < 0 && *err.message)
        ch_console_error(c->console, "%s", err.message);
    if (rc == 0)
        rc = chat_deliver(c, &m, whole, typed, shown);
    if (rc == 0)
        ch_chat_attach_forget(c);
    else
        ch_chat_give_back(c, typed);
    ch_chat_attach_release(&m);
    free(whole);
}

bool ch_chat_is_idle(struct ch_chat *c, const char *what) {
    if (c->run || c->asks)
        ch_console_error(c->console, "/%s has to wait until the run has ended", what);
    return !c->run && !c->asks;
}

void ch_chat_resume(struct ch_chat *c) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    how.insist = 1;
    ch_chat_undo_go_on(c);
    began(c, chela_run_resume(c->session, &how, &c->run, &err), &err);
}

void ch_chat_compact(struct ch_chat *c, const char *focus) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    c->used = (struct chela_usage){0};
    c->turn = 0;
    c->compacting = true;
    int rc = chela_session_compact(c->session, *focus ? focus : NULL, &how, &c->run, &err);
    c->compacting &= rc == 0; /* the run may have ended already */
    began(c, rc, &err);
}

/* --- questions ---------------------------------------------------------------------- */

void ch_chat_drop_ask(struct ch_chat *c) {
    struct ch_chat_ask *a = c->asks;
    c->asks = a->next;
    free(a->id);
    free(a->arguments);
    free(a->text);
    free(a);
}

/* Show the question at the prompt; current input is set aside. */
void ch_chat_put_question(struct ch_chat *c) {
    ch_chat_notify(c, "a question waits");
    ch_chat_print(c, "\033[33m", c->asks->text, strlen(c->asks->text));
    if (!c->typed && c->edit.n > 0)
        c->typed = ch_edit_take(&c->edit);
}

/* True: a question of the session's own run waits. */
static bool chat_run_asks(const struct ch_chat *c) {
    for (const struct ch_chat_ask *a = c->asks; a; a = a->next)
        if (!a->of_task)
            return true;
    return false;
}

static void chat_on_wake(chela_session *s, void *user);

/* Drop the question at the prompt. resumes: a question of the session's own run was answered. */
static void next_question(struct ch_chat *c, bool resumes) {
    ch_chat_drop_ask(c);
    if (c->typed && !c->asks) {
        ch_edit_set(&c->edit, c->typed);
        free(c->typed);
        c->typed = NULL;
    }
    if (resumes && !chat_run_asks(c))
        ch_chat_resume(c);
    if (c->asks && !c->run)
        ch_chat_put_question(c);
    chat_on_wake(c->session, c); /* a task may have ended while the question waited */
}

static int chat_decide(struct ch_chat *c, char *line, struct chela_error *err) {
    enum chela_decision decision;
    const char *reason;

    if (!ch_answer_read(line, c->asks->can_remember, &decision, &reason))
        return ch_problem(err, CHELA_EINVAL,
                          "please say once, %sno, no and why, edit ARGUMENTS, result TEXT or take "
                          "TEXT",
                          c->asks->can_remember ? "always, " : "");
    return chela_session_approve(c->session, c->asks->id, decision, reason, err);
}

static int chat_answer(struct ch_chat *c, const char *line, struct chela_error *err) {
    const struct ch_chat_ask *a = c->asks;
    char *choice = ch_question_choice(a->arguments, strlen(a->arguments), line);
    const char *text = choice ? choice : line;
    int rc = chela_session_answer(c->session, a->id, text, strlen(text), 0, err);
    chela_free(choice);
    return rc;
}

void ch_chat_reply(struct ch_chat *c, char *line) {
    struct chela_error err = {0};
    if (!line[strspn(line, " \t\n")])
        return;
    ch_chat_user(c, line, strlen(line));
    int rc = c->asks->arguments ? chat_answer(c, line, &err) : chat_decide(c, line, &err);
    if (rc < 0)
        ch_console_error(c->console, "%s", err.message);
    if (rc == 0 || rc == CHELA_ENOENT) /* ENOENT: its task has ended, or another program decided */
        next_question(c, !c->asks->of_task);
}

/* The person declines to answer: deny everything and cancel the run. */
void ch_chat_refuse(struct ch_chat *c) {
    static const char why[] = "The user interrupted.";
    bool own = chat_run_asks(c);
    while (c->asks) {
        if (c->asks->arguments)
            chela_session_answer(c->session, c->asks->id, why, sizeof(why) - 1, 1, NULL);
        else
            chela_session_approve(c->session, c->asks->id, CHELA_DENY, why, NULL);
        bool last = !c->asks->next;
        if (last)
            break;
        ch_chat_drop_ask(c);
    }
    next_question(c, own);
    if (c->run && own)
        chela_cancel(c->run, "interrupted");
}

/* --- events of a run ----------------------------------------------------------------- */

/* Messages that the run did not take go back to the prompt; after /compact they are sent. */
static void chat_return_queue(struct ch_chat *c, bool send) {
    char *text, *typed;
    if (!ch_chat_queue_take(c, &text, &typed))
        return;
    if (send)
        ch_chat_say(c, text, typed, false);
    else
        ch_chat_give_back(c, typed);
    free(text);
    free(typed);
}

static void chat_forget_sent(struct ch_chat *c) {
    free(c->sent);
    free(c->sent_outputs);
    c->sent = c->sent_outputs = NULL;
}

/* The store refused the message: it goes back to the prompt, the outputs of commands with it. */
static void chat_return_message(struct ch_chat *c) {
    ch_chat_give_back(c, c->sent);
    if (c->sent_outputs) {
        char *all = ch_format("%s%s", c->sent_outputs, c->outputs ? c->outputs : "");
        free(c->outputs);
        c->outputs = all;
    }
    chat_forget_sent(c);
}

static void chat_message_stored(struct ch_chat *c) {
    if (c->sent)
        ch_chat_undo_begin(c, c->sent);
    chat_forget_sent(c);
}

static void chat_ended(struct ch_chat *c, const struct chela_event *ev) {
    enum { LONG_MS = 10000 }; /* after this time the person may be doing something else */
    enum chela_status status = ev->end.status;
    bool refused = c->sent && ev->end.reason == CHELA_REASON_STORE;
    bool compacted = c->compacting && status == CHELA_STATUS_DONE;
    if (status != CHELA_STATUS_PAUSED && uv_now(&c->loop) - c->started >= LONG_MS)
        ch_chat_notify(c, status == CHELA_STATUS_DONE ? "done" : "the run has ended");
    if (!refused)
        chat_message_stored(c);
    ch_chat_undo_end(c);
    chela_run_free(c->run);
    c->run = NULL;
    c->compacting = false;
    uv_timer_stop(&c->tick);
    if (status != CHELA_STATUS_PAUSED && !c->leaving)
        chat_return_queue(c, compacted);
    if (refused)
        chat_return_message(c);
    if (c->asks && !c->leaving)
        ch_chat_put_question(c);
}

static void chat_on_event(const struct chela_event *ev, void *user) {
    struct ch_chat *c = user;
    ch_chat_event(c, ev);
    if (ev->type == CHELA_EV_TURN_START)
        chat_message_stored(c);
    if (ev->type == CHELA_EV_RUN_END) {
        if (ev->end.review)
            ch_console_note(c->console, "the changes are not real yet: /review shows them");
        chat_ended(c, ev);
    }
    if (ev->type == CHELA_EV_TEXT_DELTA || ev->type == CHELA_EV_REASONING_DELTA ||
        ev->type == CHELA_EV_TOOL_CALL_DELTA)
        c->stale = true;
    else
        c->dirty = true;
}

/* A background job ended: the model gets a note with the next message. */
static void chat_on_wake(chela_session *s, void *user) {
    struct ch_chat *c = user;
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    int rc = !c->run && !c->asks && s == c->session
                 ? chela_run_wake(s, &how, &c->run, &err)
                 : CHELA_ENOENT;
    if (rc != CHELA_ENOENT)
        began(c, rc, &err);
    c->dirty = true;
}

static void chat_on_ready(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_chat *c = user;
    c->dirty = true;
    if (!c->opening)
        return; /* a run had the session read again, and reports the outcome */
    c->opening = false;
    bool first = !c->met;
    c->met = true;
    if (err && err->code < 0) {
        struct chela_error why = *err;
        ch_problem_in_use(&why, chela_session_key(s));
        ch_console_error(c->console, "%s", why.message);
        return;
    }
    if (first) {
        ch_chat_past(c);
        ch_chat_undo_load(c);
    }
    if (!c->run && chela_session_status(s) != CHELA_SESSION_IDLE)
        ch_console_note(c->console, "a run of this session is unfinished: /resume continues it");
}

static int chat_open_session(struct ch_chat *c, const char *key, struct chela_error *err) {
    int rc = chela_session_new(c->agent, key, &c->session, err);
    if (rc < 0)
        return rc;
    chela_session_on_wake(c->session, chat_on_wake, c);
    chela_session_on_task(c->session, ch_chat_task_event, c);
    c->tasks = 0;
    c->opening = c->setup->store != NULL;
    if (c->setup->store)
        chela_session_on_ready(c->session, chat_on_ready, c);
    return CHELA_OK;
}

void ch_chat_switch(struct ch_chat *c, const char *key) {
    struct chela_error err = {0};
    chela_session *old = c->session;
    if (chat_open_session(c, key, &err) < 0)
        ch_console_error(c->console, "%s", err.message);
    else {
        chela_session_close(old);
        c->context = 0;
    }
}

/* The agent of this chat goes on with the session. Its model can be that of the session, its
 * directory and its tools cannot. */
static void chat_recall(struct ch_chat *c, const char *key) {
    struct ch_memo memo = {0};
    const char *model = c->model, *approve = "ask";
    struct ch_setup_flags flags = {.tools = "", .deny = ""};
    flags.workspace = c->setup->flags->workspace;
    ch_memo_load(&memo, c->setup->store, key);
    if (memo.workspace && !flags.workspace)
        ch_console_note(c->console,
                        "this session worked in %s: 'chela chat --session %s' goes on there",
                        memo.workspace, key);
    flags.workspace = flags.workspace ? flags.workspace : ".";
    ch_memo_use(&memo, key, c->console, &model, &flags, &approve);
    if (model && model != c->model)
        c->model = ch_dup(model);
    ch_memo_release(&memo);
}

void ch_chat_keep(const struct ch_chat *c) {
    const char *approve = strcmp(c->approve_name, "ask") == 0 ? NULL : c->approve_name;
    ch_memo_keep(c->agent, c->model, c->setup, approve, false);
}

void ch_chat_continue(struct ch_chat *c, const char *key) {
    c->met = false;
    if (c->session) {
        chat_recall(c, key);
        ch_chat_switch(c, key);
    } else {
        free(c->chosen_key);
        c->key = c->chosen_key = ch_dup(key);
        ch_chat_ready(c);
    }
    if (c->session)
        ch_console_note(c->console, "session %s", chela_session_key(c->session));
}

/* Create the agent and its session. A missing key does not end the chat. */
int ch_chat_prepare(struct ch_chat *c, struct chela_error *err) {
    if (c->session)
        return CHELA_OK;
    int rc = c->agent ? 0 : c->make_agent(c->user, c->model, &c->agent, err);
    if (rc == 0)
        ch_chat_undo_open(c);
    return rc < 0 ? rc : chat_open_session(c, c->key, err);
}

bool ch_chat_ready(struct ch_chat *c) {
    struct chela_error err = {0};
    if (ch_chat_prepare(c, &err) == 0)
        return true;
    ch_console_error(c->console, "%s (/model PROVIDER/MODEL takes another)", err.message);
    return false;
}

void ch_chat_leave(struct ch_chat *c) {
    c->leaving = true;
    uv_stop(&c->loop);
}
