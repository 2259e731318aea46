/* message_origin.h -- what a channel reported about a message: sender, chat, quoted
 * message.
 *
 * The origin stays with its message: in the queue, in the journal, and in the note at the
 * end of the requests that answer the message. */
#ifndef CH_AGENT_MESSAGE_ORIGIN_H
#define CH_AGENT_MESSAGE_ORIGIN_H
#include "chela/channel.h"

struct ch_message_origin { /* owned texts; NULL: none */
    char *blocks; /* the report as text for the model */
    char *id;     /* id of the message in its channel */
};

/* Sets *origin from the report `in` of a message in the session; in may be NULL. */
void ch_message_origin_set(struct ch_message_origin *origin, const char *session_key,
                           const struct chela_inbound *in);
struct ch_message_origin ch_message_origin_copy(
    const struct ch_message_origin *origin); /* NULL gives an empty copy */
void ch_message_origin_release(struct ch_message_origin *origin);
/* Moves *from to *to, unless *from is empty. */
void ch_message_origin_move(struct ch_message_origin *to, struct ch_message_origin *from);

#endif
