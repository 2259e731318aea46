/* fuzz_rpc.c -- any bytes as lines of JSON-RPC messages.
 *
 * Input: one byte (how to split), then the stream. The lines must be the same however the
 * bytes are split. A message that is read must survive being written and read again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rpc/rpc_lines.h"
#include "rpc/rpc_message.h"

static void write_again(const struct ch_rpc_message *m, struct ch_buf *out) {
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO method = {0};
    const struct ch_json *v = m->kind == CH_RPC_RESULT  ? m->result
                              : m->kind == CH_RPC_ERROR ? m->data
                                                        : m->params;
    struct ch_jw w = ch_jw(&json);

    ch_buf_add_sv(&method, m->method);
    if (v)
        ch_jw_value(&w, v);
    if (m->kind == CH_RPC_RESULT)
        ch_rpc_write_result(out, m->id, ch_buf_sv(&json));
    else if (m->kind == CH_RPC_ERROR)
        ch_rpc_write_error(out, m->id, m->code, m->text, ch_buf_sv(&json));
    else if (m->kind == CH_RPC_REQUEST)
        ch_rpc_write_request(out, 7, ch_buf_str(&method), ch_buf_sv(&json));
    else
        ch_rpc_write_notification(out, ch_buf_str(&method), ch_buf_sv(&json));
}

static bool on_line(struct ch_sv line, void *user) {
    struct ch_buf *seen = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_rpc_message m, again;

    ch_buf_addf(seen, "%zu:", line.n);
    ch_buf_add_sv(seen, line);
    if (memchr(line.p, '\n', line.n))
        abort();
    if (ch_rpc_read(&arena, line, &m, NULL) < 0)
        return true;
    write_again(&m, &text);
    if (memchr(text.p, '\n', text.n))
        abort();
    bool nul = m.method.n && memchr(m.method.p, '\0', m.method.n);
    if (!nul && ch_rpc_read(&arena, ch_buf_sv(&text), &again, NULL) < 0)
        abort();
    if (!nul && (again.kind != m.kind || !ch_sv_eq(again.method, m.method) ||
                 (m.kind != CH_RPC_REQUEST && !ch_rpc_id_eq(again.id, m.id))))
        abort();
    return true;
}

static void decode(const uint8_t *p, size_t n, size_t piece, struct ch_buf *seen) {
    struct ch_rpc_lines l;
    int rc = 0;

    ch_rpc_lines_init(&l, 4096, on_line, seen);
    for (size_t at = 0; at < n && rc == 0; at += piece) {
        size_t k = CH_MIN(piece, n - at);
        char *copy = ch_memdup(p + at, k);
        rc = ch_rpc_lines_feed(&l, ch_sv(copy, k), NULL);
        ch_free(copy);
    }
    ch_buf_addf(seen, "=%d", rc);
    ch_rpc_lines_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CH_BUF_AUTO whole = {0};
    CH_BUF_AUTO pieces = {0};

    if (size < 2)
        return 0;
    decode(data + 1, size - 1, size, &whole);
    decode(data + 1, size - 1, 1 + data[0] % 32, &pieces);
    if (!ch_sv_eq(ch_buf_sv(&whole), ch_buf_sv(&pieces)))
        abort();
    return 0;
}
