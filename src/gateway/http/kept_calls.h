/* kept_calls.h -- what a client cannot post back.
 *
 * A reply may call tools of the agent beside tools of the client, and the replies before it may
 * have called tools of the agent. The client of a stateless protocol receives its own calls only,
 * so the history of its next request lacks the others. The gateway keeps the replies and results
 * of the run under the ids of the client's calls; kept_replay.h puts them back.
 *
 * A name is a digest of the request's token, the agent, the conversation before the call and the
 * call's id. Some services count their calls ("call_1"), and use an id again in another
 * conversation. An id that is long enough to be random is also a name without the conversation, so
 * that a client may shorten or edit what comes before the call.
 *
 * Kept in memory, and in the sessions' store for other processes; bounded, and gone after a day.
 * Loop thread only. */
#ifndef CH_GATEWAY_KEPT_CALLS_H
#define CH_GATEWAY_KEPT_CALLS_H
#include "agent/handle/run.h"
#include "gateway/lane/client_history.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

struct ch_kept_calls;

/* Whose calls. */
struct ch_kept_scope {
    chela_gateway *gw;
    unsigned char who[CH_SHA256_SIZE]; /* of token and agent */
    uint64_t before;                   /* hash of the conversation that the request posted */
};

/* The scope of a request, whose history is complete (ch_client_history_settle). */
struct ch_kept_scope ch_kept_calls_scope(const struct ch_request *req, const char *agent,
                                         const struct ch_client_history *h);
/* The hash of a conversation that m follows; 0 to begin. Reasoning does not count: clients drop
 * it. */
uint64_t ch_kept_calls_fold(uint64_t before, const struct ch_msg *m);

/* The run has paused for the client. began: the first message of the run in the transcript. */
void ch_kept_calls_put(const struct ch_kept_scope *s, chela_run *run, size_t began);
/* What was kept for the calls of a reply, as JSON; p NULL: nothing. Borrowed until the next put.
 *
 *   {"calls":[ID...],"messages":[...]}
 *
 * calls: the client's calls. messages: of the run, the last reply with all its calls; then the
 * results that its other calls have, if any. */
struct ch_sv ch_kept_calls_find(const struct ch_kept_scope *s, const struct ch_msg *reply,
                                uint64_t before);
/* If the store may have calls of the history: looks for them, calls respond, and returns true.
 * gone: the client has left meanwhile. l->user is `user`. */
bool ch_kept_calls_fetch(struct ch_request *req, const struct ch_kept_scope *s,
                         const struct ch_client_history *h, ch_store_respond_fn *respond,
                         void (*gone)(void *user), void *user);
void ch_kept_calls_free(struct ch_kept_calls *k);

#endif
