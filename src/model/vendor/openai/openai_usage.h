/* openai_usage.h -- parses token counts of Chat Completions servers. */
#ifndef CH_MODEL_OPENAI_USAGE_H
#define CH_MODEL_OPENAI_USAGE_H
#include "model/codec/codec.h"

/* Parse a usage object; servers agree only on its first two members. */
struct ch_usage ch_openai_usage(struct ch_sv json, struct ch_buf *scratch);

#endif
