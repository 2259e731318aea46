/* json.h -- reading JSON into a value tree in an arena.
 *
 * A text is read once, without recursion, into a flat array of 16-byte nodes
 * in document order. Numbers keep their text, so 2^63 and 0.1 survive; strings
 * without escapes point into the text that was read, others are unescaped into
 * the arena. So the text must live as long as the values (copy it into the
 * same arena when in doubt). Values are read-only: JSON is produced by the
 * writer (writer.h), never by changing a tree.
 *
 * An object's members are pairs of nodes, key then value. Duplicate keys are
 * kept in order; lookups return the last, as JavaScript does. */
#ifndef CH_JSON_JSON_H
#define CH_JSON_JSON_H
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/sv.h"
#include "chela/error.h"

enum ch_json_type {
    CH_JSON_NULL,
    CH_JSON_FALSE,
    CH_JSON_TRUE,
    CH_JSON_NUMBER, /* s: its text, as in the source */
    CH_JSON_STRING, /* s: its contents, unescaped, may hold NUL bytes */
    CH_JSON_ARRAY,  /* n elements follow */
    CH_JSON_OBJECT, /* n members follow */
};

/* What the reader noticed on its way, so that nobody looks twice. */
enum ch_json_flags {
    CH_JSON_PLAIN = 1,   /* string: printable ASCII, nothing to escape; its
                            bytes are its characters */
    CH_JSON_INTEGER = 2, /* number: neither fraction nor exponent */
};

struct ch_json {
    uint8_t type;
    uint8_t flags; /* enum ch_json_flags */
    uint16_t reserved;
    uint32_t n; /* bytes of s, elements, or members */
    union {
        const char *s;  /* string or number */
        uint64_t nodes; /* container: nodes of its subtree, itself included */
    };
};

enum ch_json_mode {
    CH_JSON_STRICT,  /* RFC 8259, valid UTF-8, no lone surrogate, no BOM */
    CH_JSON_REPLACE, /* bad UTF-8 and lone surrogates in strings become U+FFFD,
                        raw control characters in strings are kept, a BOM is
                        skipped: one bad byte must not lose a stream event */
};

/* A place in a text. Line and column count from 1, columns in characters. */
struct ch_json_where {
    size_t offset;
    unsigned line, column;
};

/* Read one text, surrounded by white space at most. Depth is capped by
 * CH_LIMIT_JSON_DEPTH, size by CH_LIMIT_JSON_TEXT. On failure returns
 * CHELA_EPARSE or CHELA_ELIMIT, *out is untouched, err (may be NULL) names
 * line and column, and *where (may be NULL) is filled. */
int ch_json_parse(struct ch_arena *a, struct ch_sv text, enum ch_json_mode mode,
                  const struct ch_json **out, struct ch_json_where *where, struct chela_error *err);

/* The place of the byte at offset. */
struct ch_json_where ch_json_locate(struct ch_sv text, size_t offset);

/* The two repairs allowed on the arguments of a *closed* tool call: raw
 * control characters and bad escapes inside strings, and a trailing comma
 * before ] or }. If anything was wrong, appends the corrected text to out and
 * returns true; otherwise out is untouched, so a valid text never changes.
 * Truncated input is never completed, and what else is wrong stays wrong: the
 * result has yet to be parsed. */
bool ch_json_repair(struct ch_sv text, struct ch_buf *out);

/* The node after v and its subtree. */
static inline const struct ch_json *ch_json_next(const struct ch_json *v) {
    return v + (v->type >= CH_JSON_ARRAY ? v->nodes : 1);
}

/* for (CH_JSON_EACH(e, array)) ... ; for (CH_JSON_MEMBERS(k, v, object)) ...
 * Both accept NULL and values of another type, and then do nothing. */
#define CH_JSON_EACH(e, array)                                      \
    const struct ch_json *e = ch_json_first(array, CH_JSON_ARRAY),  \
                         *e##_end = e ? ch_json_next(e - 1) : NULL; \
    e != e##_end;                                                   \
    e = ch_json_next(e)
#define CH_JSON_MEMBERS(k, v, object)                                                      \
    const struct ch_json *k = ch_json_first(object, CH_JSON_OBJECT),                       \
                         *k##_end = k ? ch_json_next(k - 1) : NULL, *v = k ? k + 1 : NULL; \
    k != k##_end;                                                                          \
    k = ch_json_next(v), v = k + 1

static inline const struct ch_json *ch_json_first(const struct ch_json *v, enum ch_json_type type) {
    return v && v->type == type ? v + 1 : NULL;
}

static inline bool ch_json_is(const struct ch_json *v, enum ch_json_type type) {
    return v && v->type == type;
}

/* Typed getters. All take NULL; a missing or wrongly typed value gives the
 * default, and to the int getter a number that is no int64 is wrongly typed. A
 * double is the nearest one, infinite past the range. `get` is a member of an
 * object, `at` an element of an array, `path` a chain of member names ended by
 * NULL. */
const struct ch_json *ch_json_get(const struct ch_json *object, const char *key);
const struct ch_json *ch_json_get_sv(const struct ch_json *object, struct ch_sv key);
const struct ch_json *ch_json_at(const struct ch_json *array, size_t i);
const struct ch_json *ch_json_path(const struct ch_json *v, ...) __attribute__((sentinel));

static inline struct ch_sv ch_json_str(const struct ch_json *v) {
    return ch_json_is(v, CH_JSON_STRING) ? ch_sv(v->s, v->n) : ch_sv(NULL, 0);
}
static inline struct ch_sv ch_json_get_str(const struct ch_json *o, const char *k) {
    return ch_json_str(ch_json_get(o, k));
}
bool ch_json_bool(const struct ch_json *v, bool otherwise);
int64_t ch_json_int(const struct ch_json *v, int64_t otherwise);
double ch_json_double(const struct ch_json *v, double otherwise);

/* Exact: false when v is no number, has a fraction, or does not fit. "1.0" and
 * "1e2" are integers, as JSON Schema has it. */
bool ch_json_as_int(const struct ch_json *v, int64_t *out);

const char *ch_json_type_name(enum ch_json_type type); /* "object", "boolean" */

/* Exact order of two numbers: negative, 0 or positive. 1 and 10e-1 are equal,
 * 1e400 and 2^63 are not rounded. Both must be numbers. */
int ch_json_compare(const struct ch_json *a, const struct ch_json *b);

/* Deep equality as JSON Schema has it: numbers by value, members unordered
 * (of members with one name the last counts). */
bool ch_json_equal(const struct ch_json *a, const struct ch_json *b);

/* Append the JSON Pointer that leads from root to the node `at` in its tree; a
 * member's name has the pointer of its value. */
struct ch_buf;
void ch_json_pointer_to(const struct ch_json *root, const struct ch_json *at, struct ch_buf *out);

#endif
