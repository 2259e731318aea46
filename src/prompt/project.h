/* project.h -- project files of the workspace that become part of the system prompt.
 *
 * AGENTS.md and similar files are read when a session makes its first request, beneath the
 * workspace by the same resolver as the tools' paths. Their text is then fixed for the
 * session, so that the prompt prefix never changes during a conversation.
 * ch_project_changes reports files that changed since.
 *
 * A guide is AGENTS.md or, in a directory without it, CLAUDE.md or GEMINI.md. The guides of
 * the directories from the root of the repository to the workspace are read, and those of
 * directories below the workspace when a file there is used (ch_project_nested).
 *
 * Project files are trusted, with these exceptions, which are marked as untrusted: notes
 * that models write, and files owned by others or writable by everybody. */
#ifndef CH_PROMPT_PROJECT_H
#define CH_PROMPT_PROJECT_H
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"

struct ch_project_stamp { /* zeroed: the file does not exist */
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct ch_project_file {
    const char *name; /* relative to the workspace: "../AGENTS.md" */
    const char *dir;  /* absolute: the workspace or a directory above */
    const char *leaf; /* relative to dir */
    bool guide;
    struct ch_sv text; /* valid UTF-8; as much as fits */
    size_t size;       /* size of the file */
    bool untrusted;
    const char *problem; /* why an existing file cannot be used; NULL: usable */
    struct ch_project_stamp stamp;
};

struct ch_project { /* zeroed: nothing was read */
    struct ch_arena arena;
    struct ch_project_file *files; /* all requested files, existing or not */
    size_t n;
};

struct ch_project_opts {
    const char *workspace; /* absolute */
    /* Relative, NULL-terminated, CH_LIMIT_PROJECT_NAMES at most; NULL: the guides, and
     * SOUL.md, TOOLS.md, USER.md, MEMORY.md. */
    const char *const *names;
    size_t each, all;      /* limits in bytes; 0: the defaults */
};

/* Blocks. */
void ch_project_load(struct ch_project *p, const struct ch_project_opts *opts);
void ch_project_release(struct ch_project *p);

/* Append one file as shown to a model; nothing for a file without text. */
void ch_project_describe(const struct ch_project_file *f, struct ch_buf *out);

/* Append the comma-separated names of files that changed since they were read or since the
 * last call. */
void ch_project_changes(struct ch_project *p, struct ch_buf *out);

/* A tool used the file `given`: append the guides of the directories between the workspace
 * and the file that the session does not have yet. told: directories that were visited,
 * NUL-terminated each. Blocks. */
void ch_project_nested(const char *workspace, struct ch_sv given, struct ch_buf *told,
                       struct ch_buf *out);

#endif
