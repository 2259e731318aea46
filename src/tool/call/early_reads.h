/* early_reads.h -- calls that begin while the model still writes the reply.
 *
 * A call that only reads, and that needs no consent, may begin as soon as the protocol has closed
 * the call. The batch takes the begun calls over when the reply is complete: every callback about
 * a call is made by the batch. If the reply fails, ch_early_reads_close drops the calls, and
 * nothing is left of them. */
#ifndef CH_TOOL_EARLY_READS_H
#define CH_TOOL_EARLY_READS_H
#include "tool/call/batch.h"

struct ch_early_reads;

/* opts: of the batch that follows; what they point to is borrowed until the batch ends. */
struct ch_early_reads *ch_early_reads_new(const struct ch_batch_opts *opts);

/* The call number `index` of the reply is closed. Texts are copied. After the first call that
 * cannot begin early, no call begins: an earlier call may change what a later one reads. */
void ch_early_reads_offer(struct ch_early_reads *e, size_t index, const struct ch_block *call);

struct ch_call_env;
/* The call number `index` of the complete reply, whose owner is `owner` with `env` from now on.
 * NULL: the call did not begin, or it cannot be taken and is dropped: its arguments are others, or
 * it waits for a time. */
chela_call *ch_early_reads_take(struct ch_early_reads *e, size_t index,
                                const struct ch_block *call, const struct ch_call_env *env,
                                void *owner);

/* The last line of progress of a call that was taken; empty: none. */
struct ch_sv ch_early_reads_progress(const struct ch_early_reads *e, size_t index);

/* Drops the calls that were not taken. e may be NULL. Blocks of taken calls must not be used any
 * more. */
void ch_early_reads_close(struct ch_early_reads *e);

#endif
