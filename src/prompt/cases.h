/* cases.h -- test cases of a prompt: input values and expectations about the answer.
 *
 *     values: { rules: none }                  for every case
 *     cases:
 *       - name: a sum goes to the calculator
 *         kind: edge                           normal, edge or adversarial
 *         values: { request: "1024 * 768?" }
 *         expect:
 *           - json_valid                       the whole answer is JSON
 *           - schema                           and of the prompt's own schema
 *           - has_field: tool_name             dots lead inside: plan.0.step_id
 *           - no_field: apology
 *           - field_in: { field: tool_name, values: [calculator] }
 *           - matches: "calc|sum"              a pattern as in JSON Schema
 *           - max_tokens: 200
 *           - calls_tool: calculator           of the case's `tools`, or none
 *         good: '{"tool_name": "calculator"}'  an answer that must pass
 *         bad: ["786432"]                      answers that must not
 *
 * A file may also be the bare list of cases. `input_vars` is another name for values, and
 * `assertions` for expect; an expectation may be written {type: has_field, field: tool_name}, with
 * `field` and `values`, `limit`, `pattern`, `tool` or `schema` as its kind needs.
 *
 * Answers of models differ from run to run, so nothing is compared word by word. The
 * expectations themselves are checked with the example answers of a case. Reading and
 * judging are pure. */
#ifndef CH_PROMPT_CASES_H
#define CH_PROMPT_CASES_H
#include "schema/schema.h"
#include "schema/schema_pattern.h"
#include "prompt/prompt.h"

enum ch_expect_kind {
    CH_EXPECT_JSON_VALID,
    CH_EXPECT_SCHEMA,
    CH_EXPECT_HAS_FIELD,
    CH_EXPECT_NO_FIELD,
    CH_EXPECT_FIELD_IN,
    CH_EXPECT_MATCHES,
    CH_EXPECT_MAX_TOKENS,
    CH_EXPECT_CALLS_TOOL,
};

struct ch_expect {
    enum ch_expect_kind kind;
    const char *text;             /* the field, the pattern's source or the tool */
    const struct ch_json *values; /* FIELD_IN */
    int64_t tokens;               /* MAX_TOKENS */
    struct ch_schema *schema;     /* SCHEMA; owned */
    struct ch_pattern *pattern;   /* MATCHES */
};

struct ch_case {
    const char *name, *kind;
    const char *where;              /* "FILE:LINE:COLUMN" */
    struct ch_prompt_value *values; /* values shared by all cases are optional */
    size_t nvalues;
    const struct ch_json *tools; /* array of {name, description, parameters}; NULL: none */
    struct ch_expect *expects;
    size_t n;
    const char *good;       /* NULL: none */
    const char *const *bad; /* NULL-terminated; may be NULL */
};

struct ch_cases { /* zeroed: none */
    struct ch_arena arena;
    struct ch_case *list;
    size_t n;
    struct ch_patterns patterns;
};

/* where: the file's name, for messages. t: the prompt under test. Release c in every case.
 * err is "FILE:LINE:COLUMN: why". */
int ch_cases_read(struct ch_cases *c, struct ch_sv text, const char *where,
                  const struct ch_prompt *t, struct chela_error *err);
void ch_cases_release(struct ch_cases *c);

struct ch_case_outcome {
    struct ch_sv text;
    const struct ch_sv *calls; /* names of the tools that were called */
    size_t ncalls;
};

/* The 95% confidence interval of the share of passed runs, by Wilson's score: it stays
 * within 0 and 1, also for few runs and for all or none. */
struct ch_rate {
    double rate, low, high;
};
struct ch_rate ch_rate(size_t passed, size_t runs);

#endif
