/* display.h -- makes text from a model safe to show to a person.
 *
 * A person who approves a command must see the actual command, without escape sequences
 * that overwrite it, bidirectional overrides that reorder it, or zero-width characters that
 * hide words. Such characters are shown by name, <U+202E>, so that every text has exactly
 * one displayed form. */
#ifndef CH_TOOL_DISPLAY_H
#define CH_TOOL_DISPLAY_H
#include <stdint.h>

#include "base/buf.h"

/* True for characters that are invisible or ambiguous: controls, spaces other than the
 * ASCII one, format and filler characters, private use. */
bool ch_display_hidden(uint32_t cp);

enum ch_display_mode {
    CH_DISPLAY_LINE, /* line feeds are shown by name too */
    CH_DISPLAY_TEXT  /* line feeds are kept, and following lines are indented by four spaces */
};

/* Append text. A literal "<U+" in the text is escaped too, so that it cannot imitate a
 * shown name. */
void ch_display_add(struct ch_buf *out, struct ch_sv text, enum ch_display_mode mode);

#endif
