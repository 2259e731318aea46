/* patch_apply.h -- applies the hunks of a patch to one text, see patch.h. */
#ifndef CH_TOOL_PATCH_APPLY_H
#define CH_TOOL_PATCH_APPLY_H
#include "tool/builtin/files/patch.h"

/* Append old with the hunks of file f applied; old is "" for a new file. Added lines use
 * the line ends of old, and a byte order mark is kept. CHELA_EINVAL: a hunk matches nowhere
 * or in several places; err names the hunk. */
int ch_patch_apply(const struct ch_patch *p, const struct ch_patch_file *f, struct ch_sv old,
                   struct ch_buf *out, struct ch_patch_stat *stat, struct chela_error *err);

#endif
