/* opaque.c -- see opaque.h. */
#include "model/codec/opaque.h"

#include "model/codec/encode.h"
#include "json/pull.h"
#include "json/writer.h"

/* Concatenate all strings with this name in the deltas. */
static bool opaque_join(struct ch_sv deltas, struct ch_sv name, struct ch_buf *out) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv key, piece;
    bool any = false;
    ch_pull_init(&p, deltas, &scratch);
    if (!ch_pull_enter(&p, '['))
        return false;
    while (ch_pull_item(&p)) {
        if (!ch_pull_enter(&p, '{'))
            continue;
        while (ch_pull_key(&p, &key)) {
            if (!ch_sv_eq(key, name)) {
                ch_pull_skip(&p);
            } else if (ch_pull_str(&p, &piece)) {
                ch_buf_add_sv(out, piece);
                any = true;
            }
        }
    }
    return any;
}

static void merge_member(struct ch_jw *w, struct ch_sv deltas, struct ch_sv name,
                         struct ch_sv value) {
    CH_BUF_AUTO joined = {0};
    bool input = ch_sv_is(name, "input");
    bool any = opaque_join(deltas, input ? CH_SV("partial_json") : name, &joined);
    ch_jw_key_sv(w, name);
    if (!any || ch_sv_is(name, "type"))
        ch_jw_raw(w, value);
    else if (!input)
        ch_jw_str(w, ch_buf_sv(&joined));
    else
        ch_jw_raw(w, ch_is_json(ch_buf_sv(&joined), CH_JSON_OBJECT) ? ch_buf_sv(&joined) : value);
}

void ch_opaque_merge(struct ch_sv start, struct ch_sv deltas, struct ch_buf *out) {
    CH_BUF_AUTO scratch = {0};
    struct ch_jw w = ch_jw(out);
    struct ch_pull p;
    struct ch_sv key, value;
    ch_pull_init(&p, start, &scratch);
    ch_jw_begin(&w, '{');
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key))
            if (ch_pull_raw(&p, &value))
                merge_member(&w, deltas, key, value);
    ch_jw_end(&w, '}');
}
