/* schema_format_host.c -- validate host names, including internationalized
 * ones.
 *
 * A name is valid if each label is valid. A label has letters, digits and
 * hyphens (RFC 1123). Labels of internationalized names have characters that
 * IDNA 2008 allows, in the contexts it allows (RFC 5892), written in one
 * direction (RFC 5893). A label that begins with xn-- is decoded (RFC 3492) and
 * its decoded form is checked.
 *
 * Character properties come from PCRE2's tables. Two properties that PCRE2
 * lacks are approximated: stability under NFKC by excluding the blocks of
 * compatibility characters, and the joining types of letters by the scripts
 * that join. */
#include "schema/schema_format_host.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "schema/schema_format.h"

#define MOST_NAME 253
#define MOST_LABEL 63

/* --- Punycode -------------------------------------------------------------------- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool first) {
    uint32_t k = 0;
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / points;
    for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
        delta /= BASE - TMIN;
    return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static uint32_t schema_format_host_threshold(uint32_t k, uint32_t bias) {
    return k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
}

static int schema_format_host_digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0' + 26;
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' : -1;
}

/* Decode one number of the encoded part and add it to *i. */
static bool decode_number(const char **at, const char *end, uint32_t bias, uint32_t *i) {
    uint32_t weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        int digit = *at < end ? schema_format_host_digit_of(*(*at)++) : -1;
        if (digit < 0 || (uint32_t)digit > (UINT32_MAX / 2 - *i) / weight)
            return false;
        *i += (uint32_t)digit * weight;
        uint32_t t = schema_format_host_threshold(k, bias);
        if ((uint32_t)digit < t)
            return true;
        if (weight > UINT32_MAX / 2 / (BASE - t))
            return false;
        weight *= BASE - t;
    }
}

/* Decode s (the text after xn--) to code points; returns their number, 0 if
 * invalid. */
static size_t punycode_decode(struct ch_sv s, uint32_t out[MOST_LABEL]) {
    const char *dash = s.n ? memrchr(s.p, '-', s.n) : NULL, *at = dash ? dash + 1 : s.p;
    uint32_t n = FIRST, i = 0, bias = BIAS;
    size_t count = 0;
    if (s.n > MOST_LABEL)
        return 0;
    for (const char *p = s.p; dash && p < dash; p++)
        out[count++] = (unsigned char)*p;
    while (at < s.p + s.n) {
        uint32_t before = i;
        if (count == MOST_LABEL || !decode_number(&at, s.p + s.n, bias, &i))
            return 0;
        bias = adapt(i - before, (uint32_t)count + 1, before == 0);
        n += i / (uint32_t)(count + 1);
        i %= (uint32_t)(count + 1);
        if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff))
            return 0;
        memmove(out + i + 1, out + i, (count - i) * sizeof(out[0]));
        out[i++] = n;
        count++;
    }
    return count;
}

static void put_number(struct ch_buf *out, uint32_t delta, uint32_t bias) {
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (uint32_t k = BASE;; k += BASE) {
        uint32_t t = schema_format_host_threshold(k, bias);
        if (delta < t)
            break;
        ch_buf_addc(out, digits[t + (delta - t) % (BASE - t)]);
        delta = (delta - t) / (BASE - t);
    }
    ch_buf_addc(out, digits[delta]);
}

static uint32_t next_point(const uint32_t *cps, size_t n, uint32_t from) {
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        if (cps[i] >= from && cps[i] < least)
            least = cps[i];
    return least;
}

