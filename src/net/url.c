/* url.c -- see url.h. */
#include "net/url.h"

#include <arpa/inet.h>

#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

#define HOST_MAX 253 /* longest DNS name in text form */
#define LABEL_MAX 63

static bool net_url_is_digit(char c) {
    return c >= '0' && c <= '9';
}

size_t ch_ip_parse(struct ch_sv text, unsigned char out[16]) {
    char z[INET6_ADDRSTRLEN];
    if (text.n == 0 || text.n >= sizeof(z) || memchr(text.p, '\0', text.n))
        return 0;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    if (inet_pton(AF_INET, z, out) == 1)
        return 4;
    return inet_pton(AF_INET6, z, out) == 1 ? 16 : 0;
}

/* Whether inet_aton would accept label as (part of) an address: decimal, octal,
 * hex. */
static bool net_url_is_number(struct ch_sv label) {
    if (ch_sv_starts(label, "0x") || ch_sv_starts(label, "0X"))
        return true;
    for (size_t i = 0; i < label.n; i++)
        if (!net_url_is_digit(label.p[i]))
            return false;
    return label.n > 0;
}

static bool labels_ok(struct ch_sv host, struct ch_sv *last) {
    struct ch_sv rest = host;
    while (rest.p) {
        struct ch_sv label = ch_sv_split(&rest, '.');
        if (label.n == 0 || label.n > LABEL_MAX ||
            ch_char_run(label, CH_CHAR_WORD | CH_CHAR_DASH) < label.n)
            return false;
        *last = label;
    }
    return true;
}

static int parse_name(struct ch_sv host, struct ch_url *out, struct chela_error *err) {
    struct ch_sv last = {0};
    unsigned char ip[16];

    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--; /* the root's dot: same host, but not part of the TLS name */
    if (host.n == 0)
        return ch_fail(err, CHELA_EINVAL, "bad URL: no host");
    if (host.n > HOST_MAX || !labels_ok(host, &last))
        return ch_fail(err, CHELA_EINVAL, "bad URL: not a host name (ASCII or punycode)");
    out->host = host;
    out->kind = CH_HOST_NAME;
    if (!net_url_is_number(last))
        return CHELA_OK;
    if (ch_ip_parse(host, ip) != 4)
        return ch_fail(err, CHELA_EINVAL, "bad URL: \"%.*s\" is not an IPv4 address",
                       CH_SV_FMT(host));
    out->kind = CH_HOST_IPV4;
    return CHELA_OK;
}

/* text starts at '['; *rest receives the text after ']'. */
static int parse_ipv6(struct ch_sv text, struct ch_url *out, struct ch_sv *rest,
                      struct chela_error *err) {
    unsigned char ip[16];
    const char *end = memchr(text.p, ']', text.n);
    struct ch_sv host = end ? ch_sv(text.p + 1, (size_t)(end - text.p) - 1) : ch_sv("", 0);

    if (ch_ip_parse(host, ip) != 16)
        return ch_fail(err, CHELA_EINVAL, "bad URL: not an IPv6 address in brackets");
    out->host = host;
    out->kind = CH_HOST_IPV6;
    *rest = ch_sv(end + 1, text.n - host.n - 2);
    return CHELA_OK;
}

/* Accepts ":8080", ":" or nothing. */
static int parse_port(struct ch_sv text, struct ch_url *out, struct chela_error *err) {
    unsigned port = 0;

    out->port = out->tls ? 443 : 80;
    if (text.n == 0 || (text.n == 1 && text.p[0] == ':'))
        return CHELA_OK;
    for (size_t i = 1; i < text.n && port <= UINT16_MAX; i++) {
        if (!net_url_is_digit(text.p[i]))
            return ch_fail(err, CHELA_EINVAL, "bad URL: the port is not a number");
        port = port * 10 + (unsigned)(text.p[i] - '0');
    }
    if (text.p[0] != ':' || port == 0 || port > UINT16_MAX)
        return ch_fail(err, CHELA_EINVAL, "bad URL: the port is not in 1..65535");
    out->port = (uint16_t)port;
    return CHELA_OK;
}

static int parse_authority(struct ch_sv text, struct ch_url *out, struct chela_error *err) {
    const char *at = text.n ? memrchr(text.p, '@', text.n) : NULL;
    struct ch_sv port = {0};
    int rc;

    out->userinfo = (struct ch_sv){0};
    if (at) {
        out->userinfo = ch_sv(text.p, (size_t)(at - text.p));
        text = ch_sv(at + 1, text.n - out->userinfo.n - 1);
    }
    if (text.n && text.p[0] == '[') {
        rc = parse_ipv6(text, out, &port, err);
    } else {
        const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
        struct ch_sv host = ch_sv(text.p, colon ? (size_t)(colon - text.p) : text.n);
        port = ch_sv(text.p + host.n, text.n - host.n);
        rc = parse_name(host, out, err);
    }
    return rc < 0 ? rc : parse_port(port, out, err);
}

