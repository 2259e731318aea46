/* approval.h -- which calls a person is asked about.
 *
 * For every tool there is a level: auto, ask or deny; by rule, or by what the
 * tool is. A call that must be asked about is not, if a rule vouches for it or
 * the session remembers it. What asking comes to is the agent's mode: a
 * person is asked, everything is let through, or nothing is.
 *
 * A level is "TOOL=auto|ask|deny"; TOOL may be a glob or a group (policy.h),
 * and a name beats those; of several that match equally well the strictest
 * holds. A rule that vouches is "TOOL: PATTERN". For a tool that runs commands
 * the pattern is a command whose words may hold * and ?, and a last word **
 * that stands for any number of arguments; neither matches an option. For
 * others it is words NAME=GLOB, and every argument of the call must have one.
 *
 *     exec: git status
 *     exec: git log --oneline **
 *     web_fetch: url=https://docs.example.com/\*
 *
 * A command is only vouched for when it provably is that one program
 * (shell_words.h), which runs no others (executable.h), is not part of the
 * workspace, where the model could have written it, and works inside it. */
#ifndef CH_TOOL_APPROVAL_H
#define CH_TOOL_APPROVAL_H
#include "tool/call/approval_binding.h"
#include "tool/registry/policy.h"

struct ch_approvals;

/* levels: comma separated, may be NULL; rules: NULL-terminated, may be NULL. */
int ch_approvals_new(const char *levels, const char *const *rules, struct ch_approvals **out,
                     struct chela_error *err);
void ch_approvals_free(struct ch_approvals *a);
CH_DEFINE_AUTO(ch_approvals)

/* The level of a tool. a NULL: no rules. */
enum ch_consent ch_approvals_level(const struct ch_approvals *a, const struct ch_tool *t);

/* Does a rule vouch for this call? Without a word of the rules about the tool,
 * calls that only look at what runs need nobody's. */
bool ch_approvals_vouch(const struct ch_approvals *a, const chela_call *call,
                        const struct ch_bound *b);

/* --- what a session remembers: "always, for exactly this". Zeroed: nothing. */
struct ch_memory {
    unsigned char (*digests)[CH_SHA256_SIZE]; /* owned; the oldest is overwritten */
    size_t n, next;
};
void ch_memory_release(struct ch_memory *m);
void ch_memory_add(struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]);
bool ch_memory_has(const struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]);

/* Is this command, or a part of it, the one that answers a request for
 * approval in a chat? A tool that runs commands refuses it, so that a model
 * cannot give its own consent. */
bool ch_approval_is_self_approve(struct ch_sv text);

#endif
