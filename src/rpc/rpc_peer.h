/* rpc_peer.h -- one side of a JSON-RPC connection: calls in both directions.
 *
 * The peer assigns ids to its own calls, matches responses, applies time limits, and keeps
 * the requests of the other side until they are answered. The peer has no transport: the
 * owner passes received messages to ch_rpc_receive and sends the messages that `send` gets.
 *
 * Every call ends with exactly one `done`, unless it is forgotten or the peer is closed. A
 * response without a matching call is ignored: the other side answered twice, too late, or
 * with a wrong id. No callback fires inside the call that started the work. The peer may be
 * closed in any callback. Loop thread only. */
#ifndef CH_RPC_PEER_H
#define CH_RPC_PEER_H
#include "base/list.h"
#include "io/loop.h"
#include "rpc/rpc_message.h"

struct ch_rpc_batch;
struct ch_rpc_peer;

/* A request of the other side that is not answered yet. */
struct ch_rpc_request {
    struct ch_link link;
    struct ch_rpc_peer *peer; /* NULL: the peer is closed, and an answer is discarded */
    struct ch_rpc_batch *batch; /* counted; NULL: the request came alone */
    struct ch_rpc_id id;      /* text owned */
    bool cancelled;           /* the other side wants the work to end */
    void *user;               /* for the owner */
    /* Optional, set by the owner: called once when the request is cancelled or the peer is
     * closed. The owner must still answer; the answer is dropped, unless the peer answers
     * cancelled requests. */
    void (*gone)(struct ch_rpc_request *r);
};

/* m is the response, a result or an error; NULL: no response arrived, and err states the
 * reason: CHELA_ETIMEOUT, CHELA_ENET, CHELA_ELIMIT, CHELA_EPROTO (a response that cannot be
 * read), or the error of ch_rpc_fail. Borrowed for the call. */
typedef void ch_rpc_done_fn(const struct ch_rpc_message *m, const struct chela_error *err,
                            void *user);

struct ch_rpc_peer_opts {
    struct ch_loop *loop;
    /* Sends a message. id: the call's id, 0 for other messages. tag: as given to ch_rpc_call.
     * A negative result ends the call with an error. Must not close the peer. */
    int (*send)(struct ch_sv message, int64_t id, void *tag, void *user);
    /* A request arrived: answer by ch_rpc_reply or ch_rpc_refuse, now or later. m is borrowed.
     * NULL: every request is refused with CH_RPC_NO_METHOD. */
    void (*request)(struct ch_rpc_request *r, const struct ch_rpc_message *m, void *user);
    void (*notification)(const struct ch_rpc_message *m, void *user); /* optional */
    /* The notification by which either side cancels a request, with a member `requestId`;
     * NULL: none. */
    const char *cancel_method;
    bool answers_cancelled; /* a request that the other side cancelled is answered, too */
    void *user;
};

struct ch_rpc_peer *ch_rpc_peer_new(const struct ch_rpc_peer_opts *opts);
/* No callback after this, except `gone` of open requests. NULL is a no-op. */
void ch_rpc_peer_close(struct ch_rpc_peer *p);

/* Begin a call. params: JSON text, may be empty. timeout_ms 0: none. Returns the id, which is
 * positive. If too many calls are open, the call ends with CHELA_ELIMIT. */
int64_t ch_rpc_call(struct ch_rpc_peer *p, const char *method, struct ch_sv params,
                    int64_t timeout_ms, void *tag, ch_rpc_done_fn *done, void *user);
/* The id that the next ch_rpc_call will use. */
int64_t ch_rpc_next_id(const struct ch_rpc_peer *p);
/* Restart the time limit of a call, because the other side reported progress. */
void ch_rpc_touch(struct ch_rpc_peer *p, int64_t id);
/* Forget a call: `done` is not called. cancel: the other side is notified. */
void ch_rpc_forget(struct ch_rpc_peer *p, int64_t id, bool cancel);
/* End a call with an error. */
void ch_rpc_fail(struct ch_rpc_peer *p, int64_t id, const struct chela_error *err);

int ch_rpc_notify(struct ch_rpc_peer *p, const char *method, struct ch_sv params);

/* Accept batches. The responses to the requests of a batch are sent as one batch, when the last
 * one is known. */
void ch_rpc_accept_batches(struct ch_rpc_peer *p, bool accept);

/* Take a received message. 1: a batch that needs no response, now or later. CHELA_EPARSE,
 * CHELA_EPROTO, CHELA_ELIMIT: the message is invalid; a peer with a request handler has answered
 * with an error. The connection remains usable. The peer may have been closed. */
int ch_rpc_receive(struct ch_rpc_peer *p, struct ch_sv text, struct chela_error *err);

/* True if the answer to a cancelled request sends nothing. False: it may end a batch. */
bool ch_rpc_is_silent(const struct ch_rpc_request *r);
/* Answer a request and free it. result: JSON text. */
void ch_rpc_reply(struct ch_rpc_request *r, struct ch_sv result);
void ch_rpc_refuse(struct ch_rpc_request *r, int64_t code, const char *text, struct ch_sv data);

#endif
