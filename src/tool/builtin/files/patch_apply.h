/* patch_apply.h -- applies the hunks of a patch to one text, see patch.h. */
#ifndef CH_TOOL_PATCH_APPLY_H
#define CH_TOOL_PATCH_APPLY_H
#include "chela/tool.h"
#include "tool/builtin/files/patch.h"

/* Append old with the hunks of file f applied; old is "" for a new file. Added lines use
 * the line ends of old, and a byte order mark is kept. CHELA_EINVAL: a hunk matches nowhere
 * or in several places; err names the hunk. CHELA_ECANCELED: the call was cancelled; call may be
 * NULL. Each hunk is compared with the rest of the text, so many hunks of a long text take long. */
int ch_patch_apply(const chela_call *call, const struct ch_patch *p, const struct ch_patch_file *f,
                   struct ch_sv old, struct ch_buf *out, struct ch_patch_stat *stat,
                   struct chela_error *err);

#endif
