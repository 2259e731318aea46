/* openai_parts.h -- what a user's message holds, as parts of a Chat Completions
 * message or as one text. What cannot be sent is a text that says so. */
#ifndef CH_MODEL_OPENAI_PARTS_H
#define CH_MODEL_OPENAI_PARTS_H
#include "model/codec/codec.h"
#include "json/writer.h"

bool ch_openai_is_media(const struct ch_block *b);
/* Blocks that a user's message is made of: text that says something, media. */
bool ch_openai_is_content(const struct ch_block *b);

/* All that a message says, as one text. */
void ch_openai_join(const struct ch_model_request *req, const struct ch_msg *m,
                    struct ch_buf *text);
/* The same as parts, into an open array. */
void ch_openai_parts(const struct ch_model_request *req, const struct ch_msg *m, struct ch_jw *w);
void ch_openai_text_part(struct ch_jw *w, struct ch_sv text);

#endif
