/* schema.h -- JSON Schema: the contract between a model and a tool.
 *
 * A schema is compiled once and run many times over values as the reader made
 * them (json.h). Draft 2020-12, complete; draft 2019-09 and draft 7 where
 * `$schema` says so. References are resolved among the documents that are
 * given; nothing is ever fetched. Numbers are compared as text, so 2^63 and
 * 0.1 mean what they say. Time, depth and memory of a run are bounded
 * (limits.h); a run that reaches a bound counts as invalid and says so.
 *
 * Of members with one name each must be valid: whoever reads the value may
 * take the first or the last.
 *
 * A compiled schema owns all it needs. It is used by one thread at a time,
 * because the room that patterns match in is part of it. */
#ifndef CH_SCHEMA_SCHEMA_H
#define CH_SCHEMA_SCHEMA_H
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "schema/schema_keyword.h"

struct ch_schema;

/* Put the text of the document `uri` (absolute, without fragment) into *text.
 * CHELA_ENOENT if there is none; any other failure ends the compilation. */
typedef int ch_schema_load_fn(void *user, struct ch_sv uri, struct ch_buf *text,
                              struct chela_error *err);

struct ch_schema_opts {
    struct ch_sv uri;        /* the schema's own address, unless its $id says; may be empty */
    enum ch_draft draft;     /* where no $schema says; 0: CH_DRAFT_2020 */
    bool assert_format;      /* `format` is checked, not only noted */
    ch_schema_load_fn *load; /* other documents; NULL: there are none */
    void *user;              /* for load */
};

/* Compile root, which is copied. opts may be NULL. CHELA_EINVAL with the place
 * and the reason when it is no schema, CHELA_ENOENT with the URI of a document
 * that is not known, CHELA_ELIMIT past a limit. */
int ch_schema_new(const struct ch_json *root, const struct ch_schema_opts *opts,
                  struct ch_schema **out, struct chela_error *err);
/* The same from text. Errors of the text itself are CHELA_EPARSE. */
int ch_schema_parse(struct ch_sv text, const struct ch_schema_opts *opts, struct ch_schema **out,
                    struct chela_error *err);
void ch_schema_free(struct ch_schema *s);
CH_DEFINE_AUTO(ch_schema)

/* The quick question. Allocates nothing unless the schema asks for uniqueItems
 * or unevaluated* of something large. */
bool ch_schema_valid(struct ch_schema *s, const struct ch_json *v);

/* What is wrong, in words for a model. */
struct ch_violation {
    const struct ch_json *at;        /* the value, in the tree that was checked */
    struct ch_sv path;               /* its JSON Pointer, "/edits/0/path" */
    struct ch_sv schema;             /* what demands it: "#/properties/edits/minItems" */
    enum ch_keyword keyword;         /* CH_KW_NONE: a bound of the run */
    struct ch_sv expected, received; /* "a string"; "number 5" */
    struct ch_sv message;            /* "path must be a string, got number 5" */
    unsigned char want;              /* types that would do, bits by enum ch_json_type; 0: no
                                        matter of type */
    bool want_integer;               /* of numbers only whole ones */
    bool unknown_key;                /* `at` is a member that is not allowed */
    bool missing_key;                /* `at` lacks a member */
};

struct ch_violations {
    struct ch_violation *list; /* in the arena, document order not promised */
    size_t n;                  /* at most CH_LIMIT_VIOLATIONS */
    size_t total;              /* how many there were */
};

/* Every violation; all texts are put into arena, values stay v's. Returns 0
 * when v is valid, CHELA_EINVAL when it is not, CHELA_ELIMIT when the run was
 * given up; list is filled in the last two cases. */
int ch_schema_check(struct ch_schema *s, const struct ch_json *v, struct ch_arena *arena,
                    struct ch_violations *out);

/* The messages as one text, a line each, the model's feedback. */
void ch_violations_text(const struct ch_violations *v, struct ch_buf *out);
/* One violation as a JSON object: path, schema, keyword, expected, received,
 * message. */
void ch_violation_json(const struct ch_violation *v, struct ch_buf *out);

/* --- coercion: what a weak model meant ----------------------------------- */

enum ch_coerce {
    CH_COERCE_DROP_UNKNOWN = 1, /* keys the schema does not allow are left out */
    CH_COERCE_DROP_NULL = 2,    /* null where an optional key must not be: left out, as
                                   strict modes make models send it */
};

struct ch_schema_change {
    struct ch_sv path, from, to; /* `to` empty: left out */
    struct ch_sv what;           /* "string to integer", "key dropped" */
};

struct ch_changes {
    struct ch_schema_change *list;
    size_t n; /* at most CH_LIMIT_COERCIONS */
};

/* Correct only what is invalid and only where the schema wants exactly one
 * other type: "5" for an integer, 5 for a string, "true", "null", JSON written
 * into a string, one value where a list of such values is wanted. What cannot
 * be corrected stays as it is. *out is v itself and *text {NULL,0} when nothing
 * changed, else a tree in the arena and its text, NUL-terminated. Returns what ch_schema_check says
 * of *out, whose violations are in *left. */
int ch_schema_coerce(struct ch_schema *s, const struct ch_json *v, unsigned flags,
                     struct ch_arena *arena, const struct ch_json **out, struct ch_sv *text,
                     struct ch_changes *changes, struct ch_violations *left);

#endif
