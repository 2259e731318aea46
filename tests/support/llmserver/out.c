/* out.c -- writes an answer, with or without faults.
 *
 * Every byte of a body goes through out_body, which counts, cuts and drips;
 * framing (chunks, event lines) is added here so that a fault may fall in the
 * middle of it as it does on a real line. */
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void out_init(struct out *o, int fd, const struct json *reply) {
    *o = (struct out){.fd = fd, .cut = json_int(reply, "cut", -1)};
    o->eol = json_true(reply, "crlf") ? "\r\n" : "\n";
    o->reset = json_true(reply, "reset");
    o->linger_ms = json_int(reply, "linger_ms", 0);
    o->drip_ms = json_int(reply, "drip_ms", -1);
    o->piece = (size_t)json_int(reply, "piece", o->drip_ms >= 0 ? 1 : 0);
}

void out_raw(struct out *o, const void *p, size_t n) {
    const char *at = p;

    while (n > 0 && !o->dead) {
        ssize_t done = send(o->fd, at, n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            o->dead = true;
            return;
        }
        at += done;
        n -= (size_t)done;
    }
}

void out_wait(struct out *o, long ms) {
    struct pollfd pfd = {.fd = o->fd, .events = POLLRDHUP};

    if (ms > 0 && !o->dead && poll(&pfd, 1, (int)ms) > 0)
        o->dead = true;
}

static const char *reason(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 307:
        return "Temporary Redirect";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 404:
        return "Not Found";
    case 429:
        return "Too Many Requests";
    default:
        return status < 500 ? "Refused" : "Server Trouble";
    }
}

void out_head(struct out *o, int status, const char *type, const struct text *extra, long length) {
    struct text head = {0};

    text_addf(&head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status, reason(status), type);
    text_add(&head, extra->n ? extra->p : "", extra->n);
    o->chunked = length < 0;
    if (o->chunked)
        text_addf(&head, "Transfer-Encoding: chunked\r\n\r\n");
    else
        text_addf(&head, "Content-Length: %ld\r\n\r\n", length);
    out_raw(o, head.p, head.n);
    text_free(&head);
}

/* The connection goes silent: announced data is not sent. */
static void hang_up(struct out *o) {
    if (o->reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(o->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    o->dead = true;
}

static void write_piece(struct out *o, const char *p, size_t n) {
    bool last = o->cut >= 0 && o->sent + n >= (size_t)o->cut;
    size_t take = last ? (size_t)o->cut - o->sent : n;
    char size[24];

    if (o->chunked) {
        snprintf(size, sizeof(size), "%zx\r\n", n);
        out_raw(o, size, strlen(size));
    }
    out_raw(o, p, take);
    o->sent += take;
    if (last) {
        hang_up(o);
        return;
    }
    if (o->chunked)
        out_raw(o, "\r\n", 2);
}

void out_body(struct out *o, const void *p, size_t n) {
    const char *at = p;

    while (n > 0 && !o->dead) {
        size_t take = o->piece && o->piece < n ? o->piece : n;
        write_piece(o, at, take);
        if (o->drip_ms >= 0)
            out_wait(o, o->drip_ms);
        at += take;
        n -= take;
    }
}

void out_event(struct out *o, const char *name, const struct text *data) {
    struct text lines = {0};

    if (name)
        text_addf(&lines, "event: %s%s", name, o->eol);
    text_addf(&lines, "data: ");
    text_add(&lines, data->p, data->n);
    text_addf(&lines, "%s%s", o->eol, o->eol);
    out_body(o, lines.p, lines.n);
    text_free(&lines);
}

void out_end(struct out *o) {
    out_wait(o, o->linger_ms);
    if (o->chunked && !o->dead)
        out_raw(o, "0\r\n\r\n", 5);
}
