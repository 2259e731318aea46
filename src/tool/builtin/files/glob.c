/* glob.c -- see glob.h.
 *
 * The matchers do not recurse. Within a name, a mismatch extends the last "*" by one
 * character; in a path, a mismatch extends the last "**" by one component. Backtracking to
 * an earlier star is never necessary, because the later star can match everything that a
 * longer match of the earlier star could skip. */
#include "tool/builtin/files/glob.h"

#include "base/limits.h"
#include "base/utf8.h"

#define BAD_BYTE 0x110000u /* offset for invalid UTF-8 bytes: such a byte equals only itself */

/* --- one name ------------------------------------------------------------ */

static uint32_t next_character(struct ch_sv *s) {
    uint32_t c;
    unsigned n = ch_utf8_next(*s, &c);

    if (n == 0) {
        c = BAD_BYTE + (unsigned char)s->p[0];
        n = 1;
    }
    *s = ch_sv(s->p + n, s->n - n);
    return c;
}

static bool glob_in_range(uint32_t c, uint32_t from, uint32_t to) {
    return c >= from && c <= to;
}

static bool glob_is_alpha(uint32_t c) {
    return glob_in_range(c | 0x20, 'a', 'z');
}

static bool glob_is_digit(uint32_t c) {
    return glob_in_range(c, '0', '9');
}

static bool glob_is_space(uint32_t c) {
    return c == ' ' || glob_in_range(c, '\t', '\r');
}

static bool is_graph(uint32_t c) {
    return glob_in_range(c, 0x21, 0x7e);
}

/* 1 or 0; -1 for an unknown class name. ASCII only, independent of the locale. */
static int in_class(struct ch_sv name, uint32_t c) {
    return ch_sv_is(name, "alpha")    ? glob_is_alpha(c)
           : ch_sv_is(name, "digit")  ? glob_is_digit(c)
           : ch_sv_is(name, "alnum")  ? glob_is_alpha(c) || glob_is_digit(c)
           : ch_sv_is(name, "upper")  ? glob_in_range(c, 'A', 'Z')
           : ch_sv_is(name, "lower")  ? glob_in_range(c, 'a', 'z')
           : ch_sv_is(name, "space")  ? glob_is_space(c)
           : ch_sv_is(name, "blank")  ? c == ' ' || c == '\t'
           : ch_sv_is(name, "punct")  ? is_graph(c) && !glob_is_alpha(c) && !glob_is_digit(c)
           : ch_sv_is(name, "graph")  ? is_graph(c)
           : ch_sv_is(name, "print")  ? is_graph(c) || c == ' '
           : ch_sv_is(name, "cntrl")  ? c < 0x20 || c == 0x7f
           : ch_sv_is(name, "xdigit") ? glob_is_digit(c) || glob_in_range(c | 0x20, 'a', 'f')
                                      : -1;
}

/* Parse a class after "[" and "[:", up to ":]". */
static int read_class(struct ch_sv *p, uint32_t c) {
    const char *end = memmem(p->p, p->n, ":]", 2);

    if (!end)
        return -1;
    struct ch_sv name = ch_sv(p->p, (size_t)(end - p->p));
    *p = ch_sv(end + 2, p->n - name.n - 2);
    return in_class(name, c);
}

/* Parse one literal character of a bracket; false at the end. */
static bool glob_read_literal(struct ch_sv *p, uint32_t *out) {
    if (p->n && p->p[0] == '\\')
        *p = ch_sv(p->p + 1, p->n - 1);
    if (p->n == 0)
        return false;
    *out = next_character(p);
    return true;
}

/* Parse one item of a bracket: 1 or 0 whether it contains c, -1 if invalid. */
static int glob_read_item(struct ch_sv *p, uint32_t c) {
    uint32_t from, to;

    if (ch_sv_starts(*p, "[:")) {
        *p = ch_sv(p->p + 2, p->n - 2);
        return read_class(p, c);
    }
    if (!glob_read_literal(p, &from))
        return -1;
    if (p->n < 2 || p->p[0] != '-' || p->p[1] == ']')
        return c == from;
    *p = ch_sv(p->p + 1, p->n - 1);
    return glob_read_literal(p, &to) ? glob_in_range(c, from, to) : -1;
}

/* p is after "["; if the bracket is valid, p ends after its "]". */
static int read_bracket(struct ch_sv *p, uint32_t c) {
    bool negated = p->n && (p->p[0] == '!' || p->p[0] == '^');
    bool found = false;

    if (negated)
        *p = ch_sv(p->p + 1, p->n - 1);
    for (bool first = true; first || (p->n && p->p[0] != ']'); first = false) {
        int hit = glob_read_item(p, c);
        if (hit < 0)
            return -1;
        found |= hit;
    }
    if (p->n == 0)
        return -1;
    *p = ch_sv(p->p + 1, p->n - 1);
    return found != negated;
}

/* True if the first element of p, which is not "*", matches c; p is then advanced past it. */
static bool glob_take(struct ch_sv *p, uint32_t c) {
    uint32_t own;

    switch (p->p[0]) {
    case '?':
        *p = ch_sv(p->p + 1, p->n - 1);
        return true;
    case '[':
        *p = ch_sv(p->p + 1, p->n - 1);
        return read_bracket(p, c) > 0;
    default:
        return glob_read_literal(p, &own) && own == c;
    }
}

