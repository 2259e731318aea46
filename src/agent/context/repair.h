/* repair.h -- a model call whose request the service refused, made once more in another form.
 *
 * A request is repaired if the refusal says what the service takes instead: without reasoning that
 * no longer binds (epoch.h), without strict schemas, or as a rule of codec/refusals.h says. Each
 * repair is tried once, with a warning. What the service then accepts is remembered
 * (provider/learning.h); what did not help is forgotten, and the call fails with the first
 * refusal. */
#ifndef CH_AGENT_REPAIR_H
#define CH_AGENT_REPAIR_H
#include "agent/handle/run.h"
#include "model/codec/codec.h"

struct ch_target;

/* A zeroed struct belongs to no call. */
struct ch_repair {
    unsigned held;  /* quirks that would remove strict schemas from the request */
    unsigned parts; /* CH_PART_* of the request */
    unsigned tries;
    const struct ch_target *target; /* that the lessons on trial are about; NULL: none */
    struct ch_learnt before;        /* what was known without them */
    char *first;                    /* owned: the first refusal */
};

/* The request is about to be encoded. */
void ch_repair_begin(struct ch_repair *r, const struct ch_model_request *req);
/* The call failed. True: the next call is made in another form. The run may be closed. */
bool ch_repair_failed(chela_run *run, struct ch_repair *r, const struct ch_reply *reply);
/* The call to t was answered. */
void ch_repair_worked(chela_run *run, struct ch_target *t, struct ch_repair *r);

/* For calls beside the turns, which have neither strict schemas nor reasoning. The call to t
 * failed; error: the failure, for people. True: the request is to be made again for the corrected
 * target. The run may be closed. */
bool ch_repair_learn(chela_run *run, struct ch_target *t, struct ch_repair *r,
                     const struct ch_reply *reply, const char *error);
/* Nothing was learnt. True: the request was a repaired one, and `out` gets both refusals. */
bool ch_repair_give_up(chela_run *run, struct ch_target *t, struct ch_repair *r,
                       const struct ch_reply *reply, struct ch_buf *out);
void ch_repair_release(struct ch_repair *r);

#endif
