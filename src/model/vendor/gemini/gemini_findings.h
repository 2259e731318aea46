/* gemini_findings.h -- citations and server tools of a Gemini reply. */
#ifndef CH_MODEL_GEMINI_FINDINGS_H
#define CH_MODEL_GEMINI_FINDINGS_H
#include "model/codec/findings.h"

void ch_gemini_findings(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v);

#endif
