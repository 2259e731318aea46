/* join.c -- see join.h.
 *
 * A URL is cut into scheme, authority, path and the rest (query, fragment);
 * joining picks each part from one of the two. A backslash is not taken for a
 * slash, as browsers do: it is encoded, and so cannot make a host of a path. */
#include "net/join.h"

struct parts {
    struct ch_sv scheme;    /* "https:"; empty if absent */
    struct ch_sv authority; /* "//host:1"; p is NULL if absent */
    struct ch_sv path;
    struct ch_sv query; /* "?a=b", empty if absent */
    struct ch_sv fragment;
};

static struct ch_sv join_take(struct ch_sv *rest, size_t n) {
    struct ch_sv head = ch_sv(rest->p, n);
    *rest = ch_sv(rest->p + n, rest->n - n);
    return head;
}

static size_t join_until(struct ch_sv s, const char *stops) {
    size_t n = 0;
    while (n < s.n && !(s.p[n] && strchr(stops, s.p[n])))
        n++;
    return n;
}

static bool is_scheme(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return s.n > 0;
}

static struct parts join_cut(struct ch_sv url) {
    struct parts p = {0};
    size_t n = join_until(url, ":/?#");

    if (n < url.n && url.p[n] == ':' && is_scheme(ch_sv(url.p, n)))
        p.scheme = join_take(&url, n + 1);
    if (ch_sv_starts(url, "//"))
        p.authority = join_take(&url, 2 + join_until(ch_sv(url.p + 2, url.n - 2), "/?#"));
    p.path = join_take(&url, join_until(url, "?#"));
    p.query = join_take(&url, join_until(url, "#"));
    p.fragment = url;
    return p;
}

/* Append path without "." and "..", none of which may climb above start. */
static void join_add_path(struct ch_buf *out, struct ch_sv path) {
    size_t start = out->n;

    while (path.n) {
        size_t n = join_until(ch_sv(path.p + 1, path.n - 1), "/") + 1;
        struct ch_sv segment = join_take(&path, n); /* "/name" */
        bool up = ch_sv_is(segment, "/.."), here = ch_sv_is(segment, "/.");
        if (!up && !here) {
            ch_buf_add_sv(out, segment);
            continue;
        }
        while (up && out->n > start && out->p[--out->n] != '/')
            ;
        if (path.n == 0)
            ch_buf_addc(out, '/');
        else if (out->p)
            out->p[out->n] = '\0';
    }
}

/* The path that ref's path means below base's. */
static void add_merged(struct ch_buf *out, const struct parts *base, struct ch_sv path) {
    CH_BUF_AUTO whole = {0};
    const char *slash = base->path.n ? memrchr(base->path.p, '/', base->path.n) : NULL;

    if (path.n && path.p[0] != '/') {
        if (slash)
            ch_buf_add(&whole, base->path.p, (size_t)(slash - base->path.p) + 1);
        else
            ch_buf_addc(&whole, '/');
    }
    ch_buf_add_sv(&whole, path);
    join_add_path(out, ch_buf_sv(&whole));
}

/* Without white space around it and line breaks inside; encoded. */
static void join_clean(struct ch_buf *out, struct ch_sv ref) {
    while (ref.n && (unsigned char)ref.p[0] <= ' ')
        ref = ch_sv(ref.p + 1, ref.n - 1);
    while (ref.n && (unsigned char)ref.p[ref.n - 1] <= ' ')
        ref.n--;
    for (size_t i = 0; i < ref.n; i++) {
        unsigned char c = (unsigned char)ref.p[i];
        if (c == '\t' || c == '\r' || c == '\n')
            continue;
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
            ch_buf_addf(out, "%%%02X", c);
        else
            ch_buf_addc(out, (char)c);
    }
}

int ch_url_join(struct ch_buf *out, struct ch_sv base, struct ch_sv ref) {
    CH_BUF_AUTO text = {0};

    join_clean(&text, ref);
    struct parts r = join_cut(ch_buf_sv(&text)), b = join_cut(base);
    if (r.scheme.n)
        return ch_buf_add_sv(out, ch_buf_sv(&text));
    ch_buf_add_sv(out, b.scheme);
    ch_buf_add_sv(out, r.authority.p ? r.authority : b.authority);
    if (r.authority.p)
        join_add_path(out, r.path);
    else if (r.path.n)
        add_merged(out, &b, r.path);
    else
        ch_buf_add_sv(out, b.path);
    if (r.query.n || r.path.n || r.authority.p)
        ch_buf_add_sv(out, r.query);
    else
        ch_buf_add_sv(out, b.query);
    return ch_buf_add_sv(out, r.fragment);
}
