/* edit_view.h -- the view of an editor: its text wrapped to the terminal's width, and the
 * cursor position. */
#ifndef CH_CLI_EDIT_VIEW_H
#define CH_CLI_EDIT_VIEW_H
#include "cli/term/edit.h"

void ch_edit_view_release(struct ch_edit_view *v);

#endif
