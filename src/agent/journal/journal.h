/* journal.h -- what the agent asks of whoever keeps its sessions.
 *
 * A session is stored as a journal: records that are only ever appended. From
 * them a session is built again after any crash; nothing else is stored. The
 * agent declares what it needs here, store/ implements it, and a runtime
 * without a journal works as well: then nothing is kept.
 *
 * Everything is asynchronous. Appending costs a copy; what was appended in one
 * iteration of the loop by all sessions goes to the store as one transaction.
 * How far the store has got is told by `committed`, a position in the journal,
 * so whoever must wait (an effect for its `started`, the end of a run for its
 * last state) remembers the seq of its record and compares.
 *
 * Records and their data, all JSON objects ("run" and "turn" where they belong
 * to one; a message is the neutral JSON of model/message/message.h):
 *
 *   INBOUND     accepted from outside. {"run","mode":"start|steer|follow_up|
 *               collect",["prompt"],"message",["event","to","drop_if"]}. event: its
 *               id in the inbox; to: where the answer goes (mailbox.h); drop_if: as
 *               in chela_run_opts. mode start: it
 *               joins the transcript here, and prompt is the fingerprint of what
 *               the model is told;
 *               otherwise it waits for a MESSAGE that delivers it. collect: it
 *               belongs to no run yet.
 *   MESSAGE     joins the transcript. {"run","turn","message",["stop","usage",
 *               "person","request":{"model","messages":n},"embedding":{"model",
 *               "calls","input"}]}; person: these are the words of one who took
 *               over; embedding: what that model used for the run since the
 *               last of these;
 *               or {"run","turn","of":seq}: the INBOUND that waited. An
 *               assistant message plans the calls it holds.
 *   STARTED     the gate to an effect: a keyed or once call may begin once this
 *               is committed. {"run","turn","call":index,"id","name","effect",
 *               "key"}
 *   DONE        a call's one result. {"run","turn","call","message",["ran",
 *               "refused","terminates","delivered"]}. delivered: words that
 *               the call put into the conversation (tool/call/delivery.h). When each
 *               call of the reply has one, they join the transcript in the
 *               order of the calls.
 *   ASKED       a person must agree. {"run","turn","call","approval",
 *               "arguments","summary","remember":bool,"digest"}; digest: hex,
 *               of exactly what would run (tool/call/approval_binding.h)
 *   ANSWERED    they did, or did not. {"approval","decision","reason"}
 *   COMPACTION  the transcript was rewritten. {"strategy","tokens_before",
 *               "tokens_after","messages":[..],"keep":seq,"allowed":[digest..],
 *               "seen":[event..],["usage"]}: from here
 *               on it is these messages, whatever was before. Who goes on with
 *               the session needs no record before `keep`; 0: none before this.
 *   STATE       the machine after a step: {"run","state","status","reason","mode",
 *               counters, "usage", "seq", ["agent","asks_plans","goal",
 *               "error_log","model","recoveries","called","handoffs","plan","error"]};
 *               error_log: the newest errors of tools and models,
 *               [{"turn","of","class","text"}]; called: agents below that ended
 *   OUTBOUND    for channels: an answer is to be sent. {"run","id"}; what it
 *               says is in the outbox
 *   RECEIPT     and was, or was not. {"id","state"}
 *   DROPPED     the run had nothing to say: its messages leave the transcript.
 *               {"run"}
 *   ROLE        a role was asked (role.h): {"run","turn","role","model","usage",
 *               "answer"}; no part of the transcript. answer: cut if it is long
 *   ATTACHED    the answer names a file to be sent: {"run","turn","path","call",
 *               ["refused"]}; call: the tool whose permission decides; refused:
 *               why the file is not sent. No part of the transcript
 *
 * A reader ignores members it does not know, and types above the last. */
#ifndef CH_AGENT_JOURNAL_H
#define CH_AGENT_JOURNAL_H
#include "base/sv.h"
#include "chela/error.h"
#include "chela/sys/store.h"
#include "tool/memory/notes.h"

