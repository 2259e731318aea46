/* path.h -- the only resolver of paths that a model names.
 *
 * All paths stay beneath the workspace. "..", absolute paths elsewhere and symbolic links
 * that lead out are rejected by the kernel when the file is opened, not by comparing
 * strings beforehand, so there is no race between check and use. Functions return a
 * descriptor or 0, or a negative errno; -EXDEV: outside of the workspace; -EROFS: inside,
 * but protected. */
#ifndef CH_TOOL_PATH_H
#define CH_TOOL_PATH_H
#include <fcntl.h>

#include "base/buf.h"
#include "chela/tool.h"
#include "tool/process/sandbox_policy.h"

/* Normalize a given path: relative to the workspace, without "." and ".."; "." for the
 * workspace itself. An absolute path is accepted if it lies inside. A trailing slash is
 * kept; it requires a directory. */
int ch_path_inside(const char *workspace, const char *given, struct ch_buf *rel);

/* Open rel beneath root (a directory descriptor). Relative links that stay beneath root are
 * followed. _walk is the implementation of _open for kernels without openat2; both behave
 * the same. */
int ch_beneath_open(int root, const char *rel, int flags);
int ch_beneath_walk(int root, const char *rel, int flags);

/* Open a path that the model gave for reading. Never blocks, also for FIFOs and devices.
 * With O_DIRECTORY in flags, only directories are accepted. */
int ch_path_open(const char *workspace, const char *given, int flags);

/* Location of a file to write: its directory and its name. A symbolic link as the last
 * component is resolved first, within the workspace. */
struct ch_place {
    int dir;    /* owned descriptor, -1 when unset */
    char *leaf; /* owned */
};
/* Protected files that a path must not lead to, directly or through links. */
struct ch_path_guard {
    const char *const *protect;
    const char *workspace;
    enum ch_making what; /* kind of the file to be created */
};
/* guard NULL: no protection. create: create missing directories. */
int ch_path_place(const char *workspace, const struct ch_path_guard *guard, const char *given,
                  bool create, struct ch_place *out);
void ch_place_release(struct ch_place *p);

#endif
