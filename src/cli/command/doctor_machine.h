/* doctor_machine.h -- what `chela doctor` finds around the program: the machine, its
 * clock, room on its disks, and what the channels of the configuration need. */
#ifndef CH_CLI_DOCTOR_MACHINE_H
#define CH_CLI_DOCTOR_MACHINE_H
#include "cli/command/doctor.h"

void ch_findings_add(struct ch_findings *f, struct ch_doctor_finding one);

/* detail is taken, the others are copied; mend goes with trouble only. */
void ch_findings_tell(struct ch_findings *f, const char *area, const char *name,
                      const char *status, char *detail, const char *mend);

void ch_findings_release(struct ch_findings *f);

/* doctor_machine.c */
void ch_doctor_machine(struct ch_findings *f);

void ch_doctor_clock(struct ch_findings *f);

/* Room where agents work, where sessions are kept, and for temporary files. */
void ch_doctor_disks(struct ch_findings *f, const struct ch_env *env, const char *workspace);

/* Are the variables set that its channels need, and is what they hold right? The
 * services themselves are asked; never is it shown. */
void ch_doctor_channels(struct ch_findings *f, const chela_config *config, chela_runtime *rt);

#endif
