/* media.h -- pictures and documents beside the words of a prompt. */
#ifndef CH_AGENT_MEDIA_H
#define CH_AGENT_MEDIA_H
#include "chela/session.h"
#include "model/message/message.h"

/* One message of the text and then the media, each checked: what it is, by its
 * first bytes, and how large. */
int ch_media_message(enum ch_msg_kind kind, struct ch_sv text, const struct chela_media *media,
                     size_t n, int64_t ts, struct ch_msg **out, struct chela_error *err);

/* Pictures and documents that a model is shown with every request. */
struct ch_media_total {
    size_t n, bytes; /* as they are sent: in base64 */
};
void ch_media_count(const struct ch_msg *m, struct ch_media_total *sum); /* added to it */

#endif
