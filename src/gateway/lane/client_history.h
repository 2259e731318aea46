/* client_history.h -- a conversation that a client posted, as neutral messages.
 *
 * Each protocol parses its own form and adds blocks in order. This file groups the blocks
 * into messages and pairs tool results with their calls. In the end every call has exactly
 * one result, in the order of the calls, as every model service requires. Texts are borrowed
 * from the request. */
#ifndef CH_GATEWAY_CLIENT_HISTORY_H
#define CH_GATEWAY_CLIENT_HISTORY_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"
#include "json/json.h"
#include "model/message/message.h"

struct ch_client_history {
    struct ch_arena *arena; /* borrowed */
    int64_t now;
    struct ch_buf system; /* texts of system messages, joined by blank lines */
    struct ch_msg **msgs; /* owned array of owned messages */
    size_t n, cap;
    struct ch_block *blocks; /* owned: blocks of the current message */
    size_t nblocks, blocks_cap;
    int kind; /* kind of the current message; -1: none */
    /* The author of vendor-specific blocks that do not say who wrote them: the model of the
     * agent that speaks the protocol of the request. api NULL: none, such blocks are dropped. */
    struct ch_msg_author vendor;
    struct ch_msg_author by; /* author of the current message; api NULL: unknown */
    int64_t turn;            /* the largest turn of the current message's reasoning */
    size_t lasting;          /* first blocks of the message, none of them reasoning */
    bool lacks_media;        /* media were left out: ch_client_history_add_absent */
    struct ch_sv lost; /* types of the vendor's blocks that were left out, comma separated */
};

void ch_client_history_init(struct ch_client_history *h, struct ch_arena *arena, int64_t now);
void ch_client_history_release(struct ch_client_history *h);

void ch_client_history_add_system(struct ch_client_history *h, struct ch_sv text);
/* Begins a message. Consecutive results become one message, and so do consecutive messages
 * of the assistant. */
void ch_client_history_begin(struct ch_client_history *h, enum ch_msg_kind kind);
/* Adds to the current message. An empty text adds nothing. */
void ch_client_history_add_block(struct ch_client_history *h, const struct ch_block *b);
void ch_client_history_add_text(struct ch_client_history *h, struct ch_sv text);
/* Adds a picture or document by its URL, which may be data:TYPE;base64,... */
int ch_client_history_add_media(struct ch_client_history *h, enum ch_block_type type,
                                struct ch_sv url, struct ch_sv name, struct chela_error *err);

/* Adds media in base64. type: the media type, such as audio/wav. */
void ch_client_history_add_data(struct ch_client_history *h, enum ch_block_type kind,
                                struct ch_sv type, struct ch_sv data, struct ch_sv name);
/* Ends the current message: h->msgs has all that was added. */
void ch_client_history_settle(struct ch_client_history *h);

/* Adds a note in place of media that the model cannot receive: an uploaded file, a video.
 * what: the kind and the name. */
void ch_client_history_add_absent(struct ch_client_history *h, const char *what,
                                  struct ch_sv name);
/* Adds the result of a call, and returns its index. Media added after the result become part
 * of it when ch_client_history_close_result is called. */
size_t ch_client_history_add_result(struct ch_client_history *h, struct ch_sv id,
                                    struct ch_sv text, bool is_error);
void ch_client_history_close_result(struct ch_client_history *h, size_t at);
/* Adds reasoning of the assistant. sealed: the field of the protocol that may hold a sealed
 * block (sealed_reasoning.h); a sealed block replaces b. Reasoning of an unknown author, of
 * a second author, or of an earlier turn of the same message is dropped. */
void ch_client_history_add_reasoning(struct ch_client_history *h, const struct ch_block *b,
                                     struct ch_sv sealed);
/* True: the current message, of the assistant, can have what only the vendor understands. */
bool ch_client_history_is_of_vendor(struct ch_client_history *h);
/* Adds a block that only the vendor of the protocol understands, as JSON. */
void ch_client_history_add_opaque(struct ch_client_history *h, struct ch_sv type,
                                  const struct ch_json *block);

/* Fails if media of the messages are empty or not base64. Services refuse each request with such
 * media, so a session that stored them could not go on. Part of ch_client_history_finish. */
int ch_client_history_check_media(const struct ch_client_history *h, struct chela_error *err);

/* Ends and checks the history, and takes the last message out as the input of the next run.
 * If the last message is the assistant's, the input asks the model to continue. If the
 * request has only instructions, the input asks the model to begin. CHELA_EINVAL: results
 * and calls do not match, or there is no input. */
int ch_client_history_finish(struct ch_client_history *h, struct ch_msg **input,
                             struct chela_error *err);

/* Appends a message that asks the model to continue after results. */
void ch_client_history_ask_on(struct ch_client_history *h);
/* Writes all messages but the last one as an exported session (chela_store_import). */
void ch_client_history_export(const struct ch_client_history *h, struct ch_sv key,
                              const char *agent, struct ch_buf *out);

/* All messages of the user as one message, owned by the caller; NULL: none. */
struct ch_msg *ch_client_history_join_user(struct ch_client_history *h);

/* Removes everything up to and including the last message of the assistant. */
void ch_client_history_keep_new(struct ch_client_history *h);

#endif
