/* stdio.c -- see stdio.h. */
#include "cli/support/stdio.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/support/mem.h"

enum { WAITING = 64 << 20 }; /* bytes that wait to be written: beyond, nothing is read */

void ch_stdio_init(struct ch_stdio *s) {
    uv_loop_init(&s->loop);
}

/* --- writing ------------------------------------------------------------------------------ */

static void stdio_on_written(uv_write_t *w, int status) {
    struct ch_stdio *s = w->data;
    if (status < 0)
        s->gone = true;
    free(w);
}

static void write_file(struct ch_stdio *s, const char *p, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t put = write(STDOUT_FILENO, p + at, n - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            s->gone = true;
            return;
        }
        at += (size_t)put;
    }
}

void ch_stdio_write(struct ch_stdio *s, const char *p, size_t n) {
    if (s->gone)
        return;
    if (s->out_file) {
        write_file(s, p, n);
        return;
    }
    uv_write_t *w = ch_must(malloc(sizeof(*w) + n));
    char *copy = (char *)(w + 1);
    memcpy(copy, p, n);
    uv_buf_t buf = uv_buf_init(copy, (unsigned)n);
    w->data = s;
    if (uv_write(w, &s->out.stream, &buf, 1, stdio_on_written) < 0) {
        s->gone = true;
        free(w);
    }
}

/* --- reading ------------------------------------------------------------------------------ */

static void stdio_take(struct ch_stdio *s, const char *p, size_t n) {
    int code = s->take(p, n, s->user);
    if (code >= 0) {
        s->code = code;
        s->ended = s->gone = true;
    }
}

static void stdio_give_room(uv_handle_t *h, size_t n, uv_buf_t *buf) {
    struct ch_stdio *s = h->data;
    (void)n;
    *buf = uv_buf_init(s->bytes, sizeof(s->bytes));
}

/* One piece is read in a turn of the loop, because its answers are written at the turn's end. */
static void stdio_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct ch_stdio *s = stream->data;
    uv_read_stop(stream);
    if (n > 0)
        stdio_take(s, buf->base, (size_t)n);
    s->ended |= n < 0;
}

static void stdio_read_file(struct ch_stdio *s) {
    ssize_t n = read(STDIN_FILENO, s->bytes, sizeof(s->bytes));
    if (n > 0)
        stdio_take(s, s->bytes, (size_t)n);
    else if (n == 0 || errno != EINTR)
        s->ended = true;
}

/* While this handle is active, the loop does not wait: a regular file is read as fast as its
 * messages are handled. */
static void stdio_on_more(uv_idle_t *h) {
    (void)h;
}

static void stdio_on_before_wait(uv_prepare_t *h) {
    struct ch_stdio *s = h->data;
    size_t waits = s->out_file ? 0 : uv_stream_get_write_queue_size(&s->out.stream);
    bool reads = !s->ended && !s->no_input && waits <= WAITING;
    uv_idle_stop(&s->more);
    if (reads && s->in_file) {
        stdio_read_file(s);
        uv_idle_start(&s->more, stdio_on_more);
    } else if (reads) {
        uv_read_start(&s->in.stream, stdio_give_room, stdio_on_bytes);
    }
    if (s->gone || (s->ended && !waits && !s->busy(s->user)))
        uv_stop(&s->loop);
}

static void stdio_on_signal(uv_signal_t *h, int signo) {
    struct ch_stdio *s = h->data;
    s->code = 128 + signo;
    s->gone = true;
    uv_stop(&s->loop);
}

/* --- the loop ----------------------------------------------------------------------------- */

/* True for a regular file or a device, which has no events. */
static bool stdio_open(struct ch_stdio *s, void *stream, int fd) {
    uv_stream_t *opened = stream;
    switch (uv_guess_handle(fd)) {
    case UV_TTY:
        uv_tty_init(&s->loop, stream, fd, 0);
        break;
    case UV_NAMED_PIPE:
    case UV_TCP:
        uv_pipe_init(&s->loop, stream, 0);
        uv_pipe_open(stream, fd);
        break;
    default:
        return true;
    }
    opened->data = s;
    return false;
}

void ch_stdio_run(struct ch_stdio *s) {
    static const int signals[] = {SIGTERM, SIGINT};
    signal(SIGPIPE, SIG_IGN);
    s->began = true;
    s->in_file = s->no_input || stdio_open(s, &s->in, STDIN_FILENO);
    s->out_file = stdio_open(s, &s->out, STDOUT_FILENO);
    uv_prepare_init(&s->loop, &s->before_wait);
    s->before_wait.data = s;
    uv_prepare_start(&s->before_wait, stdio_on_before_wait);
    uv_idle_init(&s->loop, &s->more);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        uv_signal_start(&s->signals[i], stdio_on_signal, signals[i]);
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

void ch_stdio_close(struct ch_stdio *s) {
    if (!s->began)
        return;
    if (!s->in_file)
        uv_close((uv_handle_t *)&s->in, NULL);
    if (!s->out_file)
        uv_close((uv_handle_t *)&s->out, NULL);
    uv_close((uv_handle_t *)&s->before_wait, NULL);
    uv_close((uv_handle_t *)&s->more, NULL);
    for (size_t i = 0; i < sizeof(s->signals) / sizeof(s->signals[0]); i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    s->began = false;
}

void ch_stdio_release(struct ch_stdio *s) {
    uv_run(&s->loop, UV_RUN_DEFAULT); /* wait for the handles that are closing */
    uv_loop_close(&s->loop);
}
