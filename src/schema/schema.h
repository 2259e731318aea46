/* schema.h -- compile JSON Schemas and validate values.
 *
 * A schema is compiled once and run many times over values of json.h. Draft
 * 2020-12 is complete; draft 2019-09 and draft 7 apply where `$schema` says so.
 * References are resolved only among the given documents; nothing is ever
 * fetched. Numbers are compared by their text, so 2^63 and 0.1 are exact. Time,
 * depth and memory of a run are bounded (limits.h); a run that reaches a bound
 * counts as invalid and reports the bound.
 *
 * Of members with the same name each must be valid, since a reader of the value
 * may take the first or the last.
 *
 * A compiled schema owns all its memory. One thread at a time may use it,
 * because its patterns share matching memory. */
#ifndef CH_SCHEMA_SCHEMA_H
#define CH_SCHEMA_SCHEMA_H
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "schema/schema_keyword.h"

struct ch_schema;

/* Return the text of the document `uri` (absolute, without fragment) in *text.
 * CHELA_ENOENT if there is no such document; any other failure ends the
 * compilation. */
typedef int ch_schema_load_fn(void *user, struct ch_sv uri, struct ch_buf *text,
                              struct chela_error *err);

struct ch_schema_opts {
    struct ch_sv uri;        /* the schema's address, unless it has an $id; may be empty */
    enum ch_schema_draft draft; /* used without $schema; 0: CH_DRAFT_2020 */
    bool assert_format;      /* validate `format` instead of ignoring it */
    ch_schema_load_fn *load; /* loads other documents; NULL: there are none */
    void *user;              /* for load */
};

/* Compile root, which is copied. opts may be NULL. CHELA_EINVAL: not a valid
 * schema; the message names the place and the reason. CHELA_ENOENT: unknown
 * document; the message names its URI. CHELA_ELIMIT: a limit is exceeded. */
int ch_schema_new(const struct ch_json *root, const struct ch_schema_opts *opts,
                  struct ch_schema **out, struct chela_error *err);
/* As ch_schema_new, from text. CHELA_EPARSE: the text is not valid JSON. */
int ch_schema_parse(struct ch_sv text, const struct ch_schema_opts *opts, struct ch_schema **out,
                    struct chela_error *err);
void ch_schema_free(struct ch_schema *s);
CH_DEFINE_AUTO(ch_schema)

/* Whether v is valid, without details. Allocates memory only for uniqueItems or
 * unevaluated* on large values. */
bool ch_schema_valid(struct ch_schema *s, const struct ch_json *v);

/* A violation, worded for a model. */
struct ch_violation {
    const struct ch_json *at;        /* the value, in the tree that was validated */
    struct ch_sv path;               /* the value's JSON Pointer, "/edits/0/path" */
    struct ch_sv schema;             /* the violated keyword: "#/properties/edits/minItems" */
    enum ch_keyword keyword;         /* CH_KW_NONE: a bound of the run */
    struct ch_sv expected, received; /* "a string"; "number 5" */
    struct ch_sv message;            /* "path must be a string, got number 5" */
    unsigned char want;              /* accepted types, bits by enum ch_json_type; 0: the type
                                        is not the problem */
    bool want_integer;               /* accepted numbers must be integers */
    bool unknown_key;                /* `at` is a member that is not allowed */
};

struct ch_violations {
    struct ch_violation *list; /* in the arena, in no particular order */
    size_t n;                  /* at most CH_LIMIT_VIOLATIONS */
    size_t total;              /* number of violations found */
};

/* Collect all violations. All texts are put into the arena; values point into
 * v. Returns 0 if v is valid, CHELA_EINVAL if not, CHELA_ELIMIT if the run
 * reached a bound; list is filled in the last two cases. */
int ch_schema_check(struct ch_schema *s, const struct ch_json *v, struct ch_arena *arena,
                    struct ch_violations *out);

/* Append the messages, one per line: the feedback for the model. */
void ch_violations_text(const struct ch_violations *v, struct ch_buf *out);
/* Append one violation as a JSON object: path, schema, keyword, expected,
 * received, message. */
void ch_violation_json(const struct ch_violation *v, struct ch_buf *out);

/* --- coercion: correct typical mistakes of weak models --------------------- */

enum ch_coerce {
    CH_COERCE_DROP_UNKNOWN = 1, /* drop keys that the schema does not allow */
    CH_COERCE_DROP_NULL = 2,    /* drop null values of optional keys that do not accept null;
                                   strict modes make models send them */
};

struct ch_schema_change {
    struct ch_sv path, from, to; /* `to` empty: the value was dropped */
    struct ch_sv what;           /* "string to integer", "key dropped" */
};

struct ch_changes {
    struct ch_schema_change *list;
    size_t n; /* at most CH_LIMIT_COERCIONS */
};

/* Correct only invalid values, and only where the schema accepts exactly one
 * other type: "5" for an integer, 5 for a string, "true", "null", JSON inside a
 * string, a single value where an array of such values is expected. Other
 * invalid values stay unchanged. If nothing changed, *out is v and *text is
 * {NULL,0}; otherwise *out is a tree in the arena and *text its NUL-terminated
 * text. Returns the result of ch_schema_check for *out, whose violations are in
 * *left. */
int ch_schema_coerce(struct ch_schema *s, const struct ch_json *v, unsigned flags,
                     struct ch_arena *arena, const struct ch_json **out, struct ch_sv *text,
                     struct ch_changes *changes, struct ch_violations *left);

#endif
