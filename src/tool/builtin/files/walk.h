/* walk.h -- everything below one directory of the workspace, in order.
 *
 * Pre-order, names sorted, one directory after another without recursion. Each
 * directory is opened from its parent's descriptor and no symbolic link is
 * followed (but the one a model named), so the walk cannot be led out of the
 * workspace. Names that .gitignore files rule out, hidden ones and `.git` are
 * left out; the directory the walk starts at is never. */
#ifndef CH_TOOL_WALK_H
#define CH_TOOL_WALK_H
#include "base/buf.h"
#include "chela/tool.h"

struct ch_walk;

struct ch_walk_opts {
    bool hidden;  /* names that begin with a dot too (but never `.git`) */
    bool ignored; /* what .gitignore rules out too */
};

enum ch_walk_kind { CH_WALK_FILE, CH_WALK_DIR, CH_WALK_LINK, CH_WALK_OTHER };

struct ch_walk_entry {  /* texts borrowed until the next step */
    struct ch_sv path;  /* from the workspace; NUL-terminated */
    struct ch_sv below; /* the same from where the walk began */
    const char *name;   /* its last part */
    int dir;            /* descriptor of the directory it is in */
    enum ch_walk_kind kind;
};

/* 0, or a negative errno as ch_path_open gives it: -ENOTDIR for a file. call
 * is borrowed: the walk ends when it is cancelled. */
int ch_walk_new(const chela_call *call, const char *given, const struct ch_walk_opts *opts,
                struct ch_walk **out);
void ch_walk_free(struct ch_walk *w);

/* 1 and *e, 0 at the end, -ECANCELED, or -errno. */
int ch_walk_next(struct ch_walk *w, struct ch_walk_entry *e);

/* Append a line in brackets for each thing the walk had to leave out: nothing
 * if it saw everything. */
void ch_walk_notes(const struct ch_walk *w, struct ch_buf *out);

#endif
