/* commit.h -- makes changes of a layer real: all of them or none, also over a crash.
 *
 * A commit is a list of steps. The list is first written to the layer's journal, on the disk; then
 * each step is carried out; then the journal is removed. After a crash the next process that opens
 * the layer carries out what is missing. If a step fails, those before it are taken back
 * (rollback.h), also after a crash. A step never replaces a file that is not the one that the list
 * was made for. */
#ifndef CH_LAYER_COMMIT_H
#define CH_LAYER_COMMIT_H
#include "layer/changes.h"

struct ch_commit {
    struct ch_work_layer *layer;
    struct ch_buf steps, closing; /* owned; closing: the last steps */
    unsigned texts;      /* contents that only the commit has */
};

/* Add the step for a change. Removals of directories come last. */
int ch_commit_add(struct ch_commit *c, const struct ch_layer_change *change,
                  struct chela_error *err);
/* The same for a file that becomes `content`, which is not that of the layer. */
int ch_commit_add_text(struct ch_commit *c, const struct ch_layer_change *change,
                       struct ch_sv content, struct chela_error *err);

/* Carry out the steps. On failure the workspace is as before. CHELA_ESTATE: a file changed since
 * the list was made. */
int ch_commit_run(struct ch_commit *c, struct chela_error *err);
void ch_commit_release(struct ch_commit *c);

/* Carry out what is left of an interrupted commit; 0 if there is none. */
int ch_commit_finish(struct ch_work_layer *l, struct chela_error *err);
bool ch_commit_pending(const char *dir);

/* Remove from the layer what the workspace has now. *empty: nothing is left. */
int ch_layer_tidy(struct ch_work_layer *l, bool *empty, struct chela_error *err);

#endif
