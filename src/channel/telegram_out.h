/* telegram_out.h -- sends answers: text in parts that fit a message, then files. */
#ifndef CH_CHANNEL_TELEGRAM_OUT_H
#define CH_CHANNEL_TELEGRAM_OUT_H
#include "channel/telegram.h"

void ch_telegram_deliver(void *c, const struct chela_outbound *m);

/* Notes of answers that an earlier or another process began to send. */
void ch_telegram_remind(void *c, const char *id, struct chela_text data);
void ch_telegram_reminded(void *c);

void ch_telegram_out_release(struct ch_telegram *t);

#endif
