/* project.h -- files of the workspace that belong into the system prompt.
 *
 * AGENTS.md and its like say how work is done here. They are read when a session
 * makes its first request, beneath the workspace by the same resolver as the
 * tools' paths, and then stay as they were read: the beginning of a prompt never
 * changes under a conversation. Whether one has changed meanwhile can be asked.
 *
 * They are written by who keeps the workspace, unless they are not: notes that
 * models write, and files that somebody else owns or everybody may write, are
 * marked as untrusted. */
#ifndef CH_PROMPT_PROJECT_H
#define CH_PROMPT_PROJECT_H
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"

struct ch_project_stamp { /* zeroed: it is not there */
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct ch_project_file {
    const char *name;
    struct ch_sv text; /* valid UTF-8; as much as there is room for */
    size_t size;       /* of the file */
    bool untrusted;
    const char *problem; /* it is there and cannot be used; NULL: none */
    struct ch_project_stamp stamp;
};

struct ch_project { /* zeroed: nothing was read */
    struct ch_arena arena;
    struct ch_project_file *files; /* those asked for, also if they are not there */
    size_t n;
};

struct ch_project_opts {
    const char *workspace; /* absolute */
    /* Relative, NULL-terminated, CH_LIMIT_PROJECT_NAMES at most; NULL: AGENTS.md,
     * SOUL.md, TOOLS.md, USER.md, MEMORY.md. */
    const char *const *names;
    size_t each, all;      /* bytes; 0: the defaults */
};

/* Blocking. */
void ch_project_load(struct ch_project *p, const struct ch_project_opts *opts);
void ch_project_release(struct ch_project *p);

/* One file as a model is shown it; nothing for one that has no text. */
void ch_project_describe(const struct ch_project_file *f, struct ch_buf *out);

/* Names of those that are not as they were read, with commas. */
void ch_project_changes(const struct ch_project *p, const char *workspace, struct ch_buf *out);

#endif
