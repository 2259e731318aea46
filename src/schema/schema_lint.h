/* schema_lint.h -- check whether a tool's definition suits models and vendors.
 *
 * Looks at the name, the description and a schema that compiles, not at what
 * the tool does. Findings are advice, except those of level "error": some
 * vendor rejects every request with such a tool. */
#ifndef CH_SCHEMA_SCHEMA_LINT_H
#define CH_SCHEMA_SCHEMA_LINT_H
#include "base/arena.h"
#include "json/json.h"

struct ch_lint {
    const char *level; /* "error", "warning", "note" */
    const char *rule;  /* "description", "parameters", "depth", "keyword", ... */
    struct ch_sv path; /* JSON Pointer into the schema; {NULL,0}: the tool itself */
    struct ch_sv message;
    const char *vendors; /* "gemini, openai-strict"; NULL: all vendors */
};

struct ch_lints {
    struct ch_lint *list; /* in the arena */
    size_t n;             /* at most CH_LIMIT_VIOLATIONS */
};

/* If name and description are {NULL,0}, only the schema is checked. schema
 * NULL: the tool has no arguments. */
void ch_schema_lint(struct ch_sv name, struct ch_sv description, const struct ch_json *schema,
                    struct ch_arena *arena, struct ch_lints *out);

#endif
