/* model_facts.c -- see model_facts.h. The rows are in model_facts.def. */
#include "model/catalog/model_facts.h"

#include <limits.h>

#include "base/calendar.h"
#include "base/mem.h"

#define NAME_PLACES 64 /* in one name; a name with more is nobody's */

/* clang-format off */
#define MODEL(seller, name, ...) {.provider = seller, .match = name, __VA_ARGS__},
#define FAMILY(name, ...) {.match = name, __VA_ARGS__},
#define NAME_BEGINS(text)
#define DEFAULT_MODEL(provider, model)
static const struct ch_model_facts rows[] = {
#include "model/catalog/model_facts.def"
};
#undef MODEL
#undef FAMILY
#undef NAME_BEGINS
#define MODEL(...)
#define FAMILY(...)
#define NAME_BEGINS(text) text,
static const char *const starts[] = {
#include "model/catalog/model_facts.def"
};
/* clang-format on */

static bool facts_is_digit(struct ch_sv s, size_t i) {
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* True if the rest of a name after a row's is no part of its version: a date, a tag, a size.
 * "-5" and ".5" are another version, a letter another name. */
static bool ends_name(struct ch_sv rest) {
    if (!rest.n)
        return true;
    char c = rest.p[0];
    if (c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return false;
    size_t digits = 0;
    while (facts_is_digit(rest, 1 + digits))
        digits++;
    return c != '-' || !digits || digits > 2;
}

static char facts_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* '-' of a row also stands for the '.' that some resellers write in versions, '#' for a digit. */
static bool fits_here(const char *match, struct ch_sv name) {
    size_t i = 0;
    for (; *match && *match != '*'; match++, i++)
        if (i == name.n || !(facts_lower(name.p[i]) == facts_lower(*match) ||
                             (*match == '-' && name.p[i] == '.') ||
                             (*match == '#' && facts_is_digit(name, i))))
            return false;
    if (!*match)
        return ends_name(ch_sv(name.p + i, name.n - i));
    for (match++; *match && i <= name.n; i++)
        if (fits_here(match, ch_sv(name.p + i, name.n - i)))
            return true;
    return !*match;
}

/* The name after what resellers write as a path. */
static struct ch_sv last_segment(struct ch_sv model) {
    for (size_t i = model.n; i > 0; i--)
        if (model.p[i - 1] == '/')
            return ch_sv(model.p + i, model.n - i);
    return model;
}

/* "us.anthropic.NAME", "ft:NAME", "reseller-NAME" of a maker whose names are told apart. */
static bool begins_name(struct ch_sv s, size_t i) {
    if (!i || s.p[i - 1] == '.' || s.p[i - 1] == ':')
        return true;
    for (size_t k = 0; k < CH_LEN(starts); k++)
        if (ch_sv_starts(ch_sv(s.p + i, s.n - i), starts[k]))
            return true;
    return false;
}

/* The places in a model's name at which a row's name may begin. */
struct name_places {
    struct ch_sv s;
    unsigned char at[NAME_PLACES];
    size_t n;
};

static struct name_places find_places(struct ch_sv model) {
    struct name_places p = {.s = last_segment(model)};
    for (size_t i = 0; i < p.s.n && i <= UCHAR_MAX && p.n < NAME_PLACES; i++)
        if (begins_name(p.s, i))
            p.at[p.n++] = (unsigned char)i;
    return p;
}

static bool fits(const char *match, const struct name_places *p) {
    for (size_t i = 0; i < p->n; i++)
        if (fits_here(match, ch_sv(p->s.p + p->at[i], p->s.n - p->at[i])))
            return true;
    return false;
}

bool ch_model_fits(const char *match, struct ch_sv model) {
    struct name_places places = find_places(model);
    return fits(match, &places);
}

bool ch_model_is_version(struct ch_sv end) {
    if (ch_sv_is(end, "-latest"))
        return true;
    if (!ch_sv_starts(end, "-"))
        return false;
    for (size_t i = 1; i < end.n; i++) {
        bool digit = facts_is_digit(end, i);
        if (!digit && (end.p[i] != '-' || i < 4)) /* "-5-..." is another model */
            return false;
    }
    return end.n >= 4;
}

bool ch_model_same(struct ch_sv a, struct ch_sv b) {
    a = last_segment(a);
    b = last_segment(b);
    struct ch_sv longer = a.n > b.n ? a : b;
    size_t n = CH_MIN(a.n, b.n);
    if (!n || memcmp(a.p, b.p, n) != 0)
        return false;
    return longer.n == n || ch_model_is_version(ch_sv(longer.p + n, longer.n - n));
}

/* How much a pattern says: a character more than a digit, and no '*' more than one. */
static size_t weight_of(const char *match) {
    size_t n = !strchr(match, '*');
    for (; *match; match++)
        n += *match == '*' ? 0 : *match == '#' ? 1 : 2;
    return n;
}

const struct ch_model_facts *ch_model_facts(struct ch_sv model) {
    static const struct ch_model_facts unknown;
    const struct ch_model_facts *best = &unknown;
    struct name_places places = find_places(model);
    size_t longest = 0;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        size_t n = fits(rows[i].match, &places) ? weight_of(rows[i].match) : 0;
        if (n > longest) {
            best = &rows[i];
            longest = n;
        }
    }
    return best;
}

const struct ch_model_facts *ch_model_facts_at(size_t i) {
    return i < CH_LEN(rows) ? &rows[i] : NULL;
}

int ch_model_day_of(const char *date) {
    int day = 0;
    for (size_t i = 0; date && date[i]; i++)
        if (date[i] != '-')
            day = 10 * day + (date[i] - '0');
    return day;
}

const struct ch_price *ch_model_price(const struct ch_model_facts *f, int day) {
    return f->later_from && day >= ch_model_day_of(f->later_from) ? &f->later : &f->price;
}

int ch_model_day(int64_t now_ms) {
    struct ch_date d = ch_date_of(now_ms / 1000);
    return d.year * 10000 + d.month * 100 + d.day;
}

/* --- efforts */

static const char *const effort_names[] = {
    [CH_EFFORT_OFF] = "off",       [CH_EFFORT_MINIMAL] = "minimal", [CH_EFFORT_LOW] = "low",
    [CH_EFFORT_MEDIUM] = "medium", [CH_EFFORT_HIGH] = "high",       [CH_EFFORT_XHIGH] = "xhigh",
    [CH_EFFORT_MAX] = "max"};

const char *ch_effort_name(enum ch_effort effort) {
    return effort_names[effort];
}

const char *ch_effort_word(enum ch_effort effort) {
    return effort == CH_EFFORT_OFF ? "none" : effort_names[effort];
}

bool ch_effort_read(struct ch_sv name, enum ch_effort *out) {
    for (unsigned e = CH_EFFORT_OFF; e <= CH_EFFORT_MAX; e++)
        if (ch_sv_is(name, effort_names[e])) {
            *out = (enum ch_effort)e;
            return true;
        }
    return false;
}

static unsigned distance(unsigned a, unsigned b) {
    return a > b ? a - b : b - a;
}

enum ch_effort ch_facts_effort(const struct ch_model_facts *f, enum ch_effort wanted) {
    unsigned taken = f->efforts ? f->efforts : CH_EFFORTS_ASSUMED, best = CH_EFFORT_DEFAULT;
    if (wanted == CH_EFFORT_DEFAULT || taken & 1u << wanted)
        return wanted;
    for (unsigned e = CH_EFFORT_MINIMAL; e <= CH_EFFORT_MAX; e++)
        if (taken & 1u << e &&
            (best == CH_EFFORT_DEFAULT || distance(e, wanted) < distance(best, wanted)))
            best = e;
    return (enum ch_effort)best;
}