bool ch_glob_name(struct ch_sv pattern, struct ch_sv name) {
    /* pattern after the last "*"; position where that star's match ends */
    struct ch_sv star = {0}, from = {0};

    while (name.n) {
        if (pattern.n && pattern.p[0] == '*') {
            star = pattern = ch_sv(pattern.p + 1, pattern.n - 1);
            from = name;
            continue;
        }
        struct ch_sv rest = name;
        uint32_t c = next_character(&rest);
        if (pattern.n && glob_take(&pattern, c)) {
            name = rest;
            continue;
        }
        if (!star.p)
            return false;
        if (star.n == 0)
            return true;
        next_character(&from);
        name = from;
        pattern = star;
    }
    while (pattern.n && pattern.p[0] == '*')
        pattern = ch_sv(pattern.p + 1, pattern.n - 1);
    return pattern.n == 0;
}

/* --- a path -------------------------------------------------------------- */

bool ch_glob_path(struct ch_sv pattern, struct ch_sv path) {
    /* pattern after the last "**"; position where its match ends */
    struct ch_sv star = {0}, from = {0};

    for (;;) {
        if (!pattern.p && !path.p)
            return true;
        struct ch_sv rest = pattern, part = pattern.p ? ch_sv_split(&rest, '/') : (struct ch_sv){0};
        if (pattern.p && ch_sv_is(part, "**")) {
            if (!rest.p)
                return path.p;
            star = pattern = rest;
            from = path;
            continue;
        }
        struct ch_sv left = path;
        if (pattern.p && path.p && ch_glob_name(part, ch_sv_split(&left, '/'))) {
            pattern = rest;
            path = left;
            continue;
        }
        if (!star.p || !from.p)
            return false;
        ch_sv_split(&from, '/');
        path = from;
        pattern = star;
    }
}

/* --- braces -------------------------------------------------------------- */

/* Position of the brace that closes the one at `open`; 0: there is none, or there is no comma
 * between them that belongs to them. */
static size_t closing_brace(struct ch_sv p, size_t open) {
    size_t depth = 0, commas = 0;
    for (size_t i = open; i < p.n; i++) {
        if (p.p[i] == '\\')
            i++;
        else if (p.p[i] == '{')
            depth++;
        else if (p.p[i] == ',')
            commas += depth == 1;
        else if (p.p[i] == '}' && --depth == 0)
            return commas ? i : 0;
    }
    return 0;
}

/* Find the first "{...}" that contains a comma of its own: positions of its braces. */
static bool find_braces(struct ch_sv p, size_t *open, size_t *close) {
    for (size_t at = 0; at < p.n; at++) {
        if (p.p[at] == '\\') {
            at++;
        } else if (p.p[at] == '{' && (*close = closing_brace(p, at))) {
            *open = at;
            return true;
        }
    }
    return false;
}

/* The first alternative of s, the text inside of braces. */
static struct ch_sv next_alternative(struct ch_sv *s) {
    size_t depth = 0, i = 0;

    for (; i < s->n; i++) {
        if (s->p[i] == '\\' && i + 1 < s->n)
            i++;
        else if (s->p[i] == '{')
            depth++;
        else if (s->p[i] == '}')
            depth--;
        else if (s->p[i] == ',' && depth == 0)
            break;
    }
    struct ch_sv one = ch_sv(s->p, i);
    *s = i < s->n ? ch_sv(s->p + i + 1, s->n - i - 1) : (struct ch_sv){0};
    return one;
}

static struct ch_sv glob_join(struct ch_arena *arena, struct ch_sv a, struct ch_sv b,
                              struct ch_sv c) {
    char *p = ch_arena_bytes(arena, a.n + b.n + c.n + 1);

    memcpy(p, a.p, a.n);
    memcpy(p + a.n, b.p, b.n);
    memcpy(p + a.n + b.n, c.p, c.n);
    return ch_sv(p, a.n + b.n + c.n);
}

/* Replace list[i], whose braces are at open and close, by its alternatives. */
static int glob_expand(struct ch_globs *g, struct ch_arena *arena, size_t i, size_t open,
                       size_t close) {
    struct ch_sv p = g->list[i];
    struct ch_sv before = ch_sv(p.p, open), inside = ch_sv(p.p + open + 1, close - open - 1);
    struct ch_sv after = ch_sv(p.p + close + 1, p.n - close - 1);

    for (bool first = true; inside.p; first = false) {
        if (!first && g->n == CH_LIMIT_GLOBS)
            return CHELA_ELIMIT;
        struct ch_sv one = glob_join(arena, before, next_alternative(&inside), after);
        g->list[first ? i : g->n++] = one;
    }
    return 0;
}

int ch_globs_read(struct ch_globs *g, struct ch_arena *arena, struct ch_sv pattern) {
    size_t open, close, braces = 0;

    for (size_t i = 0; i < pattern.n; i++) /* each costs a search for its end */
        braces += pattern.p[i] == '{';
    if (braces >= CH_LIMIT_GLOBS)
        return CHELA_ELIMIT;
    g->list = ch_arena_zalloc(arena, CH_LIMIT_GLOBS * sizeof(*g->list));
    g->list[0] = pattern;
    g->n = 1;
    for (size_t i = 0; i < g->n; i++)
        while (find_braces(g->list[i], &open, &close)) {
            int rc = glob_expand(g, arena, i, open, close);
            if (rc < 0)
                return rc;
        }
    return 0;
}

static struct ch_sv last_name(struct ch_sv path) {
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

    return slash ? ch_sv(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
}

bool ch_globs_match(const struct ch_globs *g, struct ch_sv path) {
    for (size_t i = 0; i < g->n; i++) {
        struct ch_sv p = g->list[i];
        bool whole = p.n && memchr(p.p, '/', p.n);
        if (whole ? ch_glob_path(p, path) : ch_glob_name(p, last_name(path)))
            return true;
    }
    return false;
}
