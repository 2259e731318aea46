/* reply_findings.h -- reads the findings of a stored reply by the codec that decoded it. */
#ifndef CH_MODEL_REPLY_FINDINGS_H
#define CH_MODEL_REPLY_FINDINGS_H
#include "model/codec/findings.h"

/* Read a reply. A message without an api has no findings. */
void ch_findings_read(struct ch_findings *f, const struct ch_msg *m);

#endif
