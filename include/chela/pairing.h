/* pairing.h -- letting people whom nobody knew write to an agent.
 *
 * With `dmPolicy: pairing` a stranger who writes to a channel of the gateway is
 * given a code. Whoever runs the gateway approves it, in the chat as an owner or
 * with `chela pairing approve`; from then on the stranger is answered. What
 * counts is the id that the channel gives them. All of it is in the store, so
 * several gateways on one store agree. Calls block. */
#ifndef CHELA_PAIRING_H
#define CHELA_PAIRING_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

struct chela_pairing {
    const char *channel, *sender; /* "feishu", "ou_1f2e" */
    const char *code; /* NULL: approved */
    int64_t ts;       /* ms, wall clock: since when */
    int64_t until;    /* of a code: it is good until then */
};
typedef int chela_pairing_fn(const struct chela_pairing *p, void *user);

/* Codes that are still good, and those who were approved. fn must not call the
 * store; what it returns other than 0 ends the list. */
CHELA_API int chela_pairing_list(chela_store *store, chela_pairing_fn *fn, void *user,
                                 struct chela_error *err);
/* CHELA_ENOENT: there is no such code, or it is too old. fn (may be NULL) is told
 * whose it was. */
CHELA_API int chela_pairing_approve(chela_store *store, const char *code, chela_pairing_fn *fn,
                                    void *user, struct chela_error *err);
/* They are strangers again. CHELA_ENOENT. */
CHELA_API int chela_pairing_remove(chela_store *store, const char *channel, const char *sender,
                                   struct chela_error *err);

CHELA_END_DECLS
#endif
