/* stage.h -- changes several files, all or none.
 *
 * Each change is prepared first: the new content is written to disk beside the old file, so
 * most failures occur before any file changes. Commit then performs one rename per change.
 * The old files are kept under other names until release, so a failed commit can be undone.
 * The set of renames is not atomic: a concurrent reader may see some files new and some
 * old. */
#ifndef CH_TOOL_STAGE_H
#define CH_TOOL_STAGE_H
#include "tool/builtin/files/file.h"

struct ch_change;

struct ch_stage {
    const chela_call *call;    /* borrowed */
    struct ch_change *changes; /* owned */
    size_t n, cap;
    struct ch_buf made; /* created directories, each followed by a NUL */
};

/* Prepare writing content to path. expect: the file's stat when it was read, NULL if the
 * file must not exist. like: the file whose mode the new file gets, NULL for the default
 * mode. Returns 0 or -errno; -EBUSY if the file differs from expect. content is not kept. */
int ch_stage_write(struct ch_stage *s, const char *path, const struct stat *expect,
                   const struct stat *like, struct ch_sv content);
int ch_stage_remove(struct ch_stage *s, const char *path, const struct stat *expect);

/* Apply all changes in order. On failure all changes are undone, *failed is the index of
 * the failing change, and -errno is returned. */
int ch_stage_commit(struct ch_stage *s, size_t *failed);

/* Free the stage; uncommitted changes are removed from disk. */
void ch_stage_release(struct ch_stage *s);

#endif
