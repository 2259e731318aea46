/* fake_journal.h -- a journal inside the test: keeps the appended records, and commits,
 * fails or loses the lease on the test's command. */
#ifndef TESTS_FAKE_JOURNAL_H
#define TESTS_FAKE_JOURNAL_H
#include "agent/journal/journal.h"
#include "base/buf.h"
#include "io/loop.h"
#include "support/stage.h"

#define FAKE_RECORDS 256

struct fake_record {
    enum ch_record_type type;
    enum ch_sync sync;
    char *json; /* owned */
};

struct fake_journal {
    struct ch_journal j; /* first */
    struct ch_loop *loop;
    struct fake_record records[FAKE_RECORDS]; /* replayed into each session that is opened */
    size_t n;
    struct ch_buf log; /* records by name, and changes: "inbound state take:ev_1 send:KEY ..." */
    struct ch_log *open; /* the log opened last; NULL: none */
    bool hold;           /* nothing is committed or answered before fake_journal_commit */
    int open_rc;         /* result of opening a session: 0 or CHELA_E* */
    int change_rc;       /* result of storing an event or a message */
    enum ch_lease lease; /* lease of every session */
    int owed;            /* messages that keep leases; see `owe` in journal.h */
    struct ch_task task;
    struct fake_change *changes; /* owned: callers that wait for an answer */
};

/* Gives the stage's runtime a journal, and the stage a session "t" that is kept there. */
void fake_journal_attach(struct fake_journal *f, struct stage *st);
void fake_journal_commit(struct fake_journal *f); /* also commits records that are appended
                                                   * meanwhile */
void fake_journal_lose(struct fake_journal *f, int code);
/* Another session of the agent, opened; as after a restart if the journal has records. */
chela_session *fake_journal_session(struct stage *st, const char *key);
/* Call after the runtime was closed. */
void fake_journal_release(struct fake_journal *f);

#endif
