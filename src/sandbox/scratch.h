/* scratch.h -- a private directory for temporary files, for a box without a
 * mount namespace and therefore without its own /tmp. */
#ifndef CH_SANDBOX_SCRATCH_H
#define CH_SANDBOX_SCRATCH_H

const char *ch_scratch_make(void);

/* Remove the directory with its contents at any depth. */
void ch_scratch_remove(const char *path);

#endif
