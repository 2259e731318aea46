/* ws_codec.c -- see ws_codec.h. */
#include "net/ws_codec.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "base/utf8.h"
#include "net/request.h"

#define MOST_CONTROL 125 /* bytes of a control frame's payload */
#define ROOM_KEPT ((size_t)64 * 1024) /* buffer kept between messages */

/* --- upgrade */

void ch_ws_add_request(struct ch_buf *out, const struct ch_url *url,
                       const unsigned char nonce[CH_WS_NONCE], char key[25]) {
    CH_BUF_AUTO text = {0};
    ch_base64_add(&text, ch_sv((const char *)nonce, CH_WS_NONCE));
    memcpy(key, ch_buf_str(&text), 25);
    CH_BUF_LIT(out, "GET ");
    ch_url_add_target(out, url);
    CH_BUF_LIT(out, " HTTP/1.1\r\nHost: ");
    ch_url_add_authority(out, url);
    ch_buf_addf(out,
                "\r\nUser-Agent: " CH_USER_AGENT "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
                key);
}

size_t ch_ws_head_size(struct ch_sv bytes) {
    const char *end = bytes.n ? memmem(bytes.p, bytes.n, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - bytes.p) + 4 : 0;
}

struct ch_sv ch_ws_header(struct ch_sv head, const char *name) {
    ch_sv_split(&head, '\n');
    while (head.p) {
        struct ch_sv line = ch_sv_split(&head, '\n'), value = line;
        if (ch_sv_eq_nocase(ch_sv_split(&value, ':'), ch_sv_str(name)) && value.p)
            return ch_sv_trim(value);
    }
    return ch_sv(NULL, 0);
}

/* "HTTP/1.1 101 Switching Protocols" */
static int ws_codec_status_of(struct ch_sv head) {
    static const char digits[] = "0123456789";
    int status = 0;
    if (head.n < 12 || !ch_sv_starts(head, "HTTP/1.1 "))
        return 0;
    for (size_t i = 9; i < 12; i++) {
        const char *d = head.p[i] ? strchr(digits, head.p[i]) : NULL;
        if (!d)
            return 0;
        status = 10 * status + (int)(d - digits);
    }
    return status;
}

void ch_ws_add_accept(struct ch_buf *out, struct ch_sv key) {
    unsigned char digest[CH_SHA1_SIZE];
    CH_BUF_AUTO text = {0};
    ch_buf_add_sv(&text, key);
    CH_BUF_LIT(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    ch_sha1(ch_buf_sv(&text), digest);
    ch_base64_add(out, ch_sv((const char *)digest, sizeof(digest)));
}

int ch_ws_accepted(struct ch_sv head, const char *key, struct chela_error *err) {
    int status = ws_codec_status_of(head);
    CH_BUF_AUTO want = {0};
    ch_ws_add_accept(&want, ch_sv_str(key));
    if (status && status != 101) {
        ch_fail(err, CHELA_EPROTO, "the peer answered HTTP %d instead of a WebSocket", status);
        if (err)
            err->http_status = status;
        return CHELA_EPROTO;
    }
    if (!status || !ch_sv_eq_nocase(ch_ws_header(head, "upgrade"), CH_SV("websocket")) ||
        !ch_sv_contains_nocase(ch_ws_header(head, "connection"), "upgrade") ||
        !ch_sv_eq(ch_ws_header(head, "sec-websocket-accept"), ch_buf_sv(&want)))
        return ch_fail(err, CHELA_EPROTO, "the peer's answer is not a WebSocket upgrade");
    if (ch_ws_header(head, "sec-websocket-extensions").n ||
        ch_ws_header(head, "sec-websocket-protocol").n)
        return ch_fail(err, CHELA_EPROTO, "the peer uses extensions that were not requested");
    return 0;
}

/* --- writing frames */

/* from: position of the first byte in the mask. */
static void apply_mask(char *p, size_t n, const unsigned char mask[4], unsigned from) {
    unsigned char turned[8];
    uint64_t wide, word;
    size_t i = 0;
    for (unsigned k = 0; k < sizeof(turned); k++)
        turned[k] = mask[(from + k) % 4];
    memcpy(&wide, turned, sizeof(wide));
    for (; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, p + i, sizeof(word));
        word ^= wide;
        memcpy(p + i, &word, sizeof(word));
    }
    for (; i < n; i++)
        p[i] = (char)((unsigned char)p[i] ^ turned[i % 4]);
}

void ch_ws_add_parts(struct ch_buf *out, enum ch_ws_kind kind, const struct ch_sv *parts, size_t n,
                     const unsigned char mask[4]) {
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += parts[i].n;
    unsigned wide = all < 126 ? 0 : all <= UINT16_MAX ? 2 : 8;
    ch_buf_addc(out, (char)(0x80 | kind));
    ch_buf_addc(out, (char)((mask ? 0x80 : 0) | (wide == 0 ? all : wide == 2 ? 126 : 127)));
    for (unsigned i = wide; i > 0; i--)
        ch_buf_addc(out, (char)((uint64_t)all >> (8 * (i - 1))));
    if (mask)
        ch_buf_add(out, mask, 4);
    char *at = ch_buf_reserve(out, all);
    if (!at)
        return;
    for (size_t i = 0, done = 0; i < n; done += parts[i++].n)
        if (parts[i].n)
            memcpy(at + done, parts[i].p, parts[i].n);
    if (mask)
        apply_mask(at, all, mask, 0);
    ch_buf_commit(out, all);
}

