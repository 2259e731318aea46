/* gemini_args.h -- assembles arguments that are streamed in pieces with paths.
 *
 * Vertex can stream a call's arguments leaf by leaf: {"jsonPath":"$.to[0].name",
 * "stringValue":"An","willContinue":true}. This module builds one object from the pieces. */
#ifndef CH_MODEL_GEMINI_ARGS_H
#define CH_MODEL_GEMINI_ARGS_H
#include "base/buf.h"
#include "base/sv.h"

struct ch_gemini_arg; /* a node of the object */

/* A zeroed struct is an empty object. */
struct ch_gemini_args {
    struct ch_gemini_arg *nodes; /* owned; the first is the root object */
    size_t n, cap;
    size_t growing; /* node of the string that the next piece continues; 0: none */
    size_t bytes;   /* total size of all values */
    size_t steps;   /* comparisons of names */
    bool bad;       /* an invalid path, or too much data: unusable */
};

void ch_gemini_args_clear(struct ch_gemini_args *a);
void ch_gemini_args_release(struct ch_gemini_args *a);

/* Add a partialArgs array. */
void ch_gemini_args_add(struct ch_gemini_args *a, struct ch_sv array);

/* Append the object; nothing if a path was invalid. */
void ch_gemini_args_write(const struct ch_gemini_args *a, struct ch_buf *out);

#endif
