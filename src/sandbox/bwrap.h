/* bwrap.h -- run bubblewrap with the view as its arguments. */
#ifndef CH_SANDBOX_BWRAP_H
#define CH_SANDBOX_BWRAP_H
#include "sandbox/view.h"

/* Replace this process by bubblewrap, with a copy of this program as process 1.
 * Does not return. */
_Noreturn void ch_bwrap_exec(const struct ch_box *box, const struct ch_box_view *view);

#endif