/* X(enum, "name" in exports); the order is stored: append only */
#define CH_RECORDS(X)          \
    X(INBOUND, "inbound")      \
    X(MESSAGE, "message")      \
    X(STARTED, "started")      \
    X(DONE, "done")            \
    X(ASKED, "asked")          \
    X(ANSWERED, "answered")    \
    X(COMPACTION, "compaction") \
    X(STATE, "state")          \
    X(OUTBOUND, "outbound")    \
    X(RECEIPT, "receipt")      \
    X(DROPPED, "dropped")      \
    X(ROLE, "role")            \
    X(ATTACHED, "attached")

enum ch_record_type {
    CH_REC_NONE, /* so that 0 is no type */
#define CH_RECORD_ENUM(name, text) CH_REC_##name,
    CH_RECORDS(CH_RECORD_ENUM)
#undef CH_RECORD_ENUM
        CH_REC_TYPES
};

const char *ch_record_name(uint32_t type); /* "inbound"; "?" for an unknown one */
uint32_t ch_record_type(struct ch_sv name); /* CH_REC_NONE */

struct ch_journal;
struct ch_log; /* the journal of one session that is open for writing */

/* How soon a record has to be safe. */
enum ch_sync {
    CH_SYNC_LATER,  /* with the next that is in a hurry; nobody waits */
    CH_SYNC_COMMIT, /* in this iteration: survives the death of the process */
    CH_SYNC_TOLD,   /* and of the database's server */
    CH_SYNC_DISK,   /* and of the machine */
};

/* What is known of a session once it is open. */
struct ch_log_head {
    uint64_t last; /* seq of the newest record */
    bool created;  /* there was no such session before */
};

struct ch_log_handler {
    /* One record of the active window, in order; its checksum is right. On the
     * journal's thread, which owns `past` from open to `opened`. A failure ends
     * the opening. */
    int (*fold)(const struct chela_store_record *r, void *past, struct chela_error *err);
    /* `past` is handed back. err NULL: the session is ours. Otherwise it could
     * not be opened (in use: CHELA_EBUSY; damaged: CHELA_EPARSE) and only
     * `close` may follow. */
    void (*opened)(const struct ch_log_head *head, void *past, const struct chela_error *err,
                   void *user);
    /* The log was closed before it was opened: free it. */
    void (*drop)(void *past);
    /* Every record up to seq is as safe as was asked for. */
    void (*committed)(uint64_t seq, void *user);
    /* Nothing after the last `committed` can be relied on, and nothing more is
     * written: the disk is full, the lease was taken over. Once. To go on,
     * close it and open it again. */
    void (*lost)(const struct chela_error *err, void *user);
};

struct ch_journal_ops {
    const char *name;
    /* Take the lease of the session, made if there is none, and read it;
     * `opened` follows. past is taken. */
    struct ch_log *(*open)(struct ch_journal *j, const char *key, const char *agent,
                           const struct ch_log_handler *handler, void *past, void *user);
    /* Once it is open; json is copied. Returns the record's seq. */
    uint64_t (*append)(struct ch_log *log, enum ch_record_type type, struct ch_sv json,
                       enum ch_sync sync);
    /* What a list shows; stored with the records appended next. NULL: keep. */
    void (*note)(struct ch_log *log, const struct chela_store_head *head);
    /* A change beside the records (inbox, outbox), in the transaction of what is
     * appended in this iteration; texts are copied. done may be NULL; rc is the
     * change's own. */
    void (*change)(struct ch_journal *j, const struct chela_store_change *change,
                   enum ch_sync sync,
                   void (*done)(int rc, const struct chela_error *err, void *user), void *user);
    /* What was said in stored sessions. Blocks; any thread. */
    int (*recall)(struct ch_journal *j, const struct ch_recall_query *q, ch_recall_fn *fn,
                  void *to);
    /* No callback after this. What was appended is still written, then the lease
     * is given back. */
    void (*close)(struct ch_log *log);
    /* Its host is a gateway, which takes up what another one left: leases that
     * are taken from now on say so. */
    void (*serve)(struct ch_journal *j);
    /* Write what is left and end. All logs are closed by now. */
    void (*shut)(struct ch_journal *j);
};

struct ch_journal {
    const struct ch_journal_ops *ops;
    enum ch_sync gate; /* how safe a sync point has to be: DISK (durability
                          full) or COMMIT (durability turn) */
    enum ch_sync end;  /* how safe the end of a run: TOLD (full) or DISK (turn) */
};

#endif
