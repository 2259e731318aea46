/* thinking.h -- thinking parameters of Claude models, shared by all protocols that reach
 * them. */
#ifndef CH_MODEL_THINKING_H
#define CH_MODEL_THINKING_H
#include "json/writer.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/model_request.h"

struct ch_thinking {
    const char *type;    /* "enabled", "adaptive", "disabled", "between_tools"; NULL: omitted */
    bool on;             /* the model thinks before it answers */
    bool shown;          /* ask for the text of thinking */
    int64_t budget;      /* with "enabled" */
    int64_t max_tokens;  /* limit of the whole reply */
    const char *effort;  /* "low", ..., "max"; NULL: omitted */
};

/* The parameters for this model and effort. */
struct ch_thinking ch_thinking_for(const struct ch_model_request *req);

/* The effort that they mean. */
enum ch_effort ch_thinking_effort(const struct ch_model_request *req);

/* Write the member "thinking", if needed. */
void ch_thinking_write(const struct ch_thinking *t, struct ch_jw *w);

/* True if thinking takes a budget of tokens. */
static inline bool ch_thinking_has_budget(const struct ch_thinking *t) {
    return t->budget > 0;
}

/* True if the request forces a tool call. */
static inline bool ch_is_forced(const struct ch_model_request *req) {
    return req->ntools && (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE);
}

#endif
