/* picture.h -- is this a picture that a model can be shown? */
#ifndef CH_CHANNEL_PICTURE_H
#define CH_CHANNEL_PICTURE_H
#include "channel/files.h"

struct ch_picture ch_picture_look(struct ch_sv bytes); /* all of them */
const char *ch_picture_ending(struct ch_sv bytes);     /* ".png", by the first; NULL: none */

#endif
