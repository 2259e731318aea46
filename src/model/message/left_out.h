/* left_out.h -- the arguments of a call that were too large to be kept. */
#ifndef CH_MODEL_LEFT_OUT_H
#define CH_MODEL_LEFT_OUT_H
#include "model/message/message.h"

/* What stands instead of the arguments of a call with CH_F_CUT, before their size and "}". */
#define CH_LEFT_OUT "{\"_left_out\":"

#endif
