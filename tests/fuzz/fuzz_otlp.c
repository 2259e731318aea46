/* fuzz_otlp.c -- the response of a collector, in both encodings. */
#include <assert.h>

#include "otel/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int json = 0; json < 2; json++) {
        CH_BUF_AUTO why = {0};
        int64_t n = ch_otlp_rejected(ch_sv((const char *)data, size), json, &why);
        assert(n >= 0);
        assert(why.n <= 3 * size);
    }
    return 0;
}
