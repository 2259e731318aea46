/* undo.h -- the files of a workspace as they were before each message.
 *
 * A program that talks with an agent begins a turn for each message. From then on the library
 * keeps what the turn changes: before a file tool changes a file, a copy of the file; before
 * the first command of the turn, copies of the files that are new since the last scan, within
 * limits (limits.h). After the turn a scan by size, times and inode finds the files that the
 * commands changed. chela_undo_restore puts files back and reports what it cannot put back.
 *
 * The copies are in a directory outside of the workspace, which is hidden from tools. A record
 * is kept for each workspace, survives restarts, is limited in size, and is removed after 30
 * days without use. Two programs that use one workspace at the same time have a record each.
 *
 * Never kept: `.git`, the files that are hidden from tools, other file systems, effects outside
 * of the workspace. Kept only if a file tool changes them: files that .gitignore names, and
 * files above the limit for one copy.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are borrowed until fn returns.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: CHELA_EIO: the record cannot be read or written */
#ifndef CHELA_UNDO_H
#define CHELA_UNDO_H
#include <stdint.h>

#include "chela/session.h"
CHELA_BEGIN_DECLS

/* The record of a workspace. */
typedef struct chela_undo chela_undo;

/* Record the changes that runs of the agent's runtime make in the workspace of the agent.
 * Nothing is read or written before the first message. A runtime has at most one record.
 * Ownership: dir, the directory of all records, is copied. *out belongs to the runtime until
 * chela_undo_close.
 * Errors: CHELA_EINVAL: dir is not absolute. CHELA_EEXIST: the runtime has a record. */
CHELA_API int chela_undo_open(chela_agent *agent, const char *dir, chela_undo **out,
                              struct chela_error *err);

/* Stop recording changes. undo may be NULL.
 * Errors: none */
CHELA_API void chela_undo_close(chela_undo *undo);

/* A message begins: changes belong to it until the next one begins. turns is the number of turns
 * of the session before the message. text NULL: the last message of the session goes on.
 * Errors: also CHELA_EBUSY: too many programs use the workspace. CHELA_ENOENT: the workspace does
 * not exist. */
CHELA_API int chela_undo_begin(chela_undo *undo, const char *session, int64_t turns,
                               const char *text, struct chela_error *err);

/* A run of the message has ended or pauses: look for changes. */
CHELA_API void chela_undo_end(chela_undo *undo);

/* A message whose changes are kept. */
struct chela_undo_turn {
    uint64_t id;   /* increases */
    int64_t turns; /* turns of the session before the message */
    int64_t ts;    /* milliseconds since 1970 */
    const char *text;
    size_t files; /* changed files and directories */
    int undone;   /* nonzero: the files were restored */
};
/* Receives messages. A result other than 0 ends the listing. */
typedef int chela_undo_turn_fn(const struct chela_undo_turn *turn, void *user);

/* List the messages of a session, and of the sessions that it is a copy of; oldest first.
 * Returns the result of fn if that ended the listing. */
CHELA_API int chela_undo_list(chela_undo *undo, const char *session, chela_undo_turn_fn *fn,
                              void *user, struct chela_error *err);

/* A session is a copy of another one, up to a message. before: the id of the first message that
 * the copy lacks; 0: the copy has all. */
CHELA_API int chela_undo_fork(chela_undo *undo, const char *from, const char *to, uint64_t before,
                              struct chela_error *err);

/* What became of a change. */
enum chela_undo_outcome {
    CHELA_UNDO_RESTORED = 0, /* the file has its earlier content */
    CHELA_UNDO_REMOVED = 1,  /* the file did not exist before, and is gone */
    CHELA_UNDO_CHANGED = 2,  /* another program changed the file afterwards, or may have changed it
                              * meanwhile; the file was left unchanged */
    CHELA_UNDO_NO_COPY = 3,  /* there is no copy; `why` says why */
    CHELA_UNDO_FAILED = 4,   /* `why` says why */
    CHELA_UNDO_OUTSIDE = 5   /* a call with effects that are not in files; path names it */
};
/* A change of a message. */
struct chela_undo_item {
    enum chela_undo_outcome outcome;
    const char *path; /* relative to the workspace */
    const char *why;  /* NULL, or a reason */
};
/* Receives changes. */
typedef void chela_undo_item_fn(const struct chela_undo_item *item, void *user);

/* Restore the files that message `id` of the session and later messages changed. No link is
 * followed. look_only nonzero: report only what could be restored.
 * Errors: also CHELA_ENOENT: there is no such message. */
CHELA_API int chela_undo_restore(chela_undo *undo, const char *session, uint64_t id, int look_only,
                                 chela_undo_item_fn *fn, void *user, struct chela_error *err);

CHELA_END_DECLS
#endif
