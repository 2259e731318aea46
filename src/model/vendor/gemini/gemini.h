/* gemini.h -- the halves of the Gemini codec. */
#ifndef CH_MODEL_GEMINI_H
#define CH_MODEL_GEMINI_H
#include "model/codec/codec.h"

/* Name of the OPAQUE block that keeps the sources of a grounded reply; never sent. */
#define CH_GEMINI_GROUNDING "groundingMetadata"

#endif
