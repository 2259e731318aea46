/* schema_ecma.c -- see schema_ecma.h.
 *
 * One pass without recursion: groups are counted. A first pass collects the
 * names of groups, because \k<name> may precede its group. Names are not passed
 * to PCRE2, whose rules for names differ: groups are referenced by number.
 *
 * Character classes (\s, the dot, negations) are written as ranges; \d, \w and
 * \b are the same ASCII sets in both dialects, since PCRE2 runs without UCP. */
#include "schema/schema_ecma.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define NAMES_MAX 64

#define SPACES                                                                        \
    "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"
#define NOT_SPACES                                                                   \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}" \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"   \
    "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
#define NEVER "(?!)"

struct ecma {
    const char *at, *end;
    struct ch_buf *out;
    const char *why; /* a string literal; NULL: no error */
    unsigned groups, open;
    struct {
        struct ch_sv name;
        unsigned number;
    } names[NAMES_MAX];
    size_t nnames;
};

static bool schema_ecma_refuse(struct ecma *e, const char *why) {
    e->why = why;
    return false;
}

static bool more(const struct ecma *e) {
    return e->at < e->end;
}

static char schema_ecma_peek(const struct ecma *e, size_t ahead) {
    return (size_t)(e->end - e->at) > ahead ? e->at[ahead] : '\0';
}

static bool schema_ecma_accept(struct ecma *e, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(e->end - e->at) < n || memcmp(e->at, text, n) != 0)
        return false;
    e->at += n;
    return true;
}

static bool schema_ecma_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool schema_ecma_is_letter(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static int schema_ecma_hex(char c) {
    if (schema_ecma_is_digit(c))
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* --- characters ----------------------------------------------------------- */

/* Write a literal character, also inside a class. UTF-8 has no surrogates, so
 * nothing can match them. */
static void schema_ecma_put_char(struct ecma *e, uint32_t cp) {
    if (cp < 0x80 && (schema_ecma_is_letter((char)cp) || schema_ecma_is_digit((char)cp)))
        ch_buf_addc(e->out, (char)cp);
    else
        ch_buf_addf(e->out, "\\x{%x}", cp);
}

static bool is_surrogate(uint32_t cp) {
    return cp >= 0xd800 && cp <= 0xdfff;
}

static bool read_hex(struct ecma *e, size_t digits, uint32_t *out) {
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        int h = schema_ecma_hex(schema_ecma_peek(e, i));
        if (h < 0)
            return schema_ecma_refuse(e, "expected hexadecimal digits");
        *out = *out << 4 | (uint32_t)h;
    }
    e->at += digits;
    return true;
}

/* After "\u": four digits, a pair of surrogates, or digits in braces. */
static bool read_unicode(struct ecma *e, uint32_t *cp) {
    uint32_t low;
    if (schema_ecma_accept(e, "{")) {
        size_t digits = 0;
        while (schema_ecma_hex(schema_ecma_peek(e, digits)) >= 0)
            digits++;
        if (digits == 0 || digits > 8 || schema_ecma_peek(e, digits) != '}')
            return schema_ecma_refuse(e, "bad \\u{...}");
        if (!read_hex(e, digits, cp))
            return false;
        e->at++;
        return *cp <= 0x10ffff || schema_ecma_refuse(e, "\\u{...} is past the last character");
    }
    if (!read_hex(e, 4, cp))
        return false;
    const char *behind = e->at;
    if ((*cp & 0xfc00) != 0xd800 || !schema_ecma_accept(e, "\\u"))
        return true;
    if (!read_hex(e, 4, &low) || (low & 0xfc00) != 0xdc00) {
        e->why = NULL; /* not a pair: the second escape is separate */
        e->at = behind;
        return true;
    }
    *cp = 0x10000 + ((*cp & 0x3ff) << 10 | (low & 0x3ff));
    return true;
}

/* Read an escape that stands for one character; the backslash was passed. */
static bool read_char_escape(struct ecma *e, uint32_t *cp) {
    char c = *e->at++;
    switch (c) {
    case 't':
        *cp = '\t';
        return true;
    case 'n':
        *cp = '\n';
        return true;
    case 'v':
        *cp = '\v';
        return true;
    case 'f':
        *cp = '\f';
        return true;
    case 'r':
        *cp = '\r';
        return true;
    case 'c':
        if (!schema_ecma_is_letter(schema_ecma_peek(e, 0)))
            return schema_ecma_refuse(e, "\\c needs a letter");
        *cp = (uint32_t)*e->at++ & 31;
        return true;
    case '0':
        *cp = 0;
        return !schema_ecma_is_digit(schema_ecma_peek(e, 0)) ||
               schema_ecma_refuse(e, "octal escape");
    case 'x':
        return read_hex(e, 2, cp);
    case 'u':
        return read_unicode(e, cp);
    }
    if (schema_ecma_is_letter(c) || schema_ecma_is_digit(c))
        return schema_ecma_refuse(e, "unknown escape");
    e->at--;
    e->at += ch_utf8_next(ch_sv(e->at, (size_t)(e->end - e->at)), cp);
    return true;
}

/* --- classes of characters ------------------------------------------------ */

/* The general categories by long name; PCRE2 knows only the short names. */
static const struct {
    const char *name, *category;
} categories[] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"LC", "L&"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

static struct ch_sv category_of(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(categories); i++)
        if (ch_sv_is(name, categories[i].name))
            return ch_sv_str(categories[i].category);
    return name;
}

