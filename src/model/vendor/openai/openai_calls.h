/* openai_calls.h -- tool calls as Chat Completions servers stream them. */
#ifndef CH_MODEL_OPENAI_CALLS_H
#define CH_MODEL_OPENAI_CALLS_H
#include "base/limits.h"
#include "model/codec/fold.h"

#define CH_OPENAI_CALL_KEYS 16 /* keys of calls in the fold begin here */

struct ch_openai_call {
    int64_t index;     /* -1: none */
    uint64_t id, name; /* hashes, 0 while unknown */
};

/* A zeroed struct has no calls. */
struct ch_openai_calls {
    struct ch_openai_call list[CH_LIMIT_CALLS_PER_REPLY];
    unsigned n;
    unsigned fragments; /* since it was set to 0: pieces of calls known before;
                           many, if one was new */
    unsigned last_key;  /* of the last piece */
    struct ch_sv said;  /* its arguments as they are written in the array, if it
                           has nothing besides; else {NULL,0} */
    struct ch_buf scratch;
};

/* Fold a tool_calls array: fragments of a stream, or whole calls. */
int ch_openai_fold_calls(struct ch_openai_calls *calls, struct ch_fold *f, struct ch_sv array,
                         bool whole);

#endif
