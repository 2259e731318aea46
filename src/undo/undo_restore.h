/* undo_restore.h -- puts files back. */
#ifndef CH_UNDO_RESTORE_H
#define CH_UNDO_RESTORE_H
#include "chela/undo.h"
#include "undo/undo_others.h"

/* Restore the files that the messages of the session from `id` on changed; as
 * chela_undo_restore. The last message has ended. Changes that others may have made are left.
 * root: the open workspace. */
int ch_undo_put_back(struct ch_undo_record *r, const struct ch_undo_others *others, int root,
                     const char *session, uint64_t id, bool look_only,
                     chela_undo_item_fn *fn, void *user);

#endif
