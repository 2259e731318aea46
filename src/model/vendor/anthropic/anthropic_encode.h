/* anthropic_encode.h -- encodes a neutral request as a Messages request. */
#ifndef CH_MODEL_ANTHROPIC_ENCODE_H
#define CH_MODEL_ANTHROPIC_ENCODE_H
#include "model/codec/codec.h"

/* Name of the opaque block that holds the member "container" of a reply; not sent as content. */
#define CH_ANTHROPIC_CONTAINER "container"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_anthropic_http(const struct ch_model_request *req, struct ch_arena *a,
                      struct ch_http_request *out, struct chela_error *err);

int ch_anthropic_head(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err);

int ch_anthropic_message(const struct ch_model_request *req, const struct ch_msg *m,
                         struct ch_buf *out, struct chela_error *err);

int ch_anthropic_tail(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err);

bool ch_anthropic_wants_only_results(const struct ch_msg *reply);
bool ch_anthropic_tail_follows(const struct ch_model_request *req);

size_t ch_anthropic_mark(const struct ch_model_request *req, struct ch_sv messages,
                         struct ch_buf *tail);

bool ch_anthropic_reads_compaction(const struct ch_model_request *req, const struct ch_msg *m);
bool ch_anthropic_searches_tools(const struct ch_model_request *req);
bool ch_anthropic_takes_schema(const struct ch_model_request *req);

#endif
