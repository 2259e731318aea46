/* reply_extras.h -- what a reply holds beside its text and its calls: images and sounds,
 * cited sources, and calls that the vendor's own tools made.
 *
 * An image or a sound becomes a file in the folder `media` of the workspace, and its block
 * in the history names the file. */
#ifndef CH_AGENT_REPLY_EXTRAS_H
#define CH_AGENT_REPLY_EXTRAS_H
#include "agent/handle/run.h"

/* True if a message of the model may hold such parts. Most replies hold none. */
static inline bool ch_reply_extras_in(const struct ch_msg *m) {
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO || b->type == CH_BLOCK_OPAQUE ||
            (b->type == CH_BLOCK_TEXT && b->extra.n))
            return true;
    }
    return false;
}
/* Saves the images and sounds of a reply (taken). Returns the message with the names of the
 * files. A file that cannot be saved gives a warning; its block stays unnamed. A block whose
 * data is not base64 gives a warning and is dropped. NULL: no block is left, or the run was
 * closed (run->dead). */
struct ch_msg *ch_reply_extras_save(chela_run *run, struct ch_msg *m);
/* True if the reply holds an image or a sound. */
bool ch_reply_extras_has_media(const struct ch_msg *m);
/* Emits the events of a reply: SERVER_TOOL and MEDIA. citations: the sources, as JSON, are
 * appended. False: the run was closed. */
bool ch_reply_extras_tell(chela_run *run, const struct ch_msg *m, struct ch_buf *citations);
/* The paths of the files that the messages of the transcript from `began` on name, into the
 * arena. began SIZE_MAX: all messages, but only files that this run made. */
size_t ch_reply_extras_files(const chela_run *run, size_t began, struct ch_arena *a,
                             struct chela_str **out);

#endif
