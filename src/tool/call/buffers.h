/* buffers.h -- files as an editor holds them.
 *
 * An editor may have unsaved changes of a file. A tool on a worker thread asks for the
 * editor's text, or hands the editor a new one, and waits for the answer. The questions
 * reach the editor's connection on the loop thread, one `ask` each.
 *
 * ch_buffers_read and ch_buffers_write: worker threads. All others: loop thread only. */
#ifndef CH_TOOL_BUFFERS_H
#define CH_TOOL_BUFFERS_H
#include "base/buf.h"
#include "chela/tool.h"
#include "io/loop.h"

struct ch_buffers;

struct ch_buffers_opts {
    struct ch_loop *loop;
    bool can_read, can_write;
    /* Ask the editor, and answer with ch_buffers_answer, now or later. path: absolute. content:
     * the new text; NULL: the editor's text is wanted. Both are borrowed for the call. */
    void (*ask)(uint64_t id, const char *path, const struct ch_sv *content, void *user);
    void *user;
};

struct ch_buffers *ch_buffers_new(const struct ch_buffers_opts *opts);
void ch_buffers_ref(struct ch_buffers *b);   /* NULL is a no-op, also for _unref */
void ch_buffers_unref(struct ch_buffers *b); /* may be called from any thread */
/* The connection ends: waiting tools are refused, and `ask` is not called any more. */
void ch_buffers_close(struct ch_buffers *b);

/* rc: 0, or a negative errno: the editor did nothing. An unknown id is ignored: the tool no
 * longer waits. */
void ch_buffers_answer(struct ch_buffers *b, uint64_t id, int rc, struct ch_sv text);

/* The editor's text of a file; file: an open file on disk. -ENOTSUP: there is no such text, so
 * the file on disk counts. -ECANCELED: the call was cancelled. b may be NULL. */
int ch_buffers_read(struct ch_buffers *b, const chela_call *call, int file, struct ch_buf *text);
/* Let the editor write leaf in the directory dir. -ENOTSUP: the editor writes no files.
 * -ECONNREFUSED: the editor refused. -ETIMEDOUT and -ECANCELED: the outcome is unknown. b may
 * be NULL. */
int ch_buffers_write(struct ch_buffers *b, const chela_call *call, int dir, const char *leaf,
                     struct ch_sv text);

#endif
