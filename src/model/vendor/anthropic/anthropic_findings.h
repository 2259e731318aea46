/* anthropic_findings.h -- citations and server tools of a Messages reply. */
#ifndef CH_MODEL_ANTHROPIC_FINDINGS_H
#define CH_MODEL_ANTHROPIC_FINDINGS_H
#include "model/codec/findings.h"

void ch_anthropic_findings(struct ch_findings *f, const struct ch_block *b,
                           const struct ch_json *v);

#endif
