/* run_outcome.c -- see run_outcome.h. */
#include "agent/handle/run_outcome.h"

#include <stdarg.h>
#include <stdio.h>

void ch_run_outcome_error(chela_run *run, const char *fmt, ...) {
    va_list ap;
    if (!run->error)
        run->error = ch_malloc(CHELA_ERROR_MAX);
    va_start(ap, fmt);
    vsnprintf(run->error, CHELA_ERROR_MAX, fmt, ap);
    va_end(ap);
}

void ch_run_outcome_clear_error(chela_run *run) {
    if (run->error)
        run->error[0] = '\0';
}
