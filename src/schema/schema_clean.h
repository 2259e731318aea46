/* schema_clean.h -- a schema in the words one vendor understands.
 *
 * Vendors take parts of JSON Schema, each another part, and refuse the request
 * when they meet anything else. A cleaned schema accepts what the original
 * accepts, as far as it can be said; what cannot be said is left out, which is
 * harmless, because arguments are checked against the original. What the model
 * sends may need coercion on its way back: CH_COERCE_DROP_NULL after the strict
 * ones, numbers written as strings after CH_CLEAN_GEMINI. */
#ifndef CH_SCHEMA_SCHEMA_CLEAN_H
#define CH_SCHEMA_SCHEMA_CLEAN_H
#include "base/buf.h"
#include "json/json.h"

enum ch_clean {
    CH_CLEAN_GEMINI,        /* `parameters`, `responseSchema`: OpenAPI's subset */
    CH_CLEAN_GEMINI_JSON,   /* `parametersJsonSchema`, `responseJsonSchema` */
    CH_CLEAN_OPENAI_STRICT, /* "strict": true */
    CH_CLEAN_ANTHROPIC_STRICT, /* likewise, and the format of an answer */
};

/* "gemini", "gemini-json", "openai-strict", "anthropic-strict" */
bool ch_clean_find(struct ch_sv name, enum ch_clean *out);

/* Append the cleaned schema to out, and to notes (may be NULL) a line "/path:
 * what was changed" for every loss. CHELA_EINVAL when it is no schema or, for
 * strict mode, cannot be said without changing what it accepts (a map, a value
 * of any type): send it without strict then. CHELA_ELIMIT past
 * CH_LIMIT_SCHEMA_TEXT; what was appended is to be thrown away. */
int ch_schema_clean(const struct ch_json *schema, enum ch_clean target, struct ch_buf *out,
                    struct ch_buf *notes, struct chela_error *err);

#endif
