/* egress.c -- see egress.h. */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "net/address.h"

enum kind { EVERY, SUBDOMAINS, NAME, NETWORK };

#define PORT_OWN 0 /* the scheme's */
#define PORT_ANY 65536

struct pattern {
    enum kind kind;
    unsigned port;
    struct ch_sv name; /* SUBDOMAINS: with the dot before it. NAME. Borrowed */
    unsigned char ip[16];
    size_t n; /* NETWORK: bytes of ip */
    unsigned bits;
};

struct list {
    struct pattern *p; /* owned */
    size_t n, cap;
    char *text; /* owned; the patterns' names are in it */
};

struct ch_egress {
    struct list allow, deny, ask;
};

/* --- reading a pattern ----------------------------------------------------------------- */

static bool egress_read_number(struct ch_sv s, unsigned most, unsigned *out) {
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || i == 5)
            return false;
        *out = *out * 10 + (unsigned)(s.p[i] - '0');
    }
    return s.n > 0 && *out <= most;
}

/* Take ":PORT" from the end. An IPv6 address without brackets has none. */
static bool take_port(struct ch_sv *text, unsigned *port) {
    unsigned char ip[16];
    struct ch_sv address = *text;
    const char *colon = text->n ? memrchr(text->p, ':', text->n) : NULL;
    const char *close = text->n ? memrchr(text->p, ']', text->n) : NULL;

    *port = PORT_OWN;
    if (!colon || (close && colon < close) ||
        ch_ip_parse(ch_sv_split(&address, '/'), ip) == sizeof(ip))
        return true;
    struct ch_sv digits = ch_sv(colon + 1, text->n - (size_t)(colon + 1 - text->p));
    *text = ch_sv(text->p, (size_t)(colon - text->p));
    if (ch_sv_is(digits, "*")) {
        *port = PORT_ANY;
        return true;
    }
    return egress_read_number(digits, UINT16_MAX, port) && *port > 0;
}

static struct ch_sv without_brackets(struct ch_sv text) {
    bool both = text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';

    return both ? ch_sv(text.p + 1, text.n - 2) : text;
}

/* "10.0.0.0/8", "[fd00::]/8", and an address, which is a network of its own. False: no address. */
static bool read_network(struct ch_sv text, struct pattern *out, bool *bad) {
    struct ch_sv bits = text, address = without_brackets(ch_sv_split(&bits, '/'));
    size_t written = ch_ip_parse(address, out->ip);

    out->n = ch_address_read(address, out->ip);
    if (!out->n)
        return false;
    out->kind = NETWORK;
    out->bits = (unsigned)out->n * 8;
    if (!bits.p)
        return true;
    unsigned given, carrier = (unsigned)(written - out->n) * 8; /* of IPv4 inside IPv6 */
    *bad = !egress_read_number(bits, (unsigned)written * 8, &given) || given < carrier;
    out->bits = *bad ? 0 : given - carrier;
    return true;
}

