/* adapt.h -- a message as one server can take it, whoever wrote it.
 *
 * What is stored never changes; what differs is a copy, made while the request
 * is built. It depends on the messages before it, the model and the quirks, so
 * the same history gives the same bytes every time. */
#ifndef CH_MODEL_ADAPT_H
#define CH_MODEL_ADAPT_H
#include "model/codec/codec.h"

/* --- ids: every call of a request has one of its own */

/* If an id of m's calls, as the server will see it, was used before: a copy of
 * m with other ids; else NULL. Ids repeat where a server counts from one in
 * each reply, or where two are the same once they are cut to a length. `at` is
 * m's place in the history. The ids are in the set only after
 * ch_call_ids_keep, so that a message may also be given up. */
struct ch_msg *ch_call_ids_renew(struct ch_call_ids *ids, enum ch_id_rule rule,
                                 const struct ch_msg *m, size_t at);
void ch_call_ids_keep(struct ch_call_ids *ids, enum ch_id_rule rule, const struct ch_msg *m);
void ch_call_ids_release(struct ch_call_ids *ids);

/* --- images: a note where they cannot be shown */

/* If m holds images and the model cannot see them: a copy of m in which notes
 * stand for them; else NULL. */
struct ch_msg *ch_without_images(const struct ch_model_request *req, const struct ch_msg *m);

#endif
