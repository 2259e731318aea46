/* registry.h -- the tools of one agent, in insertion order.
 *
 * Lookup by name uses a hash table: an agent with MCP servers has thousands of tools. A
 * tool is reference counted, because a running call may outlive the removal of its tool. */
#ifndef CH_TOOL_REGISTRY_H
#define CH_TOOL_REGISTRY_H
#include "base/buf.h"
#include "chela/tool.h"
#include "model/codec/codec.h"

struct ch_contract;
struct ch_plan;
struct ch_policy;

/* The implementation of a kind of tool: C function, command, remote tool. All hooks are
 * called on the loop thread. */
struct ch_tool_ops {
    const char *name; /* "function", "command", ... */
    /* Required. Begin the work; the work calls ch_call_worked (call.h) exactly once, now or
     * later, unless `abandon` is called first. */
    void (*start)(chela_call *call);
    /* Optional. The call timed out or was cancelled; its result is already set. Ask the
     * work to end; ch_call_worked must still be called. */
    void (*cancel)(chela_call *call);
    /* Optional. The call's owner is gone: end the work at once. ch_call_worked must not be
     * called afterwards. NULL: the work cannot be ended (a C function in its thread), and
     * must still call ch_call_worked. */
    void (*abandon)(chela_call *call);
    /* Optional. Frees ch_tool.impl. */
    void (*free)(void *impl);
    /* On cancellation, `cancel` is called and the work itself sets the result soon, by
     * ch_call_worked. */
    bool winds_down;
    /* A call is a child run, in its own session. */
    bool is_run;
};

/* A flag beside CHELA_TOOL_*, for built-in tools and programs: a parameter that the schema does
 * not name is an error, even if the tool is FORGIVING, unless the schema permits others. */
#define CH_TOOL_CLOSED (1u << 30)

/* A flag beside CHELA_TOOL_*: name, description and schema are constants of the program, and
 * the schema is valid and compact. Such texts are neither copied nor checked, so that a
 * thousand agents with the built-in tools cost no thousand copies. */
#define CH_TOOL_CONSTANT (1u << 29)
/* With CH_TOOL_CONSTANT: the description is not a constant and is copied. */
#define CH_TOOL_DESCRIBED (1u << 28)
/* The client of the conversation brought the tool and runs it: every request describes it, in
 * the client's order, and no policy forbids it. */
#define CH_TOOL_OF_CLIENT (1u << 27)
/* Described in every mode of selection (select.h), unless such tools alone are too long. */
#define CH_TOOL_LISTED (1u << 26)
/* Calls another tool, by its name (call_by_name.h). */
#define CH_TOOL_BY_NAME (1u << 25)

/* A tool of the user in place of a built-in tool of the same name, which the agent is denied: the
 * word of the deny list that is this name means the built-in tool. */
#define CH_TOOL_REPLACES (1u << 24)
/* The program was changed since a person agreed to it: every call needs consent, whatever the rules
 * say. */
#define CH_TOOL_DOUBTED (1u << 23)

/* What calls of a tool do (tool/call/flow.h). */
enum ch_tool_flow {
    CH_FLOW_READS = 1,   /* the result is private data */
    CH_FLOW_INGESTS = 2, /* the result holds text that other people may have written */
    CH_FLOW_SENDS = 4,   /* carries its arguments out, or acts on what is elsewhere */
    CH_FLOW_ALL = 7,
    CH_FLOW_IF_OPEN = 8  /* sends only where no sandbox keeps its program from the network */
};
#define CH_ORIGIN_WEB "web"
#define CH_ORIGIN_WORKSPACE "workspace"

