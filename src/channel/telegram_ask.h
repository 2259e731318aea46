/* telegram_ask.h -- approval requests and presses of their buttons. */
#ifndef CH_CHANNEL_TELEGRAM_ASK_H
#define CH_CHANNEL_TELEGRAM_ASK_H
#include "channel/telegram.h"

/* Write the buttons as reply_markup of a message. */
void ch_telegram_buttons(struct ch_jw *w, const char *question, const char *approval);

void ch_telegram_pressed(struct ch_telegram *t, const struct ch_json *query);

void ch_telegram_decided(void *c, const struct chela_channel_decision *d, const char *what,
                         const struct chela_error *err, chela_channel_write_fn *write, void *out);

void ch_telegram_ask_release(struct ch_telegram *t);

#endif
