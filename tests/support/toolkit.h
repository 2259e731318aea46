/* toolkit.h -- a loop, threads, a registry and a workspace to try tools in. */
#ifndef TEST_SUPPORT_TOOLKIT_H
#define TEST_SUPPORT_TOOLKIT_H
#include "base/buf.h"
#include "tool/call/batch.h"

struct kit {
    struct ch_loop *loop;
    struct ch_workers *workers;
    struct ch_registry registry;
    char *dir;       /* a fresh directory, removed by kit_free */
    char *workspace; /* dir/ws */

    /* one batch */
    struct ch_batch_opts opts; /* for the next kit_start; ops, user are set */
    struct ch_batch_ops ops;   /* the kit's functions, which write the log; may be changed */
    struct ch_msg *reply;
    struct ch_batch *batch;
    bool over;
    size_t waiting;
    struct ch_buf log; /* "started a;finished a;over 0;" */

    /* of the last kit_call */
    char *content, *details;
    bool is_error, truncated;
    const char *error_type;
    struct ch_msg *results;
};

struct kit_call {
    const char *id, *name, *arguments;
    unsigned flags; /* CH_F_* */
};

void kit_init(struct kit *k);
void kit_free(struct kit *k);

/* Begin a batch of these calls; kit_wait runs the loop until the batch has ended. */
void kit_start(struct kit *k, const struct kit_call *calls, size_t n);
void kit_wait(struct kit *k);
void kit_end(struct kit *k); /* close the batch */

/* Executes one call with all checks; fills content, is_error, ... */
const char *kit_call(struct kit *k, const char *name, const char *arguments);

/* Files below the workspace; "../x" is outside of it. */
void kit_put(struct kit *k, const char *path, const char *content);
void kit_put_bytes(struct kit *k, const char *path, const void *p, size_t n);
void kit_mkdir(struct kit *k, const char *path);
void kit_link(struct kit *k, const char *target, const char *path);
char *kit_get(struct kit *k, const char *path);   /* NULL: no such file; ch_free */
char *kit_path(struct kit *k, const char *path);  /* absolute; ch_free */
int kit_entries(struct kit *k, const char *path); /* number of entries in a directory */

int64_t kit_ms(void); /* monotonic */

#endif