static bool is_ascii(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

static int egress_refuse(struct ch_sv text, struct chela_error *err) {
    const char *why = !text.n                        ? "it is empty"
                      : !is_ascii(text)              ? "write the name as Punycode (xn--...)"
                      : memmem(text.p, text.n, "//", 2)
                          ? "write the host alone, without scheme and path"
                      : text.p[0] == '.' ? "write *.NAME for the subdomains, NAME for the name"
                                         : "expected a name, *.NAME, *, an address or a network, "
                                           "each with :PORT or without";

    text.n = CH_MIN(text.n, (size_t)80);
    return ch_fail(err, CHELA_EINVAL, "'%.*s' is not a host: %s", CH_SV_FMT(text), why);
}

static int read_pattern(struct ch_sv given, struct pattern *out, struct chela_error *err) {
    struct ch_sv text = given;
    bool bad = false;
    struct ch_url url;

    *out = (struct pattern){.kind = NAME};
    if (!text.n || memchr(text.p, '\0', text.n) || !take_port(&text, &out->port))
        return egress_refuse(given, err);
    if (ch_sv_is(text, "*")) {
        out->kind = EVERY;
        return 0;
    }
    if (read_network(text, out, &bad))
        return bad ? egress_refuse(given, err) : 0;
    if (ch_sv_starts(text, "*.")) {
        out->kind = SUBDOMAINS;
        text = ch_sv(text.p + 2, text.n - 2);
    }
    if (memchr(text.p, ':', text.n) || ch_url_parse_host(text, true, &url) < 0 ||
        url.kind != CH_HOST_NAME)
        return egress_refuse(given, err);
    out->name = out->kind == SUBDOMAINS ? ch_sv(url.host.p - 1, url.host.n + 1) : url.host;
    return 0;
}

int ch_egress_check(struct ch_sv text, struct chela_error *err) {
    struct pattern p;

    return read_pattern(text, &p, err);
}

/* --- the lists -------------------------------------------------------------------------- */

static int read_list(struct list *l, const char *name, const char *text, struct chela_error *err) {
    struct chela_error why = {0};

    if (!text || !*text)
        return 0;
    l->text = ch_strdup(text);
    struct ch_sv rest = ch_sv_str(l->text);
    while (rest.p) {
        struct pattern p;
        int rc = read_pattern(ch_sv_trim(ch_sv_split(&rest, ',')), &p, &why);
        if (rc < 0)
            return ch_fail(err, rc, "egress.%s: %s", name, why.message);
        if (l->n == CH_LIMIT_EGRESS)
            return ch_fail(err, CHELA_ELIMIT, "egress.%s has more than %d patterns", name,
                           CH_LIMIT_EGRESS);
        CH_GROW(l->p, l->n, l->cap, 8);
        l->p[l->n++] = p;
    }
    return 0;
}

int ch_egress_new(const struct ch_egress_lists *lists, struct ch_egress **out,
                  struct chela_error *err) {
    CH_AUTO(ch_egress) e = ch_alloc(sizeof(*e));
    int rc = read_list(&e->allow, "allow", lists->allow, err);

    if (rc == 0)
        rc = read_list(&e->deny, "deny", lists->deny, err);
    if (rc == 0)
        rc = read_list(&e->ask, "ask", lists->ask, err);
    if (rc == 0)
        *out = CH_TAKE(e);
    return rc;
}

static void egress_release(struct list *l) {
    ch_free(l->p);
    ch_free(l->text);
}

void ch_egress_free(struct ch_egress *e) {
    if (!e)
        return;
    egress_release(&e->allow);
    egress_release(&e->deny);
    egress_release(&e->ask);
    ch_free(e);
}

/* --- matching --------------------------------------------------------------------------- */

static bool in_network(const struct pattern *p, const unsigned char *ip, size_t n) {
    size_t whole = p->bits / 8;
    unsigned rest = p->bits % 8;

    if (n != p->n || memcmp(ip, p->ip, whole) != 0)
        return false;
    return !rest || (ip[whole] ^ p->ip[whole]) >> (8 - rest) == 0;
}

static bool ends_with(struct ch_sv s, struct ch_sv tail) {
    return s.n > tail.n && ch_sv_eq_nocase(ch_sv(s.p + s.n - tail.n, tail.n), tail);
}

bool ch_egress_is_inward(const struct ch_url *to) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.any.sa_family = AF_UNSPEC};
    unsigned char ip[16];
    size_t n = ch_address_read(to->host, ip);

    if (!n)
        return ch_url_is_loopback(to);
    at.any.sa_family = n == 4 ? AF_INET : AF_INET6;
    memcpy(n == 4 ? (void *)&at.v4.sin_addr : (void *)&at.v6.sin6_addr, ip, n);
    return ch_address_kind(&at.any) != NULL;
}

static bool covers_host(const struct pattern *p, const struct ch_url *to, bool denies) {
    unsigned char ip[16];

    switch (p->kind) {
    case EVERY:
        return denies || !ch_egress_is_inward(to);
    case SUBDOMAINS:
        return to->kind == CH_HOST_NAME && ends_with(to->host, p->name);
    case NAME:
        return to->kind == CH_HOST_NAME && ch_sv_eq_nocase(to->host, p->name);
    case NETWORK:
        return in_network(p, ip, ch_address_read(to->host, ip));
    }
    return false;
}

static bool covers_port(const struct pattern *p, const struct ch_url *to, bool denies) {
    if (p->port == PORT_OWN)
        return denies || to->port == (to->tls ? 443 : 80);
    return p->port == PORT_ANY || p->port == to->port;
}

static bool is_named_by(const struct pattern *p) {
    return p->kind == NAME || p->kind == NETWORK;
}

