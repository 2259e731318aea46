/* undo_erase.h -- removes the records of changes that have copies of a session. */
#ifndef CH_UNDO_ERASE_H
#define CH_UNDO_ERASE_H
#include <stdbool.h>
#include <stddef.h>

/* Removes each record below dir of a workspace in which the session has a message, also what other
 * sessions have in it: copies of files belong to no session alone. root: the open workspace. *n
 * grows by the number of removed records. False: a program uses one of them. */
bool ch_undo_erase(const char *dir, int root, const char *session, size_t *n);

#endif
