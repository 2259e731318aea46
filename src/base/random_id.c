/* random_id.c -- see random_id.h. */
#include "base/random_id.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"

void ch_random_id(const char *prefix, char out[CH_RANDOM_ID]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[8];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        abort();
    size_t n = CH_MIN(strlen(prefix), (size_t)7);
    memcpy(out, prefix, n);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        out[n++] = digits[bytes[i] >> 4];
        out[n++] = digits[bytes[i] & 15];
    }
    out[n] = '\0';
}
