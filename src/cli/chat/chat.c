/* chat.c -- see chat.h: the loop and the keyboard. The screen is drawn once before the loop
 * waits, if anything changed; pieces of a reply are drawn at most once a frame. */
#include "cli/chat/chat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_child.h"
#include "cli/chat/chat_complete.h"
#include "cli/chat/chat_mcp.h"
#include "cli/chat/chat_pick.h"
#include "cli/chat/chat_queue.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_sessions.h"
#include "cli/chat/chat_show.h"
#include "cli/chat/chat_slash.h"
#include "cli/chat/chat_undo.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/term.h"

enum {
    TICK_MS = 100,
    FRAME_MS = 50,
    PASTE_FRAME_MS = 500,
    ESCAPE_MS = 40,
    PASTE_MS = 1000, /* a paste in progress has no longer pauses */
    READ = 65536,
    CTRL_C = 3,
};

/* --- keys ---------------------------------------------------------------------------- */

static void interrupt(struct ch_chat *c) {
    if (ch_chat_child_interrupt(c)) {
        return;
    } else if (c->run) {
        chela_cancel(c->run, "interrupted");
    } else if (c->asks) {
        ch_chat_refuse(c);
    } else if (c->edit.n > 0) {
        free(ch_edit_take(&c->edit));
    } else if (++c->interrupts > 1) {
        ch_chat_leave(c);
    } else {
        ch_console_note(c->console, "Ctrl-C again, or Ctrl-D, leaves");
    }
}

static void chat_dispatch(struct ch_chat *c, const char *text) {
    if (*text != '/' && *text != '!') {
        if (!ch_chat_mcp_say(c, text))
            ch_chat_say(c, text, text, false);
        return;
    }
    ch_chat_user(c, text, strlen(text));
    if (*text == '/')
        ch_chat_command(c, text);
    else if (text[1 + strspn(text + 1, " \t\n")])
        ch_chat_child_command(c, text + 1);
    else
        ch_console_note(c->console, "!COMMAND runs a command for your next message");
}

static void chat_submit(struct ch_chat *c) {
    char *text = ch_edit_take(&c->edit);
    if (c->asks && !c->run) {
        ch_chat_reply(c, text);
    } else if (text[strspn(text, " \t\n")]) {
        char *whole = ch_chat_attach_unfold(c, text);
        ch_history_add(&c->history, whole);
        free(whole);
        chat_dispatch(c, text);
    }
    free(text);
}

/* The process was stopped from outside: the shell has changed the mode of the terminal and has
 * written to it. */
static void on_continue(uv_signal_t *handle, int signo) {
    struct ch_chat *c = handle->data;
    (void)signo;
    if (c->away)
        return;
    ch_screen_enter(&c->screen);
    c->dirty = true;
}

static void suspend(struct ch_chat *c) {
    uv_signal_stop(&c->continued);
    ch_screen_leave(&c->screen);
    kill(0, SIGTSTP); /* the whole process group */
    ch_screen_enter(&c->screen);
    uv_signal_start(&c->continued, on_continue, SIGCONT);
}

/* Keep keys until the session is read: commands and messages depend on the conversation. */
static void chat_hold(struct ch_chat *c, const char *p, size_t n) {
    c->held_keys = ch_must(realloc(c->held_keys, c->nheld_keys + n));
    memcpy(c->held_keys + c->nheld_keys, p, n);
    c->nheld_keys += n;
}

static void chat_act(struct ch_chat *c, enum ch_edit_action action) {
    if (action != CH_EDIT_NONE && action != CH_EDIT_INTERRUPT)
        c->interrupts = 0;
    switch (action) {
    case CH_EDIT_NONE:
        break;
    case CH_EDIT_ESCAPE:
        if (c->run)
            chela_cancel(c->run, "interrupted");
        break;
    case CH_EDIT_SUBMIT:
        if (c->opening)
            chat_hold(c, "\r", 1);
        else
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
        ch_chat_unfold(c, 0);
        break;
    case CH_EDIT_REDRAW:
        ch_screen_wipe(&c->screen);
        break;
    case CH_EDIT_SUSPEND:
        suspend(c);
        break;
    case CH_EDIT_EDITOR:
        ch_chat_child_editor(c);
        break;
    case CH_EDIT_CLIPBOARD:
        ch_chat_child_clipboard(c);
        break;
    case CH_EDIT_PASTED:
        if (c->edit.lost_bytes > 0)
            ch_console_note(c->console,
                            "the paste is too long: its last %zu bytes are left out (a file can be "
                            "attached as @PATH)",
                            c->edit.lost_bytes);
        ch_chat_attach_pasted(c, c->edit.pasted_from);
        break;
    }
}

static void on_escape(uv_timer_t *timer) {
    struct ch_chat *c = timer->data;
    if (c->chosen)
        ch_chat_pick_flush(c);
    else
        chat_act(c, ch_edit_flush(&c->edit));
    c->dirty = true;
}

