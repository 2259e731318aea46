/* survey.h -- what the library finds on this machine, for `chela doctor` and for hosts.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_SURVEY_H
#define CHELA_SURVEY_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* Examine the machine: a JSON array of {area, name, status, detail, mend?} in a fixed order:
 * modules that can be loaded, providers with a key in the environment (never the key), faults
 * of the user's file of facts about models, models of the runtime's agents that have ended or end
 * soon, layers of the sandbox that work. status is "ok", "warn" (works with restrictions) or
 * "fail" (does not work). mend suggests a remedy. sandbox may be NULL. Takes some
 * hundredths of a second.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_runtime_survey(chela_runtime *rt, const struct chela_sandbox_opts *sandbox);

CHELA_END_DECLS
#endif
