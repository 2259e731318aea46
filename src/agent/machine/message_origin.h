/* message_origin.h -- what a channel reported about a message: sender, chat, quoted
 * message.
 *
 * The report is written once, as the context of the message that it describes
 * (model/message/message.h). The id stays with the run that answers the message. */
#ifndef CH_AGENT_MESSAGE_ORIGIN_H
#define CH_AGENT_MESSAGE_ORIGIN_H
#include "base/buf.h"
#include "chela/channel.h"

struct ch_message_origin { /* zeroed: none */
    char *id; /* owned: id of the message in its channel; NULL: none */
};

/* Sets *origin from the report `in`, which may be NULL. */
void ch_message_origin_set(struct ch_message_origin *origin, const struct chela_inbound *in);
/* Adds the report as text for the model; nothing if `in` is NULL or empty. */
void ch_message_origin_tell(const struct chela_inbound *in, const char *session_key,
                            struct ch_buf *out);
struct ch_message_origin ch_message_origin_copy(
    const struct ch_message_origin *origin); /* NULL gives an empty copy */
void ch_message_origin_release(struct ch_message_origin *origin);
/* Moves *from to *to, unless *from is empty. */
void ch_message_origin_move(struct ch_message_origin *to, struct ch_message_origin *from);

#endif
