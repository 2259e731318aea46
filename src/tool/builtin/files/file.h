/* file.h -- shared code of the file tools: arguments, reading, replacing. */
#ifndef CH_TOOL_FILE_H
#define CH_TOOL_FILE_H
#include <sys/stat.h>

#include "base/buf.h"
#include "chela/tool.h"
#include "tool/call/resource_locks.h"
#include "tool/process/path.h"

/* The path argument of a file tool, under any of the names that models use for it. Returns
 * 0, or CHELA_EINVAL after setting the error result. */
int ch_file_arg(chela_call *call, const char **path);

/* First check of every tool with a path argument: rejects a path that cannot be valid. */
int ch_file_check(chela_call *call, void *user);

/* Open a regular file for reading; *st describes the file on disk. A descriptor or -errno. If
 * an editor has the file open, the descriptor has the editor's text, whose size may differ. */
int ch_file_open(const chela_call *call, const char *path, struct stat *st);

/* Append the contents of fd. Returns 0, -EFBIG past max bytes, -ECANCELED, or -errno. */
int ch_file_read(const chela_call *call, int fd, size_t max, struct ch_buf *out);

/* Replace a file by content, or create the file. The replacement is atomic: readers see the
 * old file or the new one, also after a crash. Mode and owner of an existing file are kept.
 * An editor that writes files (tool/call/buffers.h) replaces the file in its own way.
 * expect: NULL, or the file's stat when it was read; -EBUSY if the file changed since then. */
int ch_file_replace(const chela_call *call, const struct ch_place *place, const struct stat *expect,
                    struct ch_sv content);

/* The steps of ch_file_replace, for callers that replace several files (stage.h). _look: 1
 * if a replaceable regular file exists, 0 if nothing exists, -errno. _temp: write content
 * to a new, synced file in the same directory; like: NULL, or the stat whose mode and owner
 * the new file gets. */
#define CH_TEMP_NAME 32
int ch_file_look(const struct ch_place *place, struct stat *st);
int ch_file_temp(const chela_call *call, const struct ch_place *place, const struct stat *like,
                 struct ch_sv content, char name[CH_TEMP_NAME]);
bool ch_file_same(const struct stat *a, const struct stat *b); /* same inode, unchanged */

/* True if head looks like text: it contains no bytes that text never contains. */
bool ch_file_is_text(struct ch_sv head);

/* `resources` hooks of tools with a file_path: the file shared, the file exclusive, the
 * tree below the path shared. */
ch_resources_fn ch_file_shared, ch_file_alone, ch_tree_shared;

#endif
