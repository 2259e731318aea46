/* openai_extras.h -- sources and images of a reply, as Chat Completions and Responses have
 * them. */
#ifndef CH_GATEWAY_OPENAI_EXTRAS_H
#define CH_GATEWAY_OPENAI_EXTRAS_H
#include "base/buf.h"
#include "chela/event.h"

/* Writes the sources of a reply, as in TURN_END, as a JSON array of annotations. nested: the
 * members are in a nested object, as in Chat Completions. Sources without a URL and a file
 * are left out. Nothing is written if there are none. */
void ch_openai_annotations(struct chela_str citations, bool nested, struct ch_buf *out);
/* Writes the URL of an image that the model made; data: as a data URL. Nothing is written for
 * other media. */
void ch_openai_image_url(const struct chela_event *made, struct ch_buf *out);

#endif
