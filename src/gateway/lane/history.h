/* history.h -- a conversation that a client posted, as neutral messages.
 *
 * Each protocol reads its own form and adds blocks in order; what they have in
 * common is here: blocks become messages, results find the calls they answer,
 * and in the end every call has exactly one result, in the order of the calls,
 * as every model service demands. Texts are borrowed from the request. */
#ifndef CH_GATEWAY_HISTORY_H
#define CH_GATEWAY_HISTORY_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"
#include "model/message/message.h"

struct ch_history {
    struct ch_arena *arena; /* borrowed */
    int64_t now;
    struct ch_buf system;   /* texts of system messages, joined */
    struct ch_msg **msgs;   /* owned, each owned */
    size_t n, cap;
    struct ch_block *blocks; /* owned: of the message that is being made */
    size_t nblocks, blocks_cap;
    int kind;                /* of that; -1: none is */
};

void ch_history_init(struct ch_history *h, struct ch_arena *arena, int64_t now);
void ch_history_release(struct ch_history *h);

/* Instructions; joined by blank lines. */
void ch_history_system(struct ch_history *h, struct ch_sv text);
/* A message begins; results that follow results are one message. */
void ch_history_begin(struct ch_history *h, enum ch_msg_kind kind);
void ch_history_block(struct ch_history *h, const struct ch_block *b);
void ch_history_text(struct ch_history *h, struct ch_sv text); /* none if empty */
/* A picture or document behind a URL, which may be data:TYPE;base64,... */
int ch_history_media(struct ch_history *h, enum ch_block_type type, struct ch_sv url,
                     struct ch_sv name, struct chela_error *err);

/* No more: check it, and take the last message out as what is new. CHELA_EINVAL
 * says what is wrong. */
int ch_history_end(struct ch_history *h, struct ch_msg **input, struct chela_error *err);

/* All messages of the user as one; NULL: there is none. */
struct ch_msg *ch_history_join(struct ch_history *h);

/* Forget everything up to and with the last message of the assistant. */
void ch_history_only_new(struct ch_history *h);

#endif
