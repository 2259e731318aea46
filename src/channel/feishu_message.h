/* feishu_message.h -- what a message says, as text for a model. */
#ifndef CH_CHANNEL_FEISHU_MESSAGE_H
#define CH_CHANNEL_FEISHU_MESSAGE_H
#include "channel/feishu.h"

/* What a content says. CHELA_EPARSE, CHELA_ELIMIT. */
int ch_feishu_words(struct ch_sv type, struct ch_sv content, const struct ch_json *mentions,
                    struct ch_arena *a, struct ch_sv *out);

/* event: of im.message.receive_v1; *out keeps no pointer into event. bot: our
 * open_id, which is left out of the text; NULL: unknown yet. CHELA_EPARSE: event has
 * no ids, or no content. */
int ch_feishu_read(const struct ch_json *event, const char *bot, struct ch_arena *a,
                   struct ch_feishu_message *out, struct chela_error *err);

/* Who wrote it, for the rules. */
struct ch_author ch_feishu_author(const struct ch_feishu_message *m, const char *bot);

#endif
