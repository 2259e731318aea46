/* local_time.h -- points in time as people read them. */
#ifndef CH_CLI_LOCAL_TIME_H
#define CH_CLI_LOCAL_TIME_H
#include <stdint.h>

enum { CH_LOCAL_TIME = 20 }; /* bytes of the text */

/* Write "2026-01-31 12:00", in local time; ms: since 1970. Returns out. */
const char *ch_local_time(int64_t ms, char out[CH_LOCAL_TIME]);

#endif
