/* kept_replay.h -- puts what was kept beside the calls of a client back into its history. */
#ifndef CH_GATEWAY_KEPT_REPLAY_H
#define CH_GATEWAY_KEPT_REPLAY_H
#include "gateway/http/kept_calls.h"

/* Completes the replies of a history with the calls that the client did not receive, and the
 * messages after them with the results. Before ch_client_history_finish. A reply that the client
 * posts as it received it becomes the reply of the model again, and the messages of its run come
 * before it; a reply that the client changed keeps its changes and gets the calls. Each record is
 * used once. */
void ch_kept_replay(const struct ch_kept_scope *s, struct ch_client_history *h);

#endif
