/* feishu_card.h -- cards with buttons for approving a call. */
#ifndef CH_CHANNEL_FEISHU_CARD_H
#define CH_CHANNEL_FEISHU_CARD_H
#include "channel/feishu.h"

void ch_feishu_card_ask(struct ch_buf *out, const char *text, const char *session,
                        const char *approval);

/* Append the response to a decision: a note for the person who decided, and the updated
 * card. */
void ch_feishu_card_decided(struct ch_buf *out, const struct chela_channel_decision *d,
                            const char *what, const struct chela_error *err);

void ch_feishu_card_toast(struct ch_buf *out, const char *type, const char *text);

/* event: the event of card.action.trigger. False: not a button of this channel. */
bool ch_feishu_card_read(const struct ch_json *event, struct ch_arena *a,
                         struct ch_feishu_press *out);

#endif
