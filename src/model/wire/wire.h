/* wire.h -- runs a codec alone, for `chela wire` and for tests: decodes a recorded response
 * to a reply, or encodes a neutral request to an HTTP request. Both as JSON. */
#ifndef CH_MODEL_WIRE_H
#define CH_MODEL_WIRE_H
#include "model/codec/codec.h"

#endif
