/* proxy.c -- see proxy.h. */
#include "net/proxy.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/chars.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/redact.h"

/* Percent-decode. A '%' without a valid escape is literal: passwords are typed
 * by hand. */
static void add_decoded(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        int hi = -1, lo = -1;
        if (s.p[i] == '%' && i + 2 < s.n) {
            hi = ch_hex_digit(s.p[i + 1]);
            lo = ch_hex_digit(s.p[i + 2]);
        }
        if (hi >= 0 && lo >= 0) {
            ch_buf_addc(out, (char)(hi << 4 | lo));
            i += 2;
        } else {
            ch_buf_addc(out, s.p[i]);
        }
    }
}

static char *basic_auth(struct ch_sv userinfo) {
    CH_BUF_AUTO plain = {0};
    struct ch_buf auth = {0};
    struct ch_sv password = userinfo;
    struct ch_sv user = ch_sv_split(&password, ':');

    add_decoded(&plain, user);
    ch_buf_addc(&plain, ':');
    size_t at = plain.n;
    add_decoded(&plain, password);
    ch_redact_add(ch_buf_str(&plain) + at);
    CH_BUF_LIT(&auth, "Basic ");
    ch_base64_add(&auth, ch_buf_sv(&plain));
    ch_redact_add(ch_buf_str(&auth) + strlen("Basic "));
    return ch_buf_take(&auth);
}

int ch_proxy_new(const char *url, struct ch_proxy **out, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    struct ch_url u;

    if (!strstr(url, "://"))
        CH_BUF_LIT(&text, "http://");
    ch_buf_add_str(&text, url);
    if (ch_url_parse(ch_buf_sv(&text), &u, err) < 0 || u.tls)
        return ch_fail(err, CHELA_ECONFIG,
                       "bad proxy URL: it must be http://[user:password@]host[:port]");
    struct ch_proxy *p = ch_alloc(sizeof(*p));
    p->host = ch_strndup(u.host.p, u.host.n);
    p->port = u.port;
    if (u.userinfo.n)
        p->auth = basic_auth(u.userinfo);
    *out = p;
    return CHELA_OK;
}

void ch_proxy_free(struct ch_proxy *p) {
    if (!p)
        return;
    ch_free(p->host);
    ch_free(p->auth);
    ch_free(p);
}

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits) {
    unsigned tail = bits % 8;
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    return !tail || (a[bits / 8] ^ b[bits / 8]) >> (8 - tail) == 0;
}

static bool parse_number(struct ch_sv s, unsigned *out) {
    *out = 0;
    if (s.n == 0 || s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        *out = *out * 10 + (unsigned)(s.p[i] - '0');
    }
    return true;
}

/* entry: an address or a network. */
static bool address_matches(struct ch_sv entry, struct ch_sv host) {
    unsigned char want[16], have[16];
    struct ch_sv bits_text = entry;
    struct ch_sv address = ch_sv_split(&bits_text, '/');
    size_t n = ch_ip_parse(address, want);
    unsigned bits = (unsigned)n * 8;

    if (n == 0 || n != ch_ip_parse(host, have))
        return false;
    if (bits_text.p && (!parse_number(bits_text, &bits) || bits > n * 8))
        return false;
    return same_bits(want, have, bits);
}

static bool proxy_name_matches(struct ch_sv entry, struct ch_sv host) {
    if (ch_sv_starts(entry, "*."))
        entry = ch_sv(entry.p + 1, entry.n - 1);
    if (entry.p[0] != '.')
        return ch_sv_eq_nocase(entry, host);
    if (ch_sv_eq_nocase(ch_sv(entry.p + 1, entry.n - 1), host))
        return true;
    return host.n > entry.n && ch_sv_eq_nocase(ch_sv(host.p + host.n - entry.n, entry.n), entry);
}

/* Remove ":port" from the entry; false if it names another port. More than one
 * colon means an IPv6 address, which has a port only after brackets. */
static bool cut_port(struct ch_sv *entry, uint16_t port) {
    struct ch_sv rest = *entry;
    unsigned want;

    if (rest.p[0] == '[') {
        rest = ch_sv(rest.p + 1, rest.n - 1);
        *entry = ch_sv_split(&rest, ']');
        if (rest.n == 0)
            return rest.p != NULL;
        ch_sv_split(&rest, ':');
    } else {
        struct ch_sv head = ch_sv_split(&rest, ':');
        if (!rest.p || (rest.n && memchr(rest.p, ':', rest.n)))
            return true;
        *entry = head;
    }
    return parse_number(rest, &want) && want == port;
}

static bool entry_matches(struct ch_sv entry, const struct ch_url *url) {
    if (entry.n == 0)
        return false;
    if (ch_sv_is(entry, "*"))
        return true;
    if (!cut_port(&entry, url->port) || entry.n == 0)
        return false;
    return url->kind == CH_HOST_NAME ? proxy_name_matches(entry, url->host)
                                     : address_matches(entry, url->host);
}

bool ch_proxy_bypass(struct ch_sv list, const struct ch_url *url) {
    if (ch_url_is_loopback(url))
        return true;
    while (list.p) {
        struct ch_sv words = ch_sv_split(&list, ',');
        while (words.p)
            if (entry_matches(ch_sv_trim(ch_sv_split(&words, ' ')), url))
                return true;
    }
    return false;
}

void ch_proxy_add_connect(struct ch_buf *out, const struct ch_proxy *p, const char *host,
                          uint16_t port) {
    const char *fmt = strchr(host, ':') ? "CONNECT [%s]:%u HTTP/1.1\r\nHost: [%s]:%u\r\n"
                                        : "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n";
    ch_buf_addf(out, fmt, host, port, host, port);
    if (p->auth)
        ch_buf_addf(out, "Proxy-Authorization: %s\r\n", p->auth);
    CH_BUF_LIT(out, "\r\n");
}

int ch_proxy_refused(const struct ch_proxy *p, int status, const char *target,
                     struct chela_error *err) {
    if (status == 407)
        return ch_fail(err, CHELA_EAUTH, "proxy %s:%u wants credentials (HTTP 407)%s", p->host,
                       p->port, p->auth ? ": the credentials in its URL were rejected" : "");
    return ch_fail(err, status == 403 ? CHELA_EPERM : CHELA_ENET,
                   "proxy %s:%u refused a connection to %s (HTTP %d)", p->host, p->port, target,
                   status);
}
