/* fuzz_charset.c -- any bytes in any encoding. Input: a content type in the first line, then the
 * bytes. The result is UTF-8. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "tool/builtin/web/charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_sv rest = ch_sv((const char *)p, n), type = ch_sv_split(&rest, '\n');
    CH_BUF_AUTO out = {0};
    if (!rest.p)
        return 0;
    ch_charset_decode(rest, type, &out);
    if (!ch_utf8_valid(ch_buf_sv(&out)))
        abort();
    ch_header_param(type, "charset");
    return 0;
}
