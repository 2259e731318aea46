/* openai.h -- the two halves of the Chat Completions codec, joined in
 * openai_decode.c. */
#ifndef CH_MODEL_OPENAI_H
#define CH_MODEL_OPENAI_H
#include "model/codec/codec.h"

/* The name of reasoning that arrived as content parts (Mistral); any other name is the
 * member that contained it. */
#define CH_OPENAI_THINKING "thinking"

#endif
