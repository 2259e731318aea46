/* hooks.h -- observe a run and change its course.
 *
 * Every hook is optional. An agent can have several sets of hooks; the sets are called in
 * the order in which they were added, on the loop thread. A hook returns CHELA_GO to
 * continue, or CHELA_HALT to end the run with the status CANCELLED. A hook decides by
 * setting members of the struct that it is given. The texts in these members are copied
 * after the hook has returned: they must not be on the stack of the hook. An unknown result
 * counts as CHELA_HALT, an unknown decision as CHELA_UNDECIDED, and an unknown action of a call
 * as CHELA_TOOL_SKIP.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_HOOKS_H
#define CHELA_HOOKS_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* What a hook returns. */
enum chela_flow {
    CHELA_GO = 0,  /* continue */
    CHELA_HALT = 1 /* end the run with the status CANCELLED */
};

/* Changes to one model call (hook `before_model`). NULL and 0: no change. */
struct chela_turn_patch {
    unsigned turn;           /* in: number of the turn */
    const char *system;      /* replaces the system prompt of the agent */
    const char *model;       /* "provider/model" */
    const char *tools;       /* offer only these tools: names and globs; "": none */
    const char *tool_choice;
    const double *temperature;
    int64_t max_output_tokens;
    enum chela_reasoning reasoning;
};

/* What happens to an invalid call. */
enum chela_invalid_action {
    CHELA_INVALID_DEFAULT = 0, /* the model gets an error result */
    CHELA_INVALID_REPAIR = 1,  /* run the call with new_arguments and new_name, if set */
    CHELA_INVALID_FEEDBACK = 2 /* the model gets `feedback` as the error */
};
/* A call whose tool does not exist or whose arguments do not match the schema (hook
 * `invalid_call`). */
struct chela_invalid_call {
    struct chela_str id, name, arguments; /* in: as the model wrote them */
    const char *problem;                  /* in: the problem */
    enum chela_invalid_action action;
    const char *new_name, *new_arguments, *feedback;
};

/* What happens to a call. */
enum chela_tool_action {
    CHELA_TOOL_RUN = 0,      /* run the call, with new_arguments if set */
    CHELA_TOOL_SKIP = 1,     /* do not run the call; `feedback` is its result */
    CHELA_TOOL_HAND_OVER = 2 /* the host runs the call (CLIENT_TOOL_REQUIRED) */
};
/* A call that is about to run (hook `before_tool`). */
struct chela_before_tool {
    struct chela_str id, name, arguments; /* in */
    enum chela_tool_action action;
    const char *new_arguments, *feedback;
};

/* A call that needs a person's consent (hook `approve`). The hook is called after every
 * other call of the reply has ended. It may take long: the time does not count towards the
 * limit of the run. If the hook leaves `decision` undecided, the run pauses with the reason
 * APPROVAL. */
struct chela_approval {
    struct chela_str approval_id, id, name, arguments, summary; /* in */
    bool can_remember;            /* in: false: ALLOW_ALWAYS has the effect of ALLOW_ONCE */
    enum chela_decision decision; /* CHELA_UNDECIDED */
    const char *reason;           /* see enum chela_decision */
};

/* The result of a call (hook `after_tool`). */
struct chela_after_tool {
    const struct chela_event *result; /* in: the event TOOL_RESULT that follows */
    const char *content;              /* replaces the content for the model */
};

/* A set of hooks. `run` is borrowed until the hook returns; ev, turn_end and end are the
 * events that follow. */
struct chela_hooks {
    size_t size; /* set by CHELA_HOOKS */
    void *user;  /* for the hooks; borrowed until the agent is freed */
    enum chela_flow (*before_model)(chela_run *run, struct chela_turn_patch *patch, void *user);
    enum chela_flow (*text)(chela_run *run, struct chela_str piece, struct chela_str so_far,
                            void *user);
    enum chela_flow (*reasoning)(chela_run *run, struct chela_str piece, struct chela_str so_far,
                                 void *user);
    enum chela_flow (*call_delta)(chela_run *run, const struct chela_event *ev, void *user);
    enum chela_flow (*after_model)(chela_run *run, const struct chela_event *turn_end, void *user);
    enum chela_flow (*invalid_call)(chela_run *run, struct chela_invalid_call *call, void *user);
    enum chela_flow (*before_tool)(chela_run *run, struct chela_before_tool *call, void *user);
    enum chela_flow (*after_tool)(chela_run *run, struct chela_after_tool *call, void *user);
    void (*run_end)(chela_run *run, const struct chela_event *end, void *user);
    enum chela_flow (*approve)(chela_run *run, struct chela_approval *approval, void *user);
};
#define CHELA_HOOKS(...) {.size = sizeof(struct chela_hooks), __VA_ARGS__}

/* Add a set of hooks to the agent, for all its runs, including runs in progress. A set
 * cannot be removed.
 * Ownership: hooks is copied, except user, which is borrowed until the agent is freed.
 * Errors: CHELA_EINVAL: hooks is NULL, or its size is wrong. */
CHELA_API int chela_agent_hooks(chela_agent *agent, const struct chela_hooks *hooks,
                                struct chela_error *err);

CHELA_END_DECLS
#endif
