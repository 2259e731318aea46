/* undo_record.h -- the record of a workspace: messages, their changes, and copies of files.
 *
 * On disk a record is a directory with four files. `lock` is locked by the program that uses
 * the record. `log` has one line for each fact, in order; its first line names the pack. The
 * pack holds the copies, one after the other. `index` is the last scan of the workspace
 * (undo_scan.h). A record is rewritten into a new pack and a new log when it grows too large;
 * renaming the log completes that. Nothing is synced: after a power failure the record may
 * lack its last facts. */
#ifndef CH_UNDO_RECORD_H
#define CH_UNDO_RECORD_H
#include <sys/stat.h>

#include "base/buf.h"
#include "chela/error.h"
#include "undo/undo_table.h"

enum ch_undo_kind {
    CH_UNDO_ABSENT = '-',
    CH_UNDO_FILE = 'f',
    CH_UNDO_LINK = 'l',
    CH_UNDO_DIR = 'd',
    CH_UNDO_LOST = '?' /* something without a copy; `at` is an enum ch_undo_lost */
};

enum ch_undo_lost { /* why there is no copy */
    CH_UNDO_TOO_LARGE,
    CH_UNDO_IGNORED,
    CH_UNDO_FULL,
    CH_UNDO_SPECIAL,
    CH_UNDO_UNREADABLE,
    CH_UNDO_MOVED, /* the path may hold the only copy of a file that had another path */
    CH_UNDO_LOSTS
};

struct ch_undo_state { /* the earlier state of a path */
    enum ch_undo_kind kind;
    unsigned mode;
    uint64_t at, n; /* place of the copy in the pack */
};

struct ch_undo_sig { /* signature by which a change is noticed; all 0: the path does not exist */
    uint64_t ino, size;
    int64_t mtime, ctime; /* nanoseconds */
    unsigned mode;
    unsigned unused; /* 0, instead of padding: the struct is stored */
};

struct ch_undo_change {
    char *path; /* owned; relative to the workspace */
    struct ch_undo_state was;
    struct ch_undo_sig is; /* after the message */
    bool settled;          /* is is set */
    bool owned;            /* a file tool of the message wrote the path */
};

struct ch_undo_message {
    uint64_t id;
    int64_t turns, ts;
    char *session, *text; /* owned */
    struct ch_undo_change *changes; /* owned */
    size_t n, cap;
    char **calls; /* owned: calls with effects that are not in files */
    size_t ncalls;
    bool ended, undone;
    bool scanned; /* the stored index is that before the commands, unless ended */
    bool more;  /* more changes than the limit */
    bool blind; /* the workspace is too large to be scanned */
};

struct ch_undo_fork {
    char *from, *to; /* owned */
    uint64_t before;
};

struct ch_undo_record {
    int dir;  /* descriptors; -1: closed */
    int lock, log, pack;
    unsigned slot; /* number among the records of the workspace */
    unsigned pack_number;
    uint64_t pack_size, log_size;
    struct ch_undo_message *list; /* owned */
    size_t n;
    struct ch_undo_fork *forks; /* owned */
    size_t nforks;
    uint64_t next_id;
    struct ch_undo_table known; /* paths of the last message to their changes */
};

/* Open a record of the workspace below dir and lock it; the records of others that were not used
 * for long are removed. root: the open workspace. */
int ch_undo_record_open(struct ch_undo_record *r, const char *dir, int root,
                        struct chela_error *err);
void ch_undo_record_close(struct ch_undo_record *r);

/* Read the record of a slot without changing it; its lock is -1 if a program uses the record.
 * False: there is none. The caller closes r. */
bool ch_undo_record_peek(struct ch_undo_record *r, const char *dir, int root, unsigned slot);

/* Drop old messages if the record is too large. True: the record was rewritten, and the index is
 * gone with the copies that only the index used. */
bool ch_undo_record_tidy(struct ch_undo_record *r);

/* Add facts. */
void ch_undo_record_message(struct ch_undo_record *r, const char *session, int64_t turns,
                            int64_t ts, const char *text);
void ch_undo_record_fork(struct ch_undo_record *r, const char *from, const char *to,
                         uint64_t before);
void ch_undo_record_undone(struct ch_undo_record *r, struct ch_undo_message *m);
/* The following concern the last message, which exists. _change: no-op if the path is known;
 * _own: no-op if it is not. */
void ch_undo_record_change(struct ch_undo_record *r, const char *path,
                           const struct ch_undo_state *was);
void ch_undo_record_own(struct ch_undo_record *r, const char *path);
void ch_undo_record_call(struct ch_undo_record *r, struct ch_sv text);
void ch_undo_record_blind(struct ch_undo_record *r);
void ch_undo_record_scanned(struct ch_undo_record *r);
void ch_undo_record_ended(struct ch_undo_record *r);
void ch_undo_record_resumed(struct ch_undo_record *r);
/* What the change left behind. */
void ch_undo_record_settle(struct ch_undo_record *r, const struct ch_undo_message *m,
                           struct ch_undo_change *c, const struct ch_undo_sig *is);

bool ch_undo_record_knows(const struct ch_undo_record *r, const char *path);

/* True if the message belongs to the session, or to one that it is a copy of. */
bool ch_undo_record_belongs(const struct ch_undo_record *r, const struct ch_undo_message *m,
                            const char *session);

/* Copy a file, or the target of a link, into the pack. st: of the file. max: bytes. The
 * result is the state to restore; its kind is LOST if no copy was made. */
struct ch_undo_state ch_undo_record_copy(struct ch_undo_record *r, int dir, const char *name,
                                         const struct stat *st, uint64_t max);

struct ch_undo_sig ch_undo_sig(const struct stat *st);
bool ch_undo_sig_same(const struct ch_undo_sig *a, const struct ch_undo_sig *b);

#endif
