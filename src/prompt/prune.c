/* prune.c -- see prune.h. */
#include "prompt/prune.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#define TRIM_ABOVE 4000 /* bytes of a result above which only head and tail are kept */
#define TRIM_END 1500
#define CLEAR_ABOVE 300 /* shorter texts are not worth a note */
#define SHORTEST 200    /* minimum size of a squeezed text */

#define CLEARED "[This result was taken out to make room: it was %zu bytes. If it is needed, " \
                "make the call again.]"
#define TRIMMED "\n[... %zu bytes were taken out here to make room ...]\n"
#define MEDIA_GONE "[An image or document that stood here was taken out to make room.]"

/* Replace message i by m. */
static void replace_message(struct ch_transcript *t, size_t i, struct ch_msg *m) {
    t->bytes = t->bytes - t->msgs[i]->size + m->size;
    ch_msg_free(t->msgs[i]);
    t->msgs[i] = m;
}

size_t ch_prune_from(const struct ch_transcript *t, unsigned turns) {
    size_t i = t->n;
    while (i > 0 && turns > 0)
        turns -= t->msgs[--i]->kind == CH_MSG_ASSISTANT;
    return i;
}

/* The suffix of s of at most max bytes that begins with a whole character. */
static struct ch_sv prune_last_part(struct ch_sv s, size_t max) {
    size_t from = s.n > max ? s.n - max : 0;
    while (from < s.n && ((unsigned char)s.p[from] & 0xc0) == 0x80)
        from++;
    return ch_sv(s.p + from, s.n - from);
}

static void cut_middle(struct ch_sv text, size_t end, struct ch_buf *out) {
    struct ch_sv head = ch_utf8_cut(text, end), tail = prune_last_part(text, end);
    ch_buf_add_sv(out, head);
    ch_buf_addf(out, TRIMMED, text.n - head.n - tail.n);
    ch_buf_add_sv(out, tail);
}

/* --- one message --------------------------------------------------------------------- */

typedef bool cut_fn(const struct ch_block *b, size_t arg, struct ch_buf *out);

/* A message being rewritten. */
struct cuts {
    struct ch_block *blocks;
    struct ch_buf *texts; /* texts of the shortened blocks */
    size_t n;
    bool any;
};

static void prune_put(struct cuts *c, const struct ch_block *b, cut_fn *cut, size_t arg) {
    struct ch_buf *text = &c->texts[c->n];
    c->blocks[c->n] = *b;
    if (cut(b, arg, text)) {
        c->blocks[c->n].text = ch_buf_sv(text);
        c->any = true;
    }
    c->n++;
}

/* A note replaces the media of a result. */
static void put_without_media(struct cuts *c, const struct ch_block *b, cut_fn *cut, size_t arg) {
    struct ch_buf *text = &c->texts[c->n];
    c->blocks[c->n] = *b;
    if (!cut(b, arg, text))
        ch_buf_add_sv(text, b->text);
    ch_buf_addf(text, "%s" MEDIA_GONE, text->n ? "\n" : "");
    c->blocks[c->n].text = ch_buf_sv(text);
    c->blocks[c->n++].span = 0;
    c->any = true;
}

/* A copy of m with texts shortened by cut, and without images and documents if media is
 * set; NULL if nothing changes. */
static struct ch_msg *with_cuts(const struct ch_msg *m, cut_fn *cut, size_t arg, bool media) {
    CH_AUTOFREE struct ch_block *blocks = ch_malloc((m->nblocks + 1) * sizeof(*blocks));
    CH_AUTOFREE struct ch_buf *texts = ch_alloc((m->nblocks + 1) * sizeof(*texts));
    struct cuts c = {blocks, texts, 0, false};
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (media && ch_block_is_media(b)) {
            blocks[c.n++] = (struct ch_block){.type = CH_BLOCK_TEXT, .text = CH_SV(MEDIA_GONE)};
            c.any = true;
        } else if (media && b->type == CH_BLOCK_TOOL_RESULT && b->span) {
            put_without_media(&c, b, cut, arg);
            i += b->span;
        } else {
            prune_put(&c, b, cut, arg);
        }
    }
    struct ch_msg *out = c.any ? ch_msg_like(m, m->kind, blocks, c.n) : NULL;
    for (uint32_t i = 0; i < m->nblocks; i++)
        ch_buf_release(&texts[i]);
    return out;
}

