/* eval_kept.h -- the file that keeps the trials which have ended, so that an evaluation goes on
 * after a crash.
 *
 * One JSON object a line: first {"chela_eval":1,"scratch"}, then {"key","trial",...} for each
 * trial. A line is written at once; a last line that was cut off is dropped. One process uses the
 * file at a time. All functions block. */
#ifndef CH_EVAL_KEPT_H
#define CH_EVAL_KEPT_H
#include "base/arena.h"
#include "json/json.h"

struct ch_eval_kept { /* fd -1: none */
    int fd;
    const char *path;
};

/* Opens or creates the file, and calls fn with each line that another process left. scratch:
 * folder of this process, for the first line; the folder of the other process is removed.
 * CHELA_EBUSY: another process uses the file. CHELA_EPARSE: the file is not such a file. */
int ch_eval_kept_open(struct ch_eval_kept *k, const char *path, const char *scratch,
                      void (*fn)(const struct ch_json *line, void *user), void *user,
                      struct chela_error *err);
int ch_eval_kept_add(struct ch_eval_kept *k, struct ch_sv line, struct chela_error *err);
void ch_eval_kept_close(struct ch_eval_kept *k);

#endif
