/* repair.c -- repair small mistakes of models in complete arguments.
 *
 * Inside strings, raw control characters become escapes. An invalid escape becomes what the
 * model most likely meant:
 *
 *   \' \` and "\ "   the character: the backslash was needless
 *   \x41             the character, as in C, Python and JavaScript
 *   \ud800           U+FFFD, when its other half is missing
 *   any other        a literal backslash and the character: \d and \. belong to
 *                    regular expressions, \033 to a shell
 *
 * Outside strings, a comma between a value and ] or } is dropped. The repair
 * never adds a character that could end a string or a container, so truncated
 * input stays invalid. */
#include "json/scan.h"

struct repair {
    const char *at, *end;
    const char *copied; /* the source before this is already in out */
    struct ch_buf *out;
    bool changed;
};

/* Append `text` in place of the source up to `next`. */
static void repair_replace(struct repair *r, struct ch_sv text, const char *next) {
    ch_buf_add(r->out, r->copied, (size_t)(r->at - r->copied));
    ch_buf_add_sv(r->out, text);
    r->at = r->copied = next;
    r->changed = true;
}

static void replace_by_code(struct repair *r, unsigned code, const char *next) {
    static const char hex[] = "0123456789abcdef";
    char escape[] = {'\\', 'u', '0', '0', hex[code >> 4 & 15], hex[code & 15]};
    if (code >= 0x20 && code < 0x7f && code != '"' && code != '\\')
        repair_replace(r, ch_sv((char[]){(char)code}, 1), next);
    else
        repair_replace(r, ch_sv(escape, sizeof(escape)), next);
}

static void repair_control(struct repair *r) {
    switch (*r->at) {
    case '\n':
        repair_replace(r, CH_SV("\\n"), r->at + 1);
        break;
    case '\r':
        repair_replace(r, CH_SV("\\r"), r->at + 1);
        break;
    case '\t':
        repair_replace(r, CH_SV("\\t"), r->at + 1);
        break;
    default:
        replace_by_code(r, (unsigned char)*r->at, r->at + 1);
        break;
    }
}

/* The value of the two hexadecimal digits of \xHH, or -1. */
static int hex2(const struct repair *r) {
    char digits[4] = {'0', '0', 0, 0};
    if (r->end - r->at < 4)
        return -1;
    memcpy(digits + 2, r->at + 2, 2);
    return ch_scan_hex4(digits, digits + 4);
}

static void repair_escape(struct repair *r) {
    struct ch_scan_fail why;
    const char *next = ch_scan_escape(r->at, r->end, CH_JSON_STRICT, &why);
    if (next) {
        r->at = next;
        return;
    }
    if (r->end - r->at < 2) {
        r->at = r->end; /* truncated: keep as written */
        return;
    }
    char c = r->at[1];
    if (c == '\'' || c == '`' || c == ' ')
        repair_replace(r, ch_sv(r->at + 1, 1), r->at + 2);
    else if (c == 'x' && hex2(r) >= 0)
        replace_by_code(r, (unsigned)hex2(r), r->at + 4);
    else if (c == 'u' && ch_scan_hex4(r->at + 2, r->end) >= 0)
        repair_replace(r, CH_SV("\\ufffd"), r->at + 6);
    else
        repair_replace(r, CH_SV("\\\\"), r->at + 1);
}

/* Repair a string, from after the opening quote to after the closing quote or
 * the end. */
static void repair_string(struct repair *r) {
    while ((r->at = ch_scan_plain_run(r->at, r->end)) < r->end) {
        if (*r->at == '"') {
            r->at++;
            return;
        }
        if (*r->at == '\\')
            repair_escape(r);
        else if ((unsigned char)*r->at < 0x20)
            repair_control(r);
        else
            r->at++;
    }
}

/* Whether the comma at r->at is a trailing comma. before: the last byte that
 * was not white space, which must have ended a value. */
static bool is_trailing_comma(const struct repair *r, char before) {
    const char *next = ch_scan_space(r->at + 1, r->end);
    return next < r->end && (*next == ']' || *next == '}') && before && !strchr("[{,:", before);
}

bool ch_json_repair(struct ch_sv text, struct ch_buf *out) {
    if (text.n == 0)
        return false;
    struct repair r = {.at = text.p, .end = text.p + text.n, .copied = text.p, .out = out};
    char before = '\0';
    while ((r.at = ch_scan_space(r.at, r.end)) < r.end) {
        if (*r.at == ',' && is_trailing_comma(&r, before)) {
            repair_replace(&r, CH_SV(""), r.at + 1);
            continue;
        }
        before = *r.at++;
        if (before == '"')
            repair_string(&r);
    }
    if (r.changed)
        ch_buf_add(out, r.copied, (size_t)(r.end - r.copied));
    return r.changed;
}
