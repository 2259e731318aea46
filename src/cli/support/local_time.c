/* local_time.c -- see local_time.h. */
#include "cli/support/local_time.h"

#include <time.h>

const char *ch_local_time(int64_t ms, char out[CH_LOCAL_TIME]) {
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    out[0] = '\0';
    if (localtime_r(&t, &tm))
        strftime(out, CH_LOCAL_TIME, "%Y-%m-%d %H:%M", &tm);
    return out;
}