static bool prune_trim(const struct ch_block *b, size_t end, struct ch_buf *out) {
    if (b->type != CH_BLOCK_TOOL_RESULT || b->text.n <= TRIM_ABOVE)
        return false;
    cut_middle(b->text, end, out);
    return true;
}

static bool prune_clear(const struct ch_block *b, size_t above, struct ch_buf *out) {
    if (b->type != CH_BLOCK_TOOL_RESULT || b->text.n <= above)
        return false;
    ch_buf_addf(out, CLEARED, b->text.n);
    return true;
}

/* --- all messages --------------------------------------------------------------------- */

/* Oldest first, until enough is saved. */
static size_t prune_pass(struct ch_transcript *t, size_t from, size_t wanted, cut_fn *cut,
                         size_t arg) {
    size_t saved = 0;
    for (size_t i = 0; i < from && saved < wanted; i++) {
        if (t->msgs[i]->kind != CH_MSG_RESULTS)
            continue;
        struct ch_msg *m = with_cuts(t->msgs[i], cut, arg, true);
        if (!m)
            continue;
        enum ch_counting how = (enum ch_counting)t->counting;
        size_t before = ch_msg_tokens(t->msgs[i], how), after = ch_msg_tokens(m, how);
        if (after >= before) {
            ch_msg_free(m);
            continue;
        }
        saved += before - after;
        replace_message(t, i, m);
    }
    return saved;
}

size_t ch_prune(struct ch_transcript *t, size_t from, size_t wanted) {
    size_t saved = prune_pass(t, from, wanted, prune_trim, TRIM_END);
    if (saved < wanted)
        saved += prune_pass(t, from, wanted - saved, prune_clear, CLEAR_ABOVE);
    return saved;
}

size_t ch_prunable(const struct ch_transcript *t, size_t from, size_t enough) {
    size_t n = 0;
    for (size_t i = 0; i < from && i < t->n && n < enough; i++) {
        const struct ch_msg *m = t->msgs[i];
        for (uint32_t b = 0; m->kind == CH_MSG_RESULTS && b < m->nblocks; b++)
            if (m->blocks[b].type == CH_BLOCK_TOOL_RESULT && m->blocks[b].text.n > CLEAR_ABOVE)
                n += ch_tokens_as(m->blocks[b].text, (enum ch_counting)t->counting);
    }
    return n;
}

/* --- the last resort ------------------------------------------------------------------ */

static bool squeeze(const struct ch_block *b, size_t max, struct ch_buf *out) {
    bool text = b->type == CH_BLOCK_TOOL_RESULT || b->type == CH_BLOCK_TEXT;
    if (!text || b->text.n <= max)
        return false;
    cut_middle(b->text, (max - SHORTEST / 3) / 2, out);
    return out->n < b->text.n;
}

static size_t last_words_of_user(const struct ch_transcript *t) {
    size_t i = t->n;
    while (i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER)
        i--;
    return i ? i - 1 : t->n;
}

static size_t longest_text(const struct ch_transcript *t) {
    size_t max = 0;
    for (size_t i = 0; i < t->n; i++)
        for (uint32_t b = 0; b < t->msgs[i]->nblocks; b++)
            max = CH_MAX(max, t->msgs[i]->blocks[b].text.n);
    return max;
}

static size_t squeeze_all(struct ch_transcript *t, size_t max, bool media) {
    size_t spared = last_words_of_user(t);
    for (size_t i = 0; i < t->n; i++) {
        struct ch_msg *m = i == spared ? NULL : with_cuts(t->msgs[i], squeeze, max, media);
        if (m)
            replace_message(t, i, m);
    }
    return ch_meter_read(&(struct ch_meter){0}, t);
}

size_t ch_squeeze(struct ch_transcript *t, size_t goal) {
    size_t tokens = ch_meter_read(&(struct ch_meter){0}, t);
    for (size_t max = longest_text(t) / 2; tokens > goal && max >= SHORTEST; max /= 2)
        tokens = squeeze_all(t, max, false);
    return tokens > goal ? squeeze_all(t, SHORTEST, true) : tokens;
}
