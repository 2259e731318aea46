/* fold.h -- accumulates the pieces of a reply, emits events and builds the message.
 *
 * A block is addressed by a key that the codec chooses (its index on the wire). A piece for
 * an unused key opens a block; so does a piece whose type differs from the block's. A call
 * counts as closed only if the codec closed it. The arguments of a closed call are parsed,
 * and repaired where allowed; an empty argument text is {}. */
#ifndef CH_MODEL_FOLD_H
#define CH_MODEL_FOLD_H
#include "model/codec/codec.h"

#define CH_FOLD_KEYS (2 * CH_LIMIT_REPLY_BLOCKS) /* keys must be smaller */

struct ch_fold *ch_fold_new(ch_model_event_fn *fn, void *user);
void ch_fold_free(struct ch_fold *f);

/* Append to the block `key` of this type, opening it if necessary. An empty piece opens a
 * block but emits no event. CHELA_ELIMIT past the reply limits. */
int ch_fold_text(struct ch_fold *f, unsigned key, struct ch_sv piece);
int ch_fold_reasoning(struct ch_fold *f, unsigned key, struct ch_sv piece);
int ch_fold_refusal(struct ch_fold *f, unsigned key, struct ch_sv piece);
/* id and name are set only if not empty and not set before. */
int ch_fold_call(struct ch_fold *f, unsigned key, struct ch_sv id, struct ch_sv name,
                 struct ch_sv piece);
/* A vendor-specific block; a second call replaces the first. */
int ch_fold_opaque(struct ch_fold *f, unsigned key, struct ch_sv type, struct ch_sv json);

/* An image or a sound; data is base64 and may come in pieces, each with its own padding. A
 * piece that is not base64 flags the block CH_F_INVALID; the part before the fault is kept. */
int ch_fold_media(struct ch_fold *f, unsigned key, enum ch_block_type type,
                  struct ch_sv media_type, struct ch_sv data);

/* Set or extend attributes of an open or closed block; no-op if `key` has no block. */
int ch_fold_extra(struct ch_fold *f, unsigned key, struct ch_sv piece); /* appended */
/* Base64 in pieces, as of ch_fold_media. */
int ch_fold_extra_base64(struct ch_fold *f, unsigned key, struct ch_sv piece);
int ch_fold_field(struct ch_fold *f, unsigned key, struct ch_sv name, struct ch_sv id);
void ch_fold_flag(struct ch_fold *f, unsigned key, unsigned flag);
void ch_fold_runner(struct ch_fold *f, unsigned key, enum ch_runner runner); /* of a call */
int ch_fold_replace(struct ch_fold *f, unsigned key, struct ch_sv text); /* replaces the text */
void ch_fold_close(struct ch_fold *f, unsigned key);
void ch_fold_close_all(struct ch_fold *f);

/* Free the key for a new block; its current block is kept. */
void ch_fold_release_key(struct ch_fold *f, unsigned key);

/* True if the last block is a call whose arguments are not a complete JSON object. */
bool ch_fold_ends_cut(const struct ch_fold *f);
/* The reply was truncated by the output limit. If a call is the last block, it stays closed
 * only if its arguments are a complete JSON object. */
void ch_fold_cut(struct ch_fold *f);

/* The reply failed: no call counts as closed, because further data may have followed. */
void ch_fold_abandon(struct ch_fold *f);

bool ch_fold_has(const struct ch_fold *f, enum ch_block_type type); /* true for a non-empty block */
/* The n-th block of this type, from 0, as far as it was received; borrowed. False: none. */
bool ch_fold_nth(const struct ch_fold *f, enum ch_block_type type, size_t n, struct ch_block *out);
struct ch_sv ch_fold_block_text(const struct ch_fold *f, unsigned key);

/* Build the message. Calls not closed are flagged CH_F_CUT, calls with unparsable arguments
 * CH_F_INVALID. Missing ids are generated, repeated ids made unique. NULL if there is no
 * block. */
struct ch_msg *ch_fold_message(struct ch_fold *f, const struct ch_msg_author *by, int64_t ts);

#endif
