/* sound.h -- the type of a sound without a name. */
#ifndef CH_MODEL_SOUND_H
#define CH_MODEL_SOUND_H
#include "base/sv.h"

/* The media type by the first bytes of a sound in base64; NULL: unknown. Static. */
const char *ch_sound_type(struct ch_sv base64);

#endif
