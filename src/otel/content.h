/* content.h -- messages in the JSON form of the GenAI conventions.
 *
 * Keys are redacted. Long texts are cut, and data of images and documents is left out. Nothing
 * is appended if the result would still be too long: false. */
#ifndef CH_OTEL_CONTENT_H
#define CH_OTEL_CONTENT_H
#include "base/buf.h"
#include "model/message/message.h"

/* gen_ai.input.messages: an array of messages. */
bool ch_otel_write_messages(struct ch_buf *out, const struct ch_msg *const *msgs, size_t n);
/* gen_ai.output.messages: one message with the reason why it ended. */
bool ch_otel_write_reply(struct ch_buf *out, const struct ch_msg *reply, const char *finish);
/* gen_ai.system_instructions. */
bool ch_otel_write_instructions(struct ch_buf *out, struct ch_sv system);
/* The text of a call or a result, cut and redacted. */
void ch_otel_write_text(struct ch_buf *out, struct ch_sv text);

#endif
