/* patch_diff.h -- unified diffs, as diff -u and git write them and as models remember
 * them: the counts in "@@ -3,4 +3,5 @@" help to tell "--- x" that is a removed line
 * from "--- x" that begins the next file, and are not held against the patch when they
 * are wrong. */
#ifndef CH_TOOL_PATCH_DIFF_H
#define CH_TOOL_PATCH_DIFF_H
#include "tool/builtin/files/patch.h"

int ch_patch_read_diff(struct ch_patch_reader *r);

#endif
