/* bedrock.h -- the halves of the Converse codec, joined in
 * bedrock_decode.c. */
#ifndef CH_MODEL_BEDROCK_H
#define CH_MODEL_BEDROCK_H
#include "model/codec/codec.h"

#define CH_BEDROCK_NAME 64 /* characters of a tool's name, at most */

#endif
