/* prompted.h -- tools for models that have none.
 *
 * A layer over any other protocol. On the way out the tools are described in
 * the system prompt, calls and results of the history are text, and the
 * protocol below is sent no tools at all. On the way back its text is read for
 * calls and thoughts (tags.h), in the events as in the reply. So history, agent
 * and tools notice nothing, and a conversation may go on with native calls. */
#ifndef CH_MODEL_PROMPTED_H
#define CH_MODEL_PROMPTED_H
#include "model/codec/codec.h"
#include "model/codec/tags.h"

/* The encoding half of such a codec; codec.c makes one of each protocol. */
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

/* The decoding half: stands between a fold and who wants its events. */
struct ch_tag_reader;

#endif
