/* files.h -- incoming files, shared by all channels.
 *
 * A file is saved in the agent's workspace below inbound/ under a generated name, until
 * that folder is full. An image is also shown to the model, if its bytes are valid and the
 * arrival was not overheard. The arrival's text reports the result. */
#ifndef CH_CHANNEL_FILES_H
#define CH_CHANNEL_FILES_H
#include "agent/machine/media.h"
#include "channel/channel.h"

struct ch_picture {
    const char *type;    /* "image/png"; NULL: not an image */
    const char *why_not; /* reason why a model cannot read it; NULL: it can */
};

struct ch_file {
    const char *stem;  /* generated name without extension: "om_1-1" */
    struct ch_sv name; /* the sender's file name, used for its extension only; may be empty */
    struct ch_sv bytes;
};
struct ch_filing;

/* Save a file of `in`, for a channel's `prepare`: in and its texts live in a. workspace
 * NULL: the file is not saved, but images are shown. f is copied. done is called once,
 * later. */
struct ch_filing *ch_file_take(chela_runtime *rt, struct chela_channel_arrival *in,
                               struct ch_arena *a, const char *workspace, const struct ch_file *f,
                               void (*done)(void *tag), void *tag);
void ch_filing_drop(struct ch_filing *f); /* done is not called after this */

/* Drop images that exceed the limits of a session which already holds `held`; the text, in
 * a, reports it. A service rejects a request with too many images and all later requests of
 * the session, because images stay in the history. */
void ch_pictures_fit(struct chela_channel_arrival *in, struct ch_media_total held,
                     struct ch_arena *a);

#endif
