/* gemini_args.h -- arguments that come in pieces, each with a path.
 *
 * Vertex can stream a call's arguments: {"jsonPath":"$.to[0].name",
 * "stringValue":"An","willContinue":true} and so on, leaf by leaf. Here they
 * grow back into one object. */
#ifndef CH_MODEL_GEMINI_ARGS_H
#define CH_MODEL_GEMINI_ARGS_H
#include "base/buf.h"
#include "base/sv.h"

struct ch_gemini_arg; /* a node of the object */

/* A zeroed struct is an empty object. */
struct ch_gemini_args {
    struct ch_gemini_arg *nodes; /* owned; the first is the object itself */
    size_t n, cap;
    size_t growing; /* the string that the next piece continues; 0: none */
    size_t bytes;   /* of all values */
    bool bad;       /* an impossible path, or too much: not to be used */
};

void ch_gemini_args_clear(struct ch_gemini_args *a);
void ch_gemini_args_release(struct ch_gemini_args *a);

/* Work a partialArgs array in. */
void ch_gemini_args_add(struct ch_gemini_args *a, struct ch_sv array);

/* Append the object; nothing if a path was bad. */
void ch_gemini_args_write(const struct ch_gemini_args *a, struct ch_buf *out);

#endif