/* Quadratic, but labels are short. */
static void punycode_encode(const uint32_t *cps, size_t n, struct ch_buf *out) {
    uint32_t point = FIRST, delta = 0, bias = BIAS;
    for (size_t i = 0; i < n; i++)
        if (cps[i] < FIRST)
            ch_buf_addc(out, (char)cps[i]);
    size_t basic = out->n, done = basic;
    if (basic)
        ch_buf_addc(out, '-');
    while (done < n) {
        uint32_t next = next_point(cps, n, point);
        delta += (next - point) * (uint32_t)(done + 1);
        point = next;
        for (size_t i = 0; i < n; i++) {
            delta += cps[i] < point;
            if (cps[i] != point)
                continue;
            put_number(out, delta, bias);
            bias = adapt(delta, (uint32_t)done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        point++;
    }
}

/* --- labels ------------------------------------------------------------------------ */

/* Letters, marks and digits that are stable and not excluded by name, and
 * characters allowed by name, some only in a context. */
#define LABEL                                                                        \
    "^(?!\\p{M})(?:[-a-z0-9\\x{df}\\x{3c2}\\x{6fd}\\x{6fe}\\x{f0b}\\x{3007}"         \
    "\\x{b7}\\x{375}\\x{5f3}\\x{5f4}\\x{30fb}\\x{200c}\\x{200d}]|"                   \
    "(?![\\x{640}\\x{7fa}\\x{302e}\\x{302f}\\x{3031}-\\x{3035}\\x{303b}"             \
    "\\x{1100}-\\x{11ff}\\x{a960}-\\x{a97f}\\x{d7b0}-\\x{d7ff}"                      \
    "\\x{2100}-\\x{218f}\\x{f900}-\\x{fdff}\\x{fe70}-\\x{ffef}\\x{1d400}-\\x{1d7ff}" \
    "\\x{1f100}-\\x{1f1ff}\\x{2f800}-\\x{2fa1f}])"                                   \
    "(?!\\p{Changes_When_Casefolded}|\\p{Default_Ignorable_Code_Point})"             \
    "[\\p{Ll}\\p{Lo}\\p{Lm}\\p{Mn}\\p{Mc}\\p{Nd}])+$"

#define KANA_OR_HAN "[\\p{sc:Hiragana}\\p{sc:Katakana}\\p{sc:Han}]"
#define DIGITS "[\\x{660}-\\x{669}]"
#define MORE_DIGITS "[\\x{6f0}-\\x{6f9}]"
#define VIRAMA                                                                          \
    "\\x{94d}\\x{9cd}\\x{a4d}\\x{acd}\\x{b4d}\\x{bcd}\\x{c4d}\\x{ccd}\\x{d3b}\\x{d3c}"  \
    "\\x{d4d}\\x{dca}\\x{e3a}\\x{eba}\\x{f84}\\x{1039}\\x{103a}\\x{1714}\\x{1734}"      \
    "\\x{17d2}\\x{1a60}\\x{1b44}\\x{1baa}\\x{1bab}\\x{1bf2}\\x{1bf3}\\x{2d7f}\\x{a806}" \
    "\\x{a82c}\\x{a8c4}\\x{a953}\\x{a9c0}\\x{aaf6}\\x{abed}\\x{10a3f}\\x{11046}"        \
    "\\x{1107f}\\x{110b9}\\x{11133}\\x{11134}\\x{111c0}\\x{11235}\\x{112ea}\\x{1134d}"  \
    "\\x{11442}\\x{114c2}\\x{115bf}\\x{1163f}\\x{116b6}\\x{1172b}\\x{11839}\\x{119e0}"  \
    "\\x{11a34}\\x{11a47}\\x{11a99}\\x{11c3f}\\x{11d44}\\x{11d45}\\x{11d97}"
#define JOINING                                                              \
    "[\\p{Arabic}\\p{Syriac}\\p{Nko}\\p{Mandaic}\\p{Mongolian}\\p{Phags_Pa}" \
    "\\p{Manichaean}\\p{Psalter_Pahlavi}\\p{Sogdian}\\p{Adlam}]"
#define TO_THE_RIGHT_ONLY                                                                \
    "[\\x{621}-\\x{625}\\x{627}\\x{629}\\x{62f}-\\x{632}\\x{648}\\x{671}-\\x{677}"       \
    "\\x{688}-\\x{699}\\x{6c0}\\x{6c3}-\\x{6cb}\\x{6cd}\\x{6cf}\\x{6d2}\\x{6d3}\\x{6d5}" \
    "\\x{6ee}\\x{6ef}]"

/* Characters outside their allowed context. The zero width non-joiner must
 * follow a virama or be between letters that join. \K and alternation cannot
 * look back over marks, so valid text is consumed first. */
#define ASTRAY                                                                                   \
    "(?<!l)\\x{b7}|\\x{b7}(?!l)|\\x{375}(?!\\p{sc:Greek})|(?<!\\p{sc:Hebrew})[\\x{5f3}\\x{5f4}]" \
    "|^(?=.*\\x{30fb})(?!.*" KANA_OR_HAN ")"                                                     \
    "|" DIGITS ".*" MORE_DIGITS "|" MORE_DIGITS ".*" DIGITS "|(?<![" VIRAMA "])\\x{200d}"
#define JOINER_ASTRAY                                        \
    "^(?:[^\\x{200c}]*(?:(?<=[" VIRAMA "])\\x{200c}"         \
    "|(?!" TO_THE_RIGHT_ONLY ")" JOINING "\\p{Mn}*\\x{200c}" \
    "(?=\\p{Mn}*(?![\\x{621}\\x{674}])" JOINING ")))*[^\\x{200c}]*$"

#define BIDI_ANY "[\\p{bc:R}\\p{bc:AL}\\p{bc:AN}]"
#define BIDI_WEAK "\\p{bc:ES}\\p{bc:CS}\\p{bc:ET}\\p{bc:ON}\\p{bc:BN}\\p{bc:NSM}"
#define BIDI_RIGHT                                                                    \
    "^(?=[\\p{bc:R}\\p{bc:AL}])(?!.*\\p{bc:EN}.*\\p{bc:AN}|.*\\p{bc:AN}.*\\p{bc:EN})" \
    "[\\p{bc:R}\\p{bc:AL}\\p{bc:AN}\\p{bc:EN}" BIDI_WEAK "]*"                         \
    "[\\p{bc:R}\\p{bc:AL}\\p{bc:EN}\\p{bc:AN}]\\p{bc:NSM}*$"
#define BIDI_LEFT \
    "^(?=\\p{bc:L})[\\p{bc:L}\\p{bc:EN}" BIDI_WEAK "]*[\\p{bc:L}\\p{bc:EN}]\\p{bc:NSM}*$"

static bool schema_format_host_matches(struct ch_patterns *room, const char *source,
                                       struct ch_sv text) {
    struct chela_error older = {0}; /* PCRE2's tables are older than these patterns */
    struct ch_pattern *p;
    int64_t fuel = INT64_MAX; /* names are short */
    return ch_patterns_add_native(room, ch_sv_str(source), &p, &older) == 0 &&
           ch_pattern_match(p, text, &fuel) == 1;
}

static bool is_plain_label(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], letter = (char)(c | 0x20);
        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') && c != '-')
            return false;
    }
    return s.n >= 1 && s.n <= MOST_LABEL && s.p[0] != '-' && s.p[s.n - 1] != '-';
}

