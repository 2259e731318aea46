/* path.h -- the one resolver for every path that a model names.
 *
 * Everything stays beneath the workspace: "..", absolute paths elsewhere and
 * symbolic links that lead out are refused, by the kernel at the moment of
 * opening and not by comparing strings before it, so that nothing can be
 * swapped in between. Functions return a descriptor or 0, or a negative errno;
 * -EXDEV means: outside of the workspace; -EROFS: inside, but protected. */
#ifndef CH_TOOL_PATH_H
#define CH_TOOL_PATH_H
#include <fcntl.h>

#include "base/buf.h"
#include "chela/tool.h"
#include "tool/process/sandbox_policy.h"

/* What a given path means inside the workspace: relative to it, without "."
 * and "..", "." for the workspace itself. An absolute path is accepted when it
 * lies inside. A trailing slash is kept: it asks for a directory. */
int ch_path_inside(const char *workspace, const char *given, struct ch_buf *rel);

/* Open rel beneath root (a directory's descriptor). Links are followed as long
 * as they stay beneath it and are not absolute. _walk is what _open does on a
 * kernel without openat2; they behave the same. */
int ch_beneath_open(int root, const char *rel, int flags);
int ch_beneath_walk(int root, const char *rel, int flags);

/* Open a path as the model gave it, for reading (never blocks, whatever it
 * is); with O_DIRECTORY in flags only a directory will do. */
int ch_path_open(const char *workspace, const char *given, int flags);

/* Where a file is to be written: the directory it goes to and its name there.
 * A symbolic link at the end is followed first, inside the workspace. */
struct ch_place {
    int dir;    /* owned descriptor, -1 when unset */
    char *leaf; /* owned */
};
/* What a path must not lead to: protected files, by whatever links they are reached. */
struct ch_path_guard {
    const char *const *protect;
    const char *workspace;
    enum ch_making what; /* what is made at the end of the path */
};
/* guard NULL: nothing is protected. create: make missing directories. */
int ch_path_place(const char *workspace, const struct ch_path_guard *guard, const char *given,
                  bool create, struct ch_place *out);
void ch_place_release(struct ch_place *p);

#endif
