/* anthropic.h -- the two halves of the Messages codec, joined in
 * anthropic_decode.c. */
#ifndef CH_MODEL_ANTHROPIC_H
#define CH_MODEL_ANTHROPIC_H
#include "model/codec/codec.h"

#endif
