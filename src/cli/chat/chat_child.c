/* chat_child.c -- see chat_child.h. */
#include "cli/chat/chat_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_call.h"
#include "cli/chat/chat_files.h"
#include "cli/chat/chat_show.h"
#include "cli/support/input.h"
#include "cli/support/mem.h"
#include "cli/support/state_path.h"

enum {
    OUTPUT = 32 << 10, /* bytes kept of the beginning and of the end of an output */
    SHOWN = 12,        /* lines of an output that are shown */
};

struct ch_chat_child {
    struct ch_chat *chat;
    uv_process_t process;
    uv_pipe_t output;
    char buf[4096];
    char *command; /* owned: the command typed after `!`; NULL: another program */
    char *path;    /* owned: the file that the program reads or writes; NULL: none */
    char *head, *tail; /* owned: output */
    size_t nhead, ntail;
    bool cut; /* output between head and tail was dropped */
    size_t next; /* the program of the clipboard to try next */
    unsigned handles;  /* open handles */
    bool piped, away, interrupted;
    int code, signo;
    bool ended;
    void (*done)(struct ch_chat_child *child);
};

/* --- life -------------------------------------------------------------------------------- */

static void child_free(struct ch_chat_child *child) {
    if (child->path)
        unlink(child->path);
    free(child->command);
    free(child->path);
    free(child->head);
    free(child->tail);
    free(child);
}

static void child_on_close(uv_handle_t *handle) {
    struct ch_chat_child *child = handle->data;
    if (--child->handles > 0)
        return;
    struct ch_chat *c = child->chat;
    if (c && c->child == child) {
        c->child = NULL;
        c->command = NULL;
        if (!c->run)
            uv_timer_stop(&c->tick);
        child->done(child);
        c->dirty = true;
    }
    child_free(child);
}

static void child_end(struct ch_chat_child *child) {
    bool read_all = !child->piped || uv_is_closing((uv_handle_t *)&child->output);
    if (child->ended && read_all && !uv_is_closing((uv_handle_t *)&child->process))
        uv_close((uv_handle_t *)&child->process, child_on_close);
}

static void child_close_output(struct ch_chat_child *child) {
    if (child->piped && !uv_is_closing((uv_handle_t *)&child->output))
        uv_close((uv_handle_t *)&child->output, child_on_close);
    child_end(child);
}

static void child_on_exit(uv_process_t *process, int64_t code, int signo) {
    struct ch_chat_child *child = process->data;
    child->code = (int)code;
    child->signo = signo;
    child->ended = true;
    if (signo) /* others may hold the pipe */
        child_close_output(child);
    else
        child_end(child);
}

/* --- output ------------------------------------------------------------------------------- */

static void child_keep(struct ch_chat_child *child, const char *p, size_t n) {
    size_t first = child->nhead < OUTPUT ? OUTPUT - child->nhead : 0;
    first = n < first ? n : first;
    child->head = ch_must(realloc(child->head, child->nhead + first + 1));
    memcpy(child->head + child->nhead, p, first);
    child->nhead += first;
    child->head[child->nhead] = '\0';
    if (n == first)
        return;
    child->tail = ch_must(realloc(child->tail, child->ntail + n - first + 1));
    memcpy(child->tail + child->ntail, p + first, n - first);
    child->ntail += n - first;
    if (child->ntail > 2 * OUTPUT) { /* the middle is dropped */
        memmove(child->tail, child->tail + child->ntail - OUTPUT, OUTPUT);
        child->ntail = OUTPUT;
        child->cut = true;
    }
    child->tail[child->ntail] = '\0';
}

static void child_on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
    struct ch_chat_child *child = handle->data;
    (void)size;
    *buf = uv_buf_init(child->buf, sizeof(child->buf));
}

static void child_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct ch_chat_child *child = stream->data;
    if (n > 0)
        child_keep(child, buf->base, (size_t)n);
    if (n < 0)
        child_close_output(child);
    if (!child->chat)
        return;
    child->chat->command_output = child->tail ? child->tail : child->head ? child->head : "";
    child->chat->dirty = true;
}

/* The output, safe and in whole; the caller frees it. */
static char *child_output(const struct ch_chat_child *child) {
    struct ch_escape safe = {.mode = CH_ESCAPE_TEXT};
    struct ch_draft d;
    ch_draft_init(&d);
    ch_escape_feed(&safe, d.f, child->head ? child->head : "", child->nhead);
    if (child->cut) {
        ch_escape_finish(&safe, d.f);
        fputs("\n...\n", d.f);
    }
    ch_escape_feed(&safe, d.f, child->tail ? child->tail : "", child->ntail);
    ch_escape_finish(&safe, d.f);
    ch_draft_finish(&d);
    return d.p;
}

/* --- starting ------------------------------------------------------------------------------ */

