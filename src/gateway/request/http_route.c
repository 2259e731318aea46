/* http_route.c -- see http_route.h.
 *
 * A path is decoded once. A path that could be read in two ways is rejected: one with an
 * empty segment, or a segment of dots. An encoded slash belongs to its segment, and matches
 * only {}. So every route has exactly one name, and every session key has a path. */
#include "gateway/request/http_route.h"

#include "base/chars.h"

/* Encoded characters that have a meaning in a path. A path contains no control characters, so a
 * decoded path has these in the place of the characters. */
static const char signs[] = "/\\%", stand_ins[] = "\1\2\3";

/* Decodes one character; -1: a path must not contain it. */
static int next_path_char(struct ch_sv *rest) {
    unsigned char c = (unsigned char)rest->p[0];
    size_t n = 1;
    if (c == '%') {
        int high = rest->n > 2 ? ch_hex_digit(rest->p[1]) : -1,
            low = rest->n > 2 ? ch_hex_digit(rest->p[2]) : -1;
        if (high < 0 || low < 0)
            return -1;
        c = (unsigned char)(high << 4 | low);
        n = 3;
        if (c < ' ')
            return -1;
        const char *sign = strchr(signs, c);
        if (sign) {
            *rest = ch_sv(rest->p + n, rest->n - n);
            return stand_ins[sign - signs];
        }
    }
    *rest = ch_sv(rest->p + n, rest->n - n);
    return c < ' ' || c == 0x7f || c == '\\' ? -1 : c;
}

static bool is_canonical_path(struct ch_sv path) {
    struct ch_sv rest = path;
    if (!path.n || path.p[0] != '/')
        return false;
    ch_sv_split(&rest, '/');
    while (rest.p) {
        struct ch_sv word = ch_sv_split(&rest, '/');
        if (ch_sv_is(word, ".") || ch_sv_is(word, "..") || (!word.n && (rest.p || path.n > 1)))
            return false;
    }
    return true;
}

struct ch_sv ch_http_route_decode_path(struct ch_arena *a, struct ch_sv target,
                                       struct ch_sv *query) {
    struct ch_sv after = target, path = ch_sv_split(&after, '?');
    char *out = ch_arena_bytes(a, path.n + 1);
    size_t n = 0;
    *query = after;
    while (path.n) {
        int c = next_path_char(&path);
        if (c < 0)
            return ch_sv(NULL, 0);
        out[n++] = (char)c;
    }
    struct ch_sv decoded = ch_sv(out, n);
    return is_canonical_path(decoded) ? decoded : ch_sv(NULL, 0);
}

struct ch_sv ch_http_route_param(struct ch_arena *a, struct ch_sv word) {
    char *out = ch_arena_bytes(a, word.n + 1);
    for (size_t i = 0; i < word.n; i++) {
        const char *stand_in = memchr(stand_ins, word.p[i], CH_LEN(stand_ins) - 1);
        out[i] = stand_in ? signs[stand_in - stand_ins] : word.p[i];
    }
    return ch_sv(out, word.n);
}

struct ch_sv ch_http_route_decode_query(struct ch_arena *a, struct ch_sv text) {
    char *out = ch_arena_bytes(a, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? ch_hex_digit(text.p[i + 1]) : -1;
        int low = high >= 0 ? ch_hex_digit(text.p[i + 2]) : -1;
        unsigned char c = (unsigned char)(low >= 0 ? high << 4 | low : text.p[i]);
        i += low >= 0 ? 2 : 0;
        out[n++] = (char)(c < ' ' || (c == '+' && low < 0) ? ' ' : c);
    }
    return ch_sv(out, n);
}

int64_t ch_http_route_number(struct ch_sv word) {
    int64_t n = 0;
    if (word.n == 0 || word.n > 9)
        return -1;
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] < '0' || word.p[i] > '9')
            return -1;
        n = n * 10 + (word.p[i] - '0');
    }
    return n;
}

static bool route_matches(const struct ch_http_route *r, struct ch_sv path, struct ch_sv *param) {
    struct ch_sv pattern = ch_sv_str(r->path);
    while (pattern.p && path.p) {
        struct ch_sv want = ch_sv_split(&pattern, '/'), word = ch_sv_split(&path, '/');
        if (ch_sv_is(want, "{}") && word.n)
            *param = word;
        else if (ch_sv_is(want, "{n}") && ch_http_route_number(word) >= 0)
            continue;
        else if (!ch_sv_eq(want, word))
            return false;
    }
    return !pattern.p && !path.p;
}

void ch_http_route_methods(const struct ch_http_route *table, struct ch_sv path,
                           struct ch_buf *out) {
    struct ch_sv param;
    for (const struct ch_http_route *r = table; r->path; r++)
        if (route_matches(r, path, &param))
            ch_buf_addf(out, "%s%s%s", out->n ? ", " : "", r->method,
                        strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
}

const struct ch_http_route *ch_http_route_find(const struct ch_http_route *table,
                                               const char *method, struct ch_sv path,
                                               struct ch_sv *param, bool *other) {
    *other = false;
    for (const struct ch_http_route *r = table; r->path; r++) {
        if (!route_matches(r, path, param))
            continue;
        bool reads = strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0;
        if (reads || strcmp(r->method, method) == 0)
            return r;
        *other = true;
    }
    return NULL;
}
