/* json.h -- read JSON into a value tree in an arena.
 *
 * A text is read once, without recursion, into a flat array of 16-byte nodes in
 * document order. Numbers keep their text, so 2^63 and 0.1 are exact. Strings
 * without escapes point into the source text; other strings are unescaped into
 * the arena. The source text must therefore live as long as the values (copy it
 * into the same arena when in doubt). Values are read-only: JSON is produced
 * with writer.h, never by changing a tree.
 *
 * An object's members are pairs of nodes, key then value. Duplicate keys are
 * kept in order; lookups return the last one, as in JavaScript. */
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
    CH_JSON_NUMBER, /* s: the number's text as in the source */
    CH_JSON_STRING, /* s: the unescaped contents, may hold NUL bytes */
    CH_JSON_ARRAY,  /* n elements follow */
    CH_JSON_OBJECT, /* n members follow */
};

/* Properties that the reader records while parsing, so that callers need no
 * second scan. */
enum ch_json_flags {
    CH_JSON_PLAIN = 1,   /* string: printable ASCII without escapes, one byte a character */
    CH_JSON_INTEGER = 2, /* number: neither fraction nor exponent */
};

struct ch_json {
    uint8_t type;
    uint8_t flags; /* enum ch_json_flags */
    uint16_t reserved;
    uint32_t n; /* bytes of s, elements, or members */
    union {
        const char *s;  /* string or number */
        uint64_t nodes; /* container: nodes of the subtree, including this node */
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
    size_t offset; /* in bytes; 0 for a node of YAML */
    unsigned line, column;
};

/* Parse one JSON text; white space may surround it. CH_LIMIT_JSON_DEPTH bounds
 * the depth and CH_LIMIT_JSON_TEXT the size. On failure returns CHELA_EPARSE or
 * CHELA_ELIMIT, *out is unchanged, err (may be NULL) names line and column, and
 * *where (may be NULL) is filled. */
int ch_json_parse(struct ch_arena *a, struct ch_sv text, enum ch_json_mode mode,
                  const struct ch_json **out, struct ch_json_where *where, struct chela_error *err);

/* The line and column of the byte at offset. */
struct ch_json_where ch_json_locate(struct ch_sv text, size_t offset);

/* Repair the arguments of a *complete* tool call. Two mistakes are repaired:
 * raw control characters and bad escapes inside strings, and a trailing comma
 * before ] or }. If there was such a mistake, appends the corrected text to out
 * and returns true; otherwise out is unchanged, so a valid text never changes.
 * Truncated input is never completed, and other errors remain: the caller must
 * still parse the result. */
bool ch_json_repair(struct ch_sv text, struct ch_buf *out);

/* The node after v's subtree. */
static inline const struct ch_json *ch_json_next(const struct ch_json *v) {
    return v + (v->type >= CH_JSON_ARRAY ? v->nodes : 1);
}

/* for (CH_JSON_EACH(e, array)) ... ; for (CH_JSON_MEMBERS(k, v, object)) ...
 * Both loops are empty for NULL and for values of another type. */
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

/* Typed getters. All accept NULL. A missing value, or a value of another type,
 * gives the default; for the int getter a number outside int64 is of another
 * type. A double is the nearest representable value, infinite beyond the range.
 * `get` looks up a member of an object, `at` an element of an array, `path` a
 * chain of member names that ends with NULL. */
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

/* Convert exactly: false if v is not a number, has a fraction, or does not fit.
 * "1.0" and "1e2" count as integers, as in JSON Schema. */
bool ch_json_as_int(const struct ch_json *v, int64_t *out);

const char *ch_json_type_name(enum ch_json_type type); /* "object", "boolean" */

/* Compare two numbers exactly: negative, 0 or positive. 1 and 10e-1 are equal;
 * 1e400 and 2^63 are not rounded. Both values must be numbers. */
int ch_json_compare(const struct ch_json *a, const struct ch_json *b);

/* Deep equality as in JSON Schema: numbers by value, members in any order. Of
 * members with the same name the last one is used. */
bool ch_json_equal(const struct ch_json *a, const struct ch_json *b);

/* Append the JSON Pointer from root to the node `at` of its tree. The node of a
 * member's name has the pointer of the member's value. */
struct ch_buf;
void ch_json_pointer_to(const struct ch_json *root, const struct ch_json *at, struct ch_buf *out);

#endif
