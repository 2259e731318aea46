/* fuzz_http1.c -- HTTP/1.1 messages made of the parts that messages are made of.
 *
 * Each byte of the input stands for a part (a method, a header, a line end of some kind, a chunk)
 * or, with its top bit set, for itself. A fuzzer that edits parts comes further than one that
 * edits bytes. Requests and responses must have the same verdict for every split, and a message
 * that is accepted has no line that ends in another way than with CR LF. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const char *const parts[] = {
    "\r\n", "\n", "\r", " ", "\t", ":", ": ", ";", ",", "0", "1", "5", "A", "hello", "x=y",
    "GET / HTTP/1.1\r\n", "POST /x HTTP/1.1\r\n", "HEAD * HTTP/1.0\r\n",
    "GET http://a/ HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 304 \r\n", "HTTP/1.9 200\r\n", "Host: a\r\n", "Host: b\r\n",
    "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length: +5\r\n",
    "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n", "Transfer-Encoding : chunked\r\n", "Connection: close\r\n",
    "Connection: keep-alive, upgrade\r\n", "Upgrade: x\r\n", "X: y\r\n", " folded\r\n", "X\r\n",
    "5\r\nhello\r\n", "0\r\n\r\n", "0\r\nX: y\r\n\r\n", "5;a=b\r\nhello\r\n", "5 \r\nhello\r\n",
    "0x5\r\nhello\r\n", "fffffffffffffff\r\n", "00005\r\nhello\r\n", "\r\n\r\n",
};

static void make(const uint8_t *p, size_t n, struct ch_buf *out) {
    for (size_t i = 0; i < n; i++) {
        if (p[i] & 0x80)
            ch_buf_addc(out, (char)(p[i] & 0x7f));
        else
            ch_buf_add_str(out, parts[p[i] % CH_LEN(parts)]);
    }
}

static void check_lines(struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n' && (i == 0 || text.p[i - 1] != '\r'))
            abort();
}

/* One message; what became of it. */
static void play(struct ch_sv all, size_t piece, bool response, struct ch_buf *out) {
    struct ch_http1 m;
    enum ch_http1_state state = CH_HTTP1_MORE;
    size_t at = 0;
    ch_http1_init(&m, response, CH_LIMIT_INBOUND_HEADERS, CH_LIMIT_INBOUND_HEADER_COUNT);
    while (state != CH_HTTP1_FAULT && state != CH_HTTP1_DONE) {
        struct ch_sv data;
        size_t taken, n = CH_MIN(piece, all.n - at);
        char *copy = ch_memdup(n ? all.p + at : "", n);
        state = ch_http1_feed(&m, ch_sv(copy, n), &taken, &data);
        if (taken > n || (data.n && (data.p < copy || data.p + data.n > copy + n)))
            abort();
        ch_buf_add_sv(out, data);
        at += taken;
        if (state == CH_HTTP1_HEAD) {
            check_lines(ch_sv(all.p, at));
            m.no_body = response && m.status == 304;
            ch_buf_addf(out, "[%d %s %zu]", m.status, m.method, ch_http1_count(&m));
            ch_http1_drop_head(&m);
        }
        ch_free(copy);
        if (state == CH_HTTP1_MORE && at == all.n)
            break;
    }
    ch_buf_addf(out, "|%d %d %s", state == CH_HTTP1_DONE, m.fault, m.fault ? m.why : "");
    if (state == CH_HTTP1_DONE)
        ch_buf_addf(out, " %zu", at);
    ch_http1_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_BUF_AUTO all = {0};
    if (n < 2)
        return 0;
    make(p + 2, n - 2, &all);
    for (int response = 0; response < 2; response++) {
        CH_BUF_AUTO whole = {0}, pieces = {0};
        play(ch_buf_sv(&all), all.n + 1, response, &whole);
        for (int i = 0; i < 2; i++) {
            ch_buf_clear(&pieces);
            play(ch_buf_sv(&all), i ? 1 + p[0] : 1, response, &pieces);
            if (!ch_sv_eq(ch_buf_sv(&whole), ch_buf_sv(&pieces)))
                abort();
        }
    }
    return 0;
}
