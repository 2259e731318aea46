/* eval_fixture.h -- the folder in which a trial works: a copy of the workspace of its case.
 *
 * The copy has regular files, folders, and links that stay inside. A link that leads out, a device
 * or a pipe is refused, because a trial could change files through it that are not its own. All
 * functions block. */
#ifndef CH_EVAL_FIXTURE_H
#define CH_EVAL_FIXTURE_H
#include "chela/error.h"

/* Creates the folder `to` and copies `from` into it (NULL: the folder stays empty). CHELA_ENOENT:
 * there is no `from`. CHELA_EPERM: a file is refused. CHELA_ELIMIT: too many files, or too large.
 * After a failure `to` may exist in part. */
int ch_eval_fixture_copy(const char *from, const char *to, struct chela_error *err);

/* Removes a folder with all that it contains. Links are removed and not followed. */
void ch_eval_fixture_remove(const char *folder);

#endif
