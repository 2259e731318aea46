/* hooks.h -- looking into a run and changing its course.
 *
 * All hooks are optional; several sets may be added and are called in that
 * order, on the loop thread. Each returns CHELA_GO to go on, or CHELA_HALT to
 * end the run as cancelled; the decisions a hook may make are the fields of
 * the struct it is handed. Texts put into those fields are copied right after
 * the hook returned, so they must not be on its stack. */
#ifndef CHELA_HOOKS_H
#define CHELA_HOOKS_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

enum chela_flow { CHELA_GO = 0, CHELA_HALT = 1 };

/* Before a model call: NULL fields leave things as they are, for this turn. */
struct chela_turn_patch {
    unsigned turn;           /* in */
    const char *system;      /* instead of the agent's */
    const char *model;       /* "provider/model" */
    const char *tools;       /* offer only these, globs; "" for none */
    const char *tool_choice;
    const double *temperature;
    int64_t max_output_tokens;
};

enum chela_invalid_action {
    CHELA_INVALID_DEFAULT = 0, /* the model gets an error result */
    CHELA_INVALID_REPAIR = 1,  /* run it with `arguments` (and `name`, if set) */
    CHELA_INVALID_FEEDBACK = 2 /* the model gets `feedback` as the error */
};
struct chela_invalid_call {
    struct chela_str id, name, arguments; /* in: as the model wrote them */
    const char *problem;                  /* in */
    enum chela_invalid_action action;
    const char *new_name, *new_arguments, *feedback;
};

enum chela_tool_action {
    CHELA_TOOL_RUN = 0,   /* with new_arguments, if set */
    CHELA_TOOL_SKIP = 1,  /* not run; feedback is its result */
    CHELA_TOOL_HAND_OVER = 2 /* to the host, as a client-side call */
};
struct chela_before_tool {
    struct chela_str id, name, arguments; /* in */
    enum chela_tool_action action;
    const char *new_arguments, *feedback;
};

/* A call that needs a person's consent. It is asked when every other call of
 * the reply has ended, so the hook may take its time: it does not count
 * against the run's. Left undecided, the run pauses with approval_required. */
struct chela_approval {
    struct chela_str approval_id, id, name, arguments, summary; /* in */
    bool can_remember;            /* in: if not, always is no more than once */
    enum chela_decision decision; /* CHELA_UNDECIDED */
    const char *reason;           /* of a denial: the model is told */
};

struct chela_after_tool {
    const struct chela_event *result; /* in: as TOOL_RESULT will say it */
    const char *content;              /* what the model sees instead */
};

struct chela_hooks {
    size_t size; /* set by CHELA_HOOKS */
    void *user;
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

/* For all runs of the agent that start from now on; copied. */
CHELA_API int chela_agent_hooks(chela_agent *agent, const struct chela_hooks *hooks,
                                struct chela_error *err);

CHELA_END_DECLS
#endif