/* False: no pattern matches. *named: one of them names the host. */
static bool egress_match(const struct list *l, const struct ch_url *to, bool denies, bool *named) {
    bool found = false;

    *named = false;
    for (size_t i = 0; i < l->n; i++) {
        const struct pattern *p = &l->p[i];
        if (!covers_port(p, to, denies) || !covers_host(p, to, denies))
            continue;
        found = true;
        *named |= is_named_by(p);
    }
    return found;
}

struct ch_egress_finding ch_egress_judge(const struct ch_egress *e, const struct ch_url *to) {
    struct ch_egress_finding f = {.verdict = CH_EGRESS_ASK};

    if (!e)
        return f;
    f.listed = true;
    f.verdict = CH_EGRESS_DENY;
    if (egress_match(&e->deny, to, true, &f.named))
        return f;
    f.verdict = CH_EGRESS_ALLOW;
    if (egress_match(&e->allow, to, false, &f.named))
        return f;
    f.verdict = CH_EGRESS_ASK;
    f.listed = egress_match(&e->ask, to, false, &f.named);
    return f;
}

/* A network of the list has this address, with the port of the destination. */
static bool lists_address(const struct list *l, const struct ch_url *to, const unsigned char *ip,
                          size_t n, bool denies) {
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i].kind == NETWORK && covers_port(&l->p[i], to, denies) &&
            in_network(&l->p[i], ip, n))
            return true;
    return false;
}

const char *ch_egress_refuses(const struct ch_egress *e, const struct ch_url *to,
                              const struct sockaddr *at, bool named) {
    const char *kind = ch_address_kind(at);
    unsigned char ip[16];
    size_t n = ch_address_bytes(at, ip);

    if (e && lists_address(&e->deny, to, ip, n, true))
        return "denied";
    if (!kind && ch_address_is_own(at))
        kind = "this machine's own";
    if (!kind || (e && lists_address(&e->allow, to, ip, n, false)))
        return NULL;
    bool literal = to->kind != CH_HOST_NAME;
    bool near = strcmp(kind, "link-local") == 0 || strcmp(kind, "cloud metadata") == 0;
    return named && (literal || !near) ? NULL : kind;
}

void ch_egress_digest(const struct ch_url *to, struct ch_sv what,
                      unsigned char out[CH_SHA256_SIZE]) {
    CH_BUF_AUTO text = {0};
    struct ch_sha256 h;

    ch_buf_addf(&text, "egress\n%u\n", to->port);
    for (size_t i = 0; i < to->host.n; i++) {
        char c = to->host.p[i];
        ch_buf_addc(&text, (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c));
    }
    ch_buf_addc(&text, '\n');
    ch_buf_add_sv(&text, what);
    ch_sha256_init(&h);
    ch_sha256_add(&h, text.p, text.n);
    ch_sha256_end(&h, out);
}

void ch_egress_add_remedy(struct ch_buf *out, const struct ch_url *to) {
    ch_buf_add_str(out, "egress: { allow: [\"");
    ch_url_add_authority(out, to);
    ch_buf_add_str(out, "\"] }");
}

/* --- what an address can carry ------------------------------------------------------------- */

/* Hosts that publish for everybody, and let no visitor see the requests of others. */
static const char *const public_hosts[] = {
    "docs.python.org", "pypi.org", "www.npmjs.com", "nodejs.org",
    "developer.mozilla.org", "docs.rs", "crates.io", "doc.rust-lang.org", "pkg.go.dev", "go.dev",
    "en.cppreference.com", "man7.org", "www.postgresql.org", "sqlite.org", "kernel.org",
    "www.kernel.org", "packages.debian.org", "rubygems.org", "docs.oracle.com",
    "learn.microsoft.com", "en.wikipedia.org", "zh.wikipedia.org", "www.rfc-editor.org",
    "datatracker.ietf.org", "www.w3.org", "html.spec.whatwg.org"};

bool ch_egress_carries_little(const struct ch_url *to) {
    if (!to->tls || to->port != 443 || to->userinfo.p || to->target.n > CH_LIMIT_LITTLE ||
        memchr(to->target.p, '?', to->target.n))
        return false;
    for (size_t i = 0; i < CH_LEN(public_hosts); i++)
        if (ch_sv_eq_nocase(to->host, ch_sv_str(public_hosts[i])))
            return true;
    return false;
}
