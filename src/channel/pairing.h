/* pairing.h -- chela/pairing.h, for the gateway. */
#ifndef CH_CHANNEL_PAIRING_H
#define CH_CHANNEL_PAIRING_H
#include "base/buf.h"
#include "chela/pairing.h"

enum ch_pairing {
    CH_PAIRED,  /* they were approved */
    CH_PAIRING, /* they were not: tell them `code` */
    CH_UNPAIRED /* nor is there anything to tell them: they were told often enough,
                   or too many others ask */
};

/* Who writes? Makes a code if they have none. Blocks. */
int ch_pairing_meet(chela_store *store, const char *channel, const char *sender,
                    enum ch_pairing *out, struct ch_buf *code, struct chela_error *err);

/* chela_pairing_approve() for strangers of one channel alone; NULL: of any. */
int ch_pairing_approve(chela_store *store, const char *channel, const char *code,
                       chela_pairing_fn *fn, void *user, struct chela_error *err);

#endif
