/* interactions.h -- the halves of the codec of Google's Interactions API. */
#ifndef CH_MODEL_INTERACTIONS_H
#define CH_MODEL_INTERACTIONS_H
#include "model/codec/codec.h"

/* Name of the codec, as written into messages. */
#define CH_INTERACTIONS "interactions"

#endif
