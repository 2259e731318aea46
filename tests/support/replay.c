/* replay.c -- see replay.h. */
#include "support/replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/codec/decoder.h"
#include "model/wire/wire_decode.h"

static int cases, failures;

void tap_ok(bool ok, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    printf("%s %d - ", ok ? "ok" : "not ok", ++cases);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    failures += !ok;
}

void tap_note(const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    struct ch_sv rest = ch_buf_sv(&text);
    while (rest.n) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        printf("# %.*s\n", CH_SV_FMT(line));
    }
}

int tap_passed(void) {
    return cases - failures;
}

int tap_end(void) {
    printf("1..%d\n", cases);
    return failures != 0 || cases == 0;
}

struct ch_sv replay_file(struct ch_arena *a, const char *path) {
    CH_BUF_AUTO text = {0};
    FILE *f = fopen(path, "rb");
    char chunk[65536];
    size_t n;
    if (!f)
        return ch_sv(NULL, 0);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        ch_buf_add(&text, chunk, n);
    fclose(f);
    return ch_arena_sv(a, ch_buf_sv(&text));
}

const struct ch_json *replay_json(struct ch_arena *a, const char *path) {
    const struct ch_json *v = NULL;
    struct ch_sv text = replay_file(a, path);
    if (text.p)
        ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL);
    return v;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **replay_names(const char *dir, const char *suffix, size_t *n) {
    char **names = NULL;
    size_t cap = 0, tail = strlen(suffix);
    DIR *d = opendir(dir);
    *n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len <= tail || strcmp(e->d_name + len - tail, suffix) != 0)
            continue;
        if (*n == cap) {
            cap = cap ? 2 * cap : 64;
            names = ch_realloc(names, cap * sizeof(*names));
        }
        names[(*n)++] = ch_strndup(e->d_name, len - tail);
    }
    if (d)
        closedir(d);
    if (*n)
        qsort(names, *n, sizeof(*names), by_name);
    return names;
}

void replay_free_names(char **names, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_free(names[i]);
    ch_free(names);
}

/* Consecutive events of one kind and index are joined, so that the log does not depend on
 * how a server split its text. */
struct event_log {
    struct ch_buf *out;
    int type;
    unsigned index;
};

static void on_event(const struct ch_model_event *ev, void *user) {
    static const char *const names[] = {"text", "reasoning", "call", "closed"};
    struct event_log *log = user;
    if (log->type != (int)ev->type || log->index != ev->index)
        ch_buf_addf(log->out, "\n%s %u: ", names[ev->type], ev->index);
    log->type = (int)ev->type;
    log->index = ev->index;
    if (ev->id.n)
        ch_buf_addf(log->out, "<id %.*s>", CH_SV_FMT(ev->id));
    if (ev->name.n)
        ch_buf_addf(log->out, "<name %.*s>", CH_SV_FMT(ev->name));
    ch_buf_add_sv(log->out, ev->text);
    size_t n = CH_MIN(ev->text.n, ev->so_far.n);
    if (n != ev->text.n || !ch_sv_eq(ch_sv(ev->so_far.p + ev->so_far.n - n, n), ev->text))
        ch_buf_add_str(log->out, "<so_far does not end in the piece>");
}

/* Each piece is a separate copy, so that a sanitizer detects reads beyond its end. */
static bool feed(struct ch_decoder *d, struct ch_sv piece) {
    char *copy = ch_memdup(piece.p, piece.n);
    bool more = ch_decoder_feed(d, ch_sv(copy, piece.n));
    ch_free(copy);
    return more;
}

static void decode(const struct ch_codec *codec, const struct ch_http_head *head, struct ch_sv body,
                   size_t first, size_t piece, struct ch_buf *reply, struct ch_buf *events) {
    struct ch_decoder d;
    struct event_log log = {.out = events, .type = -1};
    ch_decoder_init(&d, codec, events ? on_event : NULL, &log);
    ch_decoder_head(&d, head);
    for (size_t at = 0, n = first; at < body.n; at += n, n = piece) {
        n = CH_MIN(n, body.n - at);
        if (!feed(&d, ch_sv(body.p + at, n)))
            break;
    }
    ch_decoder_end(&d, NULL, 0);
    ch_wire_write_reply(&d, reply);
    ch_decoder_release(&d);
}

void replay_decode(const struct ch_codec *codec, const struct ch_http_head *head, struct ch_sv body,
                   size_t piece, struct ch_buf *reply, struct ch_buf *events) {
    if (!piece)
        piece = body.n;
    decode(codec, head, body, piece, piece, reply, events);
}

void replay_decode_split(const struct ch_codec *codec, const struct ch_http_head *head,
                         struct ch_sv body, size_t split, struct ch_buf *reply,
                         struct ch_buf *events) {
    decode(codec, head, body, split, body.n, reply, events);
}

/* --- SHA-1, as in FIPS 180-4 */

static uint32_t rotate(uint32_t x, int n) {
    return x << n | x >> (32 - n);
}

static void sha1_block(uint32_t h[5], const unsigned char *p) {
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20              ? (b & c) | (~b & d)
                     : i < 40 || i >= 60 ? b ^ c ^ d
                                         : (b & c) | (b & d) | (c & d);
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t t = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = t;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

void replay_sha1(struct ch_sv s, char hex[41]) {
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char last[128] = {0};
    size_t whole = s.n / 64, rest = s.n % 64, blocks = rest < 56 ? 1 : 2;
    for (size_t i = 0; i < whole; i++)
        sha1_block(h, (const unsigned char *)s.p + 64 * i);
    if (rest)
        memcpy(last, s.p + 64 * whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[64 * blocks - 1 - (size_t)i] = (unsigned char)((uint64_t)s.n * 8 >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        sha1_block(h, last + 64 * i);
    for (int i = 0; i < 5; i++)
        snprintf(hex + (ptrdiff_t)8 * i, 9, "%08x", h[i]);
}
