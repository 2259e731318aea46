/* private_file.h -- files whose content is private by their kind: keys, passwords, credentials.
 *
 * Found by name, without regard to case, at any depth. Any thread. */
#ifndef CH_GUARD_PRIVATE_FILE_H
#define CH_GUARD_PRIVATE_FILE_H
#include "base/sv.h"

/* True for a path such as ".env", "deploy/prod.env", ".ssh/config" or "server.pem". patterns:
 * comma-separated globs of further paths, of which one without a slash is for names; NULL: none. */
bool ch_private_file(struct ch_sv path, const char *patterns);

/* The first name at the top of a directory that is private; NULL: none. The caller frees it.
 * Blocks; reads a bounded number of names. */
char *ch_private_file_in(const char *dir, const char *patterns);

#endif
