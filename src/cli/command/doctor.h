/* doctor.h -- the findings of `chela doctor`. */
#ifndef CH_CLI_DOCTOR_H
#define CH_CLI_DOCTOR_H
#include "chela/config.h"
#include "cli/support/env.h"

struct ch_doctor_finding { /* all owned; mend may be NULL */
    char *area, *name, *status, *detail, *mend;
};

struct ch_doctor {
    struct ch_doctor_finding *p;
    size_t n, warned, failed;
};

#endif
