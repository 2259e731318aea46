/* presence_note.h -- the note of a store in which a running gateway names itself. */
#ifndef CH_GATEWAY_PRESENCE_NOTE_H
#define CH_GATEWAY_PRESENCE_NOTE_H
#include "chela/store.h"

#define CH_PRESENCE_NOTE "node:" /* prefix of the note's id; the rest is the owner text */

/* The owner text of a note that is valid at this time; else NULL. *until: end of validity. */
const char *ch_presence_owner(const struct chela_store_item *note, int64_t now, int64_t *until);
/* Deletes the notes of gateways that were killed. */
int ch_presence_expire(chela_store *store, int64_t now, struct chela_error *err);

#endif
