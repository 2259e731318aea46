/* writer_private.h -- the state of a writer, shared by the files that make it up.
 *
 * writer.c is the loop's side: it appends, and hands jobs over. writer_thread.c is the thread's
 * side. writer_aside.c repeats changes whose rows were locked. */
#ifndef CH_STORE_WRITER_PRIVATE_H
#define CH_STORE_WRITER_PRIVATE_H
#include "agent/journal/journal.h"
#include "base/arena.h"
#include "base/key_table.h"
#include "base/list.h"
#include "io/loop.h"
#include "store/pending.h"
#include "store/store.h"

#define CH_WRITER_LOCKED_MS 90000 /* time for which a locked row is waited for */
#define SIGHTINGS 64  /* leases of others that are watched */

enum log_state { WAITING, OPENING, OPEN, LOST };

struct ch_log {
    struct ch_link link;    /* in the writer's logs, or in its resting ones */
    struct ch_keyed by_key; /* in the writer's table */
    struct writer *w;
    char *key, *agent;
    const struct ch_log_handler *handler; /* NULL once closed */
    void *user;
    void *past; /* during opening: used by the thread */
    enum log_state state;
    uint64_t token, next; /* next: seq of the next record */
    uint64_t since;       /* the oldest token since which no other process has held the lease */
    atomic_llong held;    /* end of the lease on the boot clock, ms; the thread renews it */
    int owed;             /* messages that wait to be sent under the lease */
    struct ch_pending pending;
    enum ch_sync wanted; /* durability of the pending records */
    struct chela_store_head head;
    char *status, *title; /* owned; head borrows them */
    bool busy;            /* in a job that is in progress */
    bool runs;            /* the stored status is "running" */
    bool inherits;        /* the run was a gateway's, and this process is not a gateway: the
                           * owner in the store keeps the mark of a gateway */
};

struct extra { /* a change besides the records */
    struct ch_link link;
    struct chela_store_change change; /* its texts are in the arena */
    struct ch_arena arena;
    enum ch_sync sync;
    ch_change_fn *done;
    void *user;
};

struct part { /* a log's share of a transaction */
    struct ch_log *log;
    struct ch_pending records; /* owned */
    char *status, *title;   /* owned */
    uint64_t upto;
    bool release;
};

struct job {
    struct job *next;
    struct ch_log *open;  /* the log of the session to open; NULL: another kind of job */
    const struct ch_log_handler *handler; /* the handler of `open` */
    struct ch_log *lost;  /* the log whose lease was lost; NULL: another kind of job */
    struct part *parts;   /* owned, one per log, for the first changes */
    struct extra **extras; /* owned, for the other changes */
    struct chela_store_change *changes; /* owned: a transaction */
    size_t nparts, nextras;
    bool sync;
    int rc;
    struct chela_error err;
    struct chela_error *errs; /* owned, one per change, if each was made apart; else NULL */
    int64_t since; /* when the first attempt was handed over, on the boot clock */
    bool first;               /* this is the first attempt */
    unsigned attempts;
    struct ch_log_head head;
    uint64_t stolen; /* opening: the token of the lease that was taken over */
};

struct lease {
    struct ch_log *log; /* borrowed: lives until the lease is released */
    uint64_t token;
    uint32_t sum; /* checksum of the log's key */
    bool lost;
};

/* The lease of another process, which was wanted and not free. */
struct sighting {
    uint32_t key; /* checksum; 0: none */
    uint64_t token;
    int64_t until;
    int64_t since; /* when this lease was first seen, on the boot clock */
};

struct writer {
    struct ch_journal base;
    chela_store *store;
    struct ch_loop *loop;
    struct ch_list logs;    /* logs that may need a job */
    struct ch_list resting; /* the others; most sessions of a gateway rest */
    struct ch_key_table by_key; /* all logs */
    struct ch_list extras;
    struct ch_task task;   /* flush */
    unsigned under_way;    /* jobs */
    bool writing;          /* a transaction is in progress */
    struct job *stuck;     /* transactions that wait for locked rows */
    struct ch_timer retry; /* of stuck */
    int64_t ended;         /* the last transaction, on the loop's monotonic clock */
    struct ch_timer pause; /* until the next transaction, if no code waits for it */
    bool instant;
    bool lingered; /* the flush was postponed once */
    bool shutting; /* no message is sent any more */
    bool gone;     /* a call of a writer that ends got no answer, so no further call is made; used
                    * by the thread and, after its end, by the loop */
    char *owner;

    bool foreign;         /* the store was found to be another one; used only by the thread */
    int64_t failed;       /* when the last call without answer ended; openings that were requested
                           * before have waited for it, and fail as well; used only by the thread */
    struct lease *leases; /* used only by the thread */
    size_t nleases;
    struct sighting seen[SIGHTINGS]; /* by the checksum of the key; used only by the thread */

    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t more; /* work was added */
    struct job *todo, **todo_end, *finished, **finished_end;
    bool ending, posted;
    struct ch_post post;
};

/* The clock that continues while the process or the machine is suspended. */
int64_t ch_writer_boot_ms(void);
/* Starts the thread, unless it runs. If there is no thread, the writer becomes instant. */
void ch_writer_start_thread(struct writer *w);
/* Executes a job: opens a session, or makes a transaction. */
void ch_writer_run(struct writer *w, struct job *job);
/* The kind of the change that ends the lease of a log. */
int ch_writer_end_lease(const struct ch_log *log);
/* Hands a job to the thread. */
void ch_writer_submit(struct writer *w, struct job *job);
/* Moves the changes of a finished job whose rows are locked to a job that is retried later,
 * unless they were retried for long enough. */
void ch_writer_set_aside(struct writer *w, struct job *job);
/* Retries the changes that were set aside now. */
void ch_writer_submit_aside(struct writer *w);

#endif
