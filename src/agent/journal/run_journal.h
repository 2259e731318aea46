/* run_journal.h -- what a run writes to its session's journal, and waits for.
 *
 * Every function here does nothing for a session that is not kept. A session
 * that could not be opened, or whose journal was lost, ends its run with
 * store_error; the next run opens it again and goes on from what was stored. */
#ifndef CH_AGENT_RUN_JOURNAL_H
#define CH_AGENT_RUN_JOURNAL_H
#include "agent/handle/run.h"
#include "agent/journal/journal.h"
#include "agent/journal/journal_replay.h"
#include "json/writer.h"

enum ch_run_journal_state { CH_RUN_JOURNAL_OPENING, CH_RUN_JOURNAL_OPEN, CH_RUN_JOURNAL_FAILED };

/* What the owner of a session hears of its journal. */
struct ch_run_journal_ops {
    /* The journal was read; past is taken. NULL: it could not be read, and keep->err
     * says why. */
    void (*opened)(chela_session *s, struct ch_journal_replay *past);
    void (*committed)(chela_session *s, uint64_t seq); /* records are safe up to here */
    void (*lost)(chela_session *s, const struct chela_error *err); /* and no further */
    /* A STATE record is written: adds members that are not of the machine. Returns what
     * runs below that are at work have used; those bring it along when they are found
     * again, so the record does not count it. */
    struct ch_spent (*save)(const chela_run *run, struct ch_jw *w);
    /* The record of the message that waits longest outside of any run; 0: none. */
    uint64_t (*oldest)(const chela_session *s);
};

struct ch_run_journal {
    const struct ch_run_journal_ops *ops;
    struct ch_log *log; /* NULL once it failed */
    enum ch_run_journal_state state;
    bool opened;            /* or failed: it is no longer OPENING */
    bool titled;            /* the session has a title */
    struct chela_error err; /* FAILED: why */
    struct ch_journal_replay
        *past;              /* owned: what was unfinished when it was opened; NULL: nothing */
    struct ch_seen seen;    /* events from outside that it has had */
    struct ch_list noted;   /* of those: not settled in the inbox yet (inbox.c) */
    struct ch_run last;     /* the machine of its last run, as it was read */
    struct ch_buf scratch;
};

/* NULL: nothing can be appended, because there is no journal, not yet, or not
 * any more. */
static inline struct ch_run_journal *ch_run_journal_of_session(const chela_session *s) {
    struct ch_run_journal *k = s->journal;
    return k && k->log && k->state == CH_RUN_JOURNAL_OPEN ? k : NULL;
}
static inline struct ch_run_journal *ch_run_journal_of(const chela_run *run) {
    return ch_run_journal_of_session(run->session);
}

/* Where a message came from. */
struct ch_inbound_origin { /* for channels; all may be NULL */
    const char *event, *to;
    const struct ch_message_origin *origin; /* what the message came with */
};

/* --- the part of a run that is about its journal */
extern const size_t ch_run_journal_size; /* of what run->record is */
void ch_run_journal_release(chela_run *run);
struct ch_run_counters *ch_run_journal_counters(chela_run *run); /* stored with the machine */
/* Times that the run was taken up since the last reply of it or of a run below. */
unsigned ch_run_journal_recoveries(const chela_run *run);
void ch_run_journal_recovered(chela_run *run, unsigned times);
/* The run goes on from what an earlier process stored; past->course is taken. */
void ch_run_journal_recall(chela_run *run, struct ch_journal_replay *past);
/* The embedding model has read tokens for the run. */
void ch_run_journal_embedded(chela_run *run, const char *model, int64_t tokens);

/* --- the session */
/* If the runtime has a journal. ops is static. */
void ch_run_journal_open(chela_session *s, const struct ch_run_journal_ops *ops);
void ch_run_journal_close(chela_session *s); /* no callback after this */
/* The journal is given back as it is; whoever uses the session next reads it. */
void ch_run_journal_leave(chela_session *s);
void ch_run_journal_free(chela_session *s);
/* The unfinished run is dealt with: forget it. */
void ch_run_journal_forget(chela_session *s);

