/* walk.h -- iterates over everything below one directory of the workspace.
 *
 * Pre-order, names sorted, without recursion. Each directory is opened relative to its
 * parent's descriptor, and symbolic links are not followed (except the start path that the
 * model named), so the walk cannot leave the workspace. Names ignored by .gitignore files,
 * hidden names and `.git` are skipped; the start directory is never skipped. Directories that
 * are hidden from tools are not entered. */
#ifndef CH_TOOL_WALK_H
#define CH_TOOL_WALK_H
#include <dirent.h>

#include "base/buf.h"
#include "chela/tool.h"

struct ch_walk;

struct ch_walk_opts {
    bool hidden;  /* include names that begin with a dot (never `.git`) */
    bool ignored; /* include names that .gitignore ignores */
};

enum ch_walk_kind { CH_WALK_FILE, CH_WALK_DIR, CH_WALK_LINK, CH_WALK_OTHER };

/* The kind of an entry of the open directory dir. */
enum ch_walk_kind ch_walk_kind_of(int dir, const struct dirent *e);

struct ch_walk_entry {  /* texts borrowed until the next ch_walk_next */
    struct ch_sv path;  /* relative to the workspace; NUL-terminated */
    struct ch_sv below; /* relative to the start directory */
    const char *name;   /* last component of path */
    int dir;            /* descriptor of the containing directory */
    enum ch_walk_kind kind;
};

/* Returns 0, or a negative errno as from ch_path_open: -ENOTDIR for a file. call is
 * borrowed; the walk ends when the call is cancelled. */
int ch_walk_new(const chela_call *call, const char *given, const struct ch_walk_opts *opts,
                struct ch_walk **out);
void ch_walk_free(struct ch_walk *w);

/* Returns 1 and sets *e, 0 at the end, -ECANCELED, or -errno. */
int ch_walk_next(struct ch_walk *w, struct ch_walk_entry *e);

/* Append one line in brackets for each kind of omission; nothing if the walk was complete. */
void ch_walk_notes(const struct ch_walk *w, struct ch_buf *out);

#endif
