/* session.h -- the struct behind the public handle chela_session. */
#ifndef CH_HANDLE_SESSION_H
#define CH_HANDLE_SESSION_H
#include "agent/handle/agent.h"
#include "agent/machine/queue.h"
#include "base/key_table.h"
#include "chela/channel.h"
#include "egress/labels.h"
#include "prompt/measure.h"
#include "prompt/project.h"
#include "tool/call/state.h"

struct ch_background;
struct ch_child_run;
struct ch_input_queue;
struct ch_jobs;
struct ch_run_journal;

/* The system prompt of a session (context.h). */
/* The part of an agent that reads files. */
struct ch_context_files {
    struct ch_project project;
    struct ch_buf changed; /* changes since `system` was made that the model has not been told */
    uint64_t told_skills;  /* hash of the changed skills in the last note */
    struct ch_buf visited; /* directories whose instructions are in the conversation,
                            * NUL-terminated each */
};

struct ch_context {
    struct ch_context_files *files; /* owned; NULL: the agent has read none so far */
    const char *system; /* shared_text.h; NULL: the session has made no request yet */
    uint64_t key; /* hash of the inputs of `system` */
    unsigned flags;
    uint64_t registry_revision; /* revision of the registry that `flags` were found in */
    struct ch_buf warnings; /* warnings that are not emitted yet, each NUL-terminated */
    const char *fingerprint; /* shared_text.h: fingerprint of `system`; NULL: not made yet */
    const char *sections;   /* shared_text.h: parts of `system` (prompt/system.h) as JSON; NULL:
                               none */
};

/* Token counts of a session's requests (context_budget.h). */
struct ch_context_budget {
    struct ch_meter meter; /* counts the transcript from the message `from` on */
    size_t from;
    struct ch_gauge gauge; /* corrects guesses for the target `gauged` */
    const struct ch_target *gauged;
    uint64_t revision; /* revision of the request head that `fixed` was counted for; other
                          revisions: `fixed` is derived from bytes */
    size_t fixed;      /* tokens of system prompt and tools */
    size_t note;       /* tokens of the note at the request's end */
    size_t output_limit; /* output limit of the request; 0: none */
    size_t guessed;    /* guessed tokens of the last request, not corrected; 0: not counted */
    size_t counted, messages; /* the service's count of the last request that was not guessed, and
                                 its messages; counted 0: none */
    size_t ceiling;    /* size of the smallest request that was refused as too large; 0: none */
    int64_t warm;      /* monotonic ms of the last reply; 0: none */
};

/* What a request begins with, as hashes. */
struct ch_epoch_prefix {
    uint64_t service, system, tools;
};

/* The epoch of a conversation (epoch.h). A zeroed struct: no request was made. */
struct ch_epoch {
    unsigned n;     /* from 1 */
    size_t unbound; /* messages from the start whose reasoning is not sent again */
    size_t stale;   /* the same, to models that bind reasoning to what precedes it */
    struct ch_epoch_prefix prefix;
    struct ch_epoch_prefix bound; /* of the last request to such a model; zeros: none was made */
    const char *news;  /* static: the event that is to be emitted has this reason; NULL: none */
    uint64_t revision; /* of the last request; the hashes are made again for another */
    const struct ch_target *target; /* of the last request */
};

/* Functions of the session's owner (session/) that a run calls. */
struct ch_session_owner {
    void (*rested)(chela_session *s); /* the run has ended or paused */
    /* Returns the oldest message of q, which the run did not deliver, to the session. */
    void (*take_back)(chela_run *run, struct ch_queue *q);
    /* The journal was lost or left: removes the messages that the journal or the inbox holds;
     * they are read again when the journal is opened again. */
    void (*lost)(chela_session *s);
};

/* The host's spending limit for the runs of a session; embedded in a struct of the host. */
struct ch_spending {
    /* Before each step of a run: lowers the limits of the run (ch_run_limit_spending). */
    void (*bound)(struct ch_spending *s, chela_run *run);
    /* After each step, in the transaction that stores it: counts the run's spending. */
    void (*count)(struct ch_spending *s, chela_run *run);
    /* Usage that an earlier process counted joins the usage of the run. */
    void (*recalled)(struct ch_spending *s, const struct ch_spent *spent);
    /* The run ends at a limit on tokens or cost. If the limit is the host's, writes the reason to
     * `error` and emits an event. */
    void (*stopped)(struct ch_spending *s, chela_run *run, char error[CHELA_ERROR_MAX]);
};