/* --- records; each gives the seq that is to be committed, 0: nothing to wait for */
/* A run begins. prompt: fingerprint of what the model is told; NULL: not known. */
uint64_t ch_run_journal_inbound(chela_run *run, const struct ch_msg *m, const char *prompt);
uint64_t ch_run_journal_queued(chela_run *run, const struct ch_msg *m, bool follow_up,
                               const struct ch_inbound_origin *from);
/* Outside of any run. */
uint64_t ch_run_journal_waiting(chela_session *s, const struct ch_msg *m,
                                const struct ch_principal *principal,
                                const struct ch_inbound_origin *from);
void ch_run_journal_forgotten(chela_session *s, uint64_t seq); /* it will not be delivered */
void ch_run_journal_taken(chela_session *s, uint64_t seq);     /* delivered, outside of any run */
void ch_run_journal_delivered(chela_run *run, uint64_t seq, bool dropped);
void ch_run_journal_message(chela_run *run, const struct ch_msg *m);
/* person: its words are a person's, not the model's. */
void ch_run_journal_reply(chela_run *run, const struct ch_msg *m, const struct ch_reply *r,
                          bool person);
/* A role was asked on the run's behalf, and said this. */
void ch_run_journal_role(chela_run *run, const char *role, const char *model,
                         const struct ch_usage *u, struct ch_sv answer);
/* The answer names a file to be sent; refused: NULL, or why the file is not sent. */
void ch_run_journal_attached(chela_run *run, const char *path, const char *refused);
uint64_t ch_run_journal_started(chela_run *run, size_t call, const struct ch_block *block,
                                enum chela_effect effect, const char *key);
struct ch_run_journal_done {
    bool ran, refused, terminates;
    bool effect; /* it may have changed something */
    const char *delivered; /* text that is in the conversation by now; NULL */
};
void ch_run_journal_done(chela_run *run, size_t call, const struct ch_msg *result,
                         const struct ch_run_journal_done *how);
/* digest: of exactly what the person is asked about. */
void ch_run_journal_asked(chela_run *run, size_t call, const struct chela_approval *a,
                          const unsigned char digest[CH_SHA256_SIZE]);
/* The same of a run that call `call` is, in the session `child`. */
void ch_run_journal_asked_below(chela_run *run, size_t call, const char *child,
                                const struct chela_approval *a,
                                const unsigned char digest[CH_SHA256_SIZE]);
void ch_run_journal_left_below(chela_run *run, size_t call, const char *child,
                               const struct ch_block *block);
void ch_run_journal_answered_below(chela_session *s, const char *call_id, struct ch_sv content,
                                   bool is_error);
void ch_run_journal_answered(chela_session *s, const char *approval_id,
                             enum chela_decision decision, const char *reason);
void ch_run_journal_outbound(chela_run *run, const char *id); /* its answer is to be sent */
/* ...and what became of it, if the session is open. */
void ch_run_journal_receipt(chela_runtime *rt, const char *session, const char *id,
                            const char *state);
/* The machine as it is now. */
uint64_t ch_run_journal_state(chela_run *run, enum ch_replay_status status, enum ch_sync sync);
/* Events that were emitted but not committed are emitted again after a crash, with higher
 * seq (recover.c). This bounds how many there can be. */
void ch_run_journal_unstored(chela_run *run);
/* The same in the middle of its calls, where the machine decides nothing. */
void ch_run_journal_acting(chela_run *run, enum ch_sync sync);
uint64_t ch_run_journal_end(chela_run *run, enum ch_replay_status status); /* before it is told */
/* The transcript was rewritten: it is now what it is in memory. */
struct ch_run_journal_rewrite {
    const char *strategy;
    size_t tokens_before, tokens_after;
    struct ch_usage usage; /* of who made it shorter */
};
/* Its messages are no part of the conversation any more. */
void ch_run_journal_dropped(chela_run *run);
void ch_run_journal_rewritten(chela_run *run, const struct ch_run_journal_rewrite *how);
/* The result of a call of an earlier life, given now. */
void ch_run_journal_answer(chela_session *s, size_t call, const struct ch_msg *result);

#endif
