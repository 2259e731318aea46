/* fuzz_response.c -- any bytes as a response, whole and in pieces.
 *
 * Input: one byte of settings (the lowest bit: no body follows; the others:
 * size of the pieces), then what the peer sends. However the bytes are split,
 * the events, the verdict and the number of bytes used must be the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/response.h"

struct outcome {
    struct ch_buf head, body;
    size_t used;
    int rc;
    bool keep_alive;
};

static bool on_head(const struct ch_http_head *head, void *user) {
    struct outcome *o = user;
    if (o->head.n || o->body.n)
        abort(); /* one head, and before the body */
    ch_buf_addf(&o->head, "%d\n", head->status);
    for (size_t i = 0; i < head->nheaders; i++) {
        struct ch_sv name = head->headers[i].name;
        for (size_t k = 0; k < name.n; k++)
            if (name.p[k] >= 'A' && name.p[k] <= 'Z')
                abort();
        ch_buf_add_sv(&o->head, name);
        ch_buf_addc(&o->head, '=');
        ch_buf_add_sv(&o->head, head->headers[i].value);
        ch_buf_addc(&o->head, '\n');
    }
    return true;
}

static bool on_data(struct ch_sv data, void *user) {
    struct outcome *o = user;
    if (o->head.n == 0 || data.n == 0)
        abort();
    ch_buf_add_sv(&o->body, data);
    return true;
}

static void read_it(struct outcome *o, struct ch_sv in, size_t step, bool no_body) {
    static const struct ch_response_events events = {on_head, on_data};
    struct chela_error err = {0};
    struct ch_response r;

    *o = (struct outcome){.rc = CH_RESPONSE_MORE};
    ch_response_init(&r, "peer", &events, o);
    r.skip_body = no_body;
    r.max_body = 1000;
    while (o->rc == CH_RESPONSE_MORE && o->used < in.n) {
        size_t used, n = CH_MIN(step, in.n - o->used);
        CH_AUTOFREE char *copy = ch_memdup(in.p + o->used, n); /* the reader overwrites it */
        o->rc = ch_response_feed(&r, copy, n, &used, &err);
        if (used > n || (o->rc == CH_RESPONSE_MORE && used < n))
            abort();
        o->used += used;
    }
    if (o->rc == CH_RESPONSE_MORE)
        o->rc = ch_response_eof(&r, &err);
    if (o->rc < 0 && (err.code != o->rc || !err.message[0]))
        abort();
    if (o->body.n > 1000)
        abort();
    o->keep_alive = r.keep_alive;
    ch_response_release(&r);
}

static void release(struct outcome *o) {
    ch_buf_release(&o->head);
    ch_buf_release(&o->body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct outcome whole, pieces;
    if (size == 0)
        return 0;
    struct ch_sv in = ch_sv((const char *)data + 1, size - 1);

    read_it(&whole, in, in.n + 1, data[0] & 1);
    read_it(&pieces, in, 1 + data[0] / 2, data[0] & 1);
    if (whole.rc != pieces.rc || whole.keep_alive != pieces.keep_alive ||
        !ch_sv_eq(ch_buf_sv(&whole.head), ch_buf_sv(&pieces.head)))
        abort();
    /* Past its limit a body is cut where the piece ended. */
    if (whole.rc != CHELA_ELIMIT && !ch_sv_eq(ch_buf_sv(&whole.body), ch_buf_sv(&pieces.body)))
        abort();
    if (whole.rc == CH_RESPONSE_DONE && whole.used != pieces.used)
        abort();
    release(&whole);
    release(&pieces);
    return 0;
}