static bool is_property_name(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!schema_ecma_is_letter(s.p[i]) && !schema_ecma_is_digit(s.p[i]) && s.p[i] != '_')
            return false;
    return s.n > 0;
}

/* Read {Letter} or {Script=Greek} after \p or \P. */
static bool read_property(struct ecma *e, char letter) {
    const char *close = more(e) ? memchr(e->at, '}', (size_t)(e->end - e->at)) : NULL;
    if (!schema_ecma_accept(e, "{") || !close)
        return schema_ecma_refuse(e, "\\p needs a property in braces");
    struct ch_sv value = ch_sv(e->at, (size_t)(close - e->at)), name = ch_sv_split(&value, '=');
    e->at = close + 1;
    if (!is_property_name(name) || (value.p && !is_property_name(value)))
        return schema_ecma_refuse(e, "bad property");
    bool general = ch_sv_is(name, "General_Category") || ch_sv_is(name, "gc");
    bool script = ch_sv_is(name, "Script") || ch_sv_is(name, "sc");
    bool scripts = ch_sv_is(name, "Script_Extensions") || ch_sv_is(name, "scx");
    if (value.p && !general && !script && !scripts)
        return schema_ecma_refuse(e, "unknown property");
    struct ch_sv what = value.p ? value : name;
    const char *prefix = !value.p || general ? "" : script ? "sc:" : "scx:";
    if (!value.p || general)
        what = category_of(what);
    ch_buf_addf(e->out, "\\%c{%s%.*s}", letter, prefix, CH_SV_FMT(what));
    return true;
}

/* Write \d \w \s \p and their negations as members of a class; false for any
 * other escape. */
static bool put_class_escape(struct ecma *e) {
    char c = schema_ecma_peek(e, 0);
    switch (c) {
    case 'd':
    case 'D':
    case 'w':
    case 'W':
        ch_buf_addf(e->out, "\\%c", c);
        break;
    case 's':
        ch_buf_add_str(e->out, SPACES);
        break;
    case 'S':
        ch_buf_add_str(e->out, NOT_SPACES);
        break;
    case 'p':
    case 'P':
        e->at++;
        read_property(e, c);
        return true;
    default:
        return false;
    }
    e->at++;
    return true;
}

/* Read one member of [...]: a character into *cp, or a set, which is written at
 * once. */
static bool schema_ecma_read_member(struct ecma *e, uint32_t *cp, bool *set) {
    *set = false;
    if (*e->at != '\\') {
        e->at += ch_utf8_next(ch_sv(e->at, (size_t)(e->end - e->at)), cp);
        return true;
    }
    e->at++;
    if (!more(e))
        return schema_ecma_refuse(e, "lone backslash at the end");
    *set = put_class_escape(e);
    if (*set)
        return !e->why;
    if (schema_ecma_accept(e, "b")) {
        *cp = '\b';
        return true;
    }
    return read_char_escape(e, cp);
}

/* Write the member that was read, or the range it begins. */
static bool put_member(struct ecma *e, uint32_t from) {
    uint32_t to;
    bool set;
    if (schema_ecma_peek(e, 0) != '-' || schema_ecma_peek(e, 1) == ']' ||
        schema_ecma_peek(e, 1) == '\0') {
        if (!is_surrogate(from))
            schema_ecma_put_char(e, from);
        return true;
    }
    e->at++;
    if (!schema_ecma_read_member(e, &to, &set))
        return false;
    if (set) { /* [a-\d]: three members, the last already written */
        schema_ecma_put_char(e, from);
        schema_ecma_put_char(e, '-');
        return true;
    }
    if (to < from)
        return schema_ecma_refuse(e, "range out of order in a class");
    from = is_surrogate(from) ? 0xe000 : from;
    to = is_surrogate(to) ? 0xd7ff : to;
    if (to < from)
        return true; /* surrogates alone */
    schema_ecma_put_char(e, from);
    ch_buf_addc(e->out, '-');
    schema_ecma_put_char(e, to);
    return true;
}

