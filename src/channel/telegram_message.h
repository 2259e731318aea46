/* telegram_message.h -- what a message says: who wrote it where, its words without our
 * name, what it answers, the file that came with it. */
#ifndef CH_CHANNEL_TELEGRAM_MESSAGE_H
#define CH_CHANNEL_TELEGRAM_MESSAGE_H
#include "channel/telegram.h"

/* me, name: our id and user name; NULL: unknown yet. CHELA_EPARSE: it has no ids. */
int ch_telegram_read(const struct ch_json *m, const char *me, const char *name,
                     struct ch_arena *a, struct ch_telegram_message *out,
                     struct chela_error *err);

#endif
