/* cmd_doctor.h -- `chela doctor`: checks the installation and suggests remedies. */
#ifndef CH_CLI_CMD_DOCTOR_H
#define CH_CLI_CMD_DOCTOR_H
#include "cli/command/doctor.h"
#include "cli/term/console.h"

/* Add the library's findings (chela/survey.h), given as JSON. */
void ch_doctor_survey(struct ch_doctor *f, const char *json);
/* As text, or as a JSON array. quiet: without those that are ok. */
void ch_doctor_print(const struct ch_doctor *f, struct ch_console *c, bool json, bool quiet);

#endif
