/* uri.c -- see uri.h. */
#include "base/uri.h"

#include "base/chars.h"

struct uri {
    struct ch_sv scheme, authority, path, query; /* p NULL: absent */
};

static bool uri_is_alpha(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_scheme_char(char c) {
    return uri_is_alpha(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

/* Cut off the text up to the first character of `stops`, or all of it. */
static struct ch_sv cut_until(struct ch_sv *rest, const char *stops) {
    size_t n = 0;
    while (n < rest->n && !(rest->p[n] && strchr(stops, rest->p[n])))
        n++;
    struct ch_sv head = ch_sv(rest->p, n);
    *rest = ch_sv(rest->p + n, rest->n - n);
    return head;
}

static struct ch_sv uri_skip(struct ch_sv s, size_t n) {
    return ch_sv(s.p + n, s.n - n);
}

struct ch_sv ch_uri_cut_fragment(struct ch_sv *uri) {
    const char *hash = uri->n ? memchr(uri->p, '#', uri->n) : NULL;
    if (!hash)
        return ch_sv(NULL, 0);
    struct ch_sv fragment = ch_sv(hash + 1, (size_t)(uri->p + uri->n - hash - 1));
    uri->n = (size_t)(hash - uri->p);
    return fragment;
}

static struct ch_sv cut_scheme(struct ch_sv *rest) {
    size_t n = 0;
    while (n < rest->n && is_scheme_char(rest->p[n]))
        n++;
    if (n == 0 || n == rest->n || rest->p[n] != ':' || !uri_is_alpha(rest->p[0]))
        return ch_sv(NULL, 0);
    struct ch_sv scheme = ch_sv(rest->p, n);
    *rest = uri_skip(*rest, n + 1);
    return scheme;
}

/* uri must not have a fragment. */
static struct uri uri_parse(struct ch_sv uri) {
    struct uri u = {0};
    if (uri.n == 0)
        uri = CH_SV("");
    u.scheme = cut_scheme(&uri);
    if (ch_sv_starts(uri, "//")) {
        uri = uri_skip(uri, 2);
        u.authority = cut_until(&uri, "/?");
    }
    u.path = cut_until(&uri, "?");
    if (uri.n)
        u.query = uri_skip(uri, 1);
    return u;
}

/* "a/b/c" merged with "d" gives "a/b/d". */
static struct ch_sv uri_merge(struct ch_arena *a, const struct uri *base, struct ch_sv path) {
    size_t keep = base->path.n;
    while (keep && base->path.p[keep - 1] != '/')
        keep--;
    bool slash = keep == 0 && base->authority.p;
    char *p = ch_arena_bytes(a, keep + slash + path.n);
    if (keep)
        memcpy(p, base->path.p, keep);
    if (slash)
        p[0] = '/';
    if (path.n)
        memcpy(p + keep + slash, path.p, path.n);
    return ch_sv(p, keep + slash + path.n);
}

/* Remove the last segment of [out, out + n) and its slash; returns the new
 * length. */
static size_t uri_drop_segment(const char *out, size_t n) {
    while (n && out[n - 1] != '/')
        n--;
    return n ? n - 1 : 0;
}

/* RFC 3986, section 5.2.4. A segment includes the slash before it. */
static struct ch_sv without_dots(struct ch_arena *a, struct ch_sv path) {
    char *out = ch_arena_bytes(a, path.n + 1);
    size_t n = 0;
    bool rooted = ch_sv_starts(path, "/");
    for (struct ch_sv rest = path; rest.p;) {
        struct ch_sv segment = ch_sv_split(&rest, '/');
        bool last = !rest.p, first = segment.p == path.p;
        if (first && rooted)
            continue;
        bool up = ch_sv_is(segment, ".."), stay = ch_sv_is(segment, ".");
        if (up)
            n = uri_drop_segment(out, n);
        if ((up || stay) && !last)
            continue;
        if (n || rooted)
            out[n++] = '/';
        if (!up && !stay && segment.n)
            memcpy(out + n, segment.p, segment.n);
        n += up || stay ? 0 : segment.n;
    }
    return ch_sv(out, n);
}

static struct uri transform(struct ch_arena *a, const struct uri *base, const struct uri *ref) {
    struct uri u = *ref;
    if (ref->scheme.p)
        return u;
    u.scheme = base->scheme;
    if (ref->authority.p) {
        u.path = without_dots(a, ref->path);
        return u;
    }
    u.authority = base->authority;
    if (ref->path.n == 0) {
        u.path = base->path;
        u.query = ref->query.p ? ref->query : base->query;
    } else if (!ch_sv_starts(ref->path, "/")) {
        u.path = without_dots(a, uri_merge(a, base, ref->path));
    } else {
        u.path = without_dots(a, ref->path);
    }
    return u;
}

static char *uri_put(char *at, const char *before, struct ch_sv part, const char *after) {
    if (!part.p)
        return at;
    size_t lead = strlen(before), trail = strlen(after);
    memcpy(at, before, lead);
    if (part.n)
        memcpy(at + lead, part.p, part.n);
    memcpy(at + lead + part.n, after, trail);
    return at + lead + part.n + trail;
}

struct ch_sv ch_uri_resolve(struct ch_arena *a, struct ch_sv base, struct ch_sv ref) {
    ch_uri_cut_fragment(&base);
    struct ch_sv fragment = ch_uri_cut_fragment(&ref);
    struct uri b = uri_parse(base), r = uri_parse(ref), u = transform(a, &b, &r);
    size_t most = u.scheme.n + u.authority.n + u.path.n + u.query.n + fragment.n + 5;
    char *p = ch_arena_bytes(a, most), *at = p;
    at = uri_put(at, "", u.scheme, ":");
    at = uri_put(at, "//", u.authority, "");
    at = uri_put(at, "", u.path, "");
    at = uri_put(at, "?", u.query, "");
    at = uri_put(at, "#", fragment, "");
    return ch_sv(p, (size_t)(at - p));
}

struct ch_sv ch_uri_decode(struct ch_arena *a, struct ch_sv s) {
    if (s.n == 0 || !memchr(s.p, '%', s.n))
        return s;
    char *p = ch_arena_bytes(a, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool escape = s.p[i] == '%' && i + 2 < s.n && ch_hex_digit(s.p[i + 1]) >= 0 &&
                      ch_hex_digit(s.p[i + 2]) >= 0;
        p[n++] = escape ? (char)(ch_hex_digit(s.p[i + 1]) << 4 | ch_hex_digit(s.p[i + 2])) : s.p[i];
        i += escape ? 2 : 0;
    }
    return ch_sv(p, n);
}

void ch_uri_encode(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c && strchr("-._~", c)))
            ch_buf_addc(out, (char)c);
        else
            ch_buf_addf(out, "%%%02X", c);
    }
}
