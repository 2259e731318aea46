/* patch_star.h -- the form of patch that models are taught: */
#ifndef CH_TOOL_PATCH_STAR_H
#define CH_TOOL_PATCH_STAR_H
#include "tool/builtin/files/patch.h"

int ch_patch_read_star(struct ch_patch_reader *r);

#endif
