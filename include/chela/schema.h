/* schema.h -- JSON Schema: check values, say what is wrong with them, correct
 * slips, and fit schemas to what a vendor takes.
 *
 * Draft 2020-12, and drafts 2019-09 and 7 where `$schema` says so. References
 * are resolved among documents you hand over; nothing is ever fetched. A
 * schema is compiled once and used by one thread at a time. */
#ifndef CHELA_SCHEMA_H
#define CHELA_SCHEMA_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_schema chela_schema;

/* The text of the document `uri` (absolute, without fragment), *len bytes,
 * borrowed until the next call or the end of chela_schema_new; NULL: there is
 * none. */
typedef const char *chela_schema_load_fn(const char *uri, size_t *len, void *user);

struct chela_schema_opts {
    size_t size;                /* set by CHELA_SCHEMA_OPTS */
    const char *uri;            /* the schema's own address, unless its $id says */
    chela_schema_load_fn *load; /* other documents it refers to; NULL: none */
    void *user;                 /* for load */
    bool assert_format;         /* check `format` instead of only noting it */
};
#define CHELA_SCHEMA_OPTS(...) \
    { .size = sizeof(struct chela_schema_opts), __VA_ARGS__ }

/* Compile a schema's text. opts may be NULL. CHELA_EPARSE when it is no JSON,
 * CHELA_EINVAL when it is no schema (err names the place), CHELA_ENOENT when
 * it refers to a document that is not known (err names it). */
CHELA_API int chela_schema_new(const char *json, size_t len, const struct chela_schema_opts *opts,
                               chela_schema **out, struct chela_error *err);
CHELA_API void chela_schema_free(chela_schema *s);

/* 1: valid, 0: invalid, CHELA_EPARSE: no JSON. */
CHELA_API int chela_schema_valid(chela_schema *s, const char *json, size_t len);

/* Every violation, a JSON array of {"path","schema","keyword","expected",
 * "received","message"}; "[]" when valid. Yours to chela_free. NULL when the
 * text is no JSON. */
CHELA_API char *chela_schema_report(chela_schema *s, const char *json, size_t len,
                                    struct chela_error *err);

enum chela_coerce {
    CHELA_COERCE_DROP_UNKNOWN = 1, /* leave out keys the schema does not allow */
    CHELA_COERCE_DROP_NULL = 2     /* leave out null where a key is optional */
};

/* Correct what a weak model gets wrong, where the schema wants exactly one
 * other type: {"value": the value, "valid": true|false, "changes": [{"path",
 * "what","from","to"}], "violations": [as above]}. Yours to chela_free. NULL
 * when the text is no JSON. */
CHELA_API char *chela_schema_coerce(chela_schema *s, const char *json, size_t len, unsigned flags,
                                    struct chela_error *err);

/* A schema in the words of a vendor: "gemini" (OpenAPI `parameters`),
 * "gemini-json" (`parametersJsonSchema`), "openai-strict",
 * "anthropic-strict". *notes (may be
 * NULL) gets a line for each loss. Both yours to chela_free. NULL and
 * CHELA_EINVAL when the vendor cannot say it at all, or is not known. */
CHELA_API char *chela_schema_clean(const char *json, size_t len, const char *vendor, char **notes,
                                   struct chela_error *err);

/* Advice on a tool's definition ({"name","description","parameters"}, also
 * with "input_schema", "inputSchema" or "schema", and wrapped in "function"),
 * on a list of them, or on a schema alone: a JSON array of {"tool","level":
 * "error|warning|note","rule","path","message","vendors"}. Yours to
 * chela_free. NULL when the text is no JSON or a schema does not compile. */
CHELA_API char *chela_schema_lint(const char *json, size_t len, struct chela_error *err);

CHELA_END_DECLS
#endif