static int parse_scheme(struct ch_sv *text, struct ch_url *out, struct chela_error *err) {
    const char *colon = memchr(text->p, ':', CH_MIN(text->n, 32));
    struct ch_sv scheme = ch_sv(text->p, colon ? (size_t)(colon - text->p) : 0);

    if (!colon || !ch_sv_starts(ch_sv(colon, text->n - scheme.n), "://"))
        return ch_fail(err, CHELA_EINVAL, "bad URL: it must start with http:// or https://");
    out->tls = ch_sv_eq_nocase(scheme, CH_SV("https"));
    if (!out->tls && !ch_sv_eq_nocase(scheme, CH_SV("http")))
        return ch_fail(err, CHELA_EINVAL, "unsupported URL scheme \"%.*s\" (http and https work)",
                       CH_SV_FMT(scheme));
    *text = ch_sv(colon + 3, text->n - scheme.n - 3);
    return CHELA_OK;
}

/* A URL must not contain bytes that could end the request line or that parsers
 * read differently. */
static bool is_url_char(char c) {
    return ch_char_is(c, CH_CHAR_VISIBLE) && c != '\\';
}

int ch_url_parse(struct ch_sv text, struct ch_url *out, struct chela_error *err) {
    if (text.n == 0)
        return ch_fail(err, CHELA_EINVAL, "bad URL: it is empty");
    if (text.n > CH_LIMIT_URL)
        return ch_fail(err, CHELA_ELIMIT, "bad URL: longer than %zu bytes", CH_LIMIT_URL);
    for (size_t i = 0; i < text.n; i++)
        if (!is_url_char(text.p[i]))
            return ch_fail(err, CHELA_EINVAL, "bad URL: byte 0x%02x must be percent-encoded",
                           (unsigned char)text.p[i]);
    int rc = parse_scheme(&text, out, err);
    if (rc < 0)
        return rc;
    size_t n = 0;
    while (n < text.n && text.p[n] != '/' && text.p[n] != '?' && text.p[n] != '#')
        n++;
    struct ch_sv rest = ch_sv(text.p + n, text.n - n);
    out->target = ch_sv_split(&rest, '#');
    return parse_authority(ch_sv(text.p, n), out, err);
}

int ch_url_parse_host(struct ch_sv text, bool tls, struct ch_url *out) {
    *out = (struct ch_url){.tls = tls};
    if (text.n > CH_LIMIT_URL || (text.n && memchr(text.p, '@', text.n)))
        return CHELA_EINVAL;
    return parse_authority(text, out, NULL);
}

bool ch_url_same_host(const struct ch_url *a, const struct ch_url *b) {
    unsigned char x[16], y[16];
    if (a->kind != b->kind)
        return false;
    if (a->kind == CH_HOST_IPV6)
        return ch_ip_parse(a->host, x) == 16 && ch_ip_parse(b->host, y) == 16 &&
               memcmp(x, y, sizeof(x)) == 0;
    return ch_sv_eq_nocase(a->host, b->host);
}

static bool ends_nocase(struct ch_sv s, struct ch_sv tail) {
    return s.n >= tail.n && ch_sv_eq_nocase(ch_sv(s.p + s.n - tail.n, tail.n), tail);
}

bool ch_url_is_loopback(const struct ch_url *u) {
    static const unsigned char mapped[13] = {[10] = 0xff, 0xff, 127};
    static const unsigned char one[16] = {[15] = 1};
    unsigned char ip[16];

    switch (ch_ip_parse(u->host, ip)) {
    case 4:
        return ip[0] == 127;
    case 16:
        return memcmp(ip, one, 16) == 0 || memcmp(ip, mapped, 13) == 0;
    }
    return ch_sv_eq_nocase(u->host, CH_SV("localhost")) ||
           ends_nocase(u->host, CH_SV(".localhost"));
}

void ch_url_add_authority(struct ch_buf *out, const struct ch_url *u) {
    bool brackets = u->kind == CH_HOST_IPV6;
    if (brackets)
        ch_buf_addc(out, '[');
    ch_buf_add_sv(out, u->host);
    if (brackets)
        ch_buf_addc(out, ']');
    if (u->port == (u->tls ? 443 : 80))
        return;
    ch_buf_addc(out, ':');
    ch_buf_add_uint(out, u->port);
}

void ch_url_add_target(struct ch_buf *out, const struct ch_url *u) {
    if (u->target.n == 0 || u->target.p[0] != '/')
        ch_buf_addc(out, '/');
    ch_buf_add_sv(out, u->target);
}
