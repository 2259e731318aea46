/* fuzz_directive.c -- any text as a model's reply with directives.
 *
 * Input: one byte (size of the pieces), then the reply. In whatever pieces it
 * comes, the same comes out; nothing is made up: what is shown is made of bytes
 * of the reply, in their order. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "prompt/directive.h"

static void check(bool ok) {
    if (!ok)
        abort();
}

static void play(struct ch_directives *d, struct ch_sv text, size_t piece) {
    size_t shown = 0;
    for (size_t at = 0; at < text.n; at += piece) {
        ch_directives_feed(d, ch_sv(text.p + at, CH_MIN(piece, text.n - at)));
        check(d->text.n >= shown && d->text.n <= at + piece);
        shown = d->text.n;
    }
    ch_directives_end(d);
}

static void check_part(struct ch_sv whole, struct ch_sv part) {
    size_t at = 0;
    for (size_t i = 0; i < part.n; i++, at++) {
        const char *c = at < whole.n ? memchr(whole.p + at, part.p[i], whole.n - at) : NULL;
        check(c != NULL);
        at = (size_t)(c - whole.p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t pieces[] = {1, 2, 7, 64};
    if (size < 2)
        return 0;
    struct ch_sv text = ch_sv((const char *)data + 1, size - 1);
    struct ch_directives whole = {0}, split = {0};
    play(&whole, text, text.n);
    play(&split, text, pieces[data[0] & 3]);
    check(ch_sv_eq(ch_buf_sv(&whole.text), ch_buf_sv(&split.text)));
    check(ch_sv_eq(ch_buf_sv(&whole.media), ch_buf_sv(&split.media)));
    check(ch_sv_eq(ch_buf_sv(&whole.reply_to), ch_buf_sv(&split.reply_to)));
    check(whole.voice == split.voice && whole.reply_current == split.reply_current);
    check(ch_directives_silent(&whole) == ch_directives_silent(&split));
    check_part(text, ch_buf_sv(&whole.text));
    ch_directives_release(&whole);
    ch_directives_release(&split);
    return 0;
}
