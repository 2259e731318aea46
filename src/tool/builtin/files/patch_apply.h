/* patch_apply.h -- one text with a patch's hunks applied, see patch.h. */
#ifndef CH_TOOL_PATCH_APPLY_H
#define CH_TOOL_PATCH_APPLY_H
#include "tool/builtin/files/patch.h"

/* Append old with the hunks of file f applied; old is "" for a new file. New
 * lines end as those of old do, and a byte order mark stays. CHELA_EINVAL:
 * a hunk has no place or several; err names it. */
int ch_patch_apply(const struct ch_patch *p, const struct ch_patch_file *f, struct ch_sv old,
                   struct ch_buf *out, struct ch_patch_stat *stat, struct chela_error *err);

#endif
