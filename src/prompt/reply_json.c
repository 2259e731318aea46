/* reply_json.c -- see reply_json.h. */
#include "prompt/reply_json.h"

#define CANDIDATES 8 /* candidates that are parsed */

/* The marks that begin a comment up to the end of the line. None of them can occur in JSON outside
 * of a string. */
static const char *const line_marks[] = {"//", "#", "\xe2\x86\x90" /* an arrow to the left */};

/* The end of the comment at p; p: there is none. */
static const char *comment_end(const char *p, const char *end) {
    struct ch_sv rest = ch_sv(p, (size_t)(end - p));
    if (ch_sv_starts(rest, "/*")) {
        const char *close = memmem(p + 2, rest.n - 2, "*/", 2);
        return close ? close + 2 : end;
    }
    for (size_t i = 0; i < CH_LEN(line_marks); i++) {
        if (!ch_sv_starts(rest, line_marks[i]))
            continue;
        const char *line = memchr(p, '\n', rest.n);
        return line ? line : end;
    }
    return p;
}

/* The position behind the string whose opening quote is at p. */
static const char *string_end(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p + 1 : end;
}

/* The end of the value whose opening bracket is at p: the position behind its closing bracket;
 * NULL: the value is cut off. *comments: it holds comments. */
static const char *value_end(const char *p, const char *end, bool *comments) {
    size_t depth = 0;
    *comments = false;
    while (p < end) {
        const char *next = comment_end(p, end);
        *comments |= next != p;
        if (next == p && *p == '"')
            next = string_end(p, end);
        if (next != p) {
            p = next;
            continue;
        }
        depth += *p == '{' || *p == '[';
        if ((*p == '}' || *p == ']') && --depth == 0)
            return p + 1;
        p++;
    }
    return NULL;
}

static struct ch_sv without_comments(struct ch_sv text, struct ch_arena *a) {
    CH_BUF_AUTO out = {0};
    const char *p = text.p, *end = text.p + text.n;
    while (p < end) {
        const char *next = comment_end(p, end);
        if (next == p) {
            next = *p == '"' ? string_end(p, end) : p + 1;
            ch_buf_add(&out, p, (size_t)(next - p));
        }
        p = next;
    }
    return ch_arena_sv(a, ch_buf_sv(&out));
}

static const struct ch_json *parse_value(struct ch_reply_json *r, struct ch_sv text, bool comments,
                                         struct ch_arena *a) {
    const struct ch_json *v = NULL;
    CH_BUF_AUTO repaired = {0};
    r->corrected = comments;
    if (comments)
        text = without_comments(text, a);
    if (ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        return v;
    r->corrected = true;
    if (!ch_json_repair(text, &repaired))
        return NULL;
    struct ch_sv copy = ch_arena_sv(a, ch_buf_sv(&repaired));
    return ch_json_parse(a, copy, CH_JSON_REPLACE, &v, NULL, NULL) == 0 ? v : NULL;
}

const struct ch_json *ch_reply_json_next(struct ch_reply_json *r, struct ch_arena *a) {
    const char *p = r->text.p, *end = p + r->text.n;
    for (; p < end && r->tried < CANDIDATES; p++) {
        bool comments, part = r->inside && *p == '[';
        if (*p != '{' && *p != '[')
            continue;
        const char *stop = value_end(p, end, &comments);
        const struct ch_json *v =
            stop ? parse_value(r, ch_sv(p, (size_t)(stop - p)), comments, a) : NULL;
        r->tried++;
        r->inside |= !stop;
        if (!v) {
            r->problem = stop ? "its JSON cannot be read" : "its JSON is cut off";
            continue;
        }
        p = stop - 1;
        if (part)
            continue;
        r->text = ch_sv(stop, (size_t)(end - stop));
        return v;
    }
    r->text = ch_sv(end, 0);
    return NULL;
}
