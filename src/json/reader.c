/* reader.c -- parse text into nodes in one pass.
 *
 * Nodes grow from the front of the arena's free space and unescaped strings
 * from its back. A small text therefore needs no allocation, and the space
 * between the two remains the arena's. When the two meet, the nodes move to a
 * larger block; nodes refer to each other only by distance.
 *
 * There is no stack: while a container is open, its `nodes` field holds the
 * index of the enclosing container. The field gets its final value when the
 * container closes.
 *
 * Nodes are addressed as r->nodes[i], never through a kept pointer, since
 * decoding a string may move them. */
#include "base/error.h"
#include "base/limits.h"
#include "json/scan.h"

#define NO_PARENT UINT64_MAX

_Static_assert(sizeof(struct ch_json) == 16, "nodes are two words");
_Static_assert(CH_LIMIT_JSON_TEXT <= UINT32_MAX / 4, "lengths fit in 32 bits");

/* Room for decoded strings is taken in pieces of this size, or of the text's if that is less. */
enum { STRINGS = 1024 };

struct reader {
    struct ch_arena *arena;
    struct ch_sv text;
    const char *end; /* of text */
    enum ch_json_mode mode;
    struct ch_json *nodes;       /* in the arena's free space while parsing */
    size_t cap;                  /* nodes that fit before the decoded strings */
    char *strings, *strings_end; /* room for more decoded strings */
    struct ch_scan_fail fail;
    bool too_deep;
};

static void use_room(struct reader *r, size_t bytes) {
    r->nodes = (struct ch_json *)(void *)ch_arena_reserve(r->arena, bytes);
    r->cap = (size_t)(r->arena->end - (char *)r->nodes) / sizeof(struct ch_json);
}

/* Most texts have at most one node per eight bytes. */
static void first_room(struct reader *r) {
    use_room(r, (r->text.n / 8 + 8) * sizeof(struct ch_json));
}

/* Make room for another node and for `bytes` of string. Two bytes of text make
 * at most one node, apart from open containers, so the doubling is bounded. */
__attribute__((noinline)) static void more_room(struct reader *r, size_t used, size_t bytes) {
    struct ch_json *from = r->nodes;
    size_t most = r->text.n / 2 + CH_LIMIT_JSON_DEPTH + 2;
    size_t want = CH_MAX(CH_MIN(used * 2, most), used + 8);
    use_room(r, want * sizeof(struct ch_json) + bytes);
    memcpy(r->nodes, from, used * sizeof(struct ch_json));
}

/* Take a piece of at least `bytes` from the back of the free space. */
__attribute__((noinline)) static void more_strings(struct reader *r, size_t used, size_t bytes) {
    struct ch_arena *a = r->arena;
    bytes = CH_MAX(bytes, CH_MIN(r->text.n, STRINGS));
    if ((size_t)(a->end - (char *)(r->nodes + used)) < bytes)
        more_room(r, used, bytes);
    r->strings_end = a->end;
    r->strings = a->end -= bytes;
    r->cap = (size_t)(a->end - (char *)r->nodes) / sizeof(struct ch_json);
}

/* Room for a decoded string; add_decoded keeps the bytes that the string needs. */
static char *string_room(struct reader *r, size_t used, size_t bytes) {
    if ((size_t)(r->strings_end - r->strings) < bytes)
        more_strings(r, used, bytes);
    return r->strings;
}

static const char *reader_refuse(struct reader *r, const char *at, const char *why) {
    r->fail = (struct ch_scan_fail){at, why};
    return NULL;
}

/* Fill node i with the text that was decoded from r->strings to `to`. */
static void add_decoded(struct reader *r, size_t i, char *to) {
    r->nodes[i] =
        (struct ch_json){.type = CH_JSON_STRING, .n = (uint32_t)(to - r->strings), .s = r->strings};
    r->strings = to;
}

