/* fuzz_when.c -- any text as a time expression. What is accepted lies in the future, or is never
 * due; what is refused has a reason. */
#include <stdint.h>
#include <stdlib.h>

#include "base/when.h"
#include "base/when_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const int64_t now = 1700000000000;
    struct ch_zone *zone = ch_zone_fixed(3600);
    struct ch_when when = {0};
    struct chela_error err = {0};
    int64_t ms;
    if (ch_when_read(ch_sv((const char *)p, n), zone, &when, &err) < 0) {
        if (!err.message[0])
            abort();
    } else {
        int64_t next = ch_when_next(&when, zone, now);
        if (next <= now)
            abort();
    }
    ch_duration_read(ch_sv((const char *)p, n), &ms);
    ch_zone_free(zone);
    return 0;
}
