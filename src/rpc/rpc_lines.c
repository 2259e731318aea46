/* rpc_lines.c -- see rpc_lines.h. */
#include "rpc/rpc_lines.h"

#include "base/error.h"
#include "base/limits.h"

void ch_rpc_lines_init(struct ch_rpc_lines *l, size_t max, ch_rpc_line_fn *fn, void *user) {
    *l = (struct ch_rpc_lines){.fn = fn, .user = user};
    ch_buf_init(&l->partial, max ? max : CH_LIMIT_RPC_MESSAGE);
}

void ch_rpc_lines_release(struct ch_rpc_lines *l) {
    ch_buf_release(&l->partial);
}

static int too_long(const struct ch_rpc_lines *l, struct chela_error *err) {
    return ch_fail(err, CHELA_ELIMIT, "a message is larger than %zu bytes",
                   (size_t)l->partial.max);
}

/* False: fn stopped the stream. */
static bool deliver(struct ch_rpc_lines *l, struct ch_sv line) {
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line.n == 0 || l->fn(line, l->user);
}

int ch_rpc_lines_feed(struct ch_rpc_lines *l, struct ch_sv bytes, struct chela_error *err) {
    while (bytes.n > 0) {
        const char *lf = memchr(bytes.p, '\n', bytes.n);
        size_t n = lf ? (size_t)(lf - bytes.p) : bytes.n;
        struct ch_sv piece = ch_sv(bytes.p, n);
        if (l->partial.n + n > l->partial.max)
            return too_long(l, err);
        if (!lf)
            return ch_buf_add_sv(&l->partial, piece);
        bytes = ch_sv(lf + 1, bytes.n - n - 1);
        if (l->partial.n == 0) {
            if (!deliver(l, piece))
                return 0;
            continue;
        }
        ch_buf_add_sv(&l->partial, piece);
        struct ch_buf line = l->partial;
        ch_buf_init(&l->partial, line.max);
        bool more = deliver(l, ch_buf_sv(&line));
        ch_buf_release(&line);
        if (!more)
            return 0;
    }
    return 0;
}
