/* fuzz_edit.c -- any file, any edits.
 *
 * Input: the file, then old and new texts, separated by bytes 0x01. Edits that
 * are accepted must lie in the file, in order and apart from each other, and
 * the result must be the file with exactly those bytes replaced. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tool/builtin/files/replace.h"

#define MOST 8

static void check(struct ch_sv file, const struct ch_replacement *edits, size_t n,
                  struct ch_sv got) {
    CH_BUF_AUTO want = {0}, diff = {0};
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (edits[i].from < at || edits[i].to < edits[i].from || edits[i].to > file.n)
            abort();
        if (!edits[i].tolerant && edits[i].to - edits[i].from < edits[i].old_text.n)
            abort();
        ch_buf_add(&want, file.p + at, edits[i].from - at);
        ch_buf_add_sv(&want, ch_buf_sv(&edits[i].with));
        at = edits[i].to;
    }
    ch_buf_add(&want, file.p + at, file.n - at);
    if (!ch_sv_eq(ch_buf_sv(&want), got) || ch_sv_eq(file, got))
        abort();
    ch_replace_diff(file, edits, n, &diff);
    if (ch_utf8_valid(file) && ch_utf8_valid(got) && !ch_utf8_valid(ch_buf_sv(&diff)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv rest = ch_sv((const char *)data, size);
    struct ch_sv file = ch_sv_split(&rest, 1);
    struct ch_replacement edits[MOST] = {0};
    struct chela_error err = {0};
    CH_BUF_AUTO out = {0};
    size_t n = 0;

    for (; n < MOST && rest.p; n++) {
        edits[n].old_text = ch_sv_split(&rest, 1);
        edits[n].new_text = rest.p ? ch_sv_split(&rest, 1) : CH_SV("");
    }
    if (ch_replace(file, edits, n, &out, &err) == 0)
        check(file, edits, n, ch_buf_sv(&out));
    else if (out.n || !err.message[0])
        abort();
    ch_edits_release(edits, n);
    return 0;
}
