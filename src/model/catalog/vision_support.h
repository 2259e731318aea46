/* vision_support.h -- text-only and vision models, by name. */
#ifndef CH_MODEL_VISION_SUPPORT_H
#define CH_MODEL_VISION_SUPPORT_H
#include "model/catalog/provider.h"

enum ch_sight ch_model_sight(struct ch_sv model);

#endif
