/* yaml_scalar.c -- the YAML 1.2 core schema, with numbers converted to JSON
 * spelling.
 *
 * A number keeps its digits. Only the spelling changes where JSON is stricter
 * (+1, .5, 1. and the hexadecimal and octal forms). */
#include "json/yaml_scalar.h"

#include <inttypes.h>

#include "json/scan.h"

static const struct {
    const char *word;
    enum ch_json_type type;
} words[] = {
    {"", CH_JSON_NULL},       {"~", CH_JSON_NULL},      {"null", CH_JSON_NULL},
    {"Null", CH_JSON_NULL},   {"NULL", CH_JSON_NULL},   {"true", CH_JSON_TRUE},
    {"True", CH_JSON_TRUE},   {"TRUE", CH_JSON_TRUE},   {"false", CH_JSON_FALSE},
    {"False", CH_JSON_FALSE}, {"FALSE", CH_JSON_FALSE},
};

static const char *const unspeakable[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};

struct ch_json ch_yaml_string(struct ch_sv s) {
    bool plain = ch_scan_plain_run(s.p, s.p + s.n) == s.p + s.n;
    return (struct ch_json){
        .type = CH_JSON_STRING, .flags = plain ? CH_JSON_PLAIN : 0, .n = (uint32_t)s.n, .s = s.p};
}

static struct ch_json yaml_scalar_number(struct ch_sv s, bool integer) {
    return (struct ch_json){.type = CH_JSON_NUMBER,
                            .flags = integer ? CH_JSON_INTEGER : 0,
                            .n = (uint32_t)s.n,
                            .s = s.p};
}

static int digit_value(char c) {
    if (ch_scan_is_digit(c))
        return c - '0';
    char letter = (char)(c | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 99;
}

/* Parse 0o17 and 0x1F: true if s has that form; *why is set if the number is
 * too large. */
static bool based_integer(struct ch_arena *a, struct ch_sv s, struct ch_json *out,
                          const char **why) {
    unsigned bits = ch_sv_starts(s, "0x") ? 4 : ch_sv_starts(s, "0o") ? 3 : 0;
    uint64_t value = 0;
    if (!bits || s.n == 2)
        return false;
    for (size_t i = 2; i < s.n; i++)
        if (digit_value(s.p[i]) >= 1 << bits)
            return false;
    for (size_t i = 2; i < s.n; i++) {
        if (value >> (64 - bits))
            *why = "number too large";
        value = value << bits | (unsigned)digit_value(s.p[i]);
    }
    *out = yaml_scalar_number(ch_sv_str(ch_arena_printf(a, "%" PRIu64, value)), true);
    return true;
}

static struct ch_sv take_digits(struct ch_sv *s) {
    size_t n = 0;
    while (n < s->n && ch_scan_is_digit(s->p[n]))
        n++;
    struct ch_sv run = ch_sv(s->p, n);
    *s = ch_sv(s->p + n, s->n - n);
    return run;
}

static bool take_byte(struct ch_sv *s, const char *any_of) {
    if (s->n == 0 || s->p[0] == '\0' || !strchr(any_of, s->p[0]))
        return false;
    *s = ch_sv(s->p + 1, s->n - 1);
    return true;
}

/* Whether s is an exponent or empty. */
static bool is_exponent(struct ch_sv s) {
    if (s.n == 0)
        return true;
    if (!take_byte(&s, "eE"))
        return false;
    take_byte(&s, "+-");
    return take_digits(&s).n && s.n == 0;
}

static bool decimal_number(struct ch_arena *a, struct ch_sv s, struct ch_json *out) {
    struct ch_sv rest = s;
    bool negative = s.n && s.p[0] == '-';
    take_byte(&rest, "+-");
    struct ch_sv whole = take_digits(&rest), fraction = {"", 0};
    if (take_byte(&rest, "."))
        fraction = take_digits(&rest);
    if (whole.n + fraction.n == 0 || !is_exponent(rest))
        return false;
    if (whole.n > 1 && whole.p[0] == '0')
        return false;
    if (whole.n == 0)
        whole = CH_SV("0");
    bool integer = fraction.n == 0 && rest.n == 0;
    char *text = ch_arena_printf(a, "%s%.*s%s%.*s%.*s", negative ? "-" : "", CH_SV_FMT(whole),
                                 fraction.n ? "." : "", CH_SV_FMT(fraction), CH_SV_FMT(rest));
    *out = yaml_scalar_number(ch_sv_str(text), integer);
    return true;
}

const char *ch_yaml_plain(struct ch_arena *a, struct ch_sv text, struct ch_json *out) {
    const char *why = NULL;
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_is(text, words[i].word)) {
            *out = (struct ch_json){.type = (uint8_t)words[i].type};
            return NULL;
        }
    struct ch_sv unsigned_text = text;
    take_byte(&unsigned_text, "+-");
    for (size_t i = 0; i < CH_LEN(unspeakable); i++)
        if (ch_sv_is(unsigned_text, unspeakable[i]))
            return "infinity and not-a-number are not supported; quote the value if it is text";
    if (!based_integer(a, text, out, &why) && !decimal_number(a, text, out))
        *out = ch_yaml_string(text);
    return why;
}
