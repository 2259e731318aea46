/* feishu_card.h -- cards: a call that needs consent, with buttons to decide by. */
#ifndef CH_CHANNEL_FEISHU_CARD_H
#define CH_CHANNEL_FEISHU_CARD_H
#include "channel/feishu.h"

void ch_feishu_card_ask(struct ch_buf *out, const char *text, const char *session,
                        const char *approval);

/* What the service is told about a decision: a note for who decided, and the
 * card as it is from now on. */
void ch_feishu_card_decided(struct ch_buf *out, const struct ch_decision *d, const char *what,
                            const struct chela_error *err);

void ch_feishu_card_toast(struct ch_buf *out, const char *type, const char *text);

/* event: of card.action.trigger. false: it is no button of ours. */
bool ch_feishu_card_read(const struct ch_json *event, struct ch_arena *a,
                         struct ch_feishu_press *out);

#endif
