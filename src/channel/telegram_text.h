/* telegram_text.h -- Markdown as the service takes it: words, and beside them a list of
 * where they are bold, code or a link ("entities"). */
#ifndef CH_CHANNEL_TELEGRAM_TEXT_H
#define CH_CHANNEL_TELEGRAM_TEXT_H
#include "channel/telegram.h"

size_t ch_telegram_units(struct ch_sv text);

/* What a message of Markdown says, and a JSON array of how it looks. */
void ch_telegram_text(struct ch_sv markdown, struct ch_buf *text, struct ch_buf *entities);

#endif
