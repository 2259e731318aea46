/* fuzz_tags.c -- any text as the words of a model that writes its calls.
 *
 * Input: one byte of settings (what is looked for, size of the pieces), then
 * the text. In whatever pieces it comes, the same comes out; what may be run
 * has a name and is a JSON object; and cut anywhere, the text gives no call
 * that the whole did not give. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/message/message.h"
#include "model/codec/tags.h"
#include "json/json.h"

struct out {
    struct ch_buf log;
    int last;
    unsigned runnable;
};

static void check(bool ok) {
    if (!ok)
        abort();
}

static void add(struct out *o, int kind, struct ch_sv piece) {
    check(piece.n > 0);
    if (o->last != kind)
        ch_buf_addf(&o->log, "\n%c:", kind);
    o->last = kind;
    ch_buf_add_sv(&o->log, piece);
}

static void on_text(struct ch_sv piece, void *user) {
    add(user, 't', piece);
}

static void on_reasoning(struct ch_sv piece, void *user) {
    add(user, 'r', piece);
}

static void on_call(const struct ch_tagged_call *call, void *user) {
    struct out *o = user;
    ch_buf_addf(&o->log, "\n%u:", call->flags);
    ch_buf_add_sv(&o->log, call->name);
    ch_buf_add_sv(&o->log, call->arguments);
    o->last = 'c';
    if (call->flags & (CH_F_CUT | CH_F_INVALID))
        return;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, call->arguments, CH_JSON_STRICT, &v, NULL, NULL);
    check(call->name.n && ch_json_is(v, CH_JSON_OBJECT));
    o->runnable++;
}

static void play(struct out *o, enum ch_tags_mode mode, struct ch_sv text, size_t piece) {
    static const struct ch_tags_sink sink = {on_text, on_reasoning, on_call};
    struct ch_tags tags;
    *o = (struct out){0};
    ch_tags_init(&tags, mode, &sink, o);
    for (size_t at = 0; at < text.n; at += piece)
        ch_tags_feed(&tags, ch_sv(text.p + at, CH_MIN(piece, text.n - at)));
    ch_tags_end(&tags);
    ch_tags_release(&tags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t pieces[] = {1, 2, 7, 64};
    if (size < 2)
        return 0;
    enum ch_tags_mode mode = data[0] & 1 ? CH_TAGS_CALLS : CH_TAGS_THINK;
    struct ch_sv text = ch_sv((const char *)data + 1, size - 1);
    struct out whole, split, cut;
    play(&whole, mode, text, text.n);
    play(&split, mode, text, pieces[data[0] >> 1 & 3]);
    play(&cut, mode, ch_sv(text.p, data[0] * text.n / 256), text.n);
    check(ch_sv_eq(ch_buf_sv(&whole.log), ch_buf_sv(&split.log)));
    check(cut.runnable <= whole.runnable);
    ch_buf_release(&whole.log);
    ch_buf_release(&split.log);
    ch_buf_release(&cut.log);
    return 0;
}
