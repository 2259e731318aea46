/* sanitize.c -- cleans text from outside for a model and a terminal.
 *
 * Recognizes the control functions of ECMA-48 (CSI, strings such as OSC, two-byte escapes,
 * their one-character C1 equivalents) and removes them. An unterminated string must not
 * swallow the text after it, so beyond STRING_MAX bytes only its introducer is removed.
 *
 * Notes of the runtime can stand at the end of a result, between <runtime_note> tags. Such a
 * tag in a text from outside is broken up, so that no tool can imitate a note. */
#include "tool/result/sanitize.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "tool/result/result.h"

#define ESC 0x1b
#define STRING_MAX 4096

/* Length of a CSI sequence after its introducer. */
static size_t csi_length(struct ch_sv s) {
    size_t i = 0;

    while (i < s.n && s.p[i] >= 0x20 && s.p[i] <= 0x3f)
        i++;
    return i < s.n && s.p[i] >= 0x40 && s.p[i] <= 0x7e ? i + 1 : i;
}

/* A part of the text in which no control string ends. Remembered, so that a text of introducers
 * alone is not searched again for each of them. */
struct endless {
    const char *from, *to;
};

/* Length of a control string after its introducer, up to BEL or ST. */
static size_t sanitize_string_length(struct ch_sv s, struct endless *none) {
    bool known = none->from && s.p >= none->from && s.p < none->to;

    for (size_t i = known ? (size_t)(none->to - s.p) : 0; i < s.n && i < STRING_MAX; i++) {
        if (s.p[i] == '\a')
            return i + 1;
        if (s.p[i] == ESC && i + 1 < s.n && s.p[i + 1] == '\\')
            return i + 2;
        if ((unsigned char)s.p[i] == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] == 0x9c)
            return i + 2;
    }
    const char *end = s.p + CH_MIN(s.n, STRING_MAX);
    *none = (struct endless){known ? none->from : s.p, known ? CH_MAX(none->to, end) : end};
    return 0;
}

static bool opens_string(char c) {
    return c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_';
}

/* Length of an escape sequence after ESC. */
static size_t escape_length(struct ch_sv s, struct endless *none) {
    size_t i = 0;

    if (s.n == 0)
        return 0;
    if (s.p[0] == '[')
        return 1 + csi_length(ch_sv(s.p + 1, s.n - 1));
    if (opens_string(s.p[0]))
        return 1 + sanitize_string_length(ch_sv(s.p + 1, s.n - 1), none);
    while (i < s.n && s.p[i] >= 0x20 && s.p[i] <= 0x2f)
        i++;
    return i < s.n && s.p[i] >= 0x30 && s.p[i] <= 0x7e ? i + 1 : i;
}

/* Length of the control function at the start of s; 0 if there is none. */
static size_t control_length(struct ch_sv s, struct endless *none) {
    unsigned char c = (unsigned char)s.p[0];

    if (c == ESC)
        return 1 + escape_length(ch_sv(s.p + 1, s.n - 1), none);
    if (c < 0x20)
        return c != '\t' && c != '\n' && c != '\r';
    if (c == 0x7f)
        return 1;
    if (c != 0xc2 || s.n < 2 || (unsigned char)s.p[1] > 0x9f || (unsigned char)s.p[1] < 0x80)
        return 0;
    struct ch_sv rest = ch_sv(s.p + 2, s.n - 2);
    char twin = (char)((unsigned char)s.p[1] - 0x40); /* the equivalent after ESC */
    return 2 + (twin == '['          ? csi_length(rest)
                : opens_string(twin) ? sanitize_string_length(rest, none)
                                     : 0);
}

static bool needs_care(unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f || c == 0xc2 || c == '<';
}

/* True if the '<' at the start of s begins a tag of a note, with blanks, a slash and any
 * letter case, once the control functions are removed. */
static bool is_note_tag(struct ch_sv s, struct endless *none) {
    static const struct ch_sv name = CH_SV("runtime_note");
    size_t same = 0;

    for (size_t i = 1, skip; i < s.n && same < name.n; i += skip) {
        struct ch_sv rest = ch_sv(s.p + i, s.n - i);
        skip = control_length(rest, none);
        if (skip)
            continue;
        skip = 1;
        if (same == 0 && strchr("/ \t\n\r", *rest.p))
            continue;
        if (!ch_sv_eq_nocase(ch_sv(rest.p, 1), ch_sv(name.p + same, 1)))
            return false;
        same++;
    }
    return same == name.n;
}

void ch_text_clean(struct ch_buf *out, struct ch_sv text) {
    struct endless none = {NULL, NULL};
    size_t from = 0, at = 0;

    while (at < text.n) {
        if (!needs_care((unsigned char)text.p[at])) {
            at++;
            continue;
        }
        struct ch_sv rest = ch_sv(text.p + at, text.n - at);
        bool tag = *rest.p == '<' && is_note_tag(rest, &none);
        size_t skip = tag ? 1 : *rest.p == '<' ? 0 : control_length(rest, &none);
        if (skip == 0) {
            at++;
            continue;
        }
        ch_utf8_add_valid(out, ch_sv(text.p + from, at - from));
        if (tag)
            CH_BUF_LIT(out, "&lt;");
        at += skip;
        from = at;
    }
    ch_utf8_add_valid(out, ch_sv(text.p + from, at - from));
}
