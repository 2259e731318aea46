/* interactions_findings.h -- citations and server tools of an interaction. */
#ifndef CH_MODEL_INTERACTIONS_FINDINGS_H
#define CH_MODEL_INTERACTIONS_FINDINGS_H
#include "model/codec/findings.h"

void ch_interactions_findings(struct ch_findings *f, const struct ch_block *b,
                              const struct ch_json *v);

#endif