/* Read a string that is longer than its head, which is decoded in r->strings. */
__attribute__((noinline)) static const char *reader_long_string(struct reader *r, const char *start,
                                                                struct ch_scan_head done,
                                                                size_t i) {
    struct ch_scan_string s;
    const char *quote = done.at ? ch_scan_quote(done.at, r->end) : NULL;
    if (quote) {
        const char *head = r->strings;
        size_t n = (size_t)(done.out - head);
        char *out = string_room(r, i + 1, n + (size_t)(quote - done.at) + CH_SCAN_BEYOND);
        memmove(out, head, n);
        char *to = ch_scan_unescape_rest(done.at, quote, r->end, out + n);
        if (to) {
            add_decoded(r, i, to);
            return quote + 1;
        }
    }
    if (!ch_scan_string_rest(start, r->end, r->mode, &s, &r->fail))
        return NULL;
    size_t n = (size_t)(s.quote - start);
    r->nodes[i] = (struct ch_json){.type = CH_JSON_STRING, .n = (uint32_t)n, .s = start};
    if (s.decode) {
        char *out = string_room(r, i + 1, n + s.extra);
        add_decoded(r, i, out + ch_scan_decode(&s, start, out));
    }
    return s.quote + 1;
}

/* Read a string that is not plain from `at` on, and fill node i. */
__attribute__((noinline)) static const char *reader_rich_string(struct reader *r, const char *start,
                                                                const char *at, size_t i) {
    at = ch_scan_text_rest(at, r->end);
    if (at < r->end && *at == '"') {
        r->nodes[i] =
            (struct ch_json){.type = CH_JSON_STRING, .n = (uint32_t)(at - start), .s = start};
        return at + 1;
    }
    struct ch_scan_head done = {0};
    if (at < r->end) {
        char *out = string_room(r, i + 1, ch_scan_head_room(start, at, r->end));
        done = ch_scan_unescape_head(start, at, r->end, out);
    }
    if (!done.at || *done.at != '"')
        return reader_long_string(r, start, done, i);
    add_decoded(r, i, done.out);
    return done.at + 1;
}

/* Read the string whose opening quote was passed. */
static inline const char *reader_read_string(struct reader *r, const char *start, size_t i) {
    const char *at = ch_scan_plain(start, r->end);
    if (at == r->end || *at != '"')
        return reader_rich_string(r, start, at, i);
    r->nodes[i] = (struct ch_json){
        .type = CH_JSON_STRING, .flags = CH_JSON_PLAIN, .n = (uint32_t)(at - start), .s = start};
    return at + 1;
}

static inline const char *reader_read_number(struct reader *r, const char *at, size_t i) {
    bool integer;
    const char *next = ch_scan_number(at, r->end, &integer, &r->fail);
    if (!next)
        return NULL;
    r->nodes[i] = (struct ch_json){.type = CH_JSON_NUMBER,
                                   .flags = integer ? CH_JSON_INTEGER : 0,
                                   .n = (uint32_t)(next - at),
                                   .s = at};
    return next;
}

static inline const char *reader_read_literal(struct reader *r, const char *at, size_t i) {
    enum ch_json_type type;
    const char *next = ch_scan_literal(at, r->end, &type, &r->fail);
    if (next)
        r->nodes[i] = (struct ch_json){.type = (uint8_t)type};
    return next;
}

/* Read a member's name and colon; returns the start of its value. */
static inline const char *reader_read_key(struct reader *r, const char *at, size_t i) {
    at = ch_scan_gap(at, r->end);
    if (at == r->end || *at != '"')
        return reader_refuse(r, at, "expected a member name in quotes");
    if (i == r->cap)
        more_room(r, i, 0);
    at = reader_read_string(r, at + 1, i);
    if (!at)
        return NULL;
    at = ch_scan_space(at, r->end);
    if (at == r->end || *at != ':')
        return reader_refuse(r, at, "expected ':' after a member name");
    return at + 1;
}

static char closer(uint8_t type) {
    return type == CH_JSON_OBJECT ? '}' : ']';
}

