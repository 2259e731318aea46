/* fuzz_picture.c -- any bytes as an image that somebody sent.
 *
 * An image is recognised by its first bytes alone or not at all; one that a model cannot read
 * has a reason. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "channel/files.h"
#include "channel/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    char *copy = ch_memdup(n ? (const void *)p : "", n);
    struct ch_picture picture = ch_picture_look(ch_sv(copy, n));
    const char *ending = ch_picture_ending(ch_sv(copy, n));
    if (picture.type && (!ending || ending[0] != '.'))
        abort();
    if (!picture.type && picture.why_not && !*picture.why_not)
        abort();
    ch_free(copy);
    return 0;
}