struct ch_tool {
    _Atomic unsigned refs;
    const char *name;        /* owned, unless CH_TOOL_CONSTANT */
    const char *description; /* the same, but owned if CH_TOOL_DESCRIBED */
    const char *schema;      /* owned, unless CH_TOOL_CONSTANT; compact JSON object */
    struct ch_contract *contract; /* owned; use ch_tool_contract */
    /* Further argument names of a CLOSED tool (argument_validation.h); constant; NULL: none.
     * Set after adding the tool, which must be CONSTANT. */
    const char *synonyms;
    enum chela_effect effect;
    enum chela_permission permission;
    unsigned flags;                /* CHELA_TOOL_*, CH_TOOL_* */
    int64_t timeout_ms;            /* resolved: 0 means no timeout */
    chela_tool_fn *check;          /* may be NULL */
    void *user;                    /* argument of check */
    void (*release)(void *user);   /* may be NULL */
    void (*resources)(chela_call *call, void *user); /* may be NULL */
    unsigned max_retries;          /* resolved */
    /* A retry policy; backoff_ms 0: none. With a policy, timeout_ms holds for each attempt, and
     * the attempts survive a restart. */
    struct {
        int64_t backoff_ms, max_backoff_ms, deadline_ms; /* deadline_ms 0: none */
    } retry;
    /* Optional. Describes the program that a call would run (plan.h), for rules and
     * approvals; *out is zeroed. Called on the loop thread, after the arguments were
     * checked and again right before the start. Set after adding the tool. */
    void (*plan)(chela_call *call, struct ch_plan *out);
    /* Optional. Text shown to a person beside the arguments before approval. The approval
     * covers this text: if the text differs right before the start, the call is not made.
     * Called like plan. */
    void (*show)(chela_call *call, struct ch_buf *out);
    /* Optional. Appends the URL that a call sends data to; nothing: nowhere. True: the operator
     * named the destination, so only a list that denies it counts. Called like plan. */
    bool (*destination)(chela_call *call, struct ch_buf *url);
    unsigned char flow; /* enum ch_tool_flow; set after adding the tool, like the next two */
    const char *origin; /* source of its results, "mcp:github"; NULL: "tool:NAME". Owned, unless
                           CH_TOOL_CONSTANT */
    /* Optional. True if the call only answers in the conversation that asked. Called like plan. */
    bool (*stays)(chela_call *call);
    /* Optional. True if a call only reads; such a call needs no approval unless a rule
     * names the tool. Called like plan. */
    bool (*only_looks)(const chela_call *call);
    const struct ch_tool_ops *ops; /* NULL: the host runs the tool */
    void *impl;                    /* owned through ops->free */
};

struct ch_registry {
    struct ch_tool **tools; /* owned array of references */
    size_t n, cap;
    uint32_t *slots; /* owned: hash table of positions in tools, plus 1; 0: a free slot */
    size_t nslots;   /* a power of two; 0: no table */
    uint64_t revision; /* incremented by every change */
};

void ch_registry_release(struct ch_registry *r);
/* Fill an empty registry with references to the tools of another. */
void ch_registry_share(struct ch_registry *r, const struct ch_registry *from);

/* Add a tool made from opts. ops run it; NULL: the host does, and CHELA_TOOL_CLIENT
 * is set. impl is taken on success only. Refuses bad names, duplicate names
 * (CHELA_EEXIST) and schemas that are no JSON object (CHELA_EINVAL). */
int ch_registry_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                    const struct ch_tool_ops *ops, void *impl, struct chela_error *err);
int ch_registry_remove(struct ch_registry *r, const char *name); /* CHELA_ENOENT: no such tool */
struct ch_tool *ch_registry_find(const struct ch_registry *r, struct ch_sv name);

/* Append the names closest to a misspelt one, "read, ls", among the tools that policy (may
 * be NULL) allows; nothing if no name is close. */
void ch_registry_similar(const struct ch_registry *r, const struct ch_policy *policy,
                         struct ch_sv name, struct ch_buf *out);

/* A tool's definition for a request; borrowed texts. */
struct ch_tool_def ch_tool_def(const struct ch_tool *t);
/* Definitions for a request: one per tool, borrowed texts. out has r->n rows. */
void ch_registry_defs(const struct ch_registry *r, struct ch_tool_def *out);

/* What CHELA_TOOL_READS, INGESTS and SENDS say. */
static inline unsigned char ch_tool_flow_of(unsigned flags) {
    return (unsigned char)((flags & CHELA_TOOL_READS ? CH_FLOW_READS : 0) |
                           (flags & CHELA_TOOL_INGESTS ? CH_FLOW_INGESTS : 0) |
                           (flags & CHELA_TOOL_SENDS ? CH_FLOW_SENDS : 0));
}
static inline bool ch_tool_is_run(const struct ch_tool *t) { /* t may be NULL */
    return t && t->ops && t->ops->is_run;
}
/* The compiled schema. A constant schema is compiled by the first call of this function.
 * NULL: the tool is FORGIVING, and arguments are not validated. Loop thread. */
struct ch_contract *ch_tool_contract(struct ch_tool *t);
void ch_tool_ref(struct ch_tool *t);
void ch_tool_unref(struct ch_tool *t);

/* The first sentence of a description, up to the first full stop that ends a word or the
 * end of the line, limited to the length of one line. */
struct ch_sv ch_first_sentence(struct ch_sv description);
/* Not stored: few tools are listed, and thousands of agents have tools. */
static inline struct ch_sv ch_tool_summary(const struct ch_tool *t) {
    return ch_first_sentence(ch_sv_str(t->description));
}

/* True if name matches any of the comma-separated globs: "read,web_*", with * and ?. */
bool ch_tool_matches(struct ch_sv patterns, struct ch_sv name);

#endif
