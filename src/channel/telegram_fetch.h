/* telegram_fetch.h -- downloads the file of a message. */
#ifndef CH_CHANNEL_TELEGRAM_FETCH_H
#define CH_CHANNEL_TELEGRAM_FETCH_H
#include "channel/telegram.h"

void ch_telegram_prepare(void *c, struct chela_channel_arrival *in, struct ch_arena *a,
                         const char *workspace, void (*done)(void *tag), void *tag);

void ch_telegram_fetch_release(struct ch_telegram *t);

#endif
