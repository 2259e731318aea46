/* openai_usage.h -- token counts as Chat Completions servers report them. */
#ifndef CH_MODEL_OPENAI_USAGE_H
#define CH_MODEL_OPENAI_USAGE_H
#include "model/codec/codec.h"

/* Read a usage object; servers agree on little beyond the first two members. */
struct ch_usage ch_openai_usage(struct ch_sv json, struct ch_buf *scratch);

#endif