/* After "[". A class that is empty, or whose members cannot occur in UTF-8,
 * matches nothing. */
static bool put_class(struct ecma *e) {
    bool negated = schema_ecma_accept(e, "^"), set;
    uint32_t cp;
    size_t start = e->out->n;
    ch_buf_add_str(e->out, negated ? "[^" : "[");
    size_t empty = e->out->n;
    while (more(e) && *e->at != ']')
        if (!schema_ecma_read_member(e, &cp, &set) || (!set && !put_member(e, cp)))
            return false;
    if (!schema_ecma_accept(e, "]"))
        return schema_ecma_refuse(e, "unclosed class");
    if (e->out->n > empty) {
        ch_buf_addc(e->out, ']');
        return true;
    }
    e->out->n = start;
    ch_buf_add_str(e->out, negated ? "(?s:.)" : NEVER);
    return true;
}

/* --- groups and quantifiers ----------------------------------------------- */

static bool schema_ecma_is_name_char(char c) {
    return schema_ecma_is_letter(c) || schema_ecma_is_digit(c) || c == '_' || c == '$' ||
           (c & 0x80);
}

/* Read "name>" after "<". */
static bool schema_ecma_read_name(struct ecma *e, struct ch_sv *name) {
    const char *start = e->at;
    while (more(e) && schema_ecma_is_name_char(*e->at))
        e->at++;
    *name = ch_sv(start, (size_t)(e->at - start));
    if (name->n == 0 || schema_ecma_is_digit(name->p[0]) || !schema_ecma_accept(e, ">"))
        return schema_ecma_refuse(e, "bad group name");
    return true;
}

static unsigned schema_ecma_number_of(const struct ecma *e, struct ch_sv name) {
    for (size_t i = 0; i < e->nnames; i++)
        if (ch_sv_eq(e->names[i].name, name))
            return e->names[i].number;
    return 0;
}

/* First pass: count the groups and collect their names. */
static bool collect_groups(struct ecma *e) {
    struct ecma look = *e;
    bool in_class = false;
    while (more(&look)) {
        char c = *look.at++;
        if (c == '\\' && more(&look))
            look.at++;
        else if (c == '[' || c == ']')
            in_class = c == '[';
        if (in_class || c != '(' ||
            (schema_ecma_peek(&look, 0) == '?' && schema_ecma_peek(&look, 1) != '<'))
            continue;
        struct ch_sv name = {NULL, 0};
        if (schema_ecma_accept(&look, "?<")) {
            if (schema_ecma_peek(&look, 0) == '=' || schema_ecma_peek(&look, 0) == '!')
                continue;
            if (!schema_ecma_read_name(&look, &name))
                return schema_ecma_refuse(e, look.why);
        }
        e->groups++;
        if (!name.p)
            continue;
        if (schema_ecma_number_of(e, name) || e->nnames == NAMES_MAX)
            return schema_ecma_refuse(e, "two groups of one name, or too many names");
        e->names[e->nnames].name = name;
        e->names[e->nnames++].number = e->groups;
    }
    return true;
}

/* After "(". */
static bool put_group(struct ecma *e) {
    static const char *const plain[] = {"?:", "?=", "?!", "?<=", "?<!", "?i:", "?-i:"};
    struct ch_sv name;
    e->open++;
    ch_buf_addc(e->out, '(');
    for (size_t i = 0; i < CH_LEN(plain); i++) {
        if (schema_ecma_accept(e, plain[i])) {
            ch_buf_add_str(e->out, plain[i]);
            return true;
        }
    }
    if (schema_ecma_accept(e, "?<"))
        return schema_ecma_read_name(e, &name);
    return schema_ecma_peek(e, 0) != '?' || schema_ecma_refuse(e, "unknown kind of group");
}

static bool schema_ecma_read_count(struct ecma *e, size_t *ahead, unsigned long *count) {
    size_t start = *ahead;
    *count = 0;
    while (schema_ecma_is_digit(schema_ecma_peek(e, *ahead))) {
        *count =
            CH_MIN(*count * 10 + (unsigned long)(schema_ecma_peek(e, *ahead) - '0'), 100000000ul);
        ++*ahead;
    }
    return *ahead > start;
}

/* Length of the quantifier {n}, {n,} or {n,m} at the current position, or 0. */
static size_t braces(struct ecma *e) {
    unsigned long least, most;
    size_t ahead = 1;
    if (schema_ecma_peek(e, 0) != '{' || !schema_ecma_read_count(e, &ahead, &least))
        return 0;
    if (schema_ecma_peek(e, ahead) == ',') {
        ahead++;
        if (schema_ecma_read_count(e, &ahead, &most) && most < least)
            schema_ecma_refuse(e, "quantifier out of order");
    }
    return schema_ecma_peek(e, ahead) == '}' ? ahead + 1 : 0;
}