void ch_ws_add_frame(struct ch_buf *out, enum ch_ws_kind kind, struct ch_sv payload,
                     const unsigned char mask[4]) {
    ch_ws_add_parts(out, kind, &payload, 1, mask);
}

/* --- reading frames */

void ch_ws_reader_init(struct ch_ws_reader *r, ch_ws_fn *fn, void *user) {
    *r = (struct ch_ws_reader){.fn = fn, .user = user};
    ch_buf_init(&r->message, CH_LIMIT_WS_MESSAGE);
    ch_buf_init(&r->control, MOST_CONTROL);
}

void ch_ws_reader_release(struct ch_ws_reader *r) {
    ch_buf_release(&r->message);
    ch_buf_release(&r->control);
}

static int ws_codec_broken(struct chela_error *err, const char *what) {
    return ch_fail(err, CHELA_EPROTO, "invalid WebSocket frame from the peer: %s", what);
}

static int not_text(struct ch_ws_reader *r, struct chela_error *err) {
    r->verdict = CH_WS_NO_TEXT;
    return ws_codec_broken(err, "text is not UTF-8");
}

static bool ws_codec_is_control(unsigned opcode) {
    return opcode & 8;
}

/* The size of the current frame header without its mask, as far as known. */
static unsigned bare_size(const struct ch_ws_reader *r) {
    unsigned n = r->nhead < 2 ? 0 : r->head[1] & 0x7f;
    return n == 126 ? 4 : n == 127 ? 10 : 2;
}

static unsigned head_size(const struct ch_ws_reader *r) {
    return bare_size(r) + (r->of_client && r->nhead >= 2 && r->head[1] & 0x80 ? 4 : 0);
}

static uint64_t length_of(const struct ch_ws_reader *r) {
    uint64_t n = 0;
    if (bare_size(r) == 2)
        return r->head[1] & 0x7f;
    for (unsigned i = 2; i < bare_size(r); i++)
        n = n << 8 | r->head[i];
    return n;
}

static int too_big(struct ch_ws_reader *r, uint64_t n, struct chela_error *err) {
    if (n > CH_LIMIT_WS_MESSAGE - r->message.n) {
        r->verdict = CH_WS_TOO_BIG;
        return ch_fail(err, CHELA_ELIMIT, "a WebSocket message has more than %zu bytes",
                       CH_LIMIT_WS_MESSAGE);
    }
    if (r->fragments >= CH_LIMIT_WS_FRAGMENTS) {
        r->verdict = CH_WS_TOO_BIG;
        return ch_fail(err, CHELA_ELIMIT, "a WebSocket message comes in more than %d fragments",
                       CH_LIMIT_WS_FRAGMENTS);
    }
    return 0;
}

static int check_head(struct ch_ws_reader *r, struct chela_error *err) {
    unsigned opcode = r->head[0] & 15, size = bare_size(r);
    bool last = r->head[0] & 0x80;
    uint64_t n = length_of(r);
    if (r->head[0] & 0x70)
        return ws_codec_broken(err, "extensions were not negotiated");
    if (r->of_client != !!(r->head[1] & 0x80))
        return ws_codec_broken(err, r->of_client ? "not masked" : "masked");
    if (opcode != 0 && opcode != CH_WS_TEXT && opcode != CH_WS_BINARY && opcode != CH_WS_CLOSE &&
        opcode != CH_WS_PING && opcode != CH_WS_PONG)
        return ws_codec_broken(err, "unknown opcode");
    if (ws_codec_is_control(opcode) && (!last || n > MOST_CONTROL))
        return ws_codec_broken(err, "control frame too long or fragmented");
    if (!ws_codec_is_control(opcode) && (opcode == 0) != (r->kind != 0))
        return ws_codec_broken(err,
                               opcode ? "message inside a message" : "continuation without start");
    if ((size == 4 && n < 126) || (size == 10 && (n <= UINT16_MAX || n > INT64_MAX)))
        return ws_codec_broken(err, "invalid encoding of the length");
    return ws_codec_is_control(opcode) ? 0 : too_big(r, n, err);
}

/* Codes that may be sent: some codes are reserved for local use, others are
 * undefined. */
