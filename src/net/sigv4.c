/* sigv4.c -- see sigv4.h.
 *
 *   canonical request   method, path, query, headers, digest of the body
 *   string to sign      algorithm, time, scope (day/region/service), digest of
 *                       the canonical request
 *   signing key         secret → day → region → service → "aws4_request"
 *   signature           HMAC of the string with the key
 *
 * For the signature the path is encoded once more than it is sent: "%3A" in the
 * request is "%253A" in the signature. The query is not. */
#include "net/sigv4.h"

#include <stdlib.h>
#include <time.h>

#include "base/chars.h"
#include "base/error.h"
#include "base/sha256.h"
#include "net/url.h"

#define ALGORITHM "AWS4-HMAC-SHA256"

static void add_hex(struct ch_buf *out, const unsigned char *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        ch_buf_addc(out, digits[bytes[i] >> 4]);
        ch_buf_addc(out, digits[bytes[i] & 15]);
    }
}

static void sigv4_add_digest(struct ch_buf *out, const struct ch_sv *pieces, size_t n) {
    unsigned char digest[CH_SHA256_SIZE];
    struct ch_sha256 h;
    ch_sha256_init(&h);
    for (size_t i = 0; i < n; i++)
        ch_sha256_add(&h, pieces[i].p, pieces[i].n);
    ch_sha256_end(&h, digest);
    add_hex(out, digest, sizeof(digest));
}

/* --- path and query */

static bool sigv4_is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static void sigv4_add_encoded(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        if (sigv4_is_unreserved(s.p[i]))
            ch_buf_addc(out, s.p[i]);
        else
            ch_buf_addf(out, "%%%02X", (unsigned char)s.p[i]);
    }
}

static void sigv4_drop_segment(struct ch_buf *path) {
    while (path->n > 1 && path->p[path->n - 1] != '/')
        path->n--;
    path->n -= path->n > 1;
}

/* Append the path without empty and dotted segments, each encoded once more. */
static void sigv4_add_path(struct ch_buf *out, struct ch_sv path) {
    CH_BUF_AUTO clean = {0};
    bool slash = path.n > 1 && path.p[path.n - 1] == '/';
    ch_buf_addc(&clean, '/');
    for (struct ch_sv rest = path; rest.p;) {
        struct ch_sv segment = ch_sv_split(&rest, '/');
        if (!segment.n || ch_sv_is(segment, "."))
            continue;
        if (ch_sv_is(segment, "..")) {
            sigv4_drop_segment(&clean);
            continue;
        }
        if (clean.n > 1)
            ch_buf_addc(&clean, '/');
        sigv4_add_encoded(&clean, segment);
    }
    if (slash && clean.n > 1)
        ch_buf_addc(&clean, '/');
    ch_buf_add_sv(out, ch_buf_sv(&clean));
}

/* Decode and encode s again, in the form used for signatures. */
static void add_normalised(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? ch_hex_digit(s.p[i + 1]) : -1;
        int low = high >= 0 ? ch_hex_digit(s.p[i + 2]) : -1;
        char c = low >= 0 ? (char)(high << 4 | low) : s.p[i];
        sigv4_add_encoded(out, ch_sv(&c, 1));
        i += low >= 0 ? 2 : 0;
    }
}

/* Pairs are sorted by name, then by value: "a=" is before "a-b=", although '-' is before '='. */
#define BEFORE_VALUE '\1' /* smaller than every character of an encoded name */

static int sigv4_by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sigv4_add_query(struct ch_buf *out, struct ch_sv query, struct ch_arena *a) {
    size_t n = 0;
    for (size_t i = 0; i < query.n; i++)
        n += query.p[i] == '&';
    char **pairs = ch_arena_alloc(a, (n + 1) * sizeof(*pairs));
    n = 0;
    while (query.p) {
        CH_BUF_AUTO pair = {0};
        struct ch_sv value = ch_sv_split(&query, '&');
        struct ch_sv name = ch_sv_split(&value, '=');
        if (!name.n)
            continue;
        add_normalised(&pair, name);
        ch_buf_addc(&pair, BEFORE_VALUE);
        add_normalised(&pair, value);
        pairs[n++] = ch_arena_str(a, ch_buf_sv(&pair));
    }
    qsort(pairs, n, sizeof(*pairs), sigv4_by_text);
    for (size_t i = 0; i < n; i++) {
        *strchr(pairs[i], BEFORE_VALUE) = '=';
        ch_buf_addf(out, "%s%s", i ? "&" : "", pairs[i]);
    }
}

