/* openai_media.h -- images and sound of a Chat Completions reply. */
#ifndef CH_MODEL_OPENAI_MEDIA_H
#define CH_MODEL_OPENAI_MEDIA_H
#include "model/codec/fold.h"

#define CH_OPENAI_MEDIA_KEYS 4 /* first fold key of media: the sound, then images */

/* A zeroed struct has no media. */
struct ch_openai_media {
    unsigned images; /* number of images so far */
    bool sound;
};

/* [{"type":"image_url","image_url":{"url":"data:..."}},..]: OpenRouter. */
int ch_openai_fold_images(struct ch_openai_media *m, struct ch_fold *f, struct ch_sv array,
                          struct ch_buf *scratch);
/* {"data":"base64","transcript":".."}; `transcript` is set to the text, or left unchanged. */
int ch_openai_fold_sound(struct ch_openai_media *m, struct ch_fold *f, struct ch_sv object,
                         struct ch_buf *scratch, struct ch_sv *transcript);
/* The reply ended: derive the type of the sound from its first bytes. */
void ch_openai_media_end(const struct ch_openai_media *m, struct ch_fold *f);

#endif
