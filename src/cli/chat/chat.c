/* chat.c -- see chat.h: the loop, the keyboard, and the runs.
 *
 * Input typed during a run steers the run. A call that needs approval or a question of the
 * model pauses the run; the prompt shows the question, and the answer continues the run.
 * The screen is drawn once before the loop waits, if anything changed. */
#include "cli/chat/chat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat_complete.h"
#include "cli/chat/chat_mcp.h"
#include "cli/chat/chat_past.h"
#include "cli/chat/chat_show.h"
#include "cli/chat/chat_slash.h"
#include "cli/term/ask.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

enum { TICK_MS = 100, ESCAPE_MS = 40, READ = 65536 };

static void chat_on_event(const struct chela_event *ev, void *user);

/* --- runs --------------------------------------------------------------------------- */

static struct chela_run_opts chat_run_opts(struct ch_chat *c) {
    return (struct chela_run_opts)CHELA_RUN_OPTS(.on_event = chat_on_event, .user = c,
                                                 .approve = c->approve);
}

static void began(struct ch_chat *c, int rc, const struct chela_error *err) {
    if (rc < 0) {
        ch_console_error(c->console, "%s", err->message);
        return;
    }
    c->started = uv_now(&c->loop);
    uv_timer_again(&c->tick);
}

static int chat_count_turns(const struct chela_store_session *s, void *user) {
    int64_t *turns = user;
    *turns = (int64_t)s->turns;
    return 0;
}

/* Record the state of the session, so that /undo can revert the message. */
static void chat_remember(struct ch_chat *c, const char *text) {
    struct ch_chat_undo last = {.text = ch_dup(text)};
    if (c->setup->store) /* an unstored session has no turns */
        chela_store_session(c->setup->store, chela_session_key(c->session), chat_count_turns,
                            &last.turns, NULL);
    c->undo = ch_must(realloc(c->undo, (c->nundo + 1) * sizeof(*c->undo)));
    c->undo[c->nundo++] = last;
}

static void chat_start(struct ch_chat *c, const char *text, const char *typed) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};

    if (text == typed) /* a command is already shown */
        ch_chat_user(c, text, strlen(text));
    chat_remember(c, typed);
    c->used = (struct chela_usage){0};
    c->turn = 0;
    began(c, chela_run_start(c->session, text, strlen(text), &how, &c->run, &err), &err);
}

void ch_chat_say(struct ch_chat *c, const char *text, const char *typed) {
    if (!ch_chat_ready(c)) {
        ch_edit_set(&c->edit, typed);
        return;
    }
    if (!c->run || chela_run_steer(c->run, text, strlen(text)) == CHELA_ESTATE) {
        chat_start(c, text, typed);
        return;
    }
    ch_console_note(c->console, "(for the agent, as soon as it listens) %s", typed);
}

void ch_chat_resume(struct ch_chat *c) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    how.insist = 1;
    began(c, chela_run_resume(c->session, &how, &c->run, &err), &err);
}

void ch_chat_compact(struct ch_chat *c, const char *focus) {
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    c->used = (struct chela_usage){0};
    c->turn = 0;
    began(c, chela_session_compact(c->session, *focus ? focus : NULL, &how, &c->run, &err), &err);
}

/* --- questions ---------------------------------------------------------------------- */

static void drop_ask(struct ch_chat *c) {
    struct ch_chat_ask *a = c->asks;
    c->asks = a->next;
    free(a->id);
    free(a->arguments);
    free(a->text);
    free(a);
}

/* Show the question at the prompt; current input is set aside. */
static void chat_put_question(struct ch_chat *c) {
    ch_chat_print(c, "\033[33m", c->asks->text, strlen(c->asks->text));
    if (!c->typed && c->edit.n > 0)
        c->typed = ch_edit_take(&c->edit);
}

