/* telegram_message.h -- parses a message: author and chat, text without the bot's name, the
 * quoted message, the attached file. */
#ifndef CH_CHANNEL_TELEGRAM_MESSAGE_H
#define CH_CHANNEL_TELEGRAM_MESSAGE_H
#include "channel/telegram.h"

/* me, name: the bot's id and user name; NULL: not known yet. CHELA_EPARSE: m has no ids. */
int ch_telegram_read(const struct ch_json *m, const char *me, const char *name,
                     struct ch_arena *a, struct ch_telegram_message *out,
                     struct chela_error *err);

#endif
