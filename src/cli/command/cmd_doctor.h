/* cmd_doctor.h -- `chela doctor`: will it work here, and what helps if not. */
#ifndef CH_CLI_CMD_DOCTOR_H
#define CH_CLI_CMD_DOCTOR_H
#include "cli/command/doctor.h"

/* Those of the library (chela/survey.h), in JSON. */
void ch_findings_survey(struct ch_findings *f, const char *json);

#endif
