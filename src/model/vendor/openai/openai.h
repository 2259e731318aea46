/* openai.h -- the two halves of the Chat Completions codec, joined in
 * openai_decode.c. */
#ifndef CH_MODEL_OPENAI_H
#define CH_MODEL_OPENAI_H
#include "model/codec/codec.h"

/* The name given to reasoning that came as parts of the content (Mistral); any
 * other name is the member it came in. */
#define CH_OPENAI_THINKING "thinking"

#endif
