/* journal.h -- the interface between the agent and the store of its sessions.
 *
 * A session is stored as a journal, to which records are only appended. After a crash
 * the session is rebuilt from these records; nothing else is stored. This header
 * declares what the agent needs, and store/ implements it. Without a journal a runtime
 * works, but stores nothing.
 *
 * All operations are asynchronous. Appending copies the record; records that all
 * sessions append in one turn of the loop are written as one transaction. The callback
 * `committed` reports a position in the journal. Code that has to wait (an effect for
 * its STARTED, the end of a run for its last STATE) remembers the position of its record
 * and compares.
 *
 * Records and their data. All are JSON objects, with "run" and "turn" where they belong
 * to one. A message is the neutral JSON of model/message/message.h.
 *
 *   INBOUND     A message was accepted. {"run","mode":"start|steer|follow_up|collect",
 *               ["prompt","agent"],"message",["event","to","drop_if"]}. agent: the run's, if it
 *               is not the session's first; event: id in the inbox;
 *               to: address of the answer (mailbox.h); drop_if: as in chela_run_opts.
 *               mode start: the message joins the transcript here, and prompt is the
 *               fingerprint of the prompt. Other modes: the message waits for a MESSAGE
 *               record that delivers it; collect: it belongs to no run yet.
 *   MESSAGE     A message joins the transcript. {"run","turn","message",["stop","usage",
 *               "person","request":{"model","messages":n},"embedding":{"model","calls",
 *               "input"}]}, or {"run","turn","of":seq} for the INBOUND record that
 *               waited, or {"run","turn","note"} for text of the runtime that becomes
 *               a part of the newest message (a CONTEXT block). person: a person who
 *               took over wrote the text. embedding: usage of the embedding model since
 *               the last such member. An assistant message announces the calls that it
 *               holds. Without "stop" it is the part of a reply that the run was
 *               cancelled in.
 *   STARTED     A call with an effect may start once this record is committed.
 *               {"run","turn","call":index,"id","name","effect","key",["state"]}. state:
 *               from which another process continues the call; "": none any more. A call
 *               that waits for a time has a state without the record of a start
 *   DONE        The one result of a call. {"run","turn","call","message",["ran",
 *               "refused","terminates","attempts","delivered","labels"]}. attempts: more than one;
 *               labels: sources of the result (egress/labels.h);
 *               delivered: text that the call sent to the conversation
 *               (tool/call/delivery.h). When every call of the reply
 *               has a result, the results join the transcript in the order of the calls.
 *   ASKED       A person has to approve a call. {"run","turn","call","approval",
 *               "arguments","summary","remember":bool,"digest"}. digest: hex; identifies
 *               exactly what would run (tool/call/approval_binding.h)
 *   ANSWERED    The person's decision. {"approval","decision","reason"}
 *   COMPACTION  The transcript was rewritten. {"strategy","tokens_before","tokens_after",
 *               "messages":[..],"keep":seq,"allowed":[digest..],
 *               ["usage"]}. The messages replace the transcript. A reader needs no record
 *               before `keep`; 0: none before this one. Strategy "service": ["at","message",
 *               "usage"] instead: the message is inserted at this index; without them the
 *               compaction is a part of the last reply
 *   STATE       The machine after a step. {"run","state","status","reason","mode",
 *               counters,"usage","seq",["agent","asks_plans","goal","error_log","model",
 *               "recoveries","called","handoffs","plan","error","unasked","spoke","labels"]}.
 *               labels: sources of the conversation (egress/labels.h)
 *               error_log: the newest errors of tools and models,
 *               [{"turn","of","class","text"}]; called: number of child agents that have
 *               ended; unasked, spoke: of a companion (feature/heartbeat/beat.c)
 *   OUTBOUND    An answer is in the outbox. {"run","id"}; the outbox has its text
 *   RECEIPT     The outcome of sending it. {"id","state"}
 *   DROPPED     The run had nothing to say: its messages leave the transcript.
 *               {"run","messages"}; messages: number of messages that are left
 *   ROLE        A role was asked (role.h). {"run","turn","role","model","usage",["cost"],
 *               "answer"};
 *               not part of the transcript. A long answer is cut
 *   ATTACHED    The answer names a file to be sent. {"run","turn","path","call",
 *               ["refused"]}; call: the tool whose permission decides; refused: why the
 *               file is not sent. Not part of the transcript
 *
 *   PART        Parts of requests, each stored once per session. {"parts":[{"id","kind",
 *               ...}]}: the text of a system prompt with its sections, the definition of a
 *               tool, or the setup of a request, which is everything but its messages
 *               (request_record.h). Older records are one part: {"id","kind", ...}. Not part
 *               of the transcript
 *   REQUEST     A request is sent to a model. {"run","turn","setup":id,"messages":n,"bytes",
 *               "digest",["attempt","role","note","view":[messages]]}. messages: length of the
 *               transcript; view: the messages, where the transcript is not what is sent;
 *               digest: SHA-256 of the body, hex; role: the request is not the run's own
 *   FAILURE     A request got no reply that joins the transcript. {"run","turn","class",
 *               "status","text",["role","usage","cost","retry_after_ms"]}; class refused: the
 *               model declined
 *
 *   EPOCH       The conversation begins an epoch (context/epoch.h). {"run","turn","n","reason",
 *               "unbound","stale","service","system","tools","bound"}. unbound: messages from
 *               the start whose reasoning is not sent again; stale: the same, to models that
 *               bind it; the next three: hashes of what requests begin with, hex; bound: these
 *               of the last request to a model that binds reasoning. A rewritten transcript is
 *               followed by such a record
 *
 *   JOB         The service makes the reply of a request in the background. {"run","turn","id",
 *               "model"}. A recovery asks for the reply instead of sending the request again,
 *               unless a reply of the run, or a JOB with an empty id, follows
 *
 * A reader ignores unknown members and unknown types. */
