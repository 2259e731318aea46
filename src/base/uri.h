/* uri.h -- what a URI reference means where it stands: RFC 3986, section 5.
 *
 * Bytes are taken as they are: nothing is encoded, checked or refused. A text that
 * is no URI resolves to a text that is none. */
#ifndef CH_BASE_URI_H
#define CH_BASE_URI_H
#include "base/arena.h"
#include "base/sv.h"

/* ref as seen from base; the result is in the arena. An empty base leaves a
 * relative reference as it is. */
struct ch_sv ch_uri_resolve(struct ch_arena *a, struct ch_sv base, struct ch_sv ref);

/* Cut the fragment off *uri and return it without its '#'; {NULL,0} if there
 * is none. */
struct ch_sv ch_uri_cut_fragment(struct ch_sv *uri);

/* %41 is A. What is no escape stays as it is. */
struct ch_sv ch_uri_decode(struct ch_arena *a, struct ch_sv s);

#endif