static bool schema_format_host_is_ascii(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] & 0x80)
            return false;
    return true;
}

static bool is_encoded(struct ch_sv s) {
    return s.n >= 4 && ch_sv_eq_nocase(ch_sv(s.p, 4), CH_SV("xn--"));
}

/* Check a label in its Unicode form. */
static bool is_wide_label(struct ch_sv s, struct ch_patterns *room) {
    if (s.n == 0 || s.p[0] == '-' || s.p[s.n - 1] == '-')
        return false;
    if (s.n >= 4 && s.p[2] == '-' && s.p[3] == '-')
        return false;
    return schema_format_host_matches(room, LABEL, s) &&
           !schema_format_host_matches(room, ASTRAY, s) &&
           schema_format_host_matches(room, JOINER_ASTRAY, s);
}

static size_t code_points(struct ch_sv s, uint32_t out[MOST_LABEL]) {
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        if (n == MOST_LABEL)
            return 0;
        i += ch_utf8_next(ch_sv(s.p + i, s.n - i), &out[n++]);
    }
    return n;
}

/* Append the decoded form of an xn-- label to wide. False unless the label is
 * the canonical encoding and needs encoding. */
static bool decode_label(struct ch_sv s, struct ch_buf *wide) {
    uint32_t cps[MOST_LABEL];
    CH_BUF_AUTO again = {0};
    struct ch_sv encoded = ch_sv(s.p + 4, s.n - 4);
    size_t n = punycode_decode(encoded, cps), before = wide->n;
    for (size_t i = 0; i < n; i++) {
        char bytes[4];
        ch_buf_add(wide, bytes, ch_utf8_put(bytes, cps[i]));
    }
    if (n == 0 || schema_format_host_is_ascii(ch_sv(wide->p + before, wide->n - before)))
        return false;
    punycode_encode(cps, n, &again);
    return ch_sv_eq_nocase(ch_buf_sv(&again), encoded);
}

