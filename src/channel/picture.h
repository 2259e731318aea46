/* picture.h -- checks whether bytes are an image that a model can read. */
#ifndef CH_CHANNEL_PICTURE_H
#define CH_CHANNEL_PICTURE_H
#include "channel/files.h"

struct ch_picture ch_picture_look(struct ch_sv bytes); /* needs the whole image */
/* ".png", from the first bytes; NULL: none */
const char *ch_picture_ending(struct ch_sv bytes);

#endif
