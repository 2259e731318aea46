/* opaque.c -- see opaque.h. */
#include "model/codec/opaque.h"

#include "model/codec/encode.h"
#include "json/pull.h"
#include "json/writer.h"

/* The strings of the deltas, concatenated by name. The known types have one or two; strings with
 * further names are dropped. */
#define MOST_NAMES 8

struct joined {
    struct ch_buf name[MOST_NAMES], text[MOST_NAMES];
    size_t n;
    const struct ch_buf *input; /* the pieces of partial_json, if they are an object; else NULL */
};

static struct ch_buf *joined_of(struct joined *j, struct ch_sv name) {
    for (size_t i = 0; i < j->n; i++)
        if (ch_sv_eq(ch_buf_sv(&j->name[i]), name))
            return &j->text[i];
    return NULL;
}

static void opaque_add(struct joined *j, struct ch_sv name, struct ch_sv piece) {
    struct ch_buf *text = joined_of(j, name);
    if (!text && j->n < MOST_NAMES) {
        text = &j->text[j->n];
        ch_buf_add_sv(&j->name[j->n++], name);
    }
    if (text)
        ch_buf_add_sv(text, piece);
}

static void opaque_join(struct ch_sv deltas, struct joined *j) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv key, piece;
    ch_pull_init(&p, deltas, &scratch);
    if (!ch_pull_enter(&p, '['))
        return;
    while (ch_pull_item(&p)) {
        if (!ch_pull_enter(&p, '{'))
            continue;
        while (ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "type"))
                ch_pull_skip(&p);
            else if (ch_pull_str(&p, &piece))
                opaque_add(j, key, piece);
        }
    }
}

static void merge_member(struct ch_jw *w, struct joined *j, struct ch_sv name,
                         struct ch_sv value) {
    bool input = ch_sv_is(name, "input");
    const struct ch_buf *text = input ? j->input : joined_of(j, name);
    ch_jw_key_sv(w, name);
    if (text && !input)
        ch_jw_str(w, ch_buf_sv(text));
    else
        ch_jw_raw(w, text ? ch_buf_sv(text) : value);
}

void ch_opaque_merge(struct ch_sv start, struct ch_sv deltas, struct ch_buf *out) {
    CH_BUF_AUTO scratch = {0};
    struct joined j = {0};
    struct ch_jw w = ch_jw(out);
    struct ch_pull p;
    struct ch_sv key, value;
    opaque_join(deltas, &j);
    const struct ch_buf *pieces = joined_of(&j, CH_SV("partial_json"));
    if (pieces && ch_is_json(ch_buf_sv(pieces), CH_JSON_OBJECT))
        j.input = pieces;
    ch_pull_init(&p, start, &scratch);
    ch_jw_begin(&w, '{');
    if (ch_pull_enter(&p, '{'))
        while (!out->overflow && ch_pull_key(&p, &key))
            if (ch_pull_raw(&p, &value))
                merge_member(&w, &j, key, value);
    ch_jw_end(&w, '}');
    for (size_t i = 0; i < j.n; i++) {
        ch_buf_release(&j.name[i]);
        ch_buf_release(&j.text[i]);
    }
}
