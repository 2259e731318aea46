/* patch_diff.h -- parses unified diffs, as written by diff -u, git and models. The counts
 * in "@@ -3,4 +3,5 @@" help to distinguish a removed line "--- x" from the header "--- x"
 * of the next file. Wrong counts are tolerated. */
#ifndef CH_TOOL_PATCH_DIFF_H
#define CH_TOOL_PATCH_DIFF_H
#include "tool/builtin/files/patch.h"

int ch_patch_read_diff(struct ch_patch_reader *r);

#endif
