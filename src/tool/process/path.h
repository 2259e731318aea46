/* path.h -- the only resolver of paths that a model names.
 *
 * All paths stay beneath the workspace. "..", absolute paths elsewhere and symbolic links
 * that lead out are rejected by the kernel when the file is opened, not by comparing
 * strings beforehand, so there is no race between check and use. Functions return a
 * descriptor or 0, or a negative errno; -EXDEV: outside of the workspace; -EROFS: inside,
 * but protected; -CH_PATH_EASK and -CH_PATH_EHIDDEN, see below. */
#ifndef CH_TOOL_PATH_H
#define CH_TOOL_PATH_H
#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"
#include "chela/tool.h"
#include "guard/file_kind.h"
#include "tool/process/sandbox_policy.h"

#define CH_PATH_EASK EKEYREJECTED /* writing needs a person's approval, which is missing */
#define CH_PATH_EHIDDEN ENOKEY    /* the file is hidden from tools */

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
/* Files that a path must not lead to, directly or through links. Lists end with NULL. */
struct ch_path_guard {
    const char *workspace;
    const char *const *protect; /* never written; as in struct ch_sandbox_policy */
    const char *const *ask;     /* absolute: these count as CH_KIND_EXECUTED; may be NULL */
    const char *const *hide;    /* absolute: neither read nor written; may be NULL */
    const char *const *shared;  /* absolute: read although outside of the workspace; may be NULL */
    enum ch_file_kind allowed;  /* the highest kind that may be written */
    enum ch_making what;        /* kind of the file to be created */
};

/* As ch_path_open, for a tool: -CH_PATH_EHIDDEN for a hidden file under any name. An absolute
 * path below a directory of `shared` is opened, too. */
int ch_path_open_shown(const struct ch_path_guard *guard, const char *given, int flags);
/* The path of an open file, according to the kernel; false: unknown. */
bool ch_path_of(int fd, struct ch_buf *out);
/* True if an open file is one of the list (NULL: no), or lies below one. */
bool ch_path_is_listed(const char *const *list, int fd);

/* Where a write to the given path would end: *rel is relative to the workspace, without
 * links. Directories need not exist. *kind and *why as in file_kind.h. */
int ch_path_locate(const struct ch_path_guard *guard, const char *given, struct ch_buf *rel,
                   enum ch_file_kind *kind, const char **why);

/* guard NULL: no protection. create: create missing directories. -EROFS and -CH_PATH_EASK
 * create nothing. */
int ch_path_place(const char *workspace, const struct ch_path_guard *guard, const char *given,
                  bool create, struct ch_place *out);
void ch_place_release(struct ch_place *p);

#endif
