/* wire.c -- see wire.h.
 *
 * Data that the kernel takes at once is not copied, unless it is encrypted. The
 * rest is passed to libuv with a copy. A module does TLS in memory; it gets one
 * record at a time and is emptied after each, so it never holds more than one
 * record. */
#include "net/wire.h"

#include <sys/socket.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "io/module.h"
#include "io/sigpipe.h"

#define RECORD ((size_t)16 * 1024)    /* largest TLS record */
#define ENCRYPTED ((size_t)20 * 1024) /* the same, encrypted */
#define PIECE ((size_t)256 * 1024)    /* largest write that waits for the kernel */

/* --- identities */

struct ch_identity {
    unsigned refs;
    const struct chela_tls_ops *tls;
    struct chela_tls_context *context; /* owned */
    char *plain, *cipher;              /* owned: buffers for records */
};

int ch_identity_new(const char *cert, const char *key, const char *path, struct ch_identity **out,
                    struct chela_error *err) {
    const void *ops;
    struct chela_tls_context *context;
    int rc = ch_module_load("tls", "tls", path, &ops, err);
    if (rc == 0)
        rc = ((const struct chela_tls_ops *)ops)->identity_new(cert, key, &context, err);
    if (rc < 0)
        return rc;
    struct ch_identity *id = ch_alloc(sizeof(*id));
    *id = (struct ch_identity){.refs = 1,
                               .tls = ops,
                               .context = context,
                               .plain = ch_malloc(RECORD),
                               .cipher = ch_malloc(ENCRYPTED)};
    *out = id;
    return 0;
}

void ch_identity_unref(struct ch_identity *id) {
    if (!id || --id->refs > 0)
        return;
    id->tls->context_free(id->context);
    ch_free(id->plain);
    ch_free(id->cipher);
    ch_free(id);
}

void ch_identity_offer_h2(struct ch_identity *id, int (*may)(void *user), void *user) {
    id->tls->offer_h2(id->context, may, user);
}

/* --- sending */

struct writing {
    uv_write_t req;
    char bytes[];
};

size_t ch_wire_unsent(const struct ch_wire *w) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&w->tcp);
}

static void net_wire_on_written(uv_write_t *req, int status) {
    struct ch_wire *w = req->data;
    ch_free(CH_CONTAINER(req, struct writing, req));
    if (w->closed || w->deaf)
        return;
    CH_LOOP_CALLBACK(w->loop);
    if (status < 0)
        w->ops->lost(w);
    else
        w->ops->moved(w);
}

static void net_wire_send_later(struct ch_wire *w, struct ch_sv bytes) {
    struct writing *later = ch_malloc(sizeof(*later) + bytes.n);
    struct ch_sigpipe guard;
    memcpy(later->bytes, bytes.p, bytes.n);
    later->req.data = w;
    uv_buf_t buf = {.base = later->bytes, .len = bytes.n};
    ch_sigpipe_block(&guard);
    int rc = uv_write(&later->req, (uv_stream_t *)&w->tcp, &buf, 1, net_wire_on_written);
    ch_sigpipe_restore(&guard);
    if (rc < 0)
        ch_free(later); /* reading reports that the peer is gone */
}

static void send_raw(struct ch_wire *w, struct ch_sv bytes) {
    uv_os_fd_t fd;
    if (ch_wire_unsent(w) == 0 && uv_fileno((uv_handle_t *)&w->tcp, &fd) == 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n > 0)
            bytes = ch_sv(bytes.p + n, bytes.n - (size_t)n);
    }
    while (bytes.n) { /* in pieces: `moved` is called for each of them */
        size_t n = CH_MIN(bytes.n, PIECE);
        net_wire_send_later(w, ch_sv(bytes.p, n));
        bytes = ch_sv(bytes.p + n, bytes.n - n);
    }
}

static void send_encrypted(struct ch_wire *w) {
    long n;
    while ((n = w->id->tls->drain(w->tls, w->id->cipher, ENCRYPTED)) > 0)
        send_raw(w, ch_sv(w->id->cipher, (size_t)n));
}

void ch_wire_send(struct ch_wire *w, struct ch_sv bytes) {
    if (!w->tls) {
        send_raw(w, bytes);
        return;
    }
    while (bytes.n) {
        size_t n = CH_MIN(bytes.n, RECORD);
        if (w->id->tls->write(w->tls, bytes.p, n, NULL) < 0)
            return; /* reading reports the reason */
        send_encrypted(w);
        bytes = ch_sv(bytes.p + n, bytes.n - n);
    }
}

