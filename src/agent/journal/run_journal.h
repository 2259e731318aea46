/* run_journal.h -- writes the records of a run to the journal of its session.
 *
 * Every function does nothing for a session that is not stored. If the journal cannot be
 * opened, or fails later, the run ends with store_error. The next run opens the journal
 * again and continues from what was stored. */
#ifndef CH_AGENT_RUN_JOURNAL_H
#define CH_AGENT_RUN_JOURNAL_H
#include "agent/handle/run.h"
#include "agent/journal/journal.h"
#include "agent/journal/journal_replay.h"
#include "json/writer.h"

enum ch_run_journal_state { CH_RUN_JOURNAL_OPENING, CH_RUN_JOURNAL_OPEN, CH_RUN_JOURNAL_FAILED };

/* Callbacks to the session (session/restore.c). */
struct ch_run_journal_ops {
    /* The journal was read; takes past. past NULL: it could not be read; journal->err says
     * why. */
    void (*opened)(chela_session *s, struct ch_journal_replay *past);
    void (*committed)(chela_session *s, uint64_t seq); /* records up to seq are committed */
    void (*lost)(chela_session *s, const struct chela_error *err); /* the journal failed */
    /* A STATE record is being written: adds members that are not the machine's. Returns the
     * usage of live children. The record leaves it out, because the children report it
     * again when they are recovered. */
    struct ch_spent (*save)(const chela_run *run, struct ch_jw *w);
    /* Position of the oldest message that waits outside of any run; 0: none. */
    uint64_t (*oldest)(const chela_session *s);
};

/* A call that waits until the journal is opened. A callback may close the session meanwhile. */
struct ch_run_journal_wait {
    bool over;
    bool closed;
};

struct ch_run_journal {
    const struct ch_run_journal_ops *ops;
    struct ch_log *log; /* NULL after a failure */
    const char *agent;  /* agent that the session was created with; only while `log` is set */
    enum ch_run_journal_state state;
    struct ch_run_journal_wait *wait; /* borrowed; NULL: nobody waits until it is opened */
    bool titled;                    /* the session has a title */
    struct chela_error err;         /* reason of FAILED */
    struct ch_journal_replay *past; /* owned: the unfinished run in the journal; NULL: none */
    uint64_t safe;                  /* records up to here are committed */
    uint64_t last_record;           /* position of the newest record, committed or not */
    struct ch_run last;             /* machine of the last run, as read */
    struct ch_buf scratch;
    struct ch_part_ids parts;       /* parts of requests that are stored */
    struct ch_request_sum sum;      /* digest of the last request */
};

/* The journal, if records can be appended; NULL: there is none, it is still being opened,
 * or it failed. */
static inline struct ch_run_journal *ch_run_journal_of_session(const chela_session *s) {
    struct ch_run_journal *k = s->journal;
    return k && k->log && k->state == CH_RUN_JOURNAL_OPEN ? k : NULL;
}
static inline struct ch_run_journal *ch_run_journal_of(const chela_run *run) {
    return ch_run_journal_of_session(run->session);
}

/* Readers follow the session's records from now on, or none does: while they do, no record waits
 * for the next one to be written. */
void ch_run_journal_watch(chela_session *s, bool watched);
/* Appends a record. Returns its position. */
uint64_t ch_run_journal_append(chela_session *s, enum ch_record_type type, struct ch_sv json,
                               enum ch_sync sync);

/* Channel data of a message that is queued. */
struct ch_inbound_origin { /* members may be NULL */
    const char *event, *to;
    const struct ch_message_origin *origin; /* report of the channel */
};

/* --- the part of a run that is about its journal; NULL if the session has no journal */
extern const size_t ch_run_journal_size; /* size of the part run->record */
void ch_run_journal_release(chela_run *run);
/* Goal and errors of the run, which has a record. */
struct ch_run_counters *ch_run_journal_counters(chela_run *run);
/* Recoveries since the last reply of the run or a child. */
unsigned ch_run_journal_recoveries(const chela_run *run);
void ch_run_journal_recovered(chela_run *run, unsigned times);
/* The run continues from a journal; takes past->counters. */
void ch_run_journal_recall(chela_run *run, struct ch_journal_replay *past);
/* Counts tokens that the embedding model has read for the run. */
void ch_run_journal_embedded(chela_run *run, const char *model, int64_t tokens);

/* --- the session */
/* Opens the journal, if the runtime has one. ops is static. */
void ch_run_journal_open(chela_session *s, const struct ch_run_journal_ops *ops);
void ch_run_journal_close(chela_session *s); /* no callback after this */
/* Releases the journal without another record; the next user of the session reads it. */
void ch_run_journal_leave(chela_session *s);
void ch_run_journal_free(chela_session *s);
/* May this process still act for the run's session? */
enum ch_lease ch_run_journal_lease(const chela_run *run);
/* Forgets the unfinished run, which was resumed or superseded. */
void ch_run_journal_forget(chela_session *s);

/* --- records; each gives the seq that is to be committed, 0: nothing to wait for */
/* INBOUND of the run's input. prompt: fingerprint of the prompt; NULL: unknown. */
uint64_t ch_run_journal_inbound(chela_run *run, const struct ch_msg *m, const char *prompt);
uint64_t ch_run_journal_queued(chela_run *run, const struct ch_msg *m, bool follow_up,
                               const struct ch_inbound_origin *from);
