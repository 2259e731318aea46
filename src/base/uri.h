/* uri.h -- resolve URI references (RFC 3986, section 5).
 *
 * Nothing is encoded, validated or rejected. A text that is not a URI resolves
 * to another text that is not a URI. */
#ifndef CH_BASE_URI_H
#define CH_BASE_URI_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/sv.h"

/* Resolve ref against base; the result is in the arena. With an empty base a
 * relative reference is returned unchanged. */
struct ch_sv ch_uri_resolve(struct ch_arena *a, struct ch_sv base, struct ch_sv ref);

/* Remove the fragment from *uri and return it without its '#'; {NULL,0} if
 * there is no fragment. */
struct ch_sv ch_uri_cut_fragment(struct ch_sv *uri);

/* Percent-decode: %41 becomes A. Invalid escapes stay as written. */
struct ch_sv ch_uri_decode(struct ch_arena *a, struct ch_sv s);

/* Append s with everything but unreserved characters as %XX. */
void ch_uri_encode(struct ch_buf *out, struct ch_sv s);

#endif
