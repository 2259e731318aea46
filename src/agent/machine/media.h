/* media.h -- pictures and documents of a user's message. */
#ifndef CH_AGENT_MEDIA_H
#define CH_AGENT_MEDIA_H
#include "chela/session.h"
#include "model/message/message.h"

struct ch_media_input { /* the parts of a message other than its media */
    enum ch_msg_kind kind;
    struct ch_sv context; /* text of the runtime about the message, placed before `text`; may be
                           * empty */
    struct ch_sv text;
    int64_t ts;
};

/* Makes a message of the texts and the media. The type (by its first bytes) and the size of
 * each item are checked. */
int ch_media_message(const struct ch_media_input *in, const struct chela_media *media, size_t n,
                     struct ch_msg **out, struct chela_error *err);

/* Pictures and documents that every request of a session carries. */
struct ch_media_total {
    size_t n, bytes; /* bytes as sent, in base64 */
};
/* adds the counts of m to *sum */
void ch_media_count(const struct ch_msg *m, struct ch_media_total *sum);

#endif
