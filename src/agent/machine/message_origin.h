/* message_origin.h -- what a channel told about a message, as a model is told it.
 *
 * It goes where the message goes: waits with it, is written down with it, and
 * stands at the end of the requests that answer it. */
#ifndef CH_AGENT_MESSAGE_ORIGIN_H
#define CH_AGENT_MESSAGE_ORIGIN_H
#include "chela/channel.h"

struct ch_message_origin { /* owned texts; NULL: nothing */
    char *blocks; /* for the model */
    char *id;     /* of the message */
};

/* Replaces *origin by what `in` says of a message of the session; in may be NULL. */
void ch_message_origin_set(struct ch_message_origin *origin, const char *session_key,
                           const struct chela_inbound *in);
struct ch_message_origin ch_message_origin_copy(
    const struct ch_message_origin *origin); /* NULL: of nothing */
void ch_message_origin_release(struct ch_message_origin *origin);
/* Into *to, in the place of what is there, if there is anything in *from. */
void ch_message_origin_move(struct ch_message_origin *to, struct ch_message_origin *from);

#endif
