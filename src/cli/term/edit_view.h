/* edit_view.h -- what an editor looks like: its text folded into lines of the
 * terminal's width, and where the cursor is. */
#ifndef CH_CLI_EDIT_VIEW_H
#define CH_CLI_EDIT_VIEW_H
#include "cli/term/edit.h"

void ch_edit_view_release(struct ch_edit_view *v);

#endif
