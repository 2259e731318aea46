/* vision_support.h -- models that read text only, and those known to see, by name. */
#ifndef CH_MODEL_VISION_SUPPORT_H
#define CH_MODEL_VISION_SUPPORT_H
#include "model/catalog/provider.h"

enum ch_sight ch_model_sight(struct ch_sv model);

#endif
