/* scripted_rules.h -- parses a rule file. */
#ifndef CH_MODEL_SCRIPTED_RULES_H
#define CH_MODEL_SCRIPTED_RULES_H
#include "model/scripted/scripted_private.h"

/* Zero *s first; release it in any case. */
int ch_script_read(struct ch_script *s, struct ch_sv text, const char *name,
                   struct chela_error *err);

void ch_script_release(struct ch_script *s);

#endif
