/* posting.h -- answers of services that send one message at a time (`post`).
 *
 * A text is split into parts that fit a message; files follow. A growing answer is a message
 * that is edited until the answer is complete. Notes record how far a message of the outbox
 * has come, so that a process that continues after a crash repeats as little as the service
 * allows: nothing if the service recognises keys, or if its `post` looks for a message before
 * it repeats one. */
#ifndef CH_CHANNEL_POSTING_H
#define CH_CHANNEL_POSTING_H
#include "channel/channel.h"

#define CH_POSTING_NOTE '~' /* the first character of the ids of these notes */

void ch_posting_deliver(struct ch_channel *c, const struct chela_outbound *m);
/* Shows the beginning of an answer that is not complete. */
void ch_posting_stream(struct ch_channel *c, const struct chela_channel_arrival *in,
                       struct ch_sv text);
/* The run has ended: if no answer follows, the streamed message stays unchanged. */
void ch_posting_over(struct ch_channel *c, const struct chela_channel_arrival *in);
/* Appends a line for the person who decided and, if the question is settled, the text that
 * replaces it. */
void ch_posting_decided(const struct chela_channel_decision *d, const char *what,
                        const struct chela_error *err, struct ch_buf *answer);
void ch_posting_remind(struct ch_channel *c, const char *id, struct ch_sv data);
void ch_posting_reminded(struct ch_channel *c);
/* No message is being sent. */
bool ch_posting_is_idle(const struct ch_channel *c);
void ch_posting_release(struct ch_channel *c);

#endif
