/* stage.h -- changes of several files that all happen, or none.
 *
 * Each change is prepared first (the new content is on disk beside the old, so
 * what can fail has failed by then), then all are done, one rename each; as
 * long as the stage is not over, what was done can be undone, because the old
 * files are kept under other names. No machine does this in one step: whoever
 * looks in between sees some files new and some old. */
#ifndef CH_TOOL_STAGE_H
#define CH_TOOL_STAGE_H
#include "tool/builtin/files/file.h"

struct ch_change;

struct ch_stage {
    const chela_call *call;    /* borrowed */
    struct ch_change *changes; /* owned */
    size_t n, cap;
    struct ch_buf made; /* directories made, each followed by a NUL */
};

/* Prepare: path gets this content. expect: the file as it was read, NULL if
 * there must be none. like: whose mode it gets, NULL for a fresh one. 0 or
 * -errno: -EBUSY if the file is not as expected. content is not kept. */
int ch_stage_write(struct ch_stage *s, const char *path, const struct stat *expect,
                   const struct stat *like, struct ch_sv content);
int ch_stage_remove(struct ch_stage *s, const char *path, const struct stat *expect);

/* Do all of it, in order. On failure everything is as before, *failed is the
 * number of the change (from 0) and -errno is returned. */
int ch_stage_commit(struct ch_stage *s, size_t *failed);

/* Clean up; what was not committed is gone without a trace. */
void ch_stage_release(struct ch_stage *s);

#endif
