/* openai_findings.h -- citations and server tools of a Chat Completions reply. */
#ifndef CH_MODEL_OPENAI_FINDINGS_H
#define CH_MODEL_OPENAI_FINDINGS_H
#include "model/codec/findings.h"

void ch_openai_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v);

#endif
