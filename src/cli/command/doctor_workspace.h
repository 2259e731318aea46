/* doctor_workspace.h -- check of `chela doctor`: files inside a workspace. */
#ifndef CH_CLI_DOCTOR_WORKSPACE_H
#define CH_CLI_DOCTOR_WORKSPACE_H
#include "cli/command/doctor.h"
#include "cli/setup/setup.h"

/* Warn about the configuration, the store, the trust record, key files and programs of tools
 * that lie inside the workspace of an agent, where tools and commands of a model work. */
void ch_doctor_workspace(struct ch_doctor *f, struct ch_setup *s);

#endif
