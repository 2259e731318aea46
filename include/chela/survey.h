/* survey.h -- what the library finds on this machine: for `chela doctor`, and for
 * hosts that want to know before a user does. */
#ifndef CHELA_SURVEY_H
#define CHELA_SURVEY_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* A JSON array of {area, name, status, detail, mend?}, in a fixed order: what
 * modules can be loaded, which services have a key in the environment (never
 * what it is), which layers of the sandbox hold. status: "ok", "warn" (it works
 * with less) or "fail" (what was asked for will not work); mend says what helps.
 * sandbox may be NULL. Blocks for some hundredths of a second. Yours to
 * chela_free. */
CHELA_API char *chela_runtime_survey(chela_runtime *rt, const struct chela_sandbox_opts *sandbox);

CHELA_END_DECLS
#endif
