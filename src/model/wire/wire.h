/* wire.h -- a codec by itself, for `chela wire` and for tests: a recorded
 * response becomes the reply it folds to, a neutral request becomes the HTTP
 * request that would be sent. Both as JSON. */
#ifndef CH_MODEL_WIRE_H
#define CH_MODEL_WIRE_H
#include "model/codec/codec.h"

#endif
