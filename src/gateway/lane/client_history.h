/* client_history.h -- a conversation that a client posted, as neutral messages.
 *
 * Each protocol parses its own form and adds blocks in order. This file makes messages of
 * the blocks and pairs tool results with their calls. In the end every call has exactly one
 * result, in the order of the calls, as every model service requires. Texts are borrowed
 * from the request. */
#ifndef CH_GATEWAY_CLIENT_HISTORY_H
#define CH_GATEWAY_CLIENT_HISTORY_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"
#include "model/message/message.h"

struct ch_client_history {
    struct ch_arena *arena; /* borrowed */
    int64_t now;
    struct ch_buf system; /* texts of system messages, joined by blank lines */
    struct ch_msg **msgs; /* owned array of owned messages */
    size_t n, cap;
    struct ch_block *blocks; /* owned: blocks of the current message */
    size_t nblocks, blocks_cap;
    int kind; /* of the current message; -1: none */
};

void ch_client_history_init(struct ch_client_history *h, struct ch_arena *arena, int64_t now);
void ch_client_history_release(struct ch_client_history *h);

void ch_client_history_add_system(struct ch_client_history *h, struct ch_sv text);
/* Begins a message. Consecutive results become one message. */
void ch_client_history_begin(struct ch_client_history *h, enum ch_msg_kind kind);
/* Adds to the current message. An empty text adds nothing. */
void ch_client_history_add_block(struct ch_client_history *h, const struct ch_block *b);
void ch_client_history_add_text(struct ch_client_history *h, struct ch_sv text);
/* Adds a picture or document by its URL, which may be data:TYPE;base64,... */
int ch_client_history_add_media(struct ch_client_history *h, enum ch_block_type type,
                                struct ch_sv url, struct ch_sv name, struct chela_error *err);

/* Ends and checks the history, and takes the last message out as the input of the next run.
 * CHELA_EINVAL: results and calls do not match, or there is no input. */
int ch_client_history_finish(struct ch_client_history *h, struct ch_msg **input,
                             struct chela_error *err);

/* All messages of the user as one message, owned by the caller; NULL: none. */
struct ch_msg *ch_client_history_join_user(struct ch_client_history *h);

/* Removes everything up to and including the last message of the assistant. */
void ch_client_history_keep_new(struct ch_client_history *h);

#endif
