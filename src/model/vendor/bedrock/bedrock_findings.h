/* bedrock_findings.h -- citations and server tools of a Converse reply. */
#ifndef CH_MODEL_BEDROCK_FINDINGS_H
#define CH_MODEL_BEDROCK_FINDINGS_H
#include "model/codec/findings.h"

void ch_bedrock_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v);

#endif
