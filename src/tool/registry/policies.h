/* policies.h -- policies per channel and sender.
 *
 * An agent has a list of policies (struct chela_policy in chela/session.h), each for a
 * channel and optionally for some of its senders. All policies that match a run apply
 * together, nested in each other and in the agent's own policy, so their order is
 * irrelevant and none can permit what another forbids. A sender is identified by the id
 * that its channel authenticated. A run without a sender matches every policy that lists no
 * senders, and every policy that lists exceptions, because no exception covers it. */
#ifndef CH_TOOL_POLICIES_H
#define CH_TOOL_POLICIES_H
#include "chela/session.h"
#include "tool/registry/policy.h"

struct ch_policies;

/* The author of a message; borrowed, either may be NULL. */
struct ch_who {
    const char *channel, *sender;
};

/* list may be NULL: *out is then NULL, which every function accepts. CHELA_EINVAL: err
 * names the invalid policy. */
int ch_policies_new(const struct chela_policy *const *list, struct ch_policies **out,
                    struct chela_error *err);
void ch_policies_free(struct ch_policies *ps);

/* Chain the policies that match `who`; the last one is nested in `within`. *outer is the
 * start of the chain, or `within` if none matches. Texts are borrowed from ps. The caller
 * frees the result with ch_free; NULL if none matches. */
struct ch_policy *ch_policies_bound(const struct ch_policies *ps, struct ch_who who,
                                    const struct ch_policy *within,
                                    const struct ch_policy **outer);

/* The strictest of `means` and the matching policies. */
enum ch_consent ch_policies_consent(const struct ch_policies *ps, struct ch_who who,
                                    enum ch_consent means);

/* True if the same policies match both. */
bool ch_policies_same(const struct ch_policies *ps, struct ch_who a, struct ch_who b);

/* The id of the next matching policy, beginning with *at == 0; NULL: no more. */
const char *ch_policies_each(const struct ch_policies *ps, struct ch_who who, size_t *at);

#endif
