/* message_origin.c -- see message_origin.h. */
#include "agent/machine/message_origin.h"

#include "base/mem.h"

struct ch_about ch_about_copy(const struct ch_about *about) {
    if (!about)
        return (struct ch_about){0};
    return (struct ch_about){about->blocks ? ch_strdup(about->blocks) : NULL,
                             about->id ? ch_strdup(about->id) : NULL};
}

void ch_about_release(struct ch_about *about) {
    ch_free(about->blocks);
    ch_free(about->id);
    *about = (struct ch_about){0};
}

void ch_about_move(struct ch_about *to, struct ch_about *from) {
    if (!from->blocks && !from->id)
        return;
    ch_about_release(to);
    *to = *from;
    *from = (struct ch_about){0};
}
