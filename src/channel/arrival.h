/* arrival.h -- messages of services that hand over fields (struct chela_channel_message)
 * instead of storing their own events.
 *
 * The fields are stored as JSON, from which recall makes the same arrival again. */
#ifndef CH_CHANNEL_ARRIVAL_H
#define CH_CHANNEL_ARRIVAL_H
#include "channel/channel.h"

/* The address of an answer: "CHAT MESSAGE THREAD HANDLE", encoded (id.h); "-": none. The last
 * three may be missing. Texts are owned by the arena. */
struct ch_reply_address {
    const char *chat, *message, *thread, *handle; /* NULL: none; chat "": no address */
};
struct ch_reply_address ch_reply_address_read(struct ch_sv to, struct ch_arena *a);

/* `message` of struct chela_channel_host; user is the channel. */
int ch_arrival_message(const struct chela_channel_message *m, chela_accepted_fn *done, void *tag,
                       void *user);
/* What is known about the group of a message, to be filled; a copy in the arena. */
struct chela_group *ch_arrival_group(struct chela_channel_arrival *in, struct ch_arena *a);
int ch_arrival_recall(const struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                      struct chela_channel_arrival *out, struct chela_error *err);
enum chela_channel_judgement ch_arrival_judge(const struct ch_channel *c,
                                              const struct chela_channel_arrival *in);
/* Fetches the files of a message. False: it has none. */
bool ch_arrival_prepare(struct ch_channel *c, struct chela_channel_arrival *in, struct ch_arena *a,
                        const char *workspace, void (*done)(void *tag), void *tag);
void ch_arrivals_release(struct ch_channel *c);

#endif
