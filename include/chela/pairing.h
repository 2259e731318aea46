/* pairing.h -- approval of people who write to an agent for the first time.
 *
 * With the access policy PAIRING, an unknown person who writes to a channel of the gateway
 * gets a code. The operator approves the code in the chat, as an owner, or with `chela
 * pairing approve`. From then on the agent answers the person. People are identified by
 * the id that the channel assigns. Codes and approvals are in the store: several gateways
 * with one store share them. The functions wait for the database.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; entries are borrowed until fn returns.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: CHELA_EIO, CHELA_ENET, CHELA_EBUSY, CHELA_EPERM, CHELA_EPARSE, CHELA_ELIMIT: the
 *   database failed (struct chela_store_ops) */
#ifndef CHELA_PAIRING_H
#define CHELA_PAIRING_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* A person who has a code, or who was approved. */
struct chela_pairing {
    const char *channel, *sender; /* "feishu", "ou_1f2e" */
    const char *code; /* NULL: approved */
    int64_t ts;       /* milliseconds since 1970: time of the code or the approval */
    int64_t until;    /* end of the code's validity; 0 for an approval */
};
/* Receives pairings. A result other than 0 ends the listing. */
typedef int chela_pairing_fn(const struct chela_pairing *p, void *user);

/* List the valid codes and the approved people. fn must not use the store. */
CHELA_API int chela_pairing_list(chela_store *store, chela_pairing_fn *fn, void *user,
                                 struct chela_error *err);

/* Approve the person who has a code. fn (may be NULL) gets the person.
 * Errors: also CHELA_ENOENT: there is no such code, or the code has expired. */
CHELA_API int chela_pairing_approve(chela_store *store, const char *code, chela_pairing_fn *fn,
                                    void *user, struct chela_error *err);

/* Withdraw the approval of a person.
 * Errors: also CHELA_ENOENT: the person is not approved. */
CHELA_API int chela_pairing_remove(chela_store *store, const char *channel, const char *sender,
                                   struct chela_error *err);

CHELA_END_DECLS
#endif
