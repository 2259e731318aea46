/* channel_probe.h -- sends a test message through a channel, and waits for the message to come
 * back where the service delivers the bot's own messages (CHELA_CHANNEL_ECHO).
 *
 *   start --stored--> outbox --receipt--> sent --event with the text--> heard --> done
 *     \------------------------ refused, or time is up --------------------------^
 *
 * The message is sent like every answer, so the outbox repeats a message that could not be
 * sent in time. Loop thread only. */
#ifndef CH_GATEWAY_CHANNEL_PROBE_H
#define CH_GATEWAY_CHANNEL_PROBE_H
#include "channel/channel.h"
#include "json/writer.h"

#define CH_CHANNEL_PROBE_MS 10000

struct ch_channel_probe;
typedef void ch_channel_probe_fn(struct ch_channel_probe *p, void *user);

/* Send a message to the chat `to`. The channel sends the messages of the outbox already. done is
 * called once, later; the caller drops the probe there or before. CHELA_EBUSY: another probe of
 * this channel is in progress. */
int ch_channel_probe_start(struct ch_channel *c, const char *to, ch_channel_probe_fn *done,
                           void *user, struct ch_channel_probe **out, struct chela_error *err);
void ch_channel_probe_drop(struct ch_channel_probe *p);

/* The outcome, as findings in the form of chela_runtime_survey. */
void ch_channel_probe_write(const struct ch_channel_probe *p, struct ch_jw *w);
/* One finding about a channel. mend may be NULL. */
void ch_channel_finding(struct ch_jw *w, const char *name, const char *status, const char *detail,
                        const char *mend);

#endif
