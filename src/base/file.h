/* file.h -- reading a whole small file, bounded: configuration, rules, keys. */
#ifndef CH_BASE_FILE_H
#define CH_BASE_FILE_H
#include "base/buf.h"
#include "chela/error.h"

/* Append the contents of path to out. Blocking. CHELA_ENOENT when there is no
 * such file, CHELA_ELIMIT past max bytes, otherwise CHELA_EIO; err reads
 * "PATH: why". */
int ch_file_load(const char *path, size_t max, struct ch_buf *out, struct chela_error *err);

#endif
