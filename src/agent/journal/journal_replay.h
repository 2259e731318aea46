/* journal_replay.h -- a session as its journal tells it.
 *
 * Records are folded one by one, in order, into a transcript and the state of
 * the last run: pure, on whatever thread reads them. Whatever was stored loads,
 * and what it gives is valid for every vendor once the calls that are still
 * open have been answered. */
#ifndef CH_AGENT_JOURNAL_REPLAY_H
#define CH_AGENT_JOURNAL_REPLAY_H
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "agent/machine/run_counters.h"
#include "agent/journal/journal.h"
#include "agent/journal/seen.h"
#include "agent/machine/run.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/list.h"
#include "chela/tool.h"
#include "model/message/message.h"
#include "tool/call/approval.h"

enum ch_replay_status {
    CH_REPLAY_IDLE = CHELA_SESSION_IDLE,       /* no run is unfinished */
    CH_REPLAY_RUNNING = CHELA_SESSION_RUNNING, /* one was cut off */
    CH_REPLAY_PAUSED = CHELA_SESSION_PAUSED,   /* one waits for people or programs */
    CH_REPLAY_PARKED = CHELA_SESSION_PARKED,   /* one was cut off too often */
};

/* A call of the last reply. Texts are owned. */
struct ch_replay_call {
    bool started, once, ran, refused, terminates;
    bool child; /* it is a run, which may wait for people itself: `below` */
    struct ch_msg *result; /* owned; NULL: none is known */
    char *approval;        /* id; NULL: nobody was asked */
    char *arguments, *summary, *name;
    unsigned char digest[CH_SHA256_SIZE]; /* of what they were asked about */
    bool remember;
    enum chela_decision decision;
    char *reason;
};

/* What a run that was called waits for (delegate.h), as its caller knows it. */
struct ch_replay_below {
    struct ch_replay_below *next;
    char *child;    /* owned, as all texts: key of its session */
    char *approval; /* id; NULL: the host is to give a result */
    char *id, *name, *arguments, *summary; /* of the call; id: that of the result */
    unsigned char digest[CH_SHA256_SIZE];
    bool remember;
    enum chela_decision decision;
    char *reason;
    char *answer; /* the result; NULL: none yet */
    bool is_error;
};

/* Accepted, and not delivered yet. */
struct ch_replay_note {
    struct ch_link link;
    uint64_t seq;
    bool follow_up;
    bool alone; /* outside of any run */
    char *answer_to; /* owned; NULL */
    struct ch_message_origin origin;
    struct ch_msg *msg; /* owned */
    struct ch_principal principal;
};

struct ch_journal_replay {
    struct ch_transcript transcript;
    enum ch_replay_status status;
    char run[24];
    struct ch_run m; /* counters and state; no limits */
    unsigned recoveries;
    unsigned called; /* agents that it called */
    struct ch_principal principal; /* of the last run */

    const struct ch_msg *reply;  /* in the transcript: the one whose calls are open */
    struct ch_replay_call *calls;  /* owned */
    size_t ncalls, ndone;
    bool results;                /* the calls of the last reply all have theirs */
    unsigned answered, refused;  /* of those: made, and not made for want of budget */
    bool terminated;
    struct ch_replay_below *below; /* owned: the newest first */
    struct ch_list notes;
    struct ch_seen seen;
    struct ch_buf delivered; /* by the run's calls: texts, each with its NUL */
    char *answer_to;         /* owned: where the run's answer goes; NULL: nowhere */
    char *drop_if;           /* owned: words of it that leave nothing behind; NULL: none */
    size_t began;            /* its first message; SIZE_MAX: it is not known any more */
    struct ch_message_origin origin;   /* what its newest message came with */
    struct ch_memory memory; /* calls that a person allowed always */
    struct ch_arena arena; /* of the record that is being read */
    struct ch_run_counters counters; /* of the last run */
    const struct ch_json *saved; /* in the arena: the last STATE of this run; NULL: none */
    struct ch_buf state;   /* the last STATE of this run, unread: only that one counts */
};

struct ch_journal_replay *ch_journal_replay_new(void);
void ch_journal_replay_free(struct ch_journal_replay *p);
/* The results of the last reply's calls as one message; where none is known it
 * says that the call was interrupted. NULL: no call is open. The calls are
 * closed then. */
struct ch_msg *ch_journal_replay_close(struct ch_journal_replay *p, int64_t ts);

/* Block of the reply that call `index` is. */
const struct ch_block *ch_journal_replay_block(const struct ch_journal_replay *p, size_t index);

/* What waits below under this approval's id, or for the result of this call;
 * NULL. */
struct ch_replay_below *ch_journal_replay_asked(const struct ch_journal_replay *p,
                                                struct ch_sv approval);
struct ch_replay_below *ch_journal_replay_left(const struct ch_journal_replay *p,
                                               struct ch_sv call_id);

/* struct ch_log_handler's fold; past is a struct ch_journal_replay. */
int ch_journal_replay_fold(const struct chela_store_record *r, void *past, struct chela_error *err);

/* After the last record. */
int ch_journal_replay_finish(struct ch_journal_replay *p, struct chela_error *err);

const char *ch_decision_name(enum chela_decision d); /* "allow-once"; "" for none */
const char *ch_journal_replay_status_name(enum ch_replay_status s); /* "idle" */

#endif
