/* file.h -- read a whole small file up to a maximum size, or replace it: configuration,
 * rules, keys. */
#ifndef CH_BASE_FILE_H
#define CH_BASE_FILE_H
#include "base/buf.h"
#include "chela/error.h"

/* Append the contents of path to out. Blocks. CHELA_ENOENT: no such file.
 * CHELA_ELIMIT: more than max bytes. CHELA_EIO: any other failure. err reads
 * "PATH: reason". */
int ch_file_load(const char *path, size_t max, struct ch_buf *out, struct chela_error *err);

/* As ch_file_load, from an open file; path is for err only. */
int ch_file_load_open(int fd, const char *path, size_t max, struct ch_buf *out,
                      struct chela_error *err);

/* Write all bytes. Returns 0 or -errno; errno is that of the failed call. */
int ch_file_write(int fd, struct ch_sv bytes);

/* Replace the file in one step, with a file that only the user can read. Blocks until the text is
 * on the disk. CHELA_EIO: err reads "PATH: reason", and the old file is unchanged. */
int ch_file_save(const char *path, struct ch_sv text, struct chela_error *err);

/* Open the folder `name` of a workspace, creating the folder with `mode` if necessary. No link
 * below the workspace is followed, because tools may create links there. Returns a descriptor,
 * or -1 with errno. */
int ch_file_open_folder(const char *workspace, const char *name, unsigned mode);

/* Open the directory that contains `path`, a relative path below the open directory root, without
 * following any link; *name is the last part of path. mode: missing directories are created with
 * it; 0: none is. A path with "." or ".." is refused. Returns a descriptor or -errno. */
int ch_file_open_parent(int root, const char *path, unsigned mode, const char **name);

#endif
