/* request_record.h -- stores every request to a model, so that it can be rebuilt byte for
 * byte.
 *
 * The messages of a request are those of the journal. The rest, its setup, is stored once
 * per session: PART records hold system prompts, definitions of tools and setups, each
 * under the digest of its text. One record holds all new parts of a request. A REQUEST
 * record names the setup and the number of messages, so a turn costs about 200 bytes. The
 * members of a setup are those that `chela wire encode` reads. Keys and headers are not
 * stored.
 *
 * Every function does nothing if the owner's session is not stored. */
#ifndef CH_AGENT_REQUEST_RECORD_H
#define CH_AGENT_REQUEST_RECORD_H
#include "agent/journal/run_journal.h"

struct ch_request_made {
    const struct ch_model_request *req;
    const struct ch_encoder *encoder; /* updated to req */
    /* Parts of the system prompt as JSON; NULL: the prompt is one part, from `origin`. */
    const char *sections;
    const char *origin;
    const char *role; /* who asks: "planner", "compaction"; NULL: the run itself */
};

/* The request is about to be sent; owner: the run whose journal gets the record. */
void ch_request_record(chela_run *owner, const struct ch_request_made *m);

/* The request failed, or was declined (class CH_ERR_REFUSED). cost: negative or 0: none. */
void ch_request_record_failure(chela_run *owner, const char *role, const struct ch_reply *r,
                               struct ch_sv text, double cost);

#endif
