/* openai_parts.h -- encodes the content of a user message, as parts of a Chat Completions
 * message or as one text. Unsupported content becomes a text note. */
#ifndef CH_MODEL_OPENAI_PARTS_H
#define CH_MODEL_OPENAI_PARTS_H
#include "model/codec/codec.h"
#include "json/writer.h"

/* True for blocks that are part of a user message: non-blank text and media. */
bool ch_openai_is_content(const struct ch_block *b);

/* Append the whole content of a message as one text. */
void ch_openai_join(const struct ch_model_request *req, const struct ch_msg *m,
                    struct ch_buf *text);
/* The same as parts, into an open array. */
void ch_openai_parts(const struct ch_model_request *req, const struct ch_msg *m, struct ch_jw *w);
void ch_openai_text_part(struct ch_jw *w, struct ch_sv text);

#endif
