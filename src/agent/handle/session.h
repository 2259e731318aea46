/* session.h -- the structs behind the public handles: a session. */
#ifndef CH_HANDLE_SESSION_H
#define CH_HANDLE_SESSION_H
#include "agent/handle/agent.h"
#include "agent/machine/queue.h"
#include "chela/channel.h"
#include "prompt/measure.h"
#include "prompt/project.h"
#include "tool/call/state.h"

struct ch_child_run;
struct ch_input_queue;
struct ch_jobs;
struct ch_run_journal;

/* What the requests of a session begin with (context.h). */
struct ch_context {
    struct ch_project project;
    bool loaded;
    char *system; /* owned; NULL: it has made no request yet */
    uint64_t key; /* what it was made from */
    unsigned flags;
    uint64_t registry_revision; /* ...and the tools they were found in */
    struct ch_buf changed;  /* what is not as it was then */
    struct ch_buf warnings; /* about it that are still to be told, each with a NUL */
    char *fingerprint;      /* owned: of the text; NULL: not made yet */
};

/* How full the context of a session's model is. */
struct ch_context_budget {
    struct ch_meter meter; /* of the transcript */
    struct ch_gauge gauge; /* of the model that was asked last */
    const struct ch_target *gauged;
    uint64_t revision; /* of the request's head... */
    size_t fixed;      /* ...and the tokens of its system prompt and tools */
    size_t note;       /* of what it says at its end */
    size_t asked;      /* the limit of the reply that was asked for; 0: none was */
    size_t guessed;    /* tokens of the last request, before the gauge was asked; 0: not counted */
    size_t ceiling;    /* a request of so many tokens was too large; 0: none was */
    int64_t warm;      /* monotonic ms: when the model last read it; 0: never */
};

/* What a run asks of whoever owns its session. */
struct ch_session_owner {
    void (*rested)(chela_session *s); /* the run has ended or paused */
    /* The oldest message of a queue that the run did not get to. */
    void (*take_back)(chela_run *run, struct ch_queue *q);
};

struct chela_session {
    const struct ch_session_owner *owner;
    struct ch_link link; /* in the agent's sessions, then in the runtime's closed */
    chela_agent *agent;
    struct ch_bounds bounds;    /* that stay when it is handed over */
    char *key;
    char *system;               /* owned: in place of the agent's; NULL: that */
    struct ch_transcript transcript;
    struct ch_encoder encoder;
    struct ch_context_budget budget;
    uint64_t revision;          /* of the request's head and tail */
    uint64_t registry_revision; /* the tools it was made from */
    bool patched;               /* the last request was for its turn or run alone */
    struct ch_memory memory;    /* calls that a person allowed always */
    struct ch_jobs *jobs;       /* programs that run in the background */
    struct ch_queue events;     /* what happened, for the model to be told */
    chela_wake_fn *on_wake;     /* may be NULL */
    void *wake_user;
    bool closed;                /* it waits to be freed */
    struct ch_selection *selection; /* tools that its requests describe */
    uint64_t selection_revision;    /* ...when the last one was made */
    struct ch_session_state state;  /* what tools remember */
    struct chela_channel channel;   /* owned texts; no name: none */
    char *answers_to; /* owned: where the last answer through it went; NULL: nowhere yet */
    struct ch_context context;
    struct ch_run_journal *journal;       /* owned; NULL: it is not stored */
    struct ch_input_queue *input;   /* owned; NULL: nothing was sent yet */
    chela_ready_fn *on_ready;   /* may be NULL */
    void *ready_user;
    chela_run *run;             /* the last one; a reference */
    bool handed;                /* to its agent, by another (handoff.h) */
    struct ch_child_run *child;     /* owned: whose call it is; NULL: nobody's (delegate.h) */
};

#endif
