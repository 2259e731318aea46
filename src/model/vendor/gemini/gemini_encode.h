/* gemini_encode.h -- encodes a neutral request as a GenerateContentRequest. */
#ifndef CH_MODEL_GEMINI_ENCODE_H
#define CH_MODEL_GEMINI_ENCODE_H
#include "model/codec/encode.h"
#include "model/vendor/gemini/gemini.h"

/* Stands for the signature of a call that another model wrote. */
#define CH_GEMINI_NO_SIGNATURE "skip_thought_signature_validator"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_gemini_head(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

int ch_gemini_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err);

int ch_gemini_tail(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

bool ch_gemini_takes_schema(const struct ch_model_request *req);
enum ch_effort ch_gemini_sent_effort(const struct ch_model_request *req);

/* --- shared with the codec of Interactions */

/* From Gemini 3 on, calls have ids, a call of the current turn needs a signature, results may hold
 * media, and tools can be combined with structured output. Unknown models count as new, because
 * servers in front of them follow the newest protocol. */
bool ch_gemini_signs_calls(const struct ch_model_request *req);
/* The level of thinking for a protocol without budgets; NULL: none. */
const char *ch_gemini_level(const struct ch_model_request *req);
/* True if the text of thinking is asked for. */
bool ch_gemini_shows_thoughts(const struct ch_model_request *req);

/* Write the schema in the supported subset; arguments are validated against the original. */
void ch_gemini_write_schema(struct ch_jw *w, const char *key, struct ch_sv schema);
/* A function without parameters is sent without a schema, because some models reject an object
 * without properties. */
bool ch_gemini_has_parameters(struct ch_sv schema);
/* "ANY", "NONE", "VALIDATED"; NULL: the model decides. VALIDATED is AUTO with validation of calls
 * against their schema, which is the meaning of strict. */
const char *ch_gemini_calling_mode(const struct ch_model_request *req);
/* The media type derived from the file name, if not given. */
struct ch_sv ch_gemini_media_type(const struct ch_block *b);
/* Text for a media block of an unsupported type; false: the block can be sent. */
bool ch_gemini_as_text(const struct ch_block *b, struct ch_buf *text);

#endif
