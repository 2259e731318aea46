/* prompted.h -- tool calls for models without native tools.
 *
 * A layer over any other codec. Encoding: the system prompt describes the tools, calls and
 * results of the history become text, and the inner codec gets no tools. Decoding: the text
 * is parsed for calls and reasoning (tags.h), in the events and in the reply. The history,
 * the agent and the tools see ordinary calls, and a conversation can continue with native
 * calls. */
#ifndef CH_MODEL_PROMPTED_H
#define CH_MODEL_PROMPTED_H
#include "model/codec/codec.h"
#include "model/codec/tags.h"

/* The encoding half of a layered codec; codec.c makes one for each protocol. */
int ch_prompted_http(const struct ch_model_request *req, struct ch_arena *a,
                     struct ch_http_request *out, struct chela_error *err);
int ch_prompted_head(const struct ch_model_request *req, struct ch_buf *out,
                     struct chela_error *err);
int ch_prompted_message(const struct ch_model_request *req, const struct ch_msg *m,
                        struct ch_buf *out, struct chela_error *err);
int ch_prompted_tail(const struct ch_model_request *req, struct ch_buf *out,
                     struct chela_error *err);
struct ch_sv ch_prompted_note(const struct ch_model_request *req, struct ch_arena *a);
bool ch_prompted_takes_schema(const struct ch_model_request *req);
enum ch_effort ch_prompted_sent_effort(const struct ch_model_request *req);

/* The decoding half: a reader between a fold and the consumer of its events. */
struct ch_tag_reader;

#endif
