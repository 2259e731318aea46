/* prompted_reply.c -- parses the text of replies for calls and reasoning; see prompted.h.
 *
 * The same reader parses the text of a reply twice: piece by piece for the events, and as a
 * whole for the message, because only the message contains signatures and similar data. All
 * text blocks of a reply are parsed as one text, because a server may start a new block
 * anywhere. */
#include "model/codec/prompted_reply.h"

#include "base/arena.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

/* --- events */

struct ch_tag_reader {
    struct ch_tags tags;
    ch_model_event_fn *fn;
    void *user;
    int last; /* type of the last event, -1: none */
    struct ch_buf so_far;
    unsigned ncalls;
};

static void emit_piece(struct ch_tag_reader *r, enum ch_model_event_type type, struct ch_sv piece) {
    if (r->last != (int)type)
        ch_buf_clear(&r->so_far);
    r->last = (int)type;
    ch_buf_add_sv(&r->so_far, piece);
    r->fn(&(struct ch_model_event){.type = type, .text = piece, .so_far = ch_buf_sv(&r->so_far)},
          r->user);
}

static void emit_text(struct ch_sv piece, void *user) {
    emit_piece(user, CH_MEV_TEXT, piece);
}

static void emit_reasoning(struct ch_sv piece, void *user) {
    emit_piece(user, CH_MEV_REASONING, piece);
}

static void emit_call(const struct ch_tagged_call *call, void *user) {
    struct ch_tag_reader *r = user;
    struct ch_model_event ev = {.type = CH_MEV_CALL_DELTA,
                                .index = r->ncalls++,
                                .name = ch_utf8_cut(call->name, CH_LIMIT_TOOL_NAME),
                                .text = call->arguments,
                                .so_far = call->arguments};
    r->last = -1;
    if (r->ncalls <= CH_LIMIT_CALLS_READ)
        r->fn(&ev, r->user);
}

struct ch_tag_reader *ch_tag_reader_new(enum ch_tags_mode mode, ch_model_event_fn *fn, void *user) {
    static const struct ch_tags_sink sink = {emit_text, emit_reasoning, emit_call};
    struct ch_tag_reader *r = ch_alloc(sizeof(*r));
    r->fn = fn;
    r->user = user;
    r->last = -1;
    ch_tags_init(&r->tags, mode, &sink, r);
    return r;
}

void ch_tag_reader_free(struct ch_tag_reader *r) {
    if (!r)
        return;
    ch_tags_release(&r->tags);
    ch_buf_release(&r->so_far);
    ch_free(r);
}

/* Native reasoning passes unchanged; so does a native call, although no tool was offered,
 * because the message will contain it too. */
void ch_tag_reader_event(const struct ch_model_event *ev, void *reader) {
    struct ch_tag_reader *r = reader;
    if (!r->fn)
        return;
    if (ev->type == CH_MEV_TEXT) {
        ch_tags_feed(&r->tags, ev->text);
        return;
    }
    r->last = -1;
    r->fn(ev, r->user);
}

void ch_tag_reader_end(struct ch_tag_reader *r) {
    if (r->fn)
        ch_tags_end(&r->tags);
}

/* --- the message */

struct rewriting {
    struct ch_arena arena; /* texts of new blocks */
    struct ch_block *out;  /* room for CH_LIMIT_REPLY_BLOCKS blocks */
    size_t n, cap;
    struct ch_buf text; /* text of the open block */
    int open;           /* its type, -1: none */
    unsigned ncalls;
    bool failed, over;
    int64_t ts;
};

static void prompted_reply_add(struct rewriting *x, const struct ch_block *b) {
    if (x->n == CH_LIMIT_REPLY_BLOCKS) {
        x->over = true;
        return;
    }
    CH_GROW(x->out, x->n, x->cap, 8);
    x->out[x->n++] = *b;
}

static void close_open(struct rewriting *x) {
    if (x->open >= 0 && x->text.n)
        prompted_reply_add(
            x, &(struct ch_block){.type = (uint8_t)x->open,
                                  .text = ch_arena_sv(&x->arena, ch_buf_sv(&x->text)),
                                  .name = x->open == CH_BLOCK_REASONING ? CH_SV(CH_TAGS_REASONING)
                                                                        : CH_SV("")});
    ch_buf_clear(&x->text);
    x->open = -1;
}

static void prompted_reply_add_piece(struct rewriting *x, enum ch_block_type type,
                                     struct ch_sv piece) {
    if (x->open != (int)type)
        close_open(x);
    x->open = (int)type;
    ch_buf_add_sv(&x->text, piece);
}

static void prompted_reply_add_text(struct ch_sv piece, void *user) {
    prompted_reply_add_piece(user, CH_BLOCK_TEXT, piece);
}

static void add_reasoning(struct ch_sv piece, void *user) {
    prompted_reply_add_piece(user, CH_BLOCK_REASONING, piece);
}

/* The id contains the time of the reply and a mark for calls in text, so it is unique in
 * the conversation. */
static void prompted_reply_add_call(const struct ch_tagged_call *call, void *user) {
    struct rewriting *x = user;
    close_open(x);
    if (x->ncalls == CH_LIMIT_CALLS_READ) {
        x->over = true;
        return;
    }
    bool named = call->name.n <= CH_LIMIT_TOOL_NAME;
    prompted_reply_add(
        x, &(struct ch_block){
               .type = CH_BLOCK_TOOL_CALL,
               .flags =
                   (uint8_t)(call->flags | (x->failed ? CH_F_CUT : 0) | (named ? 0 : CH_F_INVALID)),
               .id = ch_sv_str(ch_arena_printf(&x->arena, "call_%llx_t%u",
                                               (unsigned long long)x->ts, x->ncalls)),
               .name = ch_arena_sv(&x->arena, ch_utf8_cut(call->name, CH_LIMIT_TOOL_NAME)),
               .text = ch_arena_sv(&x->arena, call->arguments)});
    x->ncalls++;
}

int ch_tags_rewrite(enum ch_tags_mode mode, bool failed, struct ch_msg **m) {
    static const struct ch_tags_sink sink = {prompted_reply_add_text, add_reasoning,
                                             prompted_reply_add_call};
    if (!*m)
        return CHELA_OK;
    const struct ch_msg *old = *m;
    struct rewriting x = {.open = -1, .failed = failed, .ts = old->ts};
    struct ch_tags tags;
    ch_tags_init(&tags, mode, &sink, &x);
    for (uint32_t i = 0; i < old->nblocks; i++) {
        const struct ch_block *b = &old->blocks[i];
        if (b->type == CH_BLOCK_TEXT) {
            ch_tags_feed(&tags, b->text);
        } else {
            close_open(&x);
            x.ncalls += b->type == CH_BLOCK_TOOL_CALL;
            prompted_reply_add(&x, b);
        }
    }
    ch_tags_end(&tags);
    close_open(&x);
    struct ch_msg *now = x.n ? ch_msg_like(old, CH_MSG_ASSISTANT, x.out, x.n) : NULL;
    ch_tags_release(&tags);
    ch_buf_release(&x.text);
    ch_arena_release(&x.arena);
    ch_free(x.out);
    ch_msg_free(*m);
    *m = now;
    return x.over ? CHELA_ELIMIT : CHELA_OK;
}