/* Write the quantifier at the current position, if there is one. */
static bool put_quantifier(struct ecma *e) {
    char c = schema_ecma_peek(e, 0);
    size_t n = c == '*' || c == '+' || c == '?' ? 1 : braces(e);
    if (n == 0)
        return !e->why;
    if (e->why)
        return false;
    ch_buf_add(e->out, e->at, n);
    e->at += n;
    if (schema_ecma_accept(e, "?"))
        ch_buf_addc(e->out, '?');
    return true;
}

static bool put_back_reference(struct ecma *e, unsigned long number) {
    if (number == 0 || number > e->groups)
        return schema_ecma_refuse(e, "reference to a group that does not exist");
    ch_buf_addf(e->out, "\\g{%lu}", number);
    return true;
}

/* --- terms ---------------------------------------------------------------- */

/* After a backslash outside a class. *assertion: the escape cannot be repeated. */
static bool schema_ecma_put_escape(struct ecma *e, bool *assertion) {
    uint32_t cp;
    size_t ahead = 0;
    unsigned long number;
    struct ch_sv name;
    char c = schema_ecma_peek(e, 0);
    if (!more(e))
        return schema_ecma_refuse(e, "lone backslash at the end");
    if (c == 'b' || c == 'B') {
        *assertion = true;
        ch_buf_addf(e->out, "\\%c", c);
        e->at++;
        return true;
    }
    if (c >= '1' && c <= '9') {
        schema_ecma_read_count(e, &ahead, &number);
        e->at += ahead;
        return put_back_reference(e, number);
    }
    if (schema_ecma_accept(e, "k<"))
        return schema_ecma_read_name(e, &name) &&
               put_back_reference(e, schema_ecma_number_of(e, name));
    size_t start = e->out->n;
    bool bracket = c == 's' || c == 'S';
    if (bracket)
        ch_buf_addc(e->out, '[');
    if (put_class_escape(e)) {
        if (bracket)
            ch_buf_addc(e->out, ']');
        return !e->why;
    }
    e->out->n = start;
    if (!read_char_escape(e, &cp))
        return false;
    if (is_surrogate(cp))
        ch_buf_add_str(e->out, NEVER);
    else
        schema_ecma_put_char(e, cp);
    return true;
}

static bool put_literal(struct ecma *e) {
    uint32_t cp;
    e->at--;
    e->at += ch_utf8_next(ch_sv(e->at, (size_t)(e->end - e->at)), &cp);
    schema_ecma_put_char(e, cp);
    return true;
}

/* Write one term without its quantifier. *repeatable: a quantifier may follow. */
static bool put_term(struct ecma *e, bool *repeatable) {
    bool assertion = false, ok = true;
    *repeatable = true;
    switch (*e->at++) {
    case '^':
    case '$':
    case '|':
        ch_buf_addc(e->out, e->at[-1]);
        *repeatable = false;
        return true;
    case '(':
        *repeatable = false;
        return put_group(e);
    case ')':
        ch_buf_addc(e->out, ')');
        return e->open-- > 0 || schema_ecma_refuse(e, "unmatched )");
    case '.':
        ch_buf_add_str(e->out, "[^\\n\\r\\x{2028}\\x{2029}]");
        return true;
    case '[':
        return put_class(e);
    case '\\':
        ok = schema_ecma_put_escape(e, &assertion);
        *repeatable = !assertion;
        return ok;
    case '*':
    case '+':
    case '?':
        return schema_ecma_refuse(e, "nothing to repeat");
    case '{':
        e->at--;
        if (braces(e))
            return schema_ecma_refuse(e, "nothing to repeat");
        e->at++;
        return put_literal(e);
    default:
        return put_literal(e);
    }
}

static bool translate(struct ecma *e) {
    bool repeatable;
    if (!collect_groups(e))
        return false;
    while (more(e)) {
        if (!put_term(e, &repeatable))
            return false;
        if (repeatable && !put_quantifier(e))
            return false;
    }
    return e->open == 0 || schema_ecma_refuse(e, "unclosed group");
}

const char *ch_ecma_translate(struct ch_sv pattern, struct ch_buf *out, size_t *at) {
    if (pattern.n == 0)
        return NULL;
    struct ecma e = {.at = pattern.p, .end = pattern.p + pattern.n, .out = out};
    if (pattern.n > CH_LIMIT_PATTERN_TEXT)
        schema_ecma_refuse(&e, "too long");
    else if (!ch_utf8_valid(pattern))
        schema_ecma_refuse(&e, "not UTF-8");
    else if (translate(&e) && out->overflow)
        schema_ecma_refuse(&e, "too long");
    if (e.why && at)
        *at = (size_t)(e.at - pattern.p);
    return e.why;
}
