/* tagged_call.h -- what stands between a call's tags; see tags.h. */
#ifndef CH_MODEL_TAGGED_CALL_H
#define CH_MODEL_TAGGED_CALL_H
#include "model/codec/tags.h"

/* The calls in what stood between a call's tags: a JSON object, a list of them,
 * XML, or a name and its arguments; in a code block or not. Nothing that reads as a call is one
 * that is flagged INVALID. */
void ch_tagged_calls(struct ch_sv body, void (*fn)(const struct ch_tagged_call *, void *),
                     void *user);

/* The name of the tool, as far as it can be told, in what is no whole call: so
 * that the model hears which of its calls is meant. */
struct ch_sv ch_tagged_name(struct ch_sv body);

/* The bytes at the beginning that may be a tool's name. */
size_t ch_tagged_name_length(struct ch_sv s);

#endif
