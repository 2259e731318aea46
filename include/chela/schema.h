/* schema.h -- JSON Schema: validate values, report violations, correct values, and adapt
 * schemas to vendors.
 *
 * Draft 2020-12, and drafts 2019-09 and 7 if `$schema` names them. References are resolved
 * among documents that the program supplies; nothing is fetched.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_SCHEMA_H
#define CHELA_SCHEMA_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_schema chela_schema;

/* Returns the text of the document `uri` (absolute, without fragment) and sets *len to its
 * length; NULL: there is no such document. The text is borrowed until the next call or the
 * end of chela_schema_new. */
typedef const char *chela_schema_load_fn(const char *uri, size_t *len, void *user);

/* A schema. */
struct chela_schema_opts {
    size_t size;                /* set by CHELA_SCHEMA_OPTS */
    const char *uri;            /* address of the schema; $id overrides it; may be NULL */
    chela_schema_load_fn *load; /* loads documents that the schema refers to; NULL: none */
    void *user;                 /* for load */
    bool assert_format;         /* `format` is an assertion, not an annotation */
};
#define CHELA_SCHEMA_OPTS(...) \
    { .size = sizeof(struct chela_schema_opts), __VA_ARGS__ }

/* Compile a schema. opts may be NULL.
 * Ownership: the caller owns *out and frees it with chela_schema_free; json is copied.
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_EINVAL: the text is not a schema; the
 * message names the place. CHELA_ENOENT: the schema refers to an unknown document; the
 * message names the document. CHELA_ELIMIT: the schema is too large. */
CHELA_API int chela_schema_new(const char *json, size_t len, const struct chela_schema_opts *opts,
                               chela_schema **out, struct chela_error *err);

/* Free a schema. NULL is allowed.
 * Ownership: s becomes invalid. */
CHELA_API void chela_schema_free(chela_schema *s);

/* Validate a value. Returns 1 if the value is valid, 0 if it is not.
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_ELIMIT: the text is too large. */
CHELA_API int chela_schema_valid(chela_schema *s, const char *json, size_t len);

/* The violations of a value: a JSON array of {"path","schema","keyword","expected",
 * "received","message"}; "[]" if the value is valid.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_ELIMIT: the text is too large. */
CHELA_API char *chela_schema_report(chela_schema *s, const char *json, size_t len,
                                    struct chela_error *err);

/* Corrections that are optional. */
enum chela_coerce {
    CHELA_COERCE_DROP_UNKNOWN = 1, /* remove keys that the schema does not allow */
    CHELA_COERCE_DROP_NULL = 2     /* remove null values of optional keys */
};

/* Correct the typical errors of weak models, where the schema allows exactly one other type:
 * {"value": the corrected value, "valid": true|false, "changes": [{"path","what","from",
 * "to"}], "violations": [...]}. flags: enum chela_coerce.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_ELIMIT: the text is too large. */
CHELA_API char *chela_schema_coerce(chela_schema *s, const char *json, size_t len, unsigned flags,
                                    struct chela_error *err);

/* Adapt a schema to a vendor: "gemini" (OpenAPI `parameters`), "gemini-json"
 * (`parametersJsonSchema`), "openai-strict" or "anthropic-strict". *notes (may be NULL)
 * becomes a text with a line for each part that was lost.
 * Ownership: the caller frees the result and *notes with chela_free.
 * Threads: any
 * Errors: CHELA_EINVAL: the vendor is unknown, or cannot express the schema. CHELA_EPARSE:
 * the text is not JSON. CHELA_ELIMIT: the schema is too large. */
CHELA_API char *chela_schema_clean(const char *json, size_t len, const char *vendor, char **notes,
                                   struct chela_error *err);

/* Advice about a tool definition, a list of tool definitions, or a schema: a JSON array of
 * {"tool","level":"error|warning|note","rule","path","message","vendors"}. A definition is
 * {"name","description","parameters"}; "input_schema", "inputSchema" and "schema" stand for
 * "parameters", and the definition may be inside "function".
 * Ownership: the caller frees the result with chela_free.
 * Threads: any
 * Errors: CHELA_EPARSE: the text is not JSON. CHELA_EINVAL, CHELA_ENOENT: a schema cannot be
 * compiled. CHELA_ELIMIT: the text is too large. */
CHELA_API char *chela_schema_lint(const char *json, size_t len, struct chela_error *err);

CHELA_END_DECLS
#endif
