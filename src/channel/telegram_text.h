/* telegram_text.h -- converts Markdown to plain text and a list of "entities" (ranges that
 * are bold, code or links). */
#ifndef CH_CHANNEL_TELEGRAM_TEXT_H
#define CH_CHANNEL_TELEGRAM_TEXT_H
#include "channel/telegram.h"

size_t ch_telegram_units(struct ch_sv text);

/* Convert Markdown to text and a JSON array of entities. */
void ch_telegram_text(struct ch_sv markdown, struct ch_buf *text, struct ch_buf *entities);

#endif
