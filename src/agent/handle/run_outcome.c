/* run_outcome.c -- see run_outcome.h. */
#include "agent/handle/run_outcome.h"

#include <stdarg.h>
#include <stdio.h>

void ch_run_outcome_error(chela_run *run, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(run->error, sizeof(run->error), fmt, ap);
    va_end(ap);
}
