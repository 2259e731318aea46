/* output.h -- a final answer of a given form.
 *
 * The host names a JSON Schema; the answer is then JSON that fits it. How the
 * model is told depends on what it can be told: by the protocol itself, by a
 * tool whose arguments are the answer, or in words. However it came, it is
 * checked here, so that no vendor's promise has to be believed. */
#ifndef CH_AGENT_OUTPUT_H
#define CH_AGENT_OUTPUT_H
#include "model/codec/codec.h"

#define CH_OUTPUT_TOOL "final_answer"

enum ch_output_way { CH_OUTPUT_AUTO, CH_OUTPUT_NATIVE, CH_OUTPUT_BY_TOOL, CH_OUTPUT_PROMPT };

struct ch_output;

/* schema: JSON text. CHELA_EINVAL says what is wrong with schema or by. */
int ch_output_new(const char *schema, enum chela_output_by by, struct ch_output **out,
                  struct chela_error *err);
void ch_output_free(struct ch_output *o);

/* Can the tool be offered at all? Its arguments are an object. */
bool ch_output_has_tool(const struct ch_output *o);
bool ch_output_must_be_native(const struct ch_output *o);
const char *ch_output_schema(const struct ch_output *o);

/* The way for this request. CHELA_EINVAL: it was fixed, and is closed here. */
int ch_output_way(const struct ch_output *o, const struct ch_model_request *req,
                  enum ch_output_way *way, struct chela_error *err);

/* Put it into the request, except for the tool, which the registry has. */
void ch_output_ask(const struct ch_output *o, enum ch_output_way way, struct ch_model_request *req,
                   struct ch_arena *arena);

/* Is the answer of the form? Its JSON is appended to `json`, or what is wrong
 * with it to `why`. Fences and words around the JSON are overlooked, and null
 * where a member was meant to be absent. */
bool ch_output_check(const struct ch_output *o, struct ch_sv answer, struct ch_buf *json,
                     struct ch_buf *why);

/* What a model is told whose answer was not. */
void ch_output_complain(enum ch_output_way way, struct ch_sv why, struct ch_buf *out);

#endif
