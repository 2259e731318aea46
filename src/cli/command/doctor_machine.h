/* doctor_machine.h -- checks of `chela doctor` outside of the program: the machine, its
 * clock, disk space, and requirements of the configured channels. */
#ifndef CH_CLI_DOCTOR_MACHINE_H
#define CH_CLI_DOCTOR_MACHINE_H
#include "cli/command/doctor.h"

void ch_doctor_add(struct ch_doctor *f, struct ch_doctor_finding one);

/* Add a finding. detail is moved, the other texts are copied; mend is used only with warn
 * and fail. */
void ch_doctor_tell(struct ch_doctor *f, const char *area, const char *name, const char *status,
                    char *detail, const char *mend);

void ch_doctor_release(struct ch_doctor *f);

/* doctor_machine.c */
void ch_doctor_machine(struct ch_doctor *f);

void ch_doctor_clock(struct ch_doctor *f);

/* Disk space of workspace, store and temporary files. */
void ch_doctor_disks(struct ch_doctor *f, const struct ch_env *env, const char *workspace);

/* Check that the variables of the channels are set and valid, by asking the services.
 * Values are never shown. */
void ch_doctor_channels(struct ch_doctor *f, const chela_config *config, chela_runtime *rt);

#endif
