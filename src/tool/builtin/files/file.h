/* file.h -- what the file tools share: arguments, reading, replacing. */
#ifndef CH_TOOL_FILE_H
#define CH_TOOL_FILE_H
#include <sys/stat.h>

#include "base/buf.h"
#include "chela/tool.h"
#include "tool/call/resource_locks.h"
#include "tool/process/path.h"

/* The file a tool is to work on, under any of the names models use for it.
 * Returns 0, or CHELA_EINVAL after setting the error result. */
int ch_file_arg(chela_call *call, const char **path);

/* The first check of every tool that takes one: the path could be meant. */
int ch_file_check(chela_call *call, void *user);

/* Open a regular file for reading; *st is filled. A descriptor or -errno. */
int ch_file_open(const char *workspace, const char *path, struct stat *st);

/* Append what fd holds. 0, -EFBIG past max bytes, -ECANCELED, or -errno. */
int ch_file_read(const chela_call *call, int fd, size_t max, struct ch_buf *out);

/* Put content in place of a file, or make a new one. Readers see the old file
 * or the new one, also after a crash. Mode and owner of an existing file are
 * kept. expect: NULL, or the file as it was read: -EBUSY if it changed since. */
int ch_file_replace(const chela_call *call, const struct ch_place *place, const struct stat *expect,
                    struct ch_sv content);

/* The steps of that, for whoever replaces several files at once (stage.h).
 * _look: 1 there is a regular file that may be replaced, 0 nothing, -errno.
 * _temp: content in a new file of that directory, synced; like: NULL, or whose
 * mode and owner it gets. */
#define CH_TEMP_NAME 32
int ch_file_look(const struct ch_place *place, struct stat *st);
int ch_file_temp(const chela_call *call, const struct ch_place *place, const struct stat *like,
                 struct ch_sv content, char name[CH_TEMP_NAME]);
bool ch_file_same(const struct stat *a, const struct stat *b); /* and not changed */

/* Is this text a program could show? Looks for what no text contains. */
bool ch_file_is_text(struct ch_sv head);

/* Hooks `resources` of tools with a file_path: the file shared or alone, the tree below it. */
ch_resources_fn ch_file_shared, ch_file_alone, ch_tree_shared;

#endif
