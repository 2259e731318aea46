/* fold.h -- what codecs write into: pieces in, events out, one reply.
 *
 * Blocks are addressed by a key the codec chooses (its index on the wire).
 * A piece for an unknown key opens the block. A call counts as closed only if
 * the codec closed it; arguments are then parsed (and repaired where allowed),
 * an empty argument text is {}. */
#ifndef CH_MODEL_FOLD_H
#define CH_MODEL_FOLD_H
#include "model/codec.h"

struct ch_fold *ch_fold_new(ch_model_event_fn *fn, void *user);
void ch_fold_free(struct ch_fold *f);

/* Append to the block `key` of the given type, opening it if need be. Empty
 * pieces open a block but emit no event. Returns CHELA_ELIMIT past the
 * reply limits. */
int ch_fold_text(struct ch_fold *f, unsigned key, struct ch_sv piece);
int ch_fold_reasoning(struct ch_fold *f, unsigned key, struct ch_sv piece);
int ch_fold_refusal(struct ch_fold *f, unsigned key, struct ch_sv piece);
/* id and name are set if not empty and not set before. */
int ch_fold_call(struct ch_fold *f, unsigned key, struct ch_sv id, struct ch_sv name,
                 struct ch_sv piece);
int ch_fold_opaque(struct ch_fold *f, unsigned key, struct ch_sv type, struct ch_sv json);

/* Set or extend what belongs to an open or closed block. */
void ch_fold_extra(struct ch_fold *f, unsigned key, struct ch_sv piece); /* appended */
void ch_fold_field(struct ch_fold *f, unsigned key, struct ch_sv name, struct ch_sv id);
void ch_fold_flag(struct ch_fold *f, unsigned key, unsigned flag);
void ch_fold_replace(struct ch_fold *f, unsigned key, struct ch_sv text); /* authoritative text */
void ch_fold_close(struct ch_fold *f, unsigned key);
void ch_fold_close_all(struct ch_fold *f);

bool ch_fold_has_calls(const struct ch_fold *f);

/* Build the message; calls not closed are flagged CH_F_CUT, calls whose
 * arguments do not parse CH_F_INVALID. Ids that are missing are made up, ids
 * that repeat are made unique. NULL when there is no block. */
struct ch_msg *ch_fold_message(struct ch_fold *f, const char *api, struct ch_sv model, int64_t ts);

#endif