static const char *bad_separator(struct reader *r, const char *at, uint8_t type) {
    return reader_refuse(r, at,
                         type == CH_JSON_OBJECT ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* Reads a value and all it contains; returns where it ends, NULL on failure.
 * *count is the number of nodes.
 *
 *   member --name:--> value --[ {--> value, member or close
 *     ^                 ^    \--scalar--> counted --end of the outermost-->
 *     \-------,---------+------,------------/   ^ \--] }--> close
 *                                              \--------------/          */
static const char *read_nodes(struct reader *r, const char *at, size_t *count) {
    const char *end = r->end;
    uint64_t open = NO_PARENT; /* the innermost open container */
    uint8_t within = CH_JSON_NULL;
    unsigned depth = 0;
    size_t i = 0; /* the next node */
    goto value;

member:
    at = reader_read_key(r, at, i++);
    if (!at)
        return NULL;
value:
    at = ch_scan_gap(at, end);
    if (i == r->cap)
        more_room(r, i, 0);
    switch (at < end ? *at : '\0') {
    case '"':
        at = reader_read_string(r, at + 1, i);
        break;
    case '{':
    case '[':
        if (++depth > CH_LIMIT_JSON_DEPTH) {
            r->too_deep = true;
            return reader_refuse(r, at, "nested too deeply");
        }
        within = *at == '{' ? CH_JSON_OBJECT : CH_JSON_ARRAY;
        r->nodes[i] = (struct ch_json){.type = within, .nodes = open};
        open = i++;
        at = ch_scan_space(at + 1, end);
        if (at < end && *at == closer(within))
            goto close;
        if (within == CH_JSON_OBJECT)
            goto member;
        goto value;
    case '-':
    case '0' ... '9':
        at = reader_read_number(r, at, i);
        break;
    default:
        at = reader_read_literal(r, at, i);
        break;
    }
    if (!at)
        return NULL;
    i++;
counted:
    if (open == NO_PARENT) {
        *count = i;
        return at;
    }
    r->nodes[open].n++;
    at = ch_scan_space(at, end);
    if (at < end && *at == ',') {
        at++;
        if (within == CH_JSON_OBJECT)
            goto member;
        goto value;
    }
    if (at == end || *at != closer(within))
        return bad_separator(r, at, within);
close:
    at++;
    struct ch_json *done = &r->nodes[open];
    uint64_t parent = done->nodes;
    done->nodes = i - open;
    open = parent;
    within = open == NO_PARENT ? CH_JSON_NULL : r->nodes[open].type;
    depth--;
    goto counted;
}

struct ch_json_where ch_json_locate(struct ch_sv text, size_t offset) {
    struct ch_json_where w = {.offset = offset, .line = 1, .column = 1};
    for (size_t i = 0; i < offset; i++) {
        if (text.p[i] == '\n') {
            w.line++;
            w.column = 1;
        } else if (((unsigned char)text.p[i] & 0xc0) != 0x80) {
            w.column++;
        }
    }
    return w;
}

static int reader_report(const struct reader *r, struct ch_json_where *where,
                         struct chela_error *err) {
    const struct ch_scan_fail *f = &r->fail;
    if (!where && !err)
        return r->too_deep ? CHELA_ELIMIT : CHELA_EPARSE;
    struct ch_json_where w = ch_json_locate(r->text, (size_t)(f->at - r->text.p));
    if (where)
        *where = w;
    if (r->too_deep)
        return ch_fail(err, CHELA_ELIMIT, "line %u, column %u: nested more than %d deep", w.line,
                       w.column, CH_LIMIT_JSON_DEPTH);
    return ch_fail(err, CHELA_EPARSE, "line %u, column %u: %s", w.line, w.column,
                   f->at == r->end ? "unexpected end of text" : f->why);
}

static bool starts_with_bom(struct ch_sv text) {
    return text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0;
}

/* Parse r->text and set the arena's bounds around the result. */
static bool reader_read_text(struct reader *r, const struct ch_json **out) {
    size_t count;
    const char *at = r->text.p;
    if (starts_with_bom(r->text)) {
        if (r->mode == CH_JSON_STRICT) {
            reader_refuse(r, at, "byte order mark");
            return false;
        }
        at += 3;
    }
    first_room(r);
    at = read_nodes(r, at, &count);
    if (!at)
        return false;
    at = ch_scan_space(at, r->end);
    if (at != r->end) {
        reader_refuse(r, at, "unexpected text after the value");
        return false;
    }
    r->arena->at = (char *)(r->nodes + count);
    *out = r->nodes;
    return true;
}

int ch_json_parse(struct ch_arena *a, struct ch_sv text, enum ch_json_mode mode,
                  const struct ch_json **out, struct ch_json_where *where,
                  struct chela_error *err) {
    if (text.n > CH_LIMIT_JSON_TEXT) {
        if (where)
            *where = (struct ch_json_where){.line = 1, .column = 1};
        return ch_fail(err, CHELA_ELIMIT, "JSON text of %zu bytes, more than %zu", text.n,
                       CH_LIMIT_JSON_TEXT);
    }
    if (!text.p)
        text = CH_SV("");
    struct ch_arena before = *a;
    struct reader r = {.arena = a, .text = text, .end = text.p + text.n, .mode = mode};
    if (reader_read_text(&r, out))
        return 0;
    if (a->head == before.head)
        *a = before; /* discard decoded strings */
    return reader_report(&r, where, err);
}
