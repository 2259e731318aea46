/* files.h -- files that people send, the same for all channels.
 *
 * A file is put into the agent's workspace, below inbound/, under a name of ours,
 * until that folder is full; a picture is shown to the model besides, if its
 * bytes are one and the arrival was not overheard. The arrival's text says what
 * became of it. */
#ifndef CH_CHANNEL_FILES_H
#define CH_CHANNEL_FILES_H
#include "agent/machine/media.h"
#include "channel/channel.h"

struct ch_picture {
    const char *type;    /* "image/png"; NULL: it is no picture */
    const char *why_not; /* it cannot be shown to a model; NULL: it can */
};

struct ch_file {
    const char *stem;  /* the name of ours without its ending: "om_1-1" */
    struct ch_sv name; /* as its sender calls it: only its ending counts; may be empty */
    struct ch_sv bytes;
};
struct ch_filing;

/* Take in a file that came with `in`, for a channel's `prepare`: in and its texts
 * live in a. workspace NULL: it is kept nowhere, and shown all the same. f is
 * copied. done is called once, later. */
struct ch_filing *ch_file_take(chela_runtime *rt, struct ch_arrival *in, struct ch_arena *a,
                               const char *workspace, const struct ch_file *f,
                               void (*done)(void *tag), void *tag);
void ch_filing_drop(struct ch_filing *f); /* done is not called any more */

/* Leave out the pictures that a session which holds so much is not shown besides;
 * the text, in a, says so. A service refuses a request with too many, and with it
 * all that follow in the session: what it was shown once stays. */
void ch_pictures_fit(struct ch_arrival *in, struct ch_shown held, struct ch_arena *a);

#endif