/* The length of the label in DNS messages. */
static size_t wire_length(struct ch_sv s) {
    uint32_t cps[MOST_LABEL];
    CH_BUF_AUTO encoded = {0};
    size_t n = code_points(s, cps);
    if (n == 0)
        return MOST_LABEL + 1;
    punycode_encode(cps, n, &encoded);
    return encoded.n + 4;
}

/* Check one label; its Unicode form is appended to wide. */
static bool check_label(struct ch_sv s, bool international, struct ch_buf *wide,
                        struct ch_patterns *room) {
    size_t before = wide->n;
    if (is_encoded(s) && schema_format_host_is_ascii(s)) {
        if (!is_plain_label(s) || !decode_label(s, wide))
            return false;
        return is_wide_label(ch_sv(wide->p + before, wide->n - before), room);
    }
    ch_buf_add_sv(wide, s);
    if (schema_format_host_is_ascii(s))
        return is_plain_label(s);
    return international && is_wide_label(s, room) && wire_length(s) <= MOST_LABEL;
}

/* Cut off the first label; IDNA has four kinds of dots. */
static struct ch_sv cut_label(struct ch_sv *rest, bool international) {
    static const char *const dots[] = {"\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1"};
    for (size_t i = 0; i < rest->n; i++) {
        size_t width = rest->p[i] == '.';
        for (size_t d = 0; international && d < CH_LEN(dots); d++)
            if (ch_sv_starts(ch_sv(rest->p + i, rest->n - i), dots[d]))
                width = 3;
        if (width == 0)
            continue;
        struct ch_sv label = ch_sv(rest->p, i);
        *rest = ch_sv(rest->p + i + width, rest->n - i - width);
        return label;
    }
    struct ch_sv label = *rest;
    *rest = ch_sv(NULL, 0);
    return label;
}

/* If one label is written from right to left, all labels must follow the rules
 * of RFC 5893. */
static bool check_direction(struct ch_sv name, struct ch_patterns *room) {
    if (schema_format_host_is_ascii(name) || !schema_format_host_matches(room, BIDI_ANY, name))
        return true;
    for (struct ch_sv rest = name; rest.p;) {
        struct ch_sv label = ch_sv_split(&rest, '.');
        if (!schema_format_host_matches(room, BIDI_RIGHT, label) &&
            !schema_format_host_matches(room, BIDI_LEFT, label))
            return false;
    }
    return true;
}

static bool schema_format_host_check_name(struct ch_sv s, bool international,
                                          struct ch_patterns *room) {
    CH_BUF_AUTO wide = {0};
    if (s.n > (international ? 4 * MOST_NAME : MOST_NAME))
        return false;
    size_t length = 0;
    for (struct ch_sv rest = s; rest.p;) {
        struct ch_sv label = cut_label(&rest, international);
        if (wide.n)
            ch_buf_addc(&wide, '.');
        if (!check_label(label, international, &wide, room))
            return false;
        length += 1 + (schema_format_host_is_ascii(label) ? label.n : wire_length(label));
    }
    return length - 1 <= MOST_NAME && check_direction(ch_buf_sv(&wide), room);
}

bool ch_format_hostname(struct ch_sv s, struct ch_patterns *room) {
    return schema_format_host_check_name(s, false, room);
}

bool ch_format_idn_hostname(struct ch_sv s, struct ch_patterns *room) {
    return schema_format_host_check_name(s, true, room);
}