#ifndef CH_AGENT_JOURNAL_H
#define CH_AGENT_JOURNAL_H
#include "base/sv.h"
#include "chela/error.h"
#include "chela/sys/store.h"
#include "tool/memory/notes.h"

/* X(enum, name in exports). The values are stored: append only. */
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
    X(ATTACHED, "attached")    \
    X(PART, "part")            \
    X(REQUEST, "request")      \
    X(FAILURE, "failure")      \
    X(EPOCH, "epoch")          \
    X(JOB, "job")

enum ch_record_type {
    CH_REC_NONE, /* 0 is no type */
#define CH_RECORD_ENUM(name, text) CH_REC_##name,
    CH_RECORDS(CH_RECORD_ENUM)
#undef CH_RECORD_ENUM
        CH_REC_TYPES
};

const char *ch_record_name(uint32_t type); /* "inbound"; "?": unknown type */
uint32_t ch_record_type(struct ch_sv name); /* CH_REC_NONE: unknown name */
/* True: the record describes a request to a model; recovery does not depend on such records. */
static inline bool ch_record_is_request(uint32_t type) {
    return type == CH_REC_PART || type == CH_REC_REQUEST || type == CH_REC_FAILURE;
}

struct ch_journal;
struct ch_log; /* the open journal of one session */

/* How durable a record has to be. */
enum ch_sync {
    CH_SYNC_LATER,  /* written with the next transaction; no code waits for it */
    CH_SYNC_SOON,   /* no code waits for it: written in this turn of the loop, or within
                     * milliseconds if a transaction ended just now */
    CH_SYNC_COMMIT, /* written in this turn of the loop: survives a crash of the process */
    CH_SYNC_TOLD,   /* also survives a crash of the database server */
    CH_SYNC_DISK,   /* also survives a crash of the machine */
};

/* The state of a session's lease as far as known without a query of the store. */
enum ch_lease {
    CH_LEASE_GONE, /* another process holds the lease, or none does */
    CH_LEASE_LATE, /* not renewed in time: wait until the lease is renewed or lost */
    CH_LEASE_HELD,
};

/* The stored facts about a session, read when the session is opened. */
struct ch_log_head {
    uint64_t last; /* position of the newest record */
    bool served;   /* the lease was taken over from a gateway */
    const char *agent; /* agent that the session was created with; valid until `close` */
};

