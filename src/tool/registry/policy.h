/* policy.h -- decides which tools an agent, a channel or a sender may use.
 *
 * No other code makes this decision. A forbidden tool is not described to the model, unless an
 * earlier message of the session allowed it (select.h), and a call of it gets the result of an
 * unknown tool. Three bounds must all hold:
 *
 *     allow       names, globs and groups; no list allows everything, an empty
 *                 list nothing
 *     deny        the same; wins over allow
 *     permission  read < write < admin: the highest permission a tool may need
 *
 * Policies nest: the policy in `within` must allow the tool as well, so a run on behalf of
 * a stranger can only have fewer tools than its agent. */
#ifndef CH_TOOL_POLICY_H
#define CH_TOOL_POLICY_H
#include "base/buf.h"
#include "chela/tool.h"

struct ch_tool;

struct ch_policy {
    char *allow, *deny;               /* owned; NULL: no list */
    enum chela_permission permission; /* admin: no limit */
    const struct ch_policy *within;   /* borrowed; NULL: none */
    /* borrowed: name of a runtime tool that lists cannot forbid; NULL: none */
    const char *always;
    /* borrowed: list of such tools that requests do not describe; NULL: none */
    const char *own;
    /* borrowed: name of a tool that is unusable here; NULL: none. Not inherited by policies
     * nested in this one */
    const char *absent;
};

/* Lists are comma-separated and copied. An unknown group is CHELA_EINVAL, because in a deny
 * list it would silently allow its tools. */
int ch_policy_init(struct ch_policy *p, const char *allow, const char *deny,
                   enum chela_permission permission, struct chela_error *err);
void ch_policy_release(struct ch_policy *p);

/* p NULL: every tool is allowed. */
bool ch_policy_allows(const struct ch_policy *p, struct ch_sv name, enum chela_permission needs);
/* The same for a tool; a tool of the conversation's client is always allowed. */
bool ch_policy_permits(const struct ch_policy *p, const struct ch_tool *t);

/* True if name matches a list of names, globs and groups. */
bool ch_policy_listed(struct ch_sv list, struct ch_sv name);

/* Expand a group, "group:files" -> "read,write,..."; NULL: unknown group, or not a group. */
const char *ch_policy_group(struct ch_sv word);
/* True if some group contains this tool name. */
bool ch_policy_grouped(struct ch_sv name);
/* Append all groups, "group:files, group:net". */
void ch_policy_groups(struct ch_buf *out);

/* True if a deny list revokes this word of an allow list. Only definite cases count: a name
 * that the deny list matches, or an identical glob or group. */
bool ch_policy_contradicts(struct ch_sv word, struct ch_sv deny);

/* Whether a call needs a person's approval, the strictest last. SANDBOX: a call that runs a
 * program needs none, but runs in the full sandbox without a network or not at all; other
 * calls need approval. */
enum ch_consent { CH_CONSENT_AUTO, CH_CONSENT_SANDBOX, CH_CONSENT_ASK, CH_CONSENT_DENY };
const char *ch_consent_name(enum ch_consent level);
bool ch_consent_parse(struct ch_sv word, enum ch_consent *out);
/* The option `approve`; by default: ask. CHELA_EINVAL: no such value. */
int ch_consent_read(enum chela_approve choice, enum ch_consent *out, struct chela_error *err);

#endif
