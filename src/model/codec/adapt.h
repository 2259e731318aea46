/* adapt.h -- adapts stored messages to one server.
 *
 * Stored messages never change; an adapted message is a copy made while the request is
 * built. The copy depends only on the preceding messages, the model and the quirks, so the
 * same history always gives the same bytes. */
#ifndef CH_MODEL_ADAPT_H
#define CH_MODEL_ADAPT_H
#include "model/codec/codec.h"

/* --- call ids: unique within a request */

/* Adds the ids of m's calls, as the server will see them, to the set. Returns a copy of m with
 * other ids if an id was used before; else NULL. Ids repeat if a server counts from one in each
 * reply, or if two become equal when truncated. `at` is m's index in the history. */
struct ch_msg *ch_call_ids_renew(struct ch_call_ids *ids, enum ch_id_rule rule,
                                 const struct ch_msg *m, size_t at);
void ch_call_ids_release(struct ch_call_ids *ids);

/* --- context: becomes text of its message */

/* Returns a copy of m whose CONTEXT blocks are text: TEXT blocks, or in a message of results
 * the end of the last result, because nothing may follow results; else NULL. */
struct ch_msg *ch_with_context(const struct ch_msg *m);

/* --- images: replaced by notes where unsupported */

/* Returns a copy of m with notes instead of images if the model cannot read images; else
 * NULL. Images and sounds of a reply become notes too, unless the service that made them
 * gets them back. */
struct ch_msg *ch_without_images(const struct ch_model_request *req, const struct ch_msg *m);

#endif