struct ch_log_handler {
    /* One record, in order, with a correct checksum. Called on the journal's thread, which
     * owns `past` from open to `opened`. A failure ends the opening. */
    int (*fold)(const struct chela_store_record *r, void *past, struct chela_error *err);
    /* Hands `past` back. err NULL: the session is open. Otherwise it could not be opened
     * (CHELA_EBUSY: in use; CHELA_EPARSE: damaged), and only `close` may follow. */
    void (*opened)(const struct ch_log_head *head, void *past, const struct chela_error *err,
                   void *user);
    /* The log was closed before it was opened: frees past. */
    void (*drop)(void *past);
    /* Every record up to seq has the durability that was asked for. */
    void (*committed)(uint64_t seq, void *user);
    /* The journal failed: the disk is full, or another process took the lease. Records
     * after the last `committed` may be lost, and nothing more is written. Called once. To
     * continue, close the log and open it again. */
    void (*lost)(const struct chela_error *err, void *user);
};

struct ch_journal_ops {
    const char *name;
    /* Takes the lease of the session and reads it; `opened` follows. A session that does not
     * exist is created with this agent; agent NULL: CHELA_ENOENT. Takes past. */
    struct ch_log *(*open)(struct ch_journal *j, const char *key, const char *agent,
                           const struct ch_log_handler *handler, void *past, void *user);
    /* Appends a record to an open log; json is copied. Returns the position of the record. */
    uint64_t (*append)(struct ch_log *log, enum ch_record_type type, struct ch_sv json,
                       enum ch_sync sync);
    /* Writes the records that wait for the next transaction, as with CH_SYNC_SOON. */
    void (*flush)(struct ch_log *log);
    /* The session takes up an event of the inbox: it is settled in the transaction of
     * the records that are appended in this iteration, and they are stored only if it
     * waits for this session. Otherwise the log is lost (CHELA_EEXIST). */
    void (*take)(struct ch_log *log, const char *event);
    /* Adds a message to the outbox under its idempotency key, in the transaction of the
     * records appended in this iteration. done may be NULL; rc: 0, CHELA_EEXIST (the outbox
     * has the key already), or an error: nothing was stored. */
    void (*send)(struct ch_log *log, const char *id, struct ch_sv data, enum ch_sync sync,
                 void (*done)(int rc, const struct chela_error *err, void *user), void *user);
    /* The token of the session's lease, once it is open. */
    uint64_t (*token)(const struct ch_log *log);
    /* May this process act for the session that it opened under this token? */
    enum ch_lease (*lease)(struct ch_journal *j, const char *key, uint64_t token);
    /* n more messages of the session wait to be sent, or fewer if negative: while any
     * waits, the lease is kept, also when the log is closed. */
    void (*owe)(struct ch_journal *j, const char *key, int n);
    /* Changes the head that lists of sessions show. The head is stored with the next
     * records. NULL members keep their value. */
    void (*note)(struct ch_log *log, const struct chela_store_head *head);
    /* Changes inbox or outbox in the transaction of the records of this turn of the loop.
     * Texts are copied. done may be NULL; rc is the result of the change. */
    void (*change)(struct ch_journal *j, const struct chela_store_change *change,
                   enum ch_sync sync,
                   void (*done)(int rc, const struct chela_error *err, void *user), void *user);
    /* Searches stored sessions. Blocks; may be called from any thread. */
    int (*recall)(struct ch_journal *j, const struct ch_recall_query *q, ch_recall_fn *fn,
                  void *to);
    /* Closes a log; no callback follows. Appended records are still written, then the lease
     * is released. */
    void (*close)(struct ch_log *log);
    /* The host is a gateway that continues sessions of other gateways: leases taken from
     * now on say so. */
    void (*serve)(struct ch_journal *j);
    /* Writes the remaining records and ends. All logs are closed. */
    void (*shut)(struct ch_journal *j);
};

struct ch_journal {
    const struct ch_journal_ops *ops;
    enum ch_sync gate; /* durability of a sync point: DISK (durability full) or COMMIT
                          (durability turn) */
    enum ch_sync end;  /* durability of a run's end: TOLD (full) or DISK (turn) */
};

#endif
