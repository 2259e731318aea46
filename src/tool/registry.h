/* registry.h -- the tools one agent has, in the order they were added.
 *
 * Lookup is linear: an agent has tens of tools. A tool is reference counted,
 * because a call in progress outlives its removal. */
#ifndef CH_TOOL_REGISTRY_H
#define CH_TOOL_REGISTRY_H
#include "base/buf.h"
#include "chela/tool.h"
#include "model/codec.h"

struct ch_call;

/* What a tool is made of. `start` is called on the loop thread and must lead
 * to exactly one ch_call_finish, now or later, unless cancel says it will not.
 * C functions, commands and (later) remote tools differ only here. */
struct ch_tool_ops {
    const char *name; /* "function", "command", ... */
    void (*start)(struct ch_call *call);
    /* Optional. The call timed out or was cancelled; its result is decided
     * already. Stop the work if that is possible. */
    void (*cancel)(struct ch_call *call);
    /* Optional. Frees ch_tool.impl. */
    void (*free)(void *impl);
};

struct ch_tool {
    unsigned refs;
    char *name, *description; /* owned */
    char *schema;             /* owned, compact JSON object */
    char *summary;            /* owned: the description's first sentence */
    enum chela_effect effect;
    enum chela_permission permission;
    unsigned flags;           /* CHELA_TOOL_* */
    int64_t timeout_ms;       /* resolved: 0 means none */
    const struct ch_tool_ops *ops;
    void *impl;               /* owned through ops->free */
};

struct ch_registry {
    struct ch_tool **tools; /* owned array of references */
    size_t n, cap;
    uint64_t revision; /* raised by every change */
};

void ch_registry_release(struct ch_registry *r);

/* Add a tool made from opts (fn may be NULL when ops is not the C-function
 * kind). Refuses bad names, duplicate names, schemas that are no JSON object. */
int ch_registry_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    const struct ch_tool_ops *ops, void *impl, struct chela_error *err);
int ch_registry_remove(struct ch_registry *r, const char *name);
struct ch_tool *ch_registry_find(const struct ch_registry *r, struct ch_sv name);

/* Up to max names close to a misspelt one, comma separated; "" if none. */
void ch_registry_similar(const struct ch_registry *r, struct ch_sv name, struct ch_buf *out);

/* Definitions for a request: one per tool, borrowed texts. out has r->n rows. */
void ch_registry_defs(const struct ch_registry *r, struct ch_tool_def *out);

void ch_tool_ref(struct ch_tool *t);
void ch_tool_unref(struct ch_tool *t);

/* Shell-style globs over names: "read,web_*". Does name match any? */
bool ch_tool_matches(struct ch_sv patterns, struct ch_sv name);

#endif
