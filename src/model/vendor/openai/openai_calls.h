/* openai_calls.h -- decodes tool calls of Chat Completions streams. */
#ifndef CH_MODEL_OPENAI_CALLS_H
#define CH_MODEL_OPENAI_CALLS_H
#include "base/limits.h"
#include "model/codec/fold.h"

#define CH_OPENAI_CALL_KEYS 16 /* first fold key of calls */

struct ch_openai_call {
    int64_t index;     /* -1: none */
    uint64_t id, name; /* hashes, 0 while unknown */
};

/* A zeroed struct has no calls. */
struct ch_openai_calls {
    struct ch_openai_call *list; /* owned */
    unsigned n, cap;
    /* number of pieces for known calls since it was set to 0; large if a call was new */
    unsigned fragments;
    unsigned last_key;  /* key of the last piece */
    /* undecoded arguments of the last piece, if the array contains nothing else; else
     * {NULL,0} */
    struct ch_sv sole;
    struct ch_buf scratch;
};

/* Fold a tool_calls array: stream fragments or whole calls. */
int ch_openai_fold_calls(struct ch_openai_calls *calls, struct ch_fold *f, struct ch_sv array,
                         bool whole);

#endif
