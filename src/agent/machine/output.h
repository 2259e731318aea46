/* output.h -- final answers that match a JSON Schema.
 *
 * The host passes a schema; the answer is then JSON that matches it. The schema reaches the
 * model through the protocol, through a tool whose arguments are the answer, or as text in
 * the prompt, depending on the model. The answer is always validated here, whatever the
 * vendor promises. */
#ifndef CH_AGENT_OUTPUT_H
#define CH_AGENT_OUTPUT_H
#include "model/codec/codec.h"

#define CH_OUTPUT_TOOL "final_answer"

enum ch_output_way { CH_OUTPUT_AUTO, CH_OUTPUT_NATIVE, CH_OUTPUT_BY_TOOL, CH_OUTPUT_PROMPT };

struct ch_output;

/* schema: JSON text. CHELA_EINVAL: schema or by is invalid. */
int ch_output_new(const char *schema, enum chela_output_by by, struct ch_output **out,
                  struct chela_error *err);
void ch_output_free(struct ch_output *o);

/* The answer is never asked for by a tool: the prompt asks for JSON alone. */
void ch_output_in_words(struct ch_output *o);
/* An answer that does not match is offered to this function, which appends it to json in the form
 * of the schema. False: it cannot. */
typedef bool ch_output_form_fn(void *user, struct ch_sv answer, struct ch_buf *json);
void ch_output_form_by(struct ch_output *o, ch_output_form_fn *fn, void *user);
/* True: the schema requires an object, so that a tool can take the answer as arguments. */
bool ch_output_has_tool(const struct ch_output *o);
bool ch_output_must_be_native(const struct ch_output *o);
const char *ch_output_schema(const struct ch_output *o);

/* Chooses the way for this request. CHELA_EINVAL: the configured way is not available for
 * this model. */
int ch_output_way(const struct ch_output *o, const struct ch_model_request *req,
                  enum ch_output_way *way, struct chela_error *err);

/* Adds the schema to the request. The output tool is not added here: it is in the registry. */
void ch_output_ask(const struct ch_output *o, enum ch_output_way way, struct ch_model_request *req,
                   struct ch_arena *arena);

/* Validates the answer. True: its JSON is appended to `json`. False: the problem is
 * appended to `why`. Text and fences around the JSON are ignored, and so is null for an
 * optional member. */
bool ch_output_check(const struct ch_output *o, struct ch_sv answer, struct ch_buf *json,
                     struct ch_buf *why);

/* True: the answer matches as it is. */
bool ch_output_fits(const struct ch_output *o, struct ch_sv answer);

/* Writes the message to the model after an answer that did not match. */
void ch_output_complain(enum ch_output_way way, struct ch_sv why, struct ch_buf *out);

#endif
