/* fuzz_calculate.c -- any bytes as an expression.
 *
 * It ends, with a number or with a reason. An exact result, read again as an
 * expression, is the same number; adding 0 to any result changes nothing. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/builtin/data/expression.h"

static void check_again(struct ch_sv value) {
    struct chela_error err = {0};
    CH_BUF_AUTO text = {0}, again = {0};
    bool exact;

    ch_buf_addf(&text, "0 + %.*s", CH_SV_FMT(value));
    if (text.n > 10000)
        return; /* longer than an expression may be */
    if (ch_expression(ch_buf_sv(&text), &again, &exact, &err) < 0 || !exact ||
        !ch_sv_eq(ch_buf_sv(&again), value))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct chela_error err = {0};
    CH_BUF_AUTO value = {0};
    bool exact;

    int rc = ch_expression(ch_sv((const char *)data, size), &value, &exact, &err);
    if (rc < 0) {
        if (!err.message[0] || value.n)
            abort();
        return 0;
    }
    if (value.n == 0)
        abort();
    if (exact)
        check_again(ch_buf_sv(&value));
    return 0;
}
