/* fuzz_feishu_frame.c -- any bytes as a frame of a long connection. What is
 * read can be written, and is read again as the same; gathered, it makes no
 * more than it may. */
#include <stdint.h>
#include <stdlib.h>

#include "channel/feishu_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_feishu_frame f, again;
    struct ch_feishu_gather g;
    CH_BUF_AUTO one = {0}, two = {0}, whole = {0};
    if (ch_feishu_frame_read(ch_sv((const char *)data, size), &f, NULL) < 0)
        return 0;
    ch_feishu_frame_write(&f, &one);
    if (ch_feishu_frame_read(ch_buf_sv(&one), &again, NULL) < 0)
        abort();
    ch_feishu_frame_write(&again, &two);
    if (!ch_sv_eq(ch_buf_sv(&one), ch_buf_sv(&two)))
        abort();
    ch_feishu_gather_init(&g);
    ch_feishu_gather(&g, &f, 0, &whole);
    ch_feishu_gather(&g, &again, 1, &whole);
    if (g.n > CH_LIMIT_FRAGMENT_SETS || whole.n > 2 * size)
        abort();
    ch_feishu_gather_release(&g);
    return 0;
}
