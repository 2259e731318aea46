/* spill.h -- saves long results in files that the model can read.
 *
 * The files are in .chela/spill/ of the workspace, readable by the owner alone and ignored
 * by git. At most CH_LIMIT_SPILL_FILES files with CH_LIMIT_SPILL_BYTES in total are kept;
 * the oldest are deleted first. */
#ifndef CH_TOOL_SPILL_H
#define CH_TOOL_SPILL_H
#include "base/buf.h"

/* Write text to a new file and append its path, relative to the workspace. On failure
 * nothing is appended and -errno is returned. Blocks. tool may be NULL. */
int ch_spill(const char *workspace, const char *tool, struct ch_sv text, struct ch_buf *path);

#endif
