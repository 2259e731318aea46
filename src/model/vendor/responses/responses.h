/* responses.h -- the parts of the Responses codec, joined in
 * responses_decode.c. */
#ifndef CH_MODEL_RESPONSES_H
#define CH_MODEL_RESPONSES_H
#include "model/codec/codec.h"

#define CH_RESPONSES "openai-responses"

#endif