static size_t chat_feed_some(struct ch_chat *c, const char *p, size_t n) {
    enum ch_edit_action action;
    if (c->chosen)
        return ch_chat_pick_feed(c, p, n);
    size_t used = ch_edit_feed(&c->edit, p, n, &action);
    chat_act(c, action);
    return used;
}

static void chat_feed(struct ch_chat *c, const char *p, size_t n) {
    size_t at = 0;
    while (at < n && !c->leaving && !c->held_keys)
        at += chat_feed_some(c, p + at, n - at);
    if (at < n && c->held_keys)
        chat_hold(c, p + at, n - at);
}

/* The session was read: handle the keys that waited. */
static void chat_feed_held(struct ch_chat *c) {
    char *held = c->held_keys;
    size_t n = c->nheld_keys;
    c->held_keys = NULL;
    c->nheld_keys = 0;
    chat_feed(c, held, n);
    free(held);
    c->dirty = true;
}

static struct ch_keys *chat_keys(struct ch_chat *c) {
    return c->chosen ? &c->pick.keys : &c->edit.keys;
}

/* The end of a paste can be lost, and no key would work any more. A single control character
 * after a pause is a key that was pressed. */
static bool is_paste_lost(struct ch_chat *c, const char *bytes, size_t n) {
    return chat_keys(c)->pasting && n == 1 && (unsigned char)bytes[0] < ' ' &&
           uv_now(&c->loop) - c->last_input >= PASTE_MS;
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
    if (is_paste_lost(c, bytes, (size_t)n))
        chat_feed(c, "\033[201~", 6);
    c->last_input = uv_now(&c->loop);
    if (c->held_keys && memchr(bytes, CTRL_C, (size_t)n)) {
        free(c->held_keys);
        c->held_keys = NULL;
        c->nheld_keys = 0;
    }
    chat_feed(c, bytes, (size_t)n);
    if (ch_keys_waiting(chat_keys(c)))
        uv_timer_start(&c->escape, on_escape, ESCAPE_MS, 0);
    else
        uv_timer_stop(&c->escape);
    c->dirty = true;
}

/* Read the keyboard, unless a program that the person started has the terminal. */
static void chat_listen(struct ch_chat *c) {
    if (c->away)
        uv_poll_stop(&c->keyboard);
    else if (!uv_is_active((uv_handle_t *)&c->keyboard))
        uv_poll_start(&c->keyboard, UV_READABLE, on_keys);
}

/* --- the loop ------------------------------------------------------------------------ */

static void on_tick(uv_timer_t *timer) {
    struct ch_chat *c = timer->data;
    c->dirty = true;
}

static void on_resize(uv_signal_t *handle, int signo) {
    struct ch_chat *c = handle->data;
    (void)signo;
    if (c->away)
        return;
    ch_screen_resize(&c->screen);
    c->dirty = true;
}

static void chat_on_signal(uv_signal_t *handle, int signo) {
    struct ch_chat *c = handle->data;
    if (c->away && signo == SIGINT)
        return; /* the signal is for the program that has the terminal */
    c->code = 128 + signo;
    ch_chat_leave(c);
}

static void before_wait(uv_prepare_t *handle) {
    struct ch_chat *c = handle->data;
    if (c->held_keys && !c->opening)
        chat_feed_held(c);
    chat_listen(c);
    if (c->away)
        return;
    /* A long paste arrives in many pieces, and a drawing takes time by the length of the text. */
    bool pasting = chat_keys(c)->pasting;
    uint64_t since = uv_now(&c->loop) - c->drawn, frame = pasting ? PASTE_FRAME_MS : FRAME_MS;
    if ((c->stale || c->dirty) && (pasting || !c->dirty) && since < frame) {
        if (!uv_is_active((uv_handle_t *)&c->frame))
            uv_timer_start(&c->frame, on_tick, frame - since, 0);
        return;
    }
    if ((c->dirty || c->stale) && !c->leaving)
        ch_chat_draw(c);
    if (c->dirty || c->stale)
        c->drawn = uv_now(&c->loop);
    c->dirty = c->stale = false;
}

/* Length of the style sequence at the start of a text; 0: none. */
static size_t chat_style_length(const char *p, size_t n) {
    size_t i = 2;
    if (n < 2 || p[0] != '\033' || p[1] != '[')
        return 0;
    while (i < n && p[i] != 'm')
        i++;
    return i < n ? i + 1 : n;
}

/* Length of the part that fits the screen: it ends at a space if there is one. */
static size_t chat_fit_line(const struct ch_chat *c, const char *p, size_t n) {
    size_t i = 0, space = 0;
    for (unsigned column = 0; i < n;) {
        size_t style = chat_style_length(p + i, n - i);
        uint32_t cp = 0;
        int bytes = style ? 0 : ch_term_char(p + i, n - i, &cp);
        size_t len = style ? style : bytes > 0 ? (size_t)bytes : 1;
        column += style ? 0 : ch_term_char_columns(cp);
        if (column > c->screen.columns)
            return space ? space : i ? i : len;
        if (p[i] == ' ')
            space = i;
        i += len;
    }
    return n;
}

