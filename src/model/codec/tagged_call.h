/* tagged_call.h -- parses the text between the tags of a call; see tags.h. */
#ifndef CH_MODEL_TAGGED_CALL_H
#define CH_MODEL_TAGGED_CALL_H
#include "model/codec/tags.h"

/* Call fn for each call in the text between a call's tags: a JSON object, a list of
 * objects, XML, or a name with arguments; with or without a code fence. Text that is no
 * call yields one call flagged INVALID. */
void ch_tagged_calls(struct ch_sv body, void (*fn)(const struct ch_tagged_call *, void *),
                     void *user);

/* The tool name in an incomplete call, as far as recognizable, so that the error can name
 * the call. */
struct ch_sv ch_tagged_name(struct ch_sv body);

/* Length of the prefix that may be a tool name. */
size_t ch_tagged_name_length(struct ch_sv s);

#endif
