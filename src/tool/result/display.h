/* display.h -- texts of a model as a person may safely be shown them.
 *
 * Who is asked to approve a command must see that command: not one that an
 * escape sequence painted over it, not one whose end comes first because of a
 * bidirectional override, not one with words that have no width. Such
 * characters are named, <U+202E>, so that every text has exactly one form. */
#ifndef CH_TOOL_DISPLAY_H
#define CH_TOOL_DISPLAY_H
#include <stdint.h>

#include "base/buf.h"

/* Is this a character that a reader would not see, or not see as it is:
 * controls, spaces other than the ASCII one, format and filler characters,
 * private use? */
bool ch_display_hidden(uint32_t cp);

enum ch_display_mode {
    CH_DISPLAY_LINE, /* line feeds are named as well */
    CH_DISPLAY_TEXT  /* they stay, and what follows is indented by four spaces */
};

/* Append text. What would pass for a name of ours ("<U+") is named too. */
void ch_display_add(struct ch_buf *out, struct ch_sv text, enum ch_display_mode mode);

#endif
