/* schema_format_uri.c -- see schema_format_uri.h. */
#include "schema/schema_format_uri.h"

#include "base/utf8.h"
#include "schema/schema_format.h"

static bool schema_format_uri_is_alpha(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool schema_format_uri_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool schema_format_uri_is_hex(char c) {
    return schema_format_uri_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool schema_format_uri_is_one_of(char c, const char *set) {
    return c && strchr(set, c);
}

static bool schema_format_uri_is_unreserved(char c) {
    return schema_format_uri_is_alpha(c) || schema_format_uri_is_digit(c) ||
           schema_format_uri_is_one_of(c, "-._~");
}

#define SUB_DELIMS "!$&'()*+,;="

static bool is_private(uint32_t cp) {
    return (cp >= 0xe000 && cp <= 0xf8ff) || cp >= 0xf0000;
}

static bool is_noncharacter(uint32_t cp) {
    return (cp & 0xfffe) == 0xfffe || (cp >= 0xfdd0 && cp <= 0xfdef);
}

/* Which characters beyond ASCII need no escape. */
enum wide { NARROW, WIDE, WIDE_PRIVATE };

/* Whether every character of s is unreserved, escaped, in `also`, or wide. */
static bool all_of(struct ch_sv s, const char *also, enum wide wide) {
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        unsigned n = ch_utf8_next(ch_sv(s.p + i, s.n - i), &cp);
        if (s.p[i] == '%') {
            if (i + 2 >= s.n || !schema_format_uri_is_hex(s.p[i + 1]) ||
                !schema_format_uri_is_hex(s.p[i + 2]))
                return false;
            n = 3;
        } else if (cp >= 0x80) {
            bool allowed = wide != NARROW && cp >= 0xa0 && !is_noncharacter(cp);
            if (!allowed || (is_private(cp) && wide != WIDE_PRIVATE))
                return false;
        } else if (!schema_format_uri_is_unreserved(s.p[i]) &&
                   !schema_format_uri_is_one_of(s.p[i], also)) {
            return false;
        }
        i += n;
    }
    return true;
}

static bool is_ip_future(struct ch_sv s) {
    size_t i = 1;
    if (s.n < 4 || (s.p[0] | 0x20) != 'v')
        return false;
    while (i < s.n && schema_format_uri_is_hex(s.p[i]))
        i++;
    return i > 1 && i + 1 < s.n && s.p[i] == '.' && !memchr(s.p, '%', s.n) &&
           all_of(ch_sv(s.p + i + 1, s.n - i - 1), SUB_DELIMS ":", NARROW);
}

static bool all_digits(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!schema_format_uri_is_digit(s.p[i]))
            return false;
    return true;
}

/* [user@]host[:port] */
static bool is_authority(struct ch_sv s, enum wide wide) {
    const char *at = s.n ? memrchr(s.p, '@', s.n) : NULL;
    if (at) {
        size_t n = (size_t)(at - s.p);
        if (!all_of(ch_sv(s.p, n), SUB_DELIMS ":", wide))
            return false;
        s = ch_sv(at + 1, s.n - n - 1);
    }
    if (s.n && s.p[0] == '[') {
        const char *close = memchr(s.p, ']', s.n);
        if (!close)
            return false;
        struct ch_sv host = ch_sv(s.p + 1, (size_t)(close - s.p - 1));
        struct ch_sv port = ch_sv(close + 1, s.n - host.n - 2);
        bool good = port.n == 0 || (port.p[0] == ':' && all_digits(ch_sv(port.p + 1, port.n - 1)));
        return good && (ch_format_ipv6(host) || is_ip_future(host));
    }
    struct ch_sv port = s, host = ch_sv_split(&port, ':');
    return all_of(host, SUB_DELIMS, wide) && all_digits(port);
}

/* Cut off the text after the first `mark` in *s and return it; p NULL if there
 * is no mark. */
static struct ch_sv schema_format_uri_cut(struct ch_sv *s, char mark) {
    struct ch_sv rest = *s;
    *s = ch_sv_split(&rest, mark);
    return rest;
}

