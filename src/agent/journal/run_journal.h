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

enum ch_keep_state { CH_KEEP_OPENING, CH_KEEP_OPEN, CH_KEEP_FAILED };

/* What the owner of a session hears of its journal. */
struct ch_record_ops {
    /* The journal was read; past is taken. NULL: it could not be read, and keep->err
     * says why. */
    void (*opened)(chela_session *s, struct ch_past *past);
    void (*committed)(chela_session *s, uint64_t seq); /* records are safe up to here */
    void (*lost)(chela_session *s, const struct chela_error *err); /* and no further */
    /* A STATE record is written: adds members that are not of the machine. Returns what
     * runs below that are at work have used; those bring it along when they are found
     * again, so the record does not count it. */
    struct ch_spent (*save)(const chela_run *run, struct ch_jw *w);
    /* The record of the message that waits longest outside of any run; 0: none. */
    uint64_t (*oldest)(const chela_session *s);
};

struct ch_keep {
    const struct ch_record_ops *ops;
    struct ch_log *log; /* NULL once it failed */
    enum ch_keep_state state;
    bool opened;            /* or failed: it is no longer OPENING */
    bool titled;            /* the session has a title */
    struct chela_error err; /* FAILED: why */
    struct ch_past *past;   /* owned: what was unfinished when it was opened; NULL: nothing */
    struct ch_run last;     /* the machine of its last run, as it was read */
    struct ch_buf scratch;
};

/* NULL: nothing can be appended, because there is no journal, not yet, or not
 * any more. */
static inline struct ch_keep *ch_session_kept(const chela_session *s) {
    struct ch_keep *k = s->keep;
    return k && k->log && k->state == CH_KEEP_OPEN ? k : NULL;
}
static inline struct ch_keep *ch_kept(const chela_run *run) {
    return ch_session_kept(run->session);
}

/* Where a message came from. */
struct ch_origin { /* for channels; all may be NULL */
    const char *event, *to;
    const struct ch_about *about; /* what the message came with */
};

/* --- the part of a run that is about its journal */
extern const size_t ch_record_size; /* of what run->record is */
void ch_record_release(chela_run *run);
struct ch_course *ch_record_course(chela_run *run); /* stored with the machine */
/* Times that the run was taken up since the last reply of it or of a run below. */
unsigned ch_record_recoveries(const chela_run *run);
void ch_record_recovered(chela_run *run, unsigned times);
/* The run goes on from what an earlier process stored; past->course is taken. */
void ch_record_recall(chela_run *run, struct ch_past *past);
/* The embedding model has read tokens for the run. */
void ch_keep_embedded(chela_run *run, const char *model, int64_t tokens);

/* --- the session */
/* If the runtime has a journal. ops is static. */
void ch_keep_open(chela_session *s, const struct ch_record_ops *ops);
void ch_keep_close(chela_session *s); /* no callback after this */
/* The journal is given back as it is; whoever uses the session next reads it. */
void ch_keep_leave(chela_session *s);
void ch_keep_free(chela_session *s);
/* May this process still act for the run's session? */
enum ch_lease ch_keep_lease(const chela_run *run);
/* The unfinished run is dealt with: forget it. */
void ch_keep_forget(chela_session *s);

/* --- records; each gives the seq that is to be committed, 0: nothing to wait for */
/* A run begins. prompt: fingerprint of what the model is told; NULL: not known. */
uint64_t ch_keep_inbound(chela_run *run, const struct ch_msg *m, const char *prompt);
uint64_t ch_keep_queued(chela_run *run, const struct ch_msg *m, bool follow_up,
                        const struct ch_origin *from);
/* Outside of any run. */
uint64_t ch_keep_waiting(chela_session *s, const struct ch_msg *m, const struct ch_behalf *behalf,
                         const struct ch_origin *from);
void ch_keep_forgotten(chela_session *s, uint64_t seq); /* it will not be delivered */
void ch_keep_taken(chela_session *s, uint64_t seq);     /* delivered, outside of any run */
void ch_keep_delivered(chela_run *run, uint64_t seq, bool dropped);
void ch_keep_message(chela_run *run, const struct ch_msg *m);
/* person: its words are a person's, not the model's. */
void ch_keep_reply(chela_run *run, const struct ch_msg *m, const struct ch_reply *r, bool person);
/* A role was asked on the run's behalf, and said this. */
void ch_keep_role(chela_run *run, const char *role, const char *model, const struct ch_usage *u,
                  struct ch_sv answer);
uint64_t ch_keep_started(chela_run *run, size_t call, const struct ch_block *block,
                         enum chela_effect effect, const char *key);
struct ch_keep_done {
    bool ran, refused, terminates;
    bool effect; /* it may have changed something */
    const char *delivered; /* text that is in the conversation by now; NULL */
};
void ch_keep_done(chela_run *run, size_t call, const struct ch_msg *result,
                  const struct ch_keep_done *how);
/* digest: of exactly what the person is asked about. */
void ch_keep_asked(chela_run *run, size_t call, const struct chela_approval *a,
                   const unsigned char digest[CH_SHA256_SIZE]);
/* The same of a run that call `call` is, in the session `child`. */
void ch_keep_asked_below(chela_run *run, size_t call, const char *child,
                         const struct chela_approval *a,
                         const unsigned char digest[CH_SHA256_SIZE]);
void ch_keep_left_below(chela_run *run, size_t call, const char *child,
                        const struct ch_block *block);
void ch_keep_answered_below(chela_session *s, const char *call_id, struct ch_sv content,
                            bool is_error);
void ch_keep_answered(chela_session *s, const char *approval_id, enum chela_decision decision,
                      const char *reason);
void ch_keep_outbound(chela_run *run, const char *id); /* its answer is to be sent */
/* ...and what became of it, if the session is open. */
void ch_keep_receipt(chela_runtime *rt, const char *session, const char *id, const char *state);
/* The machine as it is now. */
uint64_t ch_keep_state(chela_run *run, enum ch_past_status status, enum ch_sync sync);
/* Events that were emitted but not committed are emitted again after a crash, with higher
 * seq (recover.c). This bounds how many there can be. */
void ch_keep_unstored(chela_run *run);
/* The same in the middle of its calls, where the machine decides nothing. */
void ch_keep_acting(chela_run *run, enum ch_sync sync);
uint64_t ch_keep_end(chela_run *run, enum ch_past_status status); /* before it is told */
/* The transcript was rewritten: it is now what it is in memory. */
struct ch_keep_rewrite {
    const char *strategy;
    size_t tokens_before, tokens_after;
    struct ch_usage usage; /* of who made it shorter */
};
/* Its messages are no part of the conversation any more. */
void ch_keep_dropped(chela_run *run);
void ch_keep_rewritten(chela_run *run, const struct ch_keep_rewrite *how);
/* The result of a call of an earlier life, given now. */
void ch_keep_answer(chela_session *s, size_t call, const struct ch_msg *result);

#endif
