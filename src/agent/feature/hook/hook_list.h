/* hook_list.h -- the hooks of an agent: programs that are run when something happens.
 *
 * Hooks belong to the agent, and agents that override it have the same. Loop thread only. */
#ifndef CH_AGENT_HOOK_LIST_H
#define CH_AGENT_HOOK_LIST_H
#include "agent/handle/agent.h"

struct ch_pins;

/* The events: X(name, key of the configuration, name for the programs). */
#define CH_HOOK_EVENTS(X)                          \
    X(BEFORE_TOOL, "beforeTool", "PreToolUse")     \
    X(AFTER_TOOL, "afterTool", "PostToolUse")      \
    X(PROMPT, "prompt", "UserPromptSubmit")        \
    X(STOP, "stop", "Stop")                        \
    X(COMPACTION, "compaction", "PreCompact")      \
    X(SESSION_START, "sessionStart", "SessionStart") \
    X(SESSION_END, "sessionEnd", "SessionEnd")     \
    X(NOTIFICATION, "notification", "Notification")

enum ch_hook_event {
#define CH_HOOK_ENUM(name, key, program) CH_HOOK_##name,
    CH_HOOK_EVENTS(CH_HOOK_ENUM)
#undef CH_HOOK_ENUM
};

/* A program of a hook. Texts are copied. */
struct ch_hook {
    enum ch_hook_event event;
    const char *match; /* expression for the name of a tool, or the kind of the event; NULL: any */
    const char *const *argv;
    const char *cwd;            /* NULL: the workspace */
    int64_t timeout_ms;         /* 0: CH_DEFAULT_HOOK_MS; negative: the longest */
    const struct ch_pins *pins; /* as in tool/process/program.h */
};

struct ch_hook_list;

/* An empty list, in the agent's arena. */
struct ch_hook_list *ch_hooks_list_new(chela_agent *agent);

/* Adds a hook. CHELA_EINVAL: the expression is wrong. CHELA_ELIMIT: too many. */
int ch_hooks_add(chela_agent *agent, const struct ch_hook *hook, struct chela_error *err);

/* The i-th hook of the agent for this event whose expression matches one of the two names whole
 * (either may be NULL); NULL: no more. */
const struct ch_hook *ch_hooks_match(const chela_agent *agent, enum ch_hook_event event,
                                     const char *name, const char *other, size_t i);
/* Whether the agent has any hook for the event. */
bool ch_hooks_any(const chela_agent *agent, enum ch_hook_event event);

/* "PreToolUse", and "beforeTool". */
const char *ch_hook_event_name(enum ch_hook_event event);
const char *ch_hook_event_key(enum ch_hook_event event);

#endif
