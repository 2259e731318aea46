/* console.c -- see console.h. */
#include "cli/term/console.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define ERASE "\r\033[K"

void ch_console_init(struct ch_console *c, const struct ch_env *env, enum ch_verbosity verbosity,
                     bool no_color) {
    no_color = no_color || env->no_color;
    *c = (struct ch_console){
        .pager = env->pager,
        .out = ch_term_probe(STDOUT_FILENO, env->dumb, no_color),
        .err = ch_term_probe(STDERR_FILENO, env->dumb, no_color),
        .quiet = verbosity == CH_QUIET,
        .verbose = verbosity == CH_VERBOSE,
    };
    pthread_mutex_init(&c->lock, NULL);
}

void ch_console_release(struct ch_console *c) {
    ch_console_status(c, NULL);
    pthread_mutex_destroy(&c->lock);
}

/* --- bytes; the lock is held ----------------------------------------------- */

static int term_console_write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w >= 0) {
            p += w;
            n -= (size_t)w;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static void term_console_put(struct ch_console *c, const struct ch_term *t, const char *p,
                             size_t n) {
    if (n == 0 || (t == &c->out && c->failure))
        return;
    if (c->sink) {
        c->sink(p, n, c->sink_user);
        return;
    }
    if (c->status) {
        term_console_write_all(c->err.fd, ERASE, sizeof(ERASE) - 1);
        c->status = false;
    }
    int failure = term_console_write_all(t->fd, p, n);
    if (t == &c->out)
        c->failure = failure;
}

/* Output on a terminal moves the cursor of both streams. */
static void term_console_put_text(struct ch_console *c, const struct ch_term *t, const char *p,
                                  size_t n) {
    term_console_put(c, t, p, n);
    if (t->tty && n > 0)
        c->open_fd = p[n - 1] == '\n' ? 0 : t->fd;
}

static void end_progress(struct ch_console *c) {
    if (!c->progressing)
        return;
    c->progressing = NULL;
    c->progress = (struct ch_escape){0};
    term_console_put_text(c, &c->err, "\n", 1);
}

/* Move the cursor to the start of a line. */
static void break_line(struct ch_console *c) {
    end_progress(c);
    if (c->open_fd)
        term_console_put_text(c, c->open_fd == c->out.fd ? &c->out : &c->err, "\n", 1);
}

/* --- answer ---------------------------------------------------------------- */

/* Newlines are held back until text follows, so that trailing ones can be dropped. */
static void answer_text(struct ch_console *c, struct ch_draft *d, const char *p, size_t n) {
    size_t text = n;
    while (text > 0 && p[text - 1] == '\n')
        text--;
    if (text > 0) {
        for (; c->newlines > 0; c->newlines--)
            fputc('\n', d->f);
        if (c->out.tty)
            ch_escape_feed(&c->answer, d->f, p, text);
        else
            fwrite(p, 1, text, d->f);
    }
    c->newlines += n - text;
}

void ch_console_answer(struct ch_console *c, const char *p, size_t n) {
    if (n == 0)
        return;
    struct ch_draft d;
    ch_draft_init(&d);
    pthread_mutex_lock(&c->lock);
    end_progress(c);
    if (c->out.tty && !c->answered)
        break_line(c);
    c->answered = true;
    answer_text(c, &d, p, n);
    ch_draft_finish(&d);
    term_console_put_text(c, &c->out, d.p, d.n);
    pthread_mutex_unlock(&c->lock);
    free(d.p);
}

void ch_console_answer_end(struct ch_console *c) {
    struct ch_draft d;
    ch_draft_init(&d);
    pthread_mutex_lock(&c->lock);
    end_progress(c);
    if (c->answered) {
        ch_escape_finish(&c->answer, d.f);
        fputc('\n', d.f);
    }
    c->answered = false;
    c->newlines = 0;
    ch_draft_finish(&d);
    /* a note in between has already ended the line */
    bool ended = c->out.tty && c->open_fd != c->out.fd;
    if (!ended || d.n > 1)
        term_console_put_text(c, &c->out, d.p, d.n);
    pthread_mutex_unlock(&c->lock);
    free(d.p);
}

void ch_console_print(struct ch_console *c, const char *p, size_t n) {
    char *safe = ch_escape_whole(CH_ESCAPE_TEXT, p, n, &n);
    pthread_mutex_lock(&c->lock);
    if (c->out.tty)
        break_line(c);
    term_console_put_text(c, &c->out, safe, n);
    pthread_mutex_unlock(&c->lock);
    free(safe);
}

unsigned ch_console_columns(const struct ch_console *c) {
    return c->out.tty ? ch_term_columns(&c->out) : 0;
}

/* --- stderr ----------------------------------------------------------------- */

void ch_console_progress(struct ch_console *c, const char *label, const char *p, size_t n) {
    if (c->quiet || n == 0)
        return;
    struct ch_draft d;
    ch_draft_init(&d);
    pthread_mutex_lock(&c->lock);
    bool begins = !c->progressing || strcmp(c->progressing, label) != 0;
    if (begins)
        break_line(c);
    fputs(c->err.color ? DIM : "", d.f);
    if (begins)
        fprintf(d.f, "[%s] ", label);
    c->progressing = label;
    ch_escape_feed(&c->progress, d.f, p, n);
    fputs(c->err.color ? PLAIN : "", d.f);
    ch_draft_finish(&d);
    term_console_put_text(c, &c->err, d.p, d.n);
    pthread_mutex_unlock(&c->lock);
    free(d.p);
}

void ch_console_json(struct ch_console *c, const char *level, const char *area, const char *text) {
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f, "{\"ts\":%lld,\"level\":\"%s\",\"area\":\"%s\",", (long long)ch_wall_ms(), level,
            area);
    if (c->worker)
        fprintf(d.f, "\"worker\":%u,", c->worker);
    fputs("\"message\":", d.f);
    ch_draft_quote(d.f, text);
    fputs("}\n", d.f);
    ch_draft_finish(&d);
    ch_console_complain(c, d.p, d.n);
    free(d.p);
}