static void next_question(struct ch_chat *c) {
    drop_ask(c);
    if (c->asks) {
        chat_put_question(c);
        return;
    }
    if (c->typed)
        ch_edit_set(&c->edit, c->typed);
    free(c->typed);
    c->typed = NULL;
    ch_chat_resume(c);
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

static void chat_reply(struct ch_chat *c, char *line) {
    struct chela_error err = {0};
    if (!line[strspn(line, " \t\n")])
        return;
    ch_chat_user(c, line, strlen(line));
    int rc = c->asks->arguments ? chat_answer(c, line, &err) : chat_decide(c, line, &err);
    if (rc < 0)
        ch_console_error(c->console, "%s", err.message);
    else
        next_question(c);
}

/* The person declines to answer: deny everything and cancel the run. */
static void chat_refuse(struct ch_chat *c) {
    static const char why[] = "The user interrupted.";
    while (c->asks) {
        if (c->asks->arguments)
            chela_session_answer(c->session, c->asks->id, why, sizeof(why) - 1, 1, NULL);
        else
            chela_session_approve(c->session, c->asks->id, CHELA_DENY, why, NULL);
        bool last = !c->asks->next;
        if (last)
            break;
        drop_ask(c);
    }
    next_question(c);
    if (c->run)
        chela_cancel(c->run, "interrupted");
}

/* --- events of a run ----------------------------------------------------------------- */

static void chat_ended(struct ch_chat *c) {
    chela_run_free(c->run);
    c->run = NULL;
    uv_timer_stop(&c->tick);
    if (c->asks && !c->leaving)
        chat_put_question(c);
}

static void chat_on_event(const struct chela_event *ev, void *user) {
    struct ch_chat *c = user;
    ch_chat_event(c, ev);
    if (ev->type == CHELA_EV_RUN_END)
        chat_ended(c);
    c->dirty = true;
}

/* A background job ended: the model is told with the next message. */
static void chat_on_wake(chela_session *s, void *user) {
    struct ch_chat *c = user;
    struct chela_run_opts how = chat_run_opts(c);
    struct chela_error err = {0};
    if (!c->run && !c->asks && s == c->session)
        began(c, chela_run_wake(s, &how, &c->run, &err), &err);
    c->dirty = true;
}

static void chat_on_ready(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_chat *c = user;
    c->dirty = true;
    if (!c->met && !(err && err->code < 0))
        ch_chat_past(c);
    c->met = true;
    if (err && err->code < 0)
        ch_console_error(c->console, "%s", err->message);
    else if (chela_session_status(s) != CHELA_SESSION_IDLE)
        ch_console_note(c->console, "a run of this session is unfinished: /resume continues it");
}

static int chat_open_session(struct ch_chat *c, const char *key, struct chela_error *err) {
    int rc = chela_session_new(c->agent, key, &c->session, err);
    if (rc < 0)
        return rc;
    chela_session_on_wake(c->session, chat_on_wake, c);
    if (c->setup->store)
        chela_session_on_ready(c->session, chat_on_ready, c);
    return CHELA_OK;
}

void ch_chat_forget_undo(struct ch_chat *c) {
    while (c->nundo > 0)
        free(c->undo[--c->nundo].text);
}

void ch_chat_switch(struct ch_chat *c, const char *key) {
    struct chela_error err = {0};
    chela_session *old = c->session;
    if (chat_open_session(c, key, &err) < 0)
        ch_console_error(c->console, "%s", err.message);
    else
        chela_session_close(old);
}

/* --- keys ---------------------------------------------------------------------------- */

void ch_chat_leave(struct ch_chat *c) {
    c->leaving = true;
    uv_stop(&c->loop);
}

static void interrupt(struct ch_chat *c) {
    if (c->run) {
        chela_cancel(c->run, "interrupted");
    } else if (c->asks) {
        chat_refuse(c);
    } else if (c->edit.n > 0) {
        free(ch_edit_take(&c->edit));
    } else if (++c->interrupts > 1) {
        ch_chat_leave(c);
    } else {
        ch_console_note(c->console, "Ctrl-C again, or Ctrl-D, leaves");
    }
}

static void chat_submit(struct ch_chat *c) {
    char *text = ch_edit_take(&c->edit);
    if (c->asks) {
        chat_reply(c, text);
    } else if (text[strspn(text, " \t\n")]) {
        ch_history_add(&c->history, text);
        if (*text == '/') {
            ch_chat_user(c, text, strlen(text));
            ch_chat_command(c, text);
        } else if (!ch_chat_ready(c) || !ch_chat_mcp_say(c, text)) {
            ch_chat_say(c, text, text);
        }
    }
    free(text);
}

static void suspend(struct ch_chat *c) {
    ch_screen_leave(&c->screen);
    kill(0, SIGTSTP); /* the whole process group */
    ch_screen_enter(&c->screen);
}

static void chat_act(struct ch_chat *c, enum ch_edit_action action) {
    if (action != CH_EDIT_NONE && action != CH_EDIT_INTERRUPT)
        c->interrupts = 0;
    switch (action) {
    case CH_EDIT_NONE:
    case CH_EDIT_ESCAPE:
        break;
    case CH_EDIT_SUBMIT:
        chat_submit(c);
        break;
    case CH_EDIT_COMPLETE:
        ch_chat_complete(c);
        break;
    case CH_EDIT_INTERRUPT:
        interrupt(c);
        break;
    case CH_EDIT_EOF:
        ch_chat_leave(c);
        break;
    case CH_EDIT_UNFOLD:
        ch_chat_unfold(c);
        break;
    case CH_EDIT_REDRAW:
        ch_screen_wipe(&c->screen);
        break;
    case CH_EDIT_SUSPEND:
        suspend(c);
        break;
    }
}

static void on_escape(uv_timer_t *timer) {
    struct ch_chat *c = timer->data;
    chat_act(c, ch_edit_flush(&c->edit));
    c->dirty = true;
}

static void on_keys(uv_poll_t *handle, int status, int events) {
    struct ch_chat *c = handle->data;
    char bytes[READ];
    (void)events;

    ssize_t n = status < 0 ? 0 : read(c->tty, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* the terminal is gone */
        ch_chat_leave(c);
        return;
    }
    for (size_t at = 0; at < (size_t)n && !c->leaving;) {
        enum ch_edit_action action;
        at += ch_edit_feed(&c->edit, bytes + at, (size_t)n - at, &action);
        chat_act(c, action);
    }
    if (ch_keys_waiting(&c->edit.keys))
        uv_timer_start(&c->escape, on_escape, ESCAPE_MS, 0);
    else
        uv_timer_stop(&c->escape);
    c->dirty = true;
}

/* --- the loop ------------------------------------------------------------------------ */

static void on_tick(uv_timer_t *timer) {
    struct ch_chat *c = timer->data;
    c->dirty = true;
}

static void on_resize(uv_signal_t *handle, int signo) {
    struct ch_chat *c = handle->data;
    (void)signo;
    ch_screen_resize(&c->screen);
    c->dirty = true;
}

static void chat_on_signal(uv_signal_t *handle, int signo) {
    struct ch_chat *c = handle->data;
    c->code = 128 + signo;
    ch_chat_leave(c);
}

static void before_wait(uv_prepare_t *handle) {
    struct ch_chat *c = handle->data;
    if (c->dirty && !c->leaving)
        ch_chat_draw(c);
    c->dirty = false;
}

/* A line from the console: those of this thread go to the screen, those of other threads
 * through the loop. */
static void chat_on_line(const char *p, size_t n, void *user) {
    struct ch_chat *c = user;
    if (pthread_equal(pthread_self(), c->thread)) {
        fwrite(p, 1, n, ch_chat_part(c, CH_CHAT_NOTE));
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->lines = ch_must(realloc(c->lines, c->nlines + n));
    memcpy(c->lines + c->nlines, p, n);
    c->nlines += n;
    pthread_mutex_unlock(&c->lock);
    uv_async_send(&c->from_elsewhere);
}

static void on_lines(uv_async_t *handle) {
    struct ch_chat *c = handle->data;
    pthread_mutex_lock(&c->lock);
    fwrite(c->lines, 1, c->nlines, ch_chat_part(c, CH_CHAT_NOTE));
    c->nlines = 0;
    pthread_mutex_unlock(&c->lock);
}

static void open_handles(struct ch_chat *c) {
    static const int signals[] = {SIGTERM, SIGHUP, SIGINT};

    uv_poll_init(&c->loop, &c->keyboard, c->tty);
    uv_timer_init(&c->loop, &c->tick);
    uv_timer_init(&c->loop, &c->escape);
    uv_prepare_init(&c->loop, &c->before_wait);
    uv_async_init(&c->loop, &c->from_elsewhere, on_lines);
    uv_signal_init(&c->loop, &c->resized);
    c->keyboard.data = c->tick.data = c->escape.data = c->before_wait.data = c;
    c->from_elsewhere.data = c->resized.data = c;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uv_signal_init(&c->loop, &c->told[i]);
        c->told[i].data = c;
        uv_signal_start(&c->told[i], chat_on_signal, signals[i]);
    }
    uv_poll_start(&c->keyboard, UV_READABLE, on_keys);
    uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
    uv_timer_stop(&c->tick); /* only sets the period; runs start the timer */
    uv_prepare_start(&c->before_wait, before_wait);
    uv_signal_start(&c->resized, on_resize, SIGWINCH);
}

static void close_handles(struct ch_chat *c) {
    uv_handle_t *handles[] = {
        (uv_handle_t *)&c->keyboard,    (uv_handle_t *)&c->tick,
        (uv_handle_t *)&c->escape,      (uv_handle_t *)&c->before_wait,
        (uv_handle_t *)&c->resized,     (uv_handle_t *)&c->from_elsewhere,
        (uv_handle_t *)&c->told[0],     (uv_handle_t *)&c->told[1],
        (uv_handle_t *)&c->told[2],
    };
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        uv_close(handles[i], NULL);
}

static void chat_release(struct ch_chat *c) {
    while (c->asks)
        drop_ask(c);
    ch_chat_clear(c);
    ch_markdown_free(c->answer);
    ch_edit_release(&c->edit);
    ch_history_release(&c->history);
    ch_chat_forget_undo(c);
    free(c->undo);
    free(c->typed);
    free(c->lines);
    free(c->folded);
    free(c->model);
    free(c->asked_model);
    pthread_mutex_destroy(&c->lock);
}

/* Create the agent and its session. A missing key does not end the chat. */
static int chat_prepare(struct ch_chat *c, struct chela_error *err) {
    if (c->session)
        return CHELA_OK;
    int rc = c->agent ? 0 : c->make_agent(c->user, c->model, &c->agent, err);
    return rc < 0 ? rc : chat_open_session(c, c->key, err);
}

bool ch_chat_ready(struct ch_chat *c) {
    struct chela_error err = {0};
    if (chat_prepare(c, &err) == 0)
        return true;
    ch_console_error(c->console, "%s (/model PROVIDER/MODEL takes another)", err.message);
    return false;
}

static int chat_converse(struct ch_chat *c, struct chela_error *err) {
    c->console->sink = chat_on_line;
    c->console->sink_user = c;
    ch_chat_draw(c);
    int rc = c->set_up(c->user, &c->key, err);
    if (rc == 0)
        rc = chat_prepare(c, err);
    if (rc == CHELA_EAUTH) {
        ch_console_note(c->console, "%s", err->message);
        rc = CHELA_OK;
    }
    if (rc == 0 && c->session)
        ch_console_note(c->console, "chela %s, session %s; /help lists the commands, Ctrl-D leaves",
                        chela_version(), chela_session_key(c->session));
    if (rc == 0)
        uv_run(&c->loop, UV_RUN_DEFAULT);
    c->leaving = true;
    chela_run_free(c->run);
    c->run = NULL;
    ch_screen_close(&c->screen);
    c->console->sink = NULL;
    if (c->setup->store && c->session && c->runs > 0)
        ch_console_note(c->console, "session %s is stored: 'chela chat --continue' continues it",
                        chela_session_key(c->session));
    return rc < 0 ? rc : c->code;
}

int ch_chat_run(struct ch_chat *c, struct chela_error *err) {
    c->thread = pthread_self();
    pthread_mutex_init(&c->lock, NULL);
    char *path = ch_history_path(c->setup->env);
    ch_history_open(&c->history, path);
    free(path);
    ch_edit_init(&c->edit, &c->history);
    c->answer = ch_markdown_new(c->console->out.color);
    if (!ch_screen_open(&c->screen, c->tty)) {
        chat_release(c);
        return ch_problem(err, CHELA_EIO, "the terminal cannot be set up: %s", strerror(errno));
    }
    open_handles(c);
    int rc = chat_converse(c, err);
    close_handles(c);
    ch_setup_release(c->setup); /* its handles close in the next loop iterations */
    uv_run(&c->loop, UV_RUN_DEFAULT);
    chat_release(c);
    return rc;
}