static struct ch_chat_child *child_new(struct ch_chat *c, void (*done)(struct ch_chat_child *)) {
    if (c->child) {
        ch_console_error(c->console, "another command is running; Ctrl-C ends it");
        return NULL;
    }
    struct ch_chat_child *child = ch_must(calloc(1, sizeof(*child)));
    child->chat = c;
    child->done = done;
    child->process.data = child->output.data = child;
    return child;
}

/* out: descriptor for output; -1: inherited. 0: failed, and child is freed. */
static int child_spawn(struct ch_chat_child *child, char **argv, const char *cwd, int out) {
    struct ch_chat *c = child->chat;
    uv_stdio_container_t io[3] = {
        {.flags = out < 0 ? UV_INHERIT_FD : UV_IGNORE, .data.fd = STDIN_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = out < 0 ? STDOUT_FILENO : out},
        {.flags = UV_INHERIT_FD, .data.fd = out < 0 ? STDERR_FILENO : out}};
    uv_process_options_t how = {.exit_cb = child_on_exit,
                                .file = argv[0],
                                .args = argv,
                                .cwd = cwd,
                                .flags = out < 0 ? 0 : UV_PROCESS_DETACHED,
                                .stdio_count = 3,
                                .stdio = io};
    int rc = uv_spawn(&c->loop, &child->process, &how);
    if (rc < 0) { /* the handle was initialized all the same */
        child->chat = NULL;
        child->handles++;
        uv_close((uv_handle_t *)&child->process, child_on_close);
        return rc;
    }
    child->handles++;
    c->child = child;
    c->started = c->run ? c->started : uv_now(&c->loop);
    uv_timer_again(&c->tick);
    return 0;
}

bool ch_chat_child_interrupt(struct ch_chat *c) {
    struct ch_chat_child *child = c->child;
    if (!child || child->away)
        return false;
    kill(-child->process.pid, child->interrupted ? SIGKILL : SIGINT);
    if (child->interrupted && child->ended)
        child_close_output(child); /* a process of another group may hold the pipe */
    child->interrupted = true;
    return true;
}

void ch_chat_child_close(struct ch_chat *c) {
    struct ch_chat_child *child = c->child;
    if (!child)
        return;
    c->child = NULL;
    c->command = NULL;
    child->chat = NULL;
    if (!child->away && !child->ended)
        kill(-child->process.pid, SIGKILL);
    if (child->piped && !uv_is_closing((uv_handle_t *)&child->output))
        uv_close((uv_handle_t *)&child->output, child_on_close);
    if (!uv_is_closing((uv_handle_t *)&child->process))
        uv_close((uv_handle_t *)&child->process, child_on_close);
}

/* --- commands -------------------------------------------------------------------------------- */

static void child_show_output(struct ch_chat *c, const char *text) {
    struct ch_call_look look = {.columns = c->screen.columns > 20 ? c->screen.columns - 1 : 20,
                                .color = c->console->out.color};
    ch_call_tail(ch_chat_part(c, CH_CHAT_NOTE), &look, text, SHOWN);
}

static void child_command_done(struct ch_chat_child *child) {
    struct ch_chat *c = child->chat;
    char *output = child_output(child);
    int code = child->signo ? 128 + child->signo : child->code;
    if (*output)
        child_show_output(c, output);
    if (code)
        ch_console_note(c->console, "exit code %d", code);
    char *title = ch_format("$ %s", child->command);
    ch_chat_keep_result(c, title, output);
    free(title);
    ch_chat_attach_output(c, child->command, code, output);
    ch_console_note(c->console, "the output goes with your next message");
    free(output);
}

void ch_chat_child_command(struct ch_chat *c, const char *command) {
    struct ch_chat_child *child = child_new(c, child_command_done);
    const char *shell = c->setup->env->shell;
    int ends[2];
    if (!child)
        return;
    child->command = ch_dup(command);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        ch_console_error(c->console, "the command cannot start: %s", strerror(errno));
        child_free(child);
        return;
    }
    uv_pipe_init(&c->loop, &child->output, 0);
    child->handles++;
    child->piped = true;
    uv_pipe_open(&child->output, ends[0]);
    char *argv[] = {ch_dup(shell ? shell : "/bin/sh"), (char[]){"-c"}, child->command, NULL};
    int rc = child_spawn(child, argv, c->setup->flags->workspace, ends[1]);
    close(ends[1]);
    if (rc == 0) {
        c->command = child->command;
        c->command_output = "";
        uv_read_start((uv_stream_t *)&child->output, child_on_alloc, child_on_read);
    } else {
        uv_close((uv_handle_t *)&child->output, child_on_close);
        ch_console_error(c->console, "%s: %s", argv[0], uv_strerror(rc));
    }
    free(argv[0]);
}

/* --- files for programs ------------------------------------------------------------------ */

