/* scratch.h -- a private directory for temporary files, where there is no mount
 * namespace to give the command a /tmp of its own. */
#ifndef CH_SANDBOX_SCRATCH_H
#define CH_SANDBOX_SCRATCH_H

const char *ch_scratch_make(void);

/* Remove it with everything in it, however deep. */
void ch_scratch_remove(const char *path);

#endif