CHELA_PRINTF(4, 0)
static void term_console_line(struct ch_console *c, bool dim, const char *lead, const char *fmt,
                              va_list ap) {
    char *text = NULL;
    struct ch_draft d;
    int n = vasprintf(&text, fmt, ap);

    if (n < 0)
        abort();
    if (c->json) {
        ch_console_json(c, *lead ? "error" : "info", "chela", text);
        free(text);
        return;
    }
    ch_draft_init(&d);
    fprintf(d.f, "%s%s", dim ? DIM : "", lead);
    if (c->worker)
        fprintf(d.f, "worker %u: ", c->worker);
    ch_escape_write(d.f, CH_ESCAPE_LINE, text, (size_t)n);
    fprintf(d.f, "%s\n", dim ? PLAIN : "");
    ch_draft_finish(&d);
    pthread_mutex_lock(&c->lock);
    break_line(c);
    term_console_put_text(c, &c->err, d.p, d.n);
    pthread_mutex_unlock(&c->lock);
    free(text);
    free(d.p);
}

CHELA_PRINTF(3, 4)
static void term_console_say(struct ch_console *c, bool dim, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    term_console_line(c, dim, "", fmt, ap);
    va_end(ap);
}

void ch_console_note(struct ch_console *c, const char *fmt, ...) {
    if (c->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    term_console_line(c, c->err.color, "", fmt, ap);
    va_end(ap);
}

void ch_console_verbose(struct ch_console *c, const char *fmt, ...) {
    if (!c->verbose)
        return;
    va_list ap;
    va_start(ap, fmt);
    term_console_line(c, c->err.color, "", fmt, ap);
    va_end(ap);
}

void ch_console_error(struct ch_console *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    term_console_line(c, false, "chela: ", fmt, ap);
    va_end(ap);
}

void ch_console_trace(struct ch_console *c, const char *area, const char *text) {
    term_console_say(c, c->err.color, "[%s] %s", area, text);
}

/* Write lines to stderr, made safe, and their end. */
static void term_console_put_safe(struct ch_console *c, const char *p, size_t n, const char *end) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_escape_write(d.f, CH_ESCAPE_TEXT, p, n);
    fputs(end, d.f);
    ch_draft_finish(&d);
    pthread_mutex_lock(&c->lock);
    break_line(c);
    term_console_put_text(c, &c->err, d.p, d.n);
    pthread_mutex_unlock(&c->lock);
    free(d.p);
}

void ch_console_complain(struct ch_console *c, const char *p, size_t n) {
    term_console_put_safe(c, p, n, n > 0 && p[n - 1] != '\n' ? "\n" : "");
}

void ch_console_ask(struct ch_console *c, const char *p, size_t n) {
    term_console_put_safe(c, p, n, "");
}

void ch_console_asked(struct ch_console *c, bool ended_line) {
    pthread_mutex_lock(&c->lock);
    if (ended_line)
        c->open_fd = 0;
    break_line(c);
    pthread_mutex_unlock(&c->lock);
}

/* --- status line ------------------------------------------------------------ */

void ch_console_status(struct ch_console *c, const char *text) {
    pthread_mutex_lock(&c->lock);
    if (!text && c->status) {
        term_console_write_all(c->err.fd, ERASE, sizeof(ERASE) - 1);
        c->status = false;
    }
    if (text && c->err.live && !c->open_fd) {
        struct ch_draft d;
        ch_draft_init(&d);
        size_t fit = ch_term_fit(text, strlen(text), ch_term_columns(&c->err) - 1);
        fprintf(d.f, "%s%s%.*s%s", ERASE, c->err.color ? DIM : "", (int)fit, text,
                c->err.color ? PLAIN : "");
        ch_draft_finish(&d);
        term_console_write_all(c->err.fd, d.p, d.n);
        c->status = true;
        free(d.p);
    }
    pthread_mutex_unlock(&c->lock);
}

int ch_console_failure(struct ch_console *c) {
    pthread_mutex_lock(&c->lock);
    int failure = c->failure;
    pthread_mutex_unlock(&c->lock);
    return failure;
}

int ch_console_exit(struct ch_console *c, int code) {
    int failure = ch_console_failure(c);
    if (failure && failure != EPIPE)
        ch_console_error(c, "cannot write to standard output: %s", strerror(failure));
    return failure && code == CH_EXIT_DONE ? CH_EXIT_ERROR : code;
}
