/* schema_clean.h -- reduce a schema to the subset that a vendor supports.
 *
 * Each vendor supports a different part of JSON Schema and rejects a request
 * with anything else. A cleaned schema accepts what the original accepts, as
 * far as the subset can express it. Constraints that the subset cannot express
 * are left out; this is harmless, because arguments are validated against the
 * original. The model's arguments may need coercion: CH_COERCE_DROP_NULL after
 * the strict targets, numbers written as strings after CH_CLEAN_GEMINI. */
#ifndef CH_SCHEMA_SCHEMA_CLEAN_H
#define CH_SCHEMA_SCHEMA_CLEAN_H
#include "base/buf.h"
#include "json/json.h"

enum ch_clean {
    CH_CLEAN_GEMINI,        /* `parameters`, `responseSchema`: a subset of OpenAPI */
    CH_CLEAN_GEMINI_JSON,   /* `parametersJsonSchema`, `responseJsonSchema` */
    CH_CLEAN_OPENAI_STRICT, /* "strict": true */
    CH_CLEAN_ANTHROPIC_STRICT, /* "strict": true, and the output format */
};

/* Find a target by name: "gemini", "gemini-json", "openai-strict",
 * "anthropic-strict". */
bool ch_clean_find(struct ch_sv name, enum ch_clean *out);

/* Append the cleaned schema to out, and to notes (may be NULL) a line "/path:
 * change" for every loss. CHELA_EINVAL: not a schema, or strict mode cannot
 * express it without changing what it accepts (a map, a value of any type);
 * send it without strict then. CHELA_ELIMIT: more than CH_LIMIT_SCHEMA_TEXT. On
 * failure the caller discards the appended text. */
int ch_schema_clean(const struct ch_json *schema, enum ch_clean target, struct ch_buf *out,
                    struct ch_buf *notes, struct chela_error *err);

#endif
