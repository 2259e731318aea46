/* measure.c -- see measure.h. */
#include "prompt/measure.h"

#define PER_MESSAGE 4
#define PER_BLOCK 6       /* overhead of a call or result: names and ids */
#define PER_IMAGE 1200    /* an image of ordinary size, at most services */
#define DOCUMENT_SHARE 32 /* ratio of a PDF's base64 to its text */

static size_t media_tokens(const struct ch_block *b) {
    if (b->type == CH_BLOCK_IMAGE || b->flags & CH_F_URL)
        return PER_IMAGE;
    return PER_IMAGE + b->text.n / DOCUMENT_SHARE;
}

static size_t block_tokens(const struct ch_block *b, enum ch_counting how) {
    switch (b->type) {
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        return media_tokens(b);
    case CH_BLOCK_TOOL_CALL:
    case CH_BLOCK_TOOL_RESULT:
        return PER_BLOCK + ch_tokens_as(b->name, how) + ch_tokens_as(b->text, how);
    default:
        return ch_tokens_as(b->text, how);
    }
}

size_t ch_msg_tokens(const struct ch_msg *m, enum ch_counting how) {
    size_t n = PER_MESSAGE;
    for (uint32_t i = 0; i < m->nblocks; i++)
        n += block_tokens(&m->blocks[i], how);
    return n;
}

size_t ch_meter_read(struct ch_meter *m, const struct ch_transcript *t) {
    if (m->n > t->n || m->how != t->counting)
        *m = (struct ch_meter){.how = (enum ch_counting)t->counting};
    for (; m->n < t->n; m->n++)
        m->tokens += ch_msg_tokens(t->msgs[m->n], m->how);
    return m->tokens;
}
