/* vision_support.h -- text-only and vision models, by name. */
#ifndef CH_MODEL_VISION_SUPPORT_H
#define CH_MODEL_VISION_SUPPORT_H
#include "model/catalog/model_facts.h"
#include "model/catalog/provider.h"

enum ch_sight ch_model_sight(struct ch_sv model);

/* The facts with the flags for what the model reads, if they do not have them. */
void ch_model_add_sight(struct ch_model_facts *f, struct ch_sv model);

#endif
