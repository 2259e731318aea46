/* bwrap.h -- the view as bubblewrap's arguments. */
#ifndef CH_SANDBOX_BWRAP_H
#define CH_SANDBOX_BWRAP_H
#include "sandbox/outer.h"

/* Become bubblewrap, with a copy of us as its process 1. Does not return. */
_Noreturn void ch_bwrap_exec(const struct ch_box *box, const struct ch_box_view *view);

#endif
