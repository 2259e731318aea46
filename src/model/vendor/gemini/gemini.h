/* gemini.h -- the halves of the Gemini codec. */
#ifndef CH_MODEL_GEMINI_H
#define CH_MODEL_GEMINI_H
#include "model/codec/codec.h"

#endif
