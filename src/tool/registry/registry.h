/* registry.h -- the tools one agent has, in the order they were added.
 *
 * Lookup is linear: an agent has tens of tools. A tool is reference counted,
 * because a call in progress outlives its removal. */
#ifndef CH_TOOL_REGISTRY_H
#define CH_TOOL_REGISTRY_H
#include "base/buf.h"
#include "chela/tool.h"
#include "model/codec/codec.h"

struct ch_contract;
struct ch_plan;
struct ch_policy;

/* What a tool is made of. C functions, commands and (later) remote tools
 * differ only here. All hooks are called on the loop thread. */
struct ch_tool_ops {
    const char *name; /* "function", "command", ... */
    /* Required. Begin the work; leads to exactly one ch_call_worked (call.h),
     * now or later, unless `abandon` comes first. */
    void (*start)(chela_call *call);
    /* Optional. The call timed out or was cancelled; its result is decided
     * already. Ask the work to end; ch_call_worked still follows. */
    void (*cancel)(chela_call *call);
    /* Optional. Nobody waits any more: end the work at once. From here on
     * ch_call_worked must not be called. NULL: the work cannot be ended (a C
     * function in its thread), and ch_call_worked still follows. */
    void (*abandon)(chela_call *call);
    /* Optional. Frees ch_tool.impl. */
    void (*free)(void *impl);
    /* When its call is cancelled, `cancel` comes first and the work says soon, by
     * ch_call_worked, what the result is. */
    bool winds_down;
    /* A call is a run of its own, in a session of its own. */
    bool is_run;
};

struct ch_tool {
    _Atomic unsigned refs;
    char *name, *description; /* owned */
    char *schema;             /* owned, compact JSON object */
    struct ch_contract *contract; /* owned: what the schema demands; NULL: FORGIVING,
                                     and nothing checks more */
    char *summary;            /* owned: the description's first sentence */
    enum chela_effect effect;
    enum chela_permission permission;
    unsigned flags;                /* CHELA_TOOL_* */
    int64_t timeout_ms;            /* resolved: 0 means none */
    chela_tool_fn *check;          /* may be NULL */
    void *user;                    /* for check */
    void (*release)(void *user);   /* may be NULL */
    void (*resources)(chela_call *call, void *user); /* may be NULL */
    unsigned max_retries;          /* resolved */
    /* NULL, or the program that a call would run (plan.h), for rules and people
     * to judge; *out is zeroed. Called on the loop thread, once the arguments
     * were checked and again right before the start. Set after adding. */
    void (*plan)(chela_call *call, struct ch_plan *out);
    /* NULL, or what a person should see beside the arguments before they agree to a
     * call, as text. It is part of what they agree to: should it be another one right
     * before the start, the call is not made. Likewise. */
    void (*show)(chela_call *call, struct ch_buf *out);
    /* NULL, or whether a call only looks at something: nobody is asked about it, unless
     * a rule speaks of the tool. Likewise. */
    bool (*only_looks)(const chela_call *call);
    const struct ch_tool_ops *ops; /* NULL: the host runs it */
    void *impl;                    /* owned through ops->free */
};

struct ch_registry {
    struct ch_tool **tools; /* owned array of references */
    size_t n, cap;
    uint64_t revision; /* raised by every change */
};

void ch_registry_release(struct ch_registry *r);

/* The size of the first chela_tool_opts that was published. */
#define CH_TOOL_OPTS_LEAST (offsetof(struct chela_tool_opts, timeout_ms) + sizeof(int64_t))

/* Add a tool made from opts. ops run it; NULL: the host does, and CHELA_TOOL_CLIENT
 * is set. impl is taken on success only. Refuses bad names, duplicate names
 * (CHELA_EEXIST) and schemas that are no JSON object (CHELA_EINVAL). */
int ch_registry_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    const struct ch_tool_ops *ops, void *impl, struct chela_error *err);
int ch_registry_remove(struct ch_registry *r, const char *name); /* CHELA_ENOENT */
struct ch_tool *ch_registry_find(const struct ch_registry *r, struct ch_sv name);

/* Append the names closest to a misspelt one, "read, ls", of the tools that
 * policy (may be NULL) allows; nothing if none is. */
void ch_registry_similar(const struct ch_registry *r, const struct ch_policy *policy,
                         struct ch_sv name, struct ch_buf *out);

/* A tool as a request describes it; borrowed texts. */
struct ch_tool_def ch_tool_def(const struct ch_tool *t);
/* Definitions for a request: one per tool, borrowed texts. out has r->n rows. */
void ch_registry_defs(const struct ch_registry *r, struct ch_tool_def *out);

static inline bool ch_tool_is_run(const struct ch_tool *t) { /* t may be NULL */
    return t && t->ops && t->ops->is_run;
}
void ch_tool_ref(struct ch_tool *t);
void ch_tool_unref(struct ch_tool *t);

/* A description's first sentence, or as much of it as a line may have: up to
 * the first full stop that ends a word, or the end of the line. */
struct ch_sv ch_first_sentence(struct ch_sv description);

/* Shell-style globs over names: "read,web_*", with * and ?. Does name match
 * any? */
bool ch_tool_matches(struct ch_sv patterns, struct ch_sv name);

#endif
