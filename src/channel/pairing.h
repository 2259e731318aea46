/* pairing.h -- gateway side of chela/pairing.h. */
#ifndef CH_CHANNEL_PAIRING_H
#define CH_CHANNEL_PAIRING_H
#include "base/buf.h"
#include "chela/pairing.h"

enum ch_pairing {
    CH_PAIRED,  /* approved */
    CH_PAIRING, /* not approved: send them `code` */
    /* not approved, and no message: the sender got the code often enough, or too many others
     * wait */
    CH_UNPAIRED
};

/* Look up a sender; makes a code if they have none. Blocks. */
int ch_pairing_meet(chela_store *store, const char *channel, const char *sender,
                    enum ch_pairing *out, struct ch_buf *code, struct chela_error *err);

/* chela_pairing_approve() limited to one channel; NULL: any channel. */
int ch_pairing_approve(chela_store *store, const char *channel, const char *code,
                       chela_pairing_fn *fn, void *user, struct chela_error *err);

#endif
