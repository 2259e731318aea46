/* random_id.h -- ids that cannot be guessed. */
#ifndef CH_BASE_RANDOM_ID_H
#define CH_BASE_RANDOM_ID_H

#define CH_RANDOM_ID 24 /* bytes of an id with its NUL, at most */

/* Writes a random id such as "run_3f9c..." with its terminating NUL. prefix: at most 7 bytes. */
void ch_random_id(const char *prefix, char out[CH_RANDOM_ID]);

#endif
