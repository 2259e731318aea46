/* protect.h -- keep paths read-only inside writable directories.
 *
 * Protected are files that programs outside the box will trust later: Git's hooks and
 * configuration, chela.yaml, keys. They are mounted over themselves, read-only. The
 * directories above them are mounted over themselves too, because a mount point cannot be
 * renamed. A path that does not exist is left alone: what a command makes there is set aside
 * afterwards (guard/repositories.h). */
#ifndef CH_SANDBOX_PROTECT_H
#define CH_SANDBOX_PROTECT_H
#include "sandbox/view.h"

/* Add the steps for every protected path to view. Returns NULL, or the path
 * that cannot be protected although box->strict requires it. */
const char *ch_guard_set(struct ch_box_view *view, const struct ch_box *box);

#endif
