/* bedrock_message.h -- encodes neutral messages as blocks of Converse messages. */
#ifndef CH_MODEL_BEDROCK_MESSAGE_H
#define CH_MODEL_BEDROCK_MESSAGE_H
#include "model/vendor/bedrock/bedrock.h"

int ch_bedrock_message(const struct ch_model_request *req, const struct ch_msg *m,
                       struct ch_buf *out, struct chela_error *err);

#endif