/* INBOUND of a message outside of any run. idle: the session has no unfinished run, so its
 * status tells a gateway after a crash to look for waiting messages. */
uint64_t ch_run_journal_waiting(chela_session *s, const struct ch_msg *m,
                                const struct ch_principal *principal,
                                const struct ch_inbound_origin *from, bool idle);
void ch_run_journal_forgotten(chela_session *s, uint64_t seq); /* the message at seq is dropped */
void ch_run_journal_taken(chela_session *s, uint64_t seq);     /* the message at seq is delivered
                                                                  outside of any run */
void ch_run_journal_delivered(chela_run *run, uint64_t seq, bool dropped);
void ch_run_journal_message(chela_run *run, const struct ch_msg *m);
/* The runtime added text to the newest message. */
void ch_run_journal_note(chela_run *run, struct ch_sv text);
/* cost: negative or 0: unknown. person: a person wrote the text, not a model. */
uint64_t ch_run_journal_reply(chela_run *run, const struct ch_msg *m, const struct ch_reply *r,
                              double cost, bool person);
/* JOB: the service makes the reply of the current turn in the background. Empty: no more. */
void ch_run_journal_job(chela_run *run, struct ch_sv id);
/* A role was asked on the run's behalf and gave this answer. notes: how the answer was read, one
 * line for each deviation from its form; may be empty. cost: negative or 0: unknown. */
void ch_run_journal_role(chela_run *run, const char *role, const char *model,
                         const struct ch_usage *u, double cost, struct ch_sv answer,
                         struct ch_sv notes);
/* The answer names a file to be sent. refused: the reason why the file is not sent; NULL: it
 * is sent. */
void ch_run_journal_attached(chela_run *run, const char *path, const char *refused);
uint64_t ch_run_journal_started(chela_run *run, size_t call, const struct ch_block *block,
                                enum chela_effect effect, const char *key,
                                const char *state);
struct ch_run_journal_done {
    bool ran, refused, terminates;
    bool effect; /* the call may have changed something */
    unsigned attempts;
    const struct ch_labels *labels; /* sources of the result */
    const char *delivered; /* text that the call sent to the conversation; NULL: none */
};
void ch_run_journal_done(chela_run *run, size_t call, const struct ch_msg *result,
                         const struct ch_run_journal_done *how);
/* digest: identifies exactly what the person is asked to approve. */
void ch_run_journal_asked(chela_run *run, size_t call, const struct chela_approval *a,
                          const unsigned char digest[CH_SHA256_SIZE]);
/* The same for a question of the child run of call `call`, whose session is `child`. */
void ch_run_journal_asked_below(chela_run *run, size_t call, const char *child,
                                const struct chela_approval *a,
                                const unsigned char digest[CH_SHA256_SIZE]);
void ch_run_journal_left_below(chela_run *run, size_t call, const char *child,
                               const struct ch_block *block);
/* A question that call `call` itself asks. state: the state from which the call continues,
 * or NULL. */
void ch_run_journal_question(chela_run *run, size_t call, const struct ch_block *question,
                             const char *state);
void ch_run_journal_answered_below(chela_session *s, const char *call_id, struct ch_sv content,
                                   bool is_error);
void ch_run_journal_answered(chela_session *s, const char *approval_id,
                             enum chela_decision decision, const char *reason);
void ch_run_journal_outbound(chela_run *run, const char *id); /* the run's answer is in the
                                                                 outbox */
/* The outcome of sending, if the session is open. */
void ch_run_journal_receipt(chela_runtime *rt, const char *session, const char *id,
                            const char *state);
/* STATE: the current state of the machine. */
uint64_t ch_run_journal_state(chela_run *run, enum ch_replay_status status, enum ch_sync sync);
/* Stores a STATE if too many events were emitted since the last one. Events that are not
 * stored are emitted again after a crash, with higher seq (recover.c); this bounds their
 * number. */
void ch_run_journal_unstored(chela_run *run);
/* STATE during tool calls, between two steps of the machine. */
void ch_run_journal_acting(chela_run *run, enum ch_sync sync);
/* STATE at the end, before RUN_END. ending: its sentence, "": none. */
uint64_t ch_run_journal_end(chela_run *run, enum ch_replay_status status, const char *ending);
/* COMPACTION: the transcript in memory replaces the stored one. */
struct ch_run_journal_rewrite {
    const char *strategy;
    size_t tokens_before, tokens_after;
    struct ch_usage usage; /* usage of the summary's model */
    bool condensed;        /* by the service: messages were left as they are, and */
    const struct ch_msg *item; /* this one was inserted; NULL: none */
    size_t at;                 /* index of item */
};
/* EPOCH: the session's epoch has begun. */
void ch_run_journal_epoch(chela_run *run, const char *reason);
/* DROPPED: the run's messages have left the transcript. */
void ch_run_journal_dropped(chela_run *run);
void ch_run_journal_rewritten(chela_run *run, const struct ch_run_journal_rewrite *how);
/* DONE of a call that an earlier process started. */
void ch_run_journal_answer(chela_session *s, size_t call, const struct ch_msg *result);

#endif
