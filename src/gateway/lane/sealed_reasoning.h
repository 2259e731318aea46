/* sealed_reasoning.h -- reasoning of a model as one text that a client keeps and posts back.
 *
 * A vendor accepts its own reasoning only from the model that wrote it, with its signature
 * or encrypted form. Clients of another protocol have no field for these. The sealed text
 * holds the whole block and its author; it is an encoding, not a secret. */
#ifndef CH_GATEWAY_SEALED_REASONING_H
#define CH_GATEWAY_SEALED_REASONING_H
#include "base/arena.h"
#include "base/buf.h"
#include "model/message/message.h"

struct ch_sealed_reasoning {
    struct ch_block block;
    struct ch_msg_author by;
    int64_t turn; /* turn of the run, from 1, whose reply contains the block */
};

/* Appends the sealed text. */
void ch_reasoning_seal(const struct ch_sealed_reasoning *r, struct ch_buf *out);
/* Texts are put into the arena. False: this is no sealed text. */
bool ch_reasoning_unseal(struct ch_arena *a, struct ch_sv text, struct ch_sealed_reasoning *out);

#endif
