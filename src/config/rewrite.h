/* rewrite.h -- replace the text of chela.yaml by a program.
 *
 * A file is replaced by rename, so that a reader sees the old text or the new one. A symbolic
 * link stays: its target is replaced. The old text is kept beside the file, with the suffix
 * CH_CONFIG_PREVIOUS. All functions block. */
#ifndef CH_CONFIG_REWRITE_H
#define CH_CONFIG_REWRITE_H
#include "base/buf.h"
#include "chela/error.h"

#define CH_CONFIG_PREVIOUS ".previous"

/* Replace the text of a file. CHELA_EIO: the file cannot be written, another call replaces it
 * at this moment, or its text is not `before` any more. */
int ch_config_rewrite(const char *path, struct ch_sv before, struct ch_sv after,
                      struct chela_error *err);

/* Append the name of the file that holds the previous version: beside the target of a link. */
void ch_config_previous(const char *path, struct ch_buf *out);

/* Append the removed and the added lines, from the first line that differs to the last. */
void ch_config_diff(struct ch_buf *out, const char *file, struct ch_sv a, struct ch_sv b);

#endif