static void net_wire_on_ended(uv_shutdown_t *req, int status) {
    (void)status;
    ch_free(req);
}

int ch_wire_end(struct ch_wire *w) {
    if (w->tls && w->secure) {
        w->id->tls->end(w->tls);
        send_encrypted(w);
    }
    uv_shutdown_t *req = ch_alloc(sizeof(*req));
    int rc = uv_shutdown(req, (uv_stream_t *)&w->tcp, net_wire_on_ended);
    if (rc < 0)
        ch_free(req);
    return rc;
}

/* --- reading */

/* Send TLS protocol data: handshake, alerts, key updates. A peer that keeps
 * requesting key updates without reading is cut off at a bound. */
static void net_wire_reply(struct ch_wire *w) {
    size_t before = ch_wire_unsent(w);
    if (!before)
        w->replies = 0;
    send_encrypted(w);
    w->replies += ch_wire_unsent(w) - before;
}

static void net_wire_decrypt(struct ch_wire *w) {
    const struct chela_tls_ops *tls = w->id->tls;
    int eof = 0;
    long n = 0;
    if (!w->secure) {
        int rc = tls->handshake(w->tls, NULL);
        w->secure = rc == 1;
        n = rc < 0 ? rc : 0;
    }
    while (w->secure && !w->closed && !w->deaf &&
           (n = tls->read(w->tls, w->id->plain, RECORD, &eof, NULL)) > 0)
        w->ops->bytes(w, ch_sv(w->id->plain, (size_t)n));
    if (w->closed)
        return;
    net_wire_reply(w);
    bool floods = w->replies > CH_LIMIT_TLS_REPLIES;
    if ((n < 0 || eof || floods) && !w->deaf)
        w->ops->lost(w);
}

static void net_wire_on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf) {
    (void)suggested;
    *buf = (uv_buf_t){.base = ((struct ch_wire *)h->data)->room, .len = CH_WIRE_READ};
}

static void net_wire_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    struct ch_wire *w = stream->data;
    CH_LOOP_CALLBACK(w->loop);
    if (w->closed || w->deaf || n == 0)
        return;
    if (n < 0 || (w->tls && w->id->tls->feed(w->tls, buf->base, (size_t)n, NULL) < 0))
        w->ops->lost(w);
    else if (w->tls)
        net_wire_decrypt(w);
    else
        w->ops->bytes(w, ch_sv(buf->base, (size_t)n));
}

void ch_wire_hold(struct ch_wire *w, bool on) {
    if (w->closed || w->deaf || w->held == on)
        return;
    w->held = on;
    if (on)
        uv_read_stop((uv_stream_t *)&w->tcp);
    else
        uv_read_start((uv_stream_t *)&w->tcp, net_wire_on_alloc, net_wire_on_read);
}

void ch_wire_deaf(struct ch_wire *w) {
    w->deaf = true;
    uv_read_stop((uv_stream_t *)&w->tcp);
}

/* --- opening and closing */

static int net_wire_begin(struct ch_wire *w, uv_stream_t *listener, int fd,
                          struct chela_error *err) {
    int rc = fd < 0 ? uv_accept(listener, (uv_stream_t *)&w->tcp) : uv_tcp_open(&w->tcp, fd);
    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc == 0) /* another process may have accepted the connection as a blocking one */
        rc = uv_stream_set_blocking((uv_stream_t *)&w->tcp, 0);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&w->tcp, net_wire_on_alloc, net_wire_on_read);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "%s", uv_strerror(rc));
    uv_tcp_nodelay(&w->tcp, 1);
    return w->id ? w->id->tls->accept(w->id->context, &w->tls, err) : 0;
}

int ch_wire_accept(struct ch_wire *w, struct ch_loop *loop, uv_stream_t *listener, int fd,
                   struct ch_identity *id, struct chela_error *err) {
    w->loop = loop;
    uv_tcp_init(ch_loop_uv(loop), &w->tcp);
    w->tcp.data = w;
    w->id = id;
    if (id)
        id->refs++;
    int rc = net_wire_begin(w, listener, fd, err);
    if (rc < 0)
        ch_wire_close(w);
    return rc;
}

static void net_wire_on_closed(uv_handle_t *h) {
    struct ch_wire *w = h->data;
    if (w->tls)
        w->id->tls->close(w->tls);
    ch_identity_unref(w->id);
    w->ops->closed(w);
}

void ch_wire_close(struct ch_wire *w) {
    if (w->closed)
        return;
    w->closed = true;
    uv_close((uv_handle_t *)&w->tcp, net_wire_on_closed);
}
