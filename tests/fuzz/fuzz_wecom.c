/* fuzz_wecom.c -- any JSON as a message of WeCom, any text as a call that is shown exactly.
 *
 * Input: JSON in the first line, the text in the rest. A message that is accepted has its ids and
 * a text. A block of code contains the text, and no fence in the text ends the block. */
#include <stdint.h>
#include <stdlib.h>

#include "channel/wecom/wecom.h"
#include "channel/wecom/wecom_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv rest = ch_sv((const char *)p, n), line = ch_sv_split(&rest, '\n');
    const struct ch_json *v = NULL;
    struct chela_channel_message m = {0};
    CH_BUF_AUTO exact = {0};
    if (ch_json_parse(&a, line, CH_JSON_REPLACE, &v, NULL, NULL) == 0 && ch_wecom_read(v, &a, &m)) {
        if (!m.id || !m.chat || !m.sender || !m.text)
            abort();
        for (size_t i = 0; i < m.nfiles; i++)
            if (!ch_wecom_file(m.files[i].handle).url.p)
                abort();
    }
    if (!rest.p || memchr(rest.p, 0, rest.n))
        return 0;
    ch_wecom_exact(&exact, rest);
    struct ch_sv out = ch_buf_sv(&exact), fence = ch_sv_split(&out, '\n');
    if (memmem(rest.p, rest.n, fence.p, fence.n) || exact.n != rest.n + 2 * fence.n + 2)
        abort();
    return 0;
}
