/* schema_lint.h -- is a tool's definition one that models get right and every
 * vendor takes?
 *
 * Looks at a name, a description and a schema that compiles; says nothing of
 * what the tool does. Findings are advice, except those of level "error":
 * some vendor refuses every request that carries such a tool. */
#ifndef CH_SCHEMA_SCHEMA_LINT_H
#define CH_SCHEMA_SCHEMA_LINT_H
#include "base/arena.h"
#include "json/json.h"

struct ch_lint {
    const char *level; /* "error", "warning", "note" */
    const char *rule;  /* "description", "parameters", "depth", "keyword", ... */
    struct ch_sv path; /* JSON Pointer into the schema; {NULL,0}: the tool itself */
    struct ch_sv message;
    const char *vendors; /* "gemini, openai-strict"; NULL: all alike */
};

struct ch_lints {
    struct ch_lint *list; /* in the arena */
    size_t n;             /* at most CH_LIMIT_VIOLATIONS */
};

/* name and description may be {NULL,0}: then only the schema is looked at. A
 * schema that is NULL belongs to a tool without arguments. */
void ch_schema_lint(struct ch_sv name, struct ch_sv description, const struct ch_json *schema,
                    struct ch_arena *arena, struct ch_lints *out);

#endif
