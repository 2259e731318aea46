/* reasoning_details.c -- see reasoning_details.h. */
#include "model/vendor/openai/reasoning_details.h"

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/pull.h"
#include "json/writer.h"

struct ch_detail {
    struct ch_buf first;           /* the first object */
    struct ch_buf text, signature; /* concatenated pieces */
    bool summary;                  /* the text's member is "summary" */
    bool joins;                    /* further pieces may follow */
    int64_t index;
};

/* One object from the wire. */
struct piece {
    struct ch_sv type, text, summary, signature;
    struct ch_sv raw; /* the undecoded text or summary */
    int64_t index;
};

void ch_details_release(struct ch_details *d) {
    for (size_t i = 0; i < d->n; i++) {
        ch_buf_release(&d->items[i].first);
        ch_buf_release(&d->items[i].text);
        ch_buf_release(&d->items[i].signature);
    }
    ch_free(d->items);
    *d = (struct ch_details){0};
}

static struct piece reasoning_details_read_piece(struct ch_sv json, struct ch_buf *scratch) {
    struct piece piece = {.index = -1};
    struct ch_pull p;
    struct ch_sv key;
    ch_pull_init(&p, json, scratch);
    if (!ch_pull_enter(&p, '{'))
        return piece;
    while (ch_pull_key(&p, &key)) {
        if (ch_sv_is(key, "type"))
            ch_pull_str(&p, &piece.type);
        else if (ch_sv_is(key, "text"))
            ch_pull_str_raw(&p, &piece.text, &piece.raw);
        else if (ch_sv_is(key, "summary"))
            ch_pull_str_raw(&p, &piece.summary, &piece.raw);
        else if (ch_sv_is(key, "signature"))
            ch_pull_str(&p, &piece.signature);
        else if (ch_sv_is(key, "index"))
            ch_pull_int(&p, &piece.index);
        else
            ch_pull_skip(&p);
    }
    return piece;
}

static bool reasoning_details_is_text(const struct piece *p) {
    return ch_sv_is(p->type, "reasoning.text");
}

static bool is_summary(const struct piece *p) {
    return ch_sv_is(p->type, "reasoning.summary");
}

static struct ch_detail *new_detail(struct ch_details *d, const struct piece *p,
                                    struct ch_sv json) {
    if (d->n == CH_LIMIT_REPLY_BLOCKS)
        return NULL;
    CH_GROW(d->items, d->n, d->cap, 4);
    struct ch_detail *item = &d->items[d->n++];
    *item = (struct ch_detail){.summary = is_summary(p), .index = p->index};
    item->joins = reasoning_details_is_text(p) || is_summary(p);
    ch_buf_add_sv(&item->first, json);
    return item;
}

static int reasoning_details_add_piece(struct ch_details *d, const struct piece *p,
                                       struct ch_sv json) {
    struct ch_detail *last = d->n ? &d->items[d->n - 1] : NULL;
    bool joins = last && last->joins && last->index == p->index &&
                 (last->summary ? is_summary(p) : reasoning_details_is_text(p));
    if (json.n > CH_LIMIT_REPLY - d->bytes)
        return CHELA_ELIMIT;
    d->bytes += json.n;
    if (!joins && !(last = new_detail(d, p, json)))
        return CHELA_ELIMIT;
    ch_buf_add_sv(&last->text, last->summary ? p->summary : p->text);
    ch_buf_add_sv(&last->signature, p->signature);
    bool one = last->joins && !p->signature.n && !(p->text.n && p->summary.n);
    d->sole = one ? p->raw : ch_sv(NULL, 0);
    return CHELA_OK;
}

int ch_details_add_like(struct ch_details *d, struct ch_sv text) {
    if (text.n > CH_LIMIT_REPLY - d->bytes)
        return CHELA_ELIMIT;
    d->bytes += text.n;
    return ch_buf_add_sv(&d->items[d->n - 1].text, text);
}

int ch_details_add(struct ch_details *d, struct ch_sv array) {
    CH_BUF_AUTO outer = {0};
    CH_BUF_AUTO inner = {0};
    struct ch_pull p;
    struct ch_sv json;
    int rc = CHELA_OK;
    size_t n = 0;
    d->sole = ch_sv(NULL, 0);
    ch_pull_init(&p, array, &outer);
    if (ch_pull_enter(&p, '['))
        for (; rc == CHELA_OK && ch_pull_item(&p) && ch_pull_raw(&p, &json); n++) {
            struct piece piece = reasoning_details_read_piece(json, &inner);
            rc = reasoning_details_add_piece(d, &piece, json);
        }
    if (n != 1)
        d->sole = ch_sv(NULL, 0);
    return rc;
}

static void write_detail(const struct ch_detail *item, struct ch_jw *w) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv key, value;
    bool signed_ = false;
    ch_pull_init(&p, ch_buf_sv(&item->first), &scratch);
    ch_jw_begin(w, '{');
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key) && ch_pull_raw(&p, &value)) {
            bool signature = ch_sv_is(key, "signature") && item->signature.n;
            ch_jw_key_sv(w, key);
            if (ch_sv_is(key, item->summary ? "summary" : "text") && item->joins)
                ch_jw_str(w, ch_buf_sv(&item->text));
            else if (signature)
                ch_jw_str(w, ch_buf_sv(&item->signature));
            else
                ch_jw_raw(w, value);
            signed_ |= signature;
        }
    if (!signed_ && item->signature.n)
        ch_jw_kstr(w, "signature", ch_buf_sv(&item->signature));
    ch_jw_end(w, '}');
}

void ch_details_write(const struct ch_details *d, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < d->n; i++)
        write_detail(&d->items[i], &w);
    ch_jw_end(&w, ']');
}

void ch_details_text(struct ch_sv array, struct ch_buf *out) {
    CH_BUF_AUTO outer = {0};
    CH_BUF_AUTO inner = {0};
    struct ch_pull p;
    struct ch_sv json;
    ch_pull_init(&p, array, &outer);
    if (!ch_pull_enter(&p, '['))
        return;
    while (ch_pull_item(&p) && ch_pull_raw(&p, &json)) {
        struct piece piece = reasoning_details_read_piece(json, &inner);
        ch_buf_add_sv(out, piece.text.n ? piece.text : piece.summary);
    }
}
