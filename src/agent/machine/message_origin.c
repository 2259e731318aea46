/* message_origin.c -- see message_origin.h. */
#include "agent/machine/message_origin.h"

#include "base/mem.h"

struct ch_message_origin ch_message_origin_copy(const struct ch_message_origin *origin) {
    if (!origin)
        return (struct ch_message_origin){0};
    return (struct ch_message_origin){ch_strdup(origin->blocks), ch_strdup(origin->id)};
}

void ch_message_origin_release(struct ch_message_origin *origin) {
    ch_free(origin->blocks);
    ch_free(origin->id);
    *origin = (struct ch_message_origin){0};
}

void ch_message_origin_move(struct ch_message_origin *to, struct ch_message_origin *from) {
    if (!from->blocks && !from->id)
        return;
    ch_message_origin_release(to);
    *to = *from;
    *from = (struct ch_message_origin){0};
}
