/* fold.h -- what codecs write into: pieces in, events out, one reply.
 *
 * Blocks are addressed by a key the codec chooses (its index on the wire). A
 * piece for a key not in use opens a block; so does a piece of another type
 * than the block has. A call counts as closed only if the codec closed it;
 * arguments are then parsed (and repaired where allowed), an empty argument
 * text is {}. */
#ifndef CH_MODEL_FOLD_H
#define CH_MODEL_FOLD_H
#include "model/codec/codec.h"

#define CH_FOLD_KEYS (2 * CH_LIMIT_REPLY_BLOCKS) /* keys are below this */

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
/* A block only its vendor understands; a second call replaces the first. */
int ch_fold_opaque(struct ch_fold *f, unsigned key, struct ch_sv type, struct ch_sv json);

/* Set or extend what belongs to an open or closed block; no block at `key`:
 * nothing happens. */
int ch_fold_extra(struct ch_fold *f, unsigned key, struct ch_sv piece); /* appended */
int ch_fold_field(struct ch_fold *f, unsigned key, struct ch_sv name, struct ch_sv id);
void ch_fold_flag(struct ch_fold *f, unsigned key, unsigned flag);
int ch_fold_replace(struct ch_fold *f, unsigned key, struct ch_sv text); /* authoritative text */
void ch_fold_close(struct ch_fold *f, unsigned key);
void ch_fold_close_all(struct ch_fold *f);

/* Make the key free for a new block; the block that had it stays as it is. */
void ch_fold_release_key(struct ch_fold *f, unsigned key);

/* The reply was cut by length. If a call is the last block, it stays closed
 * only if its arguments are a whole JSON object. */
void ch_fold_cut(struct ch_fold *f);

/* The reply failed: none of its calls counts as closed, since what would have
 * followed is not known. */
void ch_fold_abandon(struct ch_fold *f);

bool ch_fold_has(const struct ch_fold *f, enum ch_block_type type); /* not empty */
struct ch_sv ch_fold_block_text(const struct ch_fold *f, unsigned key);

/* Build the message; calls not closed are flagged CH_F_CUT, calls whose
 * arguments do not parse CH_F_INVALID. Ids that are missing are made up, ids
 * that repeat are made unique. NULL when there is no block. */
struct ch_msg *ch_fold_message(struct ch_fold *f, const char *api, struct ch_sv model, int64_t ts);

#endif
