/* journal_replay.h -- rebuilds a session from its journal.
 *
 * Records are folded in order into a transcript and the state of the last run. Folding is
 * pure and may run on any thread. Every stored journal loads, and the transcript is valid
 * for every vendor once the open calls have results (ch_journal_replay_close). */
#ifndef CH_AGENT_JOURNAL_REPLAY_H
#define CH_AGENT_JOURNAL_REPLAY_H
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "agent/machine/run_counters.h"
#include "agent/journal/journal.h"
#include "agent/journal/request_parts.h"
#include "agent/handle/session.h"
#include "agent/machine/run.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/list.h"
#include "chela/tool.h"
#include "model/message/message.h"
#include "tool/call/approval.h"

enum ch_replay_status {
    CH_REPLAY_IDLE = CHELA_SESSION_IDLE,       /* no unfinished run */
    CH_REPLAY_RUNNING = CHELA_SESSION_RUNNING, /* a run was cut off */
    CH_REPLAY_PAUSED = CHELA_SESSION_PAUSED,   /* a run waits for people or programs */
    CH_REPLAY_PARKED = CHELA_SESSION_PARKED,   /* a run was cut off too often */
};

/* A call of the last reply. Texts are owned. */
struct ch_replay_call {
    bool started, once, ran, refused, terminates;
    bool child;            /* the questions of the call are in `below` */
    unsigned nquestions;   /* questions that the call itself asked */
    struct ch_replay_below *question; /* in `below`: its last one, if the call has not been
                                         continued since; NULL: none */
    char *state;           /* state from which the call continues; NULL: none */
    struct ch_msg *result; /* owned: address of the answer; NULL: none */
    char *approval;        /* id of the question; NULL: no person was asked */
    int64_t asked_at;      /* when the person was asked, in ms */
    char *arguments, *summary, *name;
    unsigned char digest[CH_SHA256_SIZE]; /* identifies what the person was asked to approve */
    bool remember;
    enum chela_decision decision;
    char *reason;
};

/* A question of a child run (run/parent.h), as stored by its parent, or of a call itself
 * (tool/call/question.h). */
struct ch_replay_below {
    struct ch_replay_below *next;
    char *child;    /* key of the child's session, or ""; all texts are owned */
    char *state;    /* state from which the call continues; NULL: none */
    char *approval; /* id of the question; NULL: the host has to give a result */
    char *id, *name, *arguments, *summary; /* data of the call; the result needs the id */
    unsigned char digest[CH_SHA256_SIZE];
    bool remember;
    enum chela_decision decision;
    char *reason;
    char *answer; /* result; NULL: none yet */
    bool is_error;
};

/* A message that was accepted and not delivered yet. */
struct ch_replay_note {
    struct ch_link link;
    uint64_t seq;
    bool follow_up;
    bool alone;      /* part of no run */
    char *answer_to; /* owned; NULL: none */
    struct ch_message_origin origin;
    struct ch_msg *msg; /* owned */
    struct ch_principal principal;
};

struct ch_journal_replay {
    struct ch_transcript transcript;
    bool full; /* a message was left out: the transcript has reached CH_LIMIT_HISTORY */
    enum ch_replay_status status;
    char run[24];
    struct ch_run m; /* state and counters; limits are not stored */
    unsigned recoveries;
    unsigned called;               /* child agents that have ended */
    struct ch_principal principal; /* principal of the last run */

    const struct ch_msg *reply;   /* message of the transcript whose calls are open; NULL: none */
    struct ch_replay_call *calls; /* owned */
    size_t ncalls, ndone;
    struct { /* the turn of `reply`, for TURN_END */
        unsigned n;
        enum chela_stop stop;
        struct ch_usage usage;
        double cost;
    } turn;
    bool results;               /* every call of the last reply has a result */
    unsigned answered, refused; /* number of those calls that were executed, and that were
                                 * refused over the limit */
    bool terminated;
    struct ch_replay_below *below; /* owned: questions of children, newest first */
    struct ch_list notes;
    struct ch_buf delivered; /* texts that calls sent to the conversation, each NUL-terminated */
    char *answer_to;         /* owned: address of the run's answer; NULL: none */
    char *drop_if;           /* owned: answer that makes the run leave no trace; NULL: none */
    size_t began;            /* index of the run's first message; SIZE_MAX: unknown */
    size_t mailed;           /* messages up to the run's last answer that was sent; 0: none */
    struct ch_message_origin origin; /* origin of its newest message */
    struct ch_memory memory;         /* remembered approvals */
    struct ch_labels labels;         /* of the results */
    struct ch_arena arena;           /* memory of the record that is being read */
    struct ch_run_counters counters; /* counters of the last run */
    const struct ch_json *saved;     /* in the arena: last STATE record of the run; NULL: none */
    struct ch_buf state;             /* last STATE record of the run, not parsed yet */
    struct ch_part_ids parts;        /* parts of requests that are stored */
    struct ch_epoch epoch;           /* the last one */
    struct {                         /* a reply that the service makes; id NULL: none */
        char *id, *model;            /* owned */
    } job;
};

struct ch_journal_replay *ch_journal_replay_new(void);
void ch_journal_replay_free(struct ch_journal_replay *p);
/* Closes the open calls of the last reply: returns their results as one message. A call
 * without a result gets a result that states the interruption. NULL: no call is open. */
struct ch_msg *ch_journal_replay_close(struct ch_journal_replay *p, int64_t ts);

/* The block of call `index` in the reply. */
const struct ch_block *ch_journal_replay_block(const struct ch_journal_replay *p, size_t index);

/* The question of a child with this approval id, or for the result of this call; NULL:
 * none. */
struct ch_replay_below *ch_journal_replay_asked(const struct ch_journal_replay *p,
                                                struct ch_sv approval);
struct ch_replay_below *ch_journal_replay_left(const struct ch_journal_replay *p,
                                               struct ch_sv call_id);

/* Folds one record; the fold function of struct ch_log_handler. past: a struct
 * ch_journal_replay. */
int ch_journal_replay_fold(const struct chela_store_record *r, void *past, struct chela_error *err);

/* Call it after the last record. */
int ch_journal_replay_finish(struct ch_journal_replay *p, struct chela_error *err);

const char *ch_decision_name(enum chela_decision d); /* "allow-once"; "" for none */
const char *ch_journal_replay_status_name(enum ch_replay_status s); /* "idle" */

#endif
