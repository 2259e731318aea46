/* fuzz_patch.c -- any file, any patch.
 *
 * Input: the file, a byte 0x01, the patch. A hunk that is accepted must leave
 * as many lines as it says; one that is refused must say why and leave nothing
 * behind. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tool/builtin/files/patch.h"
#include "tool/builtin/files/patch_apply.h"

static size_t count_lines(struct ch_sv s) {
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n + (s.n && s.p[s.n - 1] != '\n');
}

static void check_count(const struct ch_patch *p, const struct ch_patch_file *f, struct ch_sv old,
                        struct ch_sv new) {
    size_t removed = 0, added = 0;

    for (size_t i = 0; i < f->nhunks; i++)
        for (size_t k = 0; k < p->hunks[f->hunks + i].nlines; k++) {
            char sign = p->lines[p->hunks[f->hunks + i].lines + k].sign;
            removed += sign == '-';
            added += sign == '+';
        }
    if (count_lines(new) != count_lines(old) - removed + added)
        abort();
}

static void apply(const struct ch_patch *p, const struct ch_patch_file *f, struct ch_sv old) {
    struct ch_patch_stat stat;
    struct chela_error err = {0};
    CH_BUF_AUTO out = {0};

    if (f->kind == CH_PATCH_ADD)
        old = CH_SV("");
    if (ch_patch_apply(NULL, p, f, old, &out, &stat, &err) < 0) {
        if (out.n || !err.message[0])
            abort();
        return;
    }
    /* Lines without an end, or with an odd one, are counted otherwise. */
    bool odd = false;
    for (size_t i = 0; i < p->nlines; i++)
        odd |= p->lines[i].no_end || memchr(p->lines[i].text.p, '\r', p->lines[i].text.n);
    if (!odd && !memmem(old.p, old.n, "\xef\xbb\xbf", 3))
        check_count(p, f, old, ch_buf_sv(&out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv rest = ch_sv((const char *)data, size);
    struct ch_sv old = ch_sv_split(&rest, 1);
    struct ch_patch p = {0};
    struct chela_error err = {0};

    if (!rest.p)
        rest = CH_SV("");
    if (!old.p)
        old = CH_SV("");
    if (ch_patch_read(&p, rest, &err) == 0)
        for (size_t i = 0; i < p.nfiles; i++)
            apply(&p, &p.files[i], old);
    else if (!err.message[0])
        abort();
    ch_patch_release(&p);
    return 0;
}
