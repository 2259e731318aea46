/* feishu_message.h -- parses messages to text for a model. */
#ifndef CH_CHANNEL_FEISHU_MESSAGE_H
#define CH_CHANNEL_FEISHU_MESSAGE_H
#include "channel/feishu.h"

/* Parse a message content to text. CHELA_EPARSE, CHELA_ELIMIT. */
int ch_feishu_words(struct ch_sv type, struct ch_sv content, const struct ch_json *mentions,
                    struct ch_arena *a, struct ch_sv *out);

/* event: the event of im.message.receive_v1; *out keeps no pointer into event. bot: the
 * bot's open_id, which is removed from the text; NULL: not known yet. CHELA_EPARSE: event
 * has no ids, or no content. */
int ch_feishu_read(const struct ch_json *event, const char *bot, struct ch_arena *a,
                   struct ch_feishu_message *out, struct chela_error *err);

/* The author of a message, for the rules. */
struct ch_author ch_feishu_author(const struct ch_feishu_message *m, const char *bot);

#endif