/* The length of "scheme:"; 0 if absent. */
static size_t scheme_length(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && (schema_format_uri_is_alpha(s.p[n]) || schema_format_uri_is_digit(s.p[n]) ||
                       schema_format_uri_is_one_of(s.p[n], "+-.")))
        n++;
    return n && n < s.n && s.p[n] == ':' && schema_format_uri_is_alpha(s.p[0]) ? n + 1 : 0;
}

/* Check a path. A colon in the first segment of a relative path would look like
 * a scheme. */
static bool schema_format_uri_is_path(struct ch_sv s, bool relative, enum wide wide) {
    struct ch_sv rest = s, first = ch_sv_split(&rest, '/');
    if (relative && first.n && memchr(first.p, ':', first.n))
        return false;
    return all_of(s, SUB_DELIMS ":@/", wide);
}

static bool is_reference(struct ch_sv s, bool absolute, enum wide wide) {
    struct ch_sv fragment = schema_format_uri_cut(&s, '#'), query = schema_format_uri_cut(&s, '?');
    size_t scheme = scheme_length(s);
    if (absolute && !scheme)
        return false;
    s = ch_sv(s.p + scheme, s.n - scheme);
    bool authority = ch_sv_starts(s, "//");
    if (authority) {
        struct ch_sv rest = ch_sv(s.p + 2, s.n - 2), path = rest;
        struct ch_sv host = ch_sv_split(&path, '/');
        if (!is_authority(host, wide))
            return false;
        s = ch_sv(rest.p + host.n, rest.n - host.n);
    }
    return schema_format_uri_is_path(s, !scheme && !authority, wide) &&
           all_of(query, SUB_DELIMS ":@/?", wide ? WIDE_PRIVATE : NARROW) &&
           all_of(fragment, SUB_DELIMS ":@/?", wide);
}

bool ch_format_uri(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return is_reference(s, true, NARROW);
}

bool ch_format_uri_reference(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return is_reference(s, false, NARROW);
}

bool ch_format_iri(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return is_reference(s, true, WIDE);
}

bool ch_format_iri_reference(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return is_reference(s, false, WIDE);
}

/* --- templates ---------------------------------------------------------------- */

/* Whether s is a variable name such as a.b; %41 counts as a letter. */
static bool is_variable_name(struct ch_sv s) {
    for (struct ch_sv rest = s; rest.p;) {
        struct ch_sv part = ch_sv_split(&rest, '.');
        if (part.n == 0 || memchr(part.p, '-', part.n) || memchr(part.p, '~', part.n) ||
            !all_of(part, "", NARROW))
            return false;
    }
    return true;
}

/* name, name* or name:9999 */
static bool schema_format_uri_is_variable(struct ch_sv s) {
    struct ch_sv length = s, name = ch_sv_split(&length, ':');
    if (length.p)
        return is_variable_name(name) && length.n >= 1 && length.n <= 4 && length.p[0] != '0' &&
               all_digits(length);
    if (name.n && name.p[name.n - 1] == '*')
        name.n--;
    return is_variable_name(name);
}

/* Whether s is a valid expression (the text between braces). */
static bool is_expression(struct ch_sv s) {
    if (s.n && schema_format_uri_is_one_of(s.p[0], "+#./;?&=,!@|"))
        s = ch_sv(s.p + 1, s.n - 1);
    for (struct ch_sv rest = s; rest.p;)
        if (!schema_format_uri_is_variable(ch_sv_split(&rest, ',')))
            return false;
    return s.n > 0;
}

static bool is_literal(struct ch_sv s) {
    return all_of(s, SUB_DELIMS ":/?#[]@", WIDE_PRIVATE);
}

bool ch_format_uri_template(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    for (struct ch_sv rest = s; rest.p;) {
        struct ch_sv literal = ch_sv_split(&rest, '{');
        if (!is_literal(literal))
            return false;
        if (!rest.p)
            return true;
        struct ch_sv expression = ch_sv_split(&rest, '}');
        if (!rest.p || !is_expression(expression))
            return false;
    }
    return true;
}