/* Functions of the feature that lets agents work beside a session. */
struct ch_beside_ops {
    /* A decision or an answer for one of the background agents, which then continues.
     * CHELA_ENOENT: no agent asked. */
    int (*approve)(chela_session *s, const char *approval_id, enum chela_decision decision,
                   const char *reason, struct chela_error *err);
    int (*answer)(chela_session *s, const char *call_id, struct ch_sv content, bool is_error,
                  struct chela_error *err);
    /* Whether one of the agents takes an answer of n bytes. */
    bool (*may_answer)(const chela_session *s, const char *call_id, size_t n);
    void (*close)(chela_session *s); /* the session is closed: the agents stop */
    void (*free)(chela_session *s);  /* the session is freed */
};

struct chela_session {
    const struct ch_session_owner *owner;
    struct ch_link link; /* in agent->sessions, later in rt->closed.sessions */
    chela_agent *agent;
    struct ch_bounds bounds; /* bounds that stay when the session is handed over */
    const char *key; /* in the block of the session */
    struct ch_keyed by_key; /* in rt->sessions, until the session is closed */
    char *system; /* owned: system prompt that replaces the agent's; NULL: the agent's */
    struct ch_transcript transcript;
    struct ch_encoder encoder;
    struct ch_context_budget budget;
    struct ch_epoch epoch;
    const struct ch_target *no_compaction; /* its service failed to condense: not asked again */
    uint64_t revision;          /* revision of the request's head and tail */
    uint64_t registry_revision; /* revision of the registry in the last request */
    bool patched;               /* the last request had its own head or tail */
    bool inherited;             /* taken over from a gateway, which may have left a run */
    bool exists;                /* opening the journal creates no session: CHELA_ENOENT */
    bool closed;                /* closed: waits to be freed */
    bool handed;                /* the session was handed over to its agent (handoff.h) */
    struct ch_memory memory;    /* remembered approvals */
    struct ch_labels labels;    /* sources of the conversation's content */
    struct ch_approvals *granted; /* borrowed from `state`: grants of a feature; NULL: none */
    struct ch_jobs *jobs;       /* background programs */
    enum chela_apply apply;     /* when changes of its runs become real */
    struct ch_session_layer *layers; /* owned (run_layer.h); NULL: none */
    struct ch_queue events;     /* system events that wait for the next model call */
    /* Called when the journal was lost, after the run in progress has failed; may be NULL. */
    void (*on_lost)(chela_session *s, const struct chela_error *err, void *user);
    void *lost_user;
    /* A run began with messages that waited; may be NULL. */
    void (*on_begun)(chela_session *s, void *user);
    void *begun_user;
    /* Records up to seq are committed; may be NULL. */
    void (*on_committed)(chela_session *s, uint64_t seq, void *user);
    void *committed_user;
    bool watched; /* readers follow the records: each is written at once */
    struct ch_spending *spending; /* NULL: the host sets no limit */
    chela_wake_fn *on_wake;     /* may be NULL */
    void *wake_user;
    const struct ch_beside_ops *beside_ops; /* NULL: no agent works beside it, nor it beside
                                               another session (feature/team/background.h) */
    struct ch_list background;    /* agents that work beside it */
    struct ch_background *beside; /* the entry of this session in the list of its starting
                                   * session; NULL: none */
    chela_event_fn *on_task;    /* gets the events of these agents; may be NULL */
    void *task_user;
    struct ch_selection *selection; /* tools that its requests describe */
    uint64_t selection_revision;    /* revision of `selection` in the last request */
    struct ch_session_state state;  /* state of tools */
    const struct chela_channel *channel; /* never NULL; name NULL: no channel */
    char *answers_to;               /* owned: address of the last answer; NULL: none yet */
    struct ch_context context;
    struct ch_run_journal *journal; /* owned; NULL: the session is not stored */
    struct ch_input_queue *input;   /* owned; NULL: chela_session_send was not used yet */
    chela_ready_fn *on_ready;       /* may be NULL */
    void *ready_user;
    chela_run *run;             /* the current or last run; a reference */
    chela_run *asks_for;        /* run whose journal has the requests of this session, which is
                                   not stored; NULL: none */
    chela_session **holder;     /* pointer of the owner to this session, which becomes NULL when
                                   the session is freed; NULL: none */
    struct ch_child_run *child; /* owned: link to the parent run; NULL: no parent (run/parent.h) */
};

#endif