/* --- headers */

static bool sigv4_is_ours(struct ch_sv name) {
    static const struct ch_sv names[] = {CH_SV("x-amz-date"), CH_SV("x-amz-content-sha256"),
                                         CH_SV("x-amz-security-token"), CH_SV("authorization")};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_eq_nocase(name, names[i]))
            return true;
    return false;
}

static bool sigv4_is_signed(struct ch_sv name) {
    return ch_sv_eq_nocase(name, CH_SV("host")) || ch_sv_eq_nocase(name, CH_SV("content-type")) ||
           (name.n > 6 && ch_sv_eq_nocase(ch_sv(name.p, 6), CH_SV("x-amz-")));
}

static int sigv4_by_name(const void *a, const void *b) {
    return strcmp(((const struct ch_header *)a)->name.p, ((const struct ch_header *)b)->name.p);
}

static struct ch_sv sigv4_lower(struct ch_arena *a, struct ch_sv s) {
    char *copy = ch_arena_str(a, s);
    for (size_t i = 0; i < s.n; i++)
        copy[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    return ch_sv(copy, s.n);
}

/* Append a value, trimmed and with runs of blanks collapsed. */
static void sigv4_add_value(struct ch_buf *out, struct ch_sv value) {
    value = ch_sv_trim(value);
    for (size_t i = 0; i < value.n; i++) {
        bool blank = value.p[i] == ' ' || value.p[i] == '\t';
        if (!blank)
            ch_buf_addc(out, value.p[i]);
        else if (value.p[i - 1] != ' ' && value.p[i - 1] != '\t')
            ch_buf_addc(out, ' ');
    }
}

/* Append the signed headers as lines, and their names as a list. */
static void sigv4_add_headers(struct ch_buf *lines, struct ch_buf *names,
                              const struct ch_header *headers, size_t n, struct ch_sv host,
                              struct ch_arena *a) {
    struct ch_header *list = ch_arena_alloc(a, (n + 1) * sizeof(*list));
    size_t count = 0;
    bool has_host = false;
    for (size_t i = 0; i < n; i++)
        if (sigv4_is_signed(headers[i].name)) {
            list[count++] = (struct ch_header){sigv4_lower(a, headers[i].name), headers[i].value};
            has_host |= ch_sv_is(list[count - 1].name, "host");
        }
    if (!has_host)
        list[count++] = (struct ch_header){CH_SV("host"), host};
    qsort(list, count, sizeof(*list), sigv4_by_name);
    for (size_t i = 0; i < count; i++) {
        ch_buf_addf(lines, "%.*s:", CH_SV_FMT(list[i].name));
        sigv4_add_value(lines, list[i].value);
        ch_buf_addc(lines, '\n');
        ch_buf_addf(names, "%s%.*s", i ? ";" : "", CH_SV_FMT(list[i].name));
    }
}

/* --- the signature */

/* "20260102T030405Z" */
static void format_time(int64_t now_ms, char out[17]) {
    time_t t = (time_t)(now_ms / 1000);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm);
}

static void signing_key(const struct ch_sigv4 *who, struct ch_sv day,
                        unsigned char key[CH_SHA256_SIZE]) {
    CH_BUF_AUTO secret = {0};
    struct ch_sv so_far = ch_sv((const char *)key, CH_SHA256_SIZE);
    ch_buf_addf(&secret, "AWS4%s", who->secret_key);
    ch_hmac_sha256(ch_buf_sv(&secret), day, key);
    ch_hmac_sha256(so_far, ch_sv_str(who->region), key);
    ch_hmac_sha256(so_far, ch_sv_str(who->service), key);
    ch_hmac_sha256(so_far, CH_SV("aws4_request"), key);
    explicit_bzero(secret.p, secret.n);
}

