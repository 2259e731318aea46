/* policy.h -- which of its tools an agent, a channel or a sender may see.
 *
 * This is the one place that decides. A tool that is not allowed is not
 * described to the model, and a call of it is answered as that of a tool that
 * does not exist. Three bounds, all of which must hold:
 *
 *   allow       names, globs and groups; no list allows everything, an empty
 *               one nothing
 *   deny        the same; wins over allow
 *   permission  read < write < admin: no tool that needs more
 *
 * Policies nest: what one is `within` must allow the tool as well, so a run on
 * behalf of a stranger can only ever narrow what its agent may do. */
#ifndef CH_TOOL_POLICY_H
#define CH_TOOL_POLICY_H
#include "base/buf.h"
#include "chela/tool.h"

struct ch_policy {
    char *allow, *deny;               /* owned; NULL: no such list */
    enum chela_permission permission; /* admin: no bound */
    const struct ch_policy *within;   /* borrowed; NULL: none */
    const char *always;               /* borrowed: a tool of the runtime's own, which no list
                                         takes away; NULL: none */
    const char *own;                  /* borrowed: a list of such tools that requests do not
                                         describe either; NULL: none */
    const char *absent;               /* borrowed: a tool that has nothing to work with here;
                                         NULL: none. Does not hold for what is within this */
};

/* Lists are separated by commas and copied. A group that does not exist is
 * CHELA_EINVAL: in a deny list it would let through what it was to keep out. */
int ch_policy_init(struct ch_policy *p, const char *allow, const char *deny,
                   enum chela_permission permission, struct chela_error *err);
void ch_policy_release(struct ch_policy *p);

/* p NULL: everything is allowed. */
bool ch_policy_allows(const struct ch_policy *p, struct ch_sv name, enum chela_permission needs);

/* Is a name in a list of names, globs and groups? */
bool ch_policy_listed(struct ch_sv list, struct ch_sv name);

/* "group:files" -> "read,write,..."; NULL: no such group, or no group at all. */
const char *ch_policy_group(struct ch_sv word);
/* Is this the name of a tool that some group has? */
bool ch_policy_grouped(struct ch_sv name);
/* All groups, "group:files, group:net". */
void ch_policy_groups(struct ch_buf *out);

/* Is this word of an allow list taken back by a deny list? Only words that
 * say something definite count: a name that the list matches, or the very
 * same glob or group. */
bool ch_policy_contradicts(struct ch_sv word, struct ch_sv deny);

/* Does a call need the consent of a person? */
enum ch_consent { CH_CONSENT_AUTO, CH_CONSENT_ASK, CH_CONSENT_DENY };
bool ch_consent_parse(struct ch_sv word, enum ch_consent *out);
/* The same for the option `approve`; NULL: ask. */
int ch_consent_read(const char *word, enum ch_consent *out, struct chela_error *err);

#endif
