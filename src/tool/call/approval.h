/* approval.h -- decides which calls need a person's approval.
 *
 * Every tool has a level: auto, sandbox, ask or deny, set by a rule or derived from the tool's
 * properties. A call at level ask needs no approval if an allow rule matches or the session
 * remembers an earlier approval. The agent's mode decides what "ask" does: ask a person,
 * run commands in the full sandbox and ask about the rest, allow everything, or deny
 * everything.
 *
 * A level rule is "TOOL=auto|sandbox|ask|deny". TOOL may be a glob or a group (policy.h). An exact
 * name wins over globs and groups; among equally specific matches the strictest level wins.
 * An allow rule is "TOOL: PATTERN". For a tool that runs commands, the pattern is a command
 * whose words may contain * and ?, with an optional last word ** for any number of
 * arguments; neither wildcard matches an option. For other tools the pattern is a list of
 * words NAME=GLOB, and every argument of the call must match one.
 *
 *     exec: git status
 *     exec: git log --oneline **
 *     web_fetch: url=https://docs.example.com/\*
 *
 * A rule may name a program that runs the commands of a project ("exec: make test"). Such a
 * rule matches every command that begins with its words, and holds only in the full sandbox
 * without a network: where the sandbox lacks a layer, the rule does not match.
 *
 * An allow rule matches a command only if the command provably is that one program
 * (shell_words.h), the program runs no other programs (executable.h), the program lies
 * outside of the workspace, where the model could have written it, and the working
 * directory is inside the workspace. */
#ifndef CH_TOOL_APPROVAL_H
#define CH_TOOL_APPROVAL_H
#include "tool/call/approval_binding.h"
#include "tool/registry/policy.h"

struct ch_approvals;
struct ch_jw;

/* levels: comma separated, may be NULL; rules: NULL-terminated, may be NULL. */
int ch_approvals_new(const char *levels, const char *const *rules, struct ch_approvals **out,
                     struct chela_error *err);
void ch_approvals_free(struct ch_approvals *a);
CH_DEFINE_AUTO(ch_approvals)

/* The level of a tool. a NULL: no rules. */
enum ch_consent ch_approvals_level(const struct ch_approvals *a, const struct ch_tool *t);

/* Whether an allow rule matches this call, or no level rule mentions the tool and its
 * only_looks hook (registry.h) returns true. */
enum ch_vouch {
    CH_VOUCH_NO,
    CH_VOUCH_YES,
    CH_VOUCH_IN_BOX, /* only if the command runs in the full sandbox without a network */
};
enum ch_vouch ch_approvals_vouch(const struct ch_approvals *a, const chela_call *call,
                                 const struct ch_bound *b);

/* --- grants: calls that run without approval although their tool has the level ask.
 *
 * A grant names a tool, and for a tool that runs commands optionally the beginning of the
 * command. The words of the pattern must be the first words of a provably plain command; a
 * pattern that ends with * allows further arguments, options included. A command that a rule
 * could not vouch for (an interpreter, a program of the workspace, a pipe under a grant without
 * a pattern) runs in the full sandbox without a network, or is asked about. */

/* pattern empty: every call. CHELA_EINVAL: the pattern is not the beginning of one command.
 * CHELA_ELIMIT: too many grants. */
int ch_approvals_grant(struct ch_approvals *a, struct ch_sv tool, struct ch_sv pattern);
void ch_approvals_revoke(struct ch_approvals *a); /* removes every grant */
/* a NULL: no grants. */
enum ch_vouch ch_approvals_granted(const struct ch_approvals *a, const chela_call *call,
                                   const struct ch_bound *b);

/* Append a JSON array that states what each allow rule permits, in the form of
 * chela_runtime_survey with the members "tool", "program" and "reads" (both may be absent).
 * path: PATH of commands; lacks: as ch_sandbox_lacks. */
void ch_approvals_explain(const struct ch_approvals *a, const char *path, const char *lacks,
                          struct ch_jw *out);

/* --- approvals that a session remembers: "always, for exactly this". Zeroed: none. */
struct ch_memory {
    unsigned char (*digests)[CH_SHA256_SIZE]; /* owned; the oldest is overwritten */
    size_t n, next;
};
void ch_memory_release(struct ch_memory *m);
void ch_memory_add(struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]);
bool ch_memory_has(const struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]);

/* True if this command, or a part of it, would answer an approval request in a chat. Tools
 * that run commands reject such a command, so that a model cannot approve its own calls. */
bool ch_approval_is_self_approve(struct ch_sv text);

#endif