static bool is_code(unsigned code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static int check_close(struct ch_ws_reader *r, struct ch_sv payload, struct chela_error *err) {
    if (!payload.n)
        return 0;
    if (payload.n == 1)
        return ws_codec_broken(err, "truncated close code");
    if (!is_code((unsigned)(unsigned char)payload.p[0] << 8 | (unsigned char)payload.p[1]))
        return ws_codec_broken(err, "invalid close code");
    return ch_utf8_valid(ch_sv(payload.p + 2, payload.n - 2)) ? 0 : not_text(r, err);
}

static int end_control(struct ch_ws_reader *r, enum ch_ws_kind kind, struct chela_error *err) {
    struct ch_sv payload = ch_buf_sv(&r->control);
    int rc = kind == CH_WS_CLOSE ? check_close(r, payload, err) : 0;
    if (rc < 0)
        return rc;
    r->stopped = !r->fn(kind, payload, r->user);
    ch_buf_clear(&r->control);
    return 0;
}

static int hand_over(struct ch_ws_reader *r, struct ch_sv message, struct chela_error *err) {
    enum ch_ws_kind kind = r->kind;
    if (kind == CH_WS_TEXT && !ch_utf8_valid(message))
        return not_text(r, err);
    r->kind = 0;
    r->fragments = 0;
    r->stopped = !r->fn(kind, message, r->user);
    return 0;
}

static int end_message(struct ch_ws_reader *r, struct chela_error *err) {
    int rc = hand_over(r, ch_buf_sv(&r->message), err);
    if (rc < 0)
        return rc;
    if (r->message.cap > ROOM_KEPT)
        ch_buf_release(&r->message);
    ch_buf_clear(&r->message);
    return 0;
}

static int end_frame(struct ch_ws_reader *r, struct chela_error *err) {
    unsigned opcode = r->head[0] & 15;
    r->nhead = 0;
    r->in_payload = false;
    if (ws_codec_is_control(opcode))
        return end_control(r, opcode, err);
    return r->head[0] & 0x80 ? end_message(r, err) : 0;
}

static int begin_payload(struct ch_ws_reader *r, struct chela_error *err) {
    unsigned opcode = r->head[0] & 15;
    int rc = check_head(r, err);
    if (rc < 0)
        return rc;
    if (opcode == CH_WS_TEXT || opcode == CH_WS_BINARY)
        r->kind = opcode;
    r->fragments += !ws_codec_is_control(opcode);
    r->mask_at = 0;
    r->left = length_of(r);
    r->in_payload = true;
    return r->left ? 0 : end_frame(r, err);
}

static void ws_codec_unmask(struct ch_ws_reader *r, char *p, size_t n) {
    apply_mask(p, n, r->head + bare_size(r), r->mask_at);
    r->mask_at = (r->mask_at + n) % 4;
}

static size_t take_payload(struct ch_ws_reader *r, struct ch_sv bytes) {
    size_t n = (size_t)CH_MIN(r->left, (uint64_t)bytes.n);
    struct ch_buf *to = ws_codec_is_control(r->head[0] & 15) ? &r->control : &r->message;
    ch_buf_add(to, bytes.p, n);
    if (r->of_client)
        ws_codec_unmask(r, to->p + to->n - n, n);
    r->left -= n;
    return n;
}

/* True: the rest of the bytes begins with a whole message, which needs no copy. */
static bool is_at_hand(const struct ch_ws_reader *r, struct ch_sv bytes) {
    return r->in_payload && !r->of_client && !r->message.n && r->left <= bytes.n &&
           r->head[0] & 0x80 && !ws_codec_is_control(r->head[0] & 15);
}

static size_t take_message(struct ch_ws_reader *r, struct ch_sv bytes, struct chela_error *err,
                           int *rc) {
    size_t n = (size_t)r->left;
    r->nhead = 0;
    r->in_payload = false;
    r->left = 0;
    *rc = hand_over(r, ch_sv(bytes.p, n), err);
    return n;
}

/* Reads the header of a frame as far as it has come. */
static size_t take_head(struct ch_ws_reader *r, struct ch_sv bytes, struct chela_error *err,
                        int *rc) {
    size_t n = 0;
    unsigned want = r->nhead < 2 ? 2 : head_size(r);
    while (r->nhead < want && n < bytes.n) {
        r->head[r->nhead++] = (unsigned char)bytes.p[n++];
        if (r->nhead == 2)
            want = head_size(r);
    }
    if (r->nhead == want)
        *rc = begin_payload(r, err);
    return n;
}

int ch_ws_feed(struct ch_ws_reader *r, struct ch_sv bytes, struct chela_error *err) {
    int rc = 0;
    while (rc == 0 && bytes.n && !r->stopped) {
        size_t n;
        if (is_at_hand(r, bytes)) {
            n = take_message(r, bytes, err, &rc);
        } else if (r->in_payload) {
            n = take_payload(r, bytes);
            rc = r->left ? 0 : end_frame(r, err);
        } else {
            n = take_head(r, bytes, err, &rc);
        }
        bytes = ch_sv(bytes.p + n, bytes.n - n);
    }
    r->stopped |= rc < 0;
    if (rc < 0 && !r->verdict)
        r->verdict = CH_WS_BROKEN;
    return rc;
}
