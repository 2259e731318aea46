/* spill.h -- long results kept in files that the model can read.
 *
 * They are in .chela/spill/ of the workspace, readable by the owner alone and
 * kept out of git. There are at most CH_LIMIT_SPILL_FILES of them with
 * CH_LIMIT_SPILL_BYTES in all: the oldest go first. */
#ifndef CH_TOOL_SPILL_H
#define CH_TOOL_SPILL_H
#include "base/buf.h"

/* Write text to a new file and append its path, relative to the workspace. On
 * failure nothing is appended and -errno returned. Blocks. tool may be NULL. */
int ch_spill(const char *workspace, const char *tool, struct ch_sv text, struct ch_buf *path);

#endif