/* Creates a file in the state directory that only the user can read. The caller frees the
 * path; -1: failed. */
static int child_make_file(struct ch_chat *c, const char *suffix, char **path) {
    char *name = ch_format("tmp/chat-XXXXXX%s", suffix);
    *path = ch_state_path(c->setup->env, name);
    free(name);
    if (!*path) {
        ch_console_error(c->console, "HOME is not set, so there is no place for a file");
        return -1;
    }
    ch_state_make_parents(*path, NULL);
    int fd = mkostemps(*path, (int)strlen(suffix), O_CLOEXEC);
    if (fd < 0) {
        ch_console_error(c->console, "%s: %s", *path, strerror(errno));
        free(*path);
    }
    return fd;
}

/* --- the editor -------------------------------------------------------------------------- */

static void child_come_back(struct ch_chat *c) {
    ch_screen_enter(&c->screen);
    c->away = false;
}

static void child_editor_done(struct ch_chat_child *child) {
    struct ch_chat *c = child->chat;
    struct ch_cli_input in = {0};
    struct chela_error err = {0};
    child_come_back(c);
    if (child->code || child->signo) {
        ch_console_note(c->console, "the editor failed: the text is unchanged");
    } else if (ch_input_file(child->path, CH_EDIT_MAX, &in, &err) < 0) {
        ch_console_error(c->console, "%s", err.message);
    } else {
        while (in.n > 0 && in.p[in.n - 1] == '\n')
            in.p[--in.n] = '\0';
        char *text = ch_call_text(in.p, in.n);
        ch_edit_set(&c->edit, text);
        free(text);
    }
    ch_input_release(&in);
}

void ch_chat_child_editor(struct ch_chat *c) {
    struct ch_chat_child *child = child_new(c, child_editor_done);
    const char *editor = c->setup->env->editor;
    char *text, *path;
    int fd = child ? child_make_file(c, ".md", &path) : -1;
    if (fd < 0) {
        free(child);
        return;
    }
    child->path = path;
    child->away = true;
    text = ch_chat_attach_unfold(c, c->edit.text);
    bool wrote = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    free(text);
    if (!wrote) {
        ch_console_error(c->console, "%s: %s", path, strerror(errno));
        child_free(child);
        return;
    }
    char *line = ch_format("%s \"$1\"", editor ? editor : "vi");
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, line, (char[]){"sh"}, child->path, NULL};
    c->away = true;
    ch_screen_leave(&c->screen);
    int rc = child_spawn(child, argv, NULL, -1);
    if (rc < 0) {
        child_come_back(c);
        ch_console_error(c->console, "the editor cannot start: %s", uv_strerror(rc));
    }
    free(line);
}

/* --- the clipboard ----------------------------------------------------------------------- */

static const char *const clipboards[][7] = {
    {"wl-paste", "--type", "image/png", NULL},
    {"xclip", "-selection", "clipboard", "-target", "image/png", "-o", NULL},
};
enum { CLIPBOARDS = sizeof(clipboards) / sizeof(clipboards[0]) };

static bool child_try_clipboard(struct ch_chat *c, size_t i);

static void child_clipboard_done(struct ch_chat_child *child) {
    struct ch_chat *c = child->chat;
    char head[16];
    int fd = open(child->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    if (n > 0 && ch_chat_files_is_media(head, (size_t)n)) {
        char *word = ch_chat_files_word(child->path), *text = ch_format("%s ", word);
        ch_edit_replace(&c->edit, c->edit.at, c->edit.at, text);
        free(word);
        free(text);
        free(child->path);
        child->path = NULL; /* the file stays until the message is sent, and after */
    } else if (!child_try_clipboard(c, child->next)) {
        ch_console_note(c->console, "the clipboard holds no image");
    }
}

/* Start the i-th program, or the next one that exists. False: none exists. */
static bool child_try_clipboard(struct ch_chat *c, size_t i) {
    for (; i < CLIPBOARDS; i++) {
        struct ch_chat_child *child = child_new(c, child_clipboard_done);
        int fd = child ? child_make_file(c, ".png", &child->path) : -1;
        char *argv[8] = {NULL};
        if (fd < 0) {
            free(child);
            return true; /* the reason was shown */
        }
        child->next = i + 1;
        for (size_t k = 0; clipboards[i][k]; k++)
            argv[k] = ch_dup(clipboards[i][k]);
        int rc = child_spawn(child, argv, NULL, fd);
        close(fd);
        for (size_t k = 0; argv[k]; k++)
            free(argv[k]);
        if (rc == 0)
            return true;
    }
    return false;
}

void ch_chat_child_clipboard(struct ch_chat *c) {
    if (!child_try_clipboard(c, 0))
        ch_console_note(c->console, "there is no clipboard: neither wl-paste nor xclip was found");
}
