/* policies.h -- what those who write through a channel may have done.
 *
 * An agent has a list of policies (struct chela_policy in chela/session.h), each
 * for a channel and, there, for some senders. All that fit a run hold, one
 * within the other and the last within the agent's own, so their order does not
 * matter and none can give what another takes. A sender is known by the id that
 * its channel vouches for; a run without one is fitted by everything that does
 * not name senders, and by what makes exceptions: it is nobody's exception. */
#ifndef CH_TOOL_POLICIES_H
#define CH_TOOL_POLICIES_H
#include "chela/session.h"
#include "tool/registry/policy.h"

struct ch_policies;

/* Who wrote; borrowed, either may be NULL. */
struct ch_who {
    const char *channel, *sender;
};

/* list may be NULL: *out is then NULL, which every function takes. CHELA_EINVAL
 * names the policy that makes no sense. */
int ch_policies_new(const struct chela_policy *const *list, struct ch_policies **out,
                    struct chela_error *err);
void ch_policies_free(struct ch_policies *ps);

/* The bounds of all that fit, the last one within `within`; *outer is where they
 * begin: `within` itself when none fits. Texts are borrowed from ps; the result,
 * NULL when none fits, is yours to ch_free. */
struct ch_policy *ch_policies_bound(const struct ch_policies *ps, struct ch_who who,
                                    const struct ch_policy *within,
                                    const struct ch_policy **outer);

/* The strictest of `means` and what those that fit say. */
enum ch_consent ch_policies_consent(const struct ch_policies *ps, struct ch_who who,
                                    enum ch_consent means);

/* Do the same ones fit both? */
bool ch_policies_same(const struct ch_policies *ps, struct ch_who a, struct ch_who b);

/* The id of the next one that fits, beginning with *at == 0; NULL: no more. */
const char *ch_policies_each(const struct ch_policies *ps, struct ch_who who, size_t *at);

#endif
