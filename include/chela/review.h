/* review.h -- the changes of a run that worked on a layer (`apply` of struct chela_agent_opts).
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: CHELA_EINVAL. */
#ifndef CHELA_REVIEW_H
#define CHELA_REVIEW_H
#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

/* A review: what to do with which changes. */
struct chela_review_opts {
    size_t size; /* set by CHELA_REVIEW_OPTS */
    enum chela_review_action action;
    const char *session;   /* key of the session */
    const char *workspace; /* absolute; NULL: the only workspace with changes of the session */
    /* APPLY, DISCARD: paths of changed files, or of directories, relative to the workspace,
     * NULL-terminated. NULL: APPLY takes every change but those that must be named, DISCARD takes
     * all. */
    const char *const *files;
    const unsigned *hunks; /* APPLY: hunks of the only file, from 1; NULL: the whole file */
    size_t nhunks;
};
#define CHELA_REVIEW_OPTS(...) {.size = sizeof(struct chela_review_opts), __VA_ARGS__}

/* Show, apply or discard the changes of a session, as a JSON object:
 *
 *     SHOW     {session, workspace, apply, files: [{path, status, binary, added, removed,
 *              hunks: [{n, header, added, removed}], ask?, conflict?}],
 *              repositories: [{path, ask, refs, files}], patch}
 *     APPLY    {session, applied: [PATH], left: [{path, why}]}
 *     DISCARD  {session, discarded: [PATH]}
 *
 * `patch` is what `git apply` takes. A change with `ask` is applied only if `files` names it. The
 * function reads and writes files.
 * Ownership: the caller frees *json with chela_free.
 * Errors: also CHELA_ENOENT: the session has no changes. CHELA_EBUSY: a run is in progress.
 * CHELA_ESTATE: a file changed in the workspace since the run read it; nothing was applied.
 * CHELA_EIO: a file could not be read or written. CHELA_ELIMIT: there are too many changes. */
CHELA_API int chela_review(const struct chela_review_opts *opts, char **json,
                           struct chela_error *err);

CHELA_END_DECLS
#endif
