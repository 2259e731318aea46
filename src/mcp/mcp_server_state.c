/* mcp_server_state.c -- see mcp_server.h: the state of a request that waits for input.
 *
 * The state travels through the client: base64 of a JSON object, a dot, and the HMAC of the
 * text before the dot. The object holds the answers of earlier rounds, the values that the
 * function keeps, the time after which the state is invalid, and a digest of the principal,
 * the method and the parameters, so that the state of one request is useless for another. */
#include "mcp/mcp_server_state.h"

#include "base/base64.h"
#include "base/limits.h"

#define HEX (2 * CH_SHA256_SIZE)

static void state_sign(const chela_mcp_server *s, struct ch_sv text, char hex[HEX + 1]) {
    unsigned char mac[CH_SHA256_SIZE];

    ch_hmac_sha256(ch_sv((const char *)s->secret, sizeof(s->secret)), text, mac);
    ch_sha256_hex(mac, hex);
}

void ch_mcp_state_seal(chela_mcp_call *call, struct ch_buf *out) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    char hex[HEX + 1];
    const struct ch_clock *clock = ch_loop_clock(call->server->rt->loop);

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "until", ch_now_ms(clock) + CH_DEFAULT_MCP_STATE_MS);
    ch_jw_kstr(&w, "of", call->digest);
    ch_jw_kint(&w, "round", call->rounds + 1);
    ch_buf_addf(&json, ",\"answers\":{%s},\"kept\":{%s}", ch_buf_str(&call->answers),
                ch_buf_str(&call->keep));
    ch_jw_end(&w, '}');
    size_t start = out->n;
    ch_base64_add(out, ch_buf_sv(&json));
    state_sign(call->server, ch_sv(out->p + start, out->n - start), hex);
    ch_buf_addf(out, ".%s", hex);
}

bool ch_mcp_state_open(chela_mcp_call *call, struct ch_sv state) {
    char hex[HEX + 1];
    unsigned char theirs[CH_SHA256_SIZE], ours[CH_SHA256_SIZE];
    struct ch_buf json = {0};
    const struct ch_json *v = NULL;
    const struct ch_clock *clock = ch_loop_clock(call->server->rt->loop);

    if (state.n <= HEX + 1 || state.n > CH_LIMIT_MCP_STATE || state.p[state.n - HEX - 1] != '.')
        return false;
    struct ch_sv text = ch_sv(state.p, state.n - HEX - 1);
    state_sign(call->server, text, hex);
    if (!ch_sha256_read(ch_sv(state.p + text.n + 1, HEX), theirs) ||
        !ch_sha256_read(ch_sv(hex, HEX), ours) || !ch_sha256_equal(theirs, ours))
        return false;
    bool ok = ch_base64_read(text, &json) &&
              ch_json_parse(&call->arena, ch_arena_sv(&call->arena, ch_buf_sv(&json)),
                            CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
              ch_sv_eq(ch_json_get_str(v, "of"), call->digest) &&
              ch_json_int(ch_json_get(v, "until"), 0) > ch_now_ms(clock);
    ch_buf_release(&json);
    if (!ok)
        return false;
    call->rounds = (unsigned)ch_json_int(ch_json_get(v, "round"), 0);
    call->before = ch_json_get(v, "answers");
    call->kept = ch_json_get(v, "kept");
    return true;
}