/* Write one line without its end. A line that is wider than the screen breaks at spaces. */
static void chat_write_line(const struct ch_chat *c, FILE *out, const char *p, size_t n) {
    do {
        size_t fit = chat_fit_line(c, p, n);
        fwrite(p, 1, fit, out);
        fputc('\n', out);
        fit += fit < n && p[fit] == ' ';
        p += fit;
        n -= fit;
    } while (n > 0);
}

static void chat_write_lines(struct ch_chat *c, const char *p, size_t n) {
    FILE *out = ch_chat_part(c, CH_CHAT_NOTE);
    while (n > 0) {
        const char *end = memchr(p, '\n', n);
        size_t len = end ? (size_t)(end - p) : n;
        chat_write_line(c, out, p, len);
        len += end != NULL;
        p += len;
        n -= len;
    }
}

/* A line from the console: lines of this thread go to the screen, lines of other threads
 * through the loop. */
static void chat_on_line(const char *p, size_t n, void *user) {
    struct ch_chat *c = user;
    if (pthread_equal(pthread_self(), c->thread)) {
        chat_write_lines(c, p, n);
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
    chat_write_lines(c, c->lines, c->nlines);
    c->nlines = 0;
    pthread_mutex_unlock(&c->lock);
}

static void open_handles(struct ch_chat *c) {
    static const int signals[] = {SIGTERM, SIGHUP, SIGINT};

    uv_poll_init(&c->loop, &c->keyboard, c->tty);
    uv_timer_init(&c->loop, &c->tick);
    uv_timer_init(&c->loop, &c->escape);
    uv_timer_init(&c->loop, &c->frame);
    uv_prepare_init(&c->loop, &c->before_wait);
    uv_async_init(&c->loop, &c->from_elsewhere, on_lines);
    uv_signal_init(&c->loop, &c->resized);
    uv_signal_init(&c->loop, &c->continued);
    c->keyboard.data = c->tick.data = c->escape.data = c->before_wait.data = c;
    c->from_elsewhere.data = c->resized.data = c->continued.data = c->frame.data = c;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uv_signal_init(&c->loop, &c->told[i]);
        c->told[i].data = c;
        uv_signal_start(&c->told[i], chat_on_signal, signals[i]);
    }
    chat_listen(c);
    uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
    uv_timer_stop(&c->tick); /* only sets the period; runs start the timer */
    uv_prepare_start(&c->before_wait, before_wait);
    uv_signal_start(&c->resized, on_resize, SIGWINCH);
    uv_signal_start(&c->continued, on_continue, SIGCONT);
}

static void close_handles(struct ch_chat *c) {
    uv_handle_t *handles[] = {
        (uv_handle_t *)&c->keyboard, (uv_handle_t *)&c->tick,
        (uv_handle_t *)&c->escape,   (uv_handle_t *)&c->before_wait,
        (uv_handle_t *)&c->resized,  (uv_handle_t *)&c->from_elsewhere,
        (uv_handle_t *)&c->told[0],  (uv_handle_t *)&c->told[1],
        (uv_handle_t *)&c->told[2],  (uv_handle_t *)&c->frame,
        (uv_handle_t *)&c->continued,
    };
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        uv_close(handles[i], NULL);
}

static void chat_release(struct ch_chat *c) {
    while (c->asks)
        ch_chat_drop_ask(c);
    ch_chat_clear(c);
    ch_markdown_free(c->answer);
    ch_edit_release(&c->edit);
    ch_history_release(&c->history);
    ch_chat_undo_forget(c);
    ch_chat_pick_close(c);
    ch_chat_queue_release(c);
    free(c->chosen_key);
    ch_chat_attach_forget(c);
    while (c->npastes > 0)
        free(c->pastes[--c->npastes]);
    free(c->pastes);
    free(c->undo);
    free(c->typed);
    free(c->sent);
    free(c->sent_outputs);
    free(c->held_keys);
    free(c->lines);
    ch_chat_drop_results(c);
    free(c->plan);
    free(c->model);
    free(c->asked_model);
    pthread_mutex_destroy(&c->lock);
}

static int chat_converse(struct ch_chat *c, struct chela_error *err) {
    c->console->sink = chat_on_line;
    c->console->sink_user = c;
    ch_chat_draw(c);
    int rc = c->set_up(c->user, &c->key, err);
    if (rc == 0 && !(c->pick_first && ch_chat_sessions_pick(c, "")))
        rc = ch_chat_prepare(c, err);
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
    ch_chat_child_close(c);
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
