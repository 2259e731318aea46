/* held_text.h -- describes the files that were set aside after a command, for a model or a
 * person. */
#ifndef CH_TOOL_HELD_TEXT_H
#define CH_TOOL_HELD_TEXT_H
#include "guard/repositories.h"

/* Append one line per file. list may be NULL; paths in the workspace are shown relative to
 * it. */
void ch_held_text(const struct ch_held_list *list, const char *workspace, struct ch_buf *out);

#endif