static void sigv4_add_signature(struct ch_buf *out, const struct ch_sigv4 *who, const char *when,
                                struct ch_sv scope, struct ch_sv canonical) {
    CH_BUF_AUTO text = {0};
    unsigned char key[CH_SHA256_SIZE], signature[CH_SHA256_SIZE];
    ch_buf_addf(&text, ALGORITHM "\n%s\n%.*s\n", when, CH_SV_FMT(scope));
    sigv4_add_digest(&text, &canonical, 1);
    signing_key(who, ch_sv(when, 8), key);
    ch_hmac_sha256(ch_sv((const char *)key, sizeof(key)), ch_buf_sv(&text), signature);
    add_hex(out, signature, sizeof(signature));
    explicit_bzero(key, sizeof(key));
}

/* The request's own headers and all headers of the signature except the last. */
static struct ch_header *new_headers(const struct ch_sigv4 *who, const char *when,
                                     struct ch_arena *a, const struct ch_http_request *req,
                                     size_t *n) {
    struct ch_header *list = ch_arena_alloc(a, (req->nheaders + 4) * sizeof(*list));
    CH_BUF_AUTO digest = {0};
    sigv4_add_digest(&digest, req->body, req->nbody);
    *n = 0;
    for (size_t i = 0; i < req->nheaders; i++)
        if (!sigv4_is_ours(req->headers[i].name))
            list[(*n)++] = req->headers[i];
    list[(*n)++] = (struct ch_header){CH_SV("x-amz-date"), ch_arena_sv(a, ch_sv_str(when))};
    list[(*n)++] =
        (struct ch_header){CH_SV("x-amz-content-sha256"), ch_arena_sv(a, ch_buf_sv(&digest))};
    if (who->session_token && *who->session_token)
        list[(*n)++] = (struct ch_header){CH_SV("x-amz-security-token"),
                                          ch_sv_str(ch_arena_printf(a, "%s", who->session_token))};
    return list;
}

static struct ch_sv header_value(const struct ch_header *headers, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_is(headers[i].name, name))
            return headers[i].value;
    return CH_SV("");
}

int ch_sigv4_sign(const struct ch_sigv4 *who, int64_t now_ms, struct ch_arena *a,
                  struct ch_http_request *req, struct chela_error *err) {
    CH_BUF_AUTO canonical = {0};
    CH_BUF_AUTO names = {0};
    CH_BUF_AUTO host = {0};
    CH_BUF_AUTO out = {0};
    struct ch_url url;
    char when[17];
    size_t n;
    int rc = ch_url_parse(ch_sv_str(req->url), &url, err);
    if (rc < 0)
        return rc;
    format_time(now_ms, when);
    struct ch_header *headers = new_headers(who, when, a, req, &n);

    struct ch_sv query = url.target, path = ch_sv_split(&query, '?');
    ch_url_add_authority(&host, &url);
    ch_buf_addf(&canonical, "%s\n", req->method);
    sigv4_add_path(&canonical, path);
    ch_buf_addc(&canonical, '\n');
    sigv4_add_query(&canonical, query, a);
    ch_buf_addc(&canonical, '\n');
    sigv4_add_headers(&canonical, &names, headers, n, ch_buf_sv(&host), a);
    struct ch_sv digest = header_value(headers, n, "x-amz-content-sha256");
    ch_buf_addf(&canonical, "\n%s\n%.*s", ch_buf_str(&names), CH_SV_FMT(digest));

    const char *scope =
        ch_arena_printf(a, "%.8s/%s/%s/aws4_request", when, who->region, who->service);
    ch_buf_addf(&out, ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=", who->access_key,
                scope, ch_buf_str(&names));
    sigv4_add_signature(&out, who, when, ch_sv_str(scope), ch_buf_sv(&canonical));
    headers[n++] = (struct ch_header){CH_SV("authorization"), ch_arena_sv(a, ch_buf_sv(&out))};
    req->headers = headers;
    req->nheaders = n;
    return CHELA_OK;
}
