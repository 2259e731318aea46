/* thinking.h -- thinking parameters of Claude models, shared by all protocols that reach
 * them. */
#ifndef CH_MODEL_THINKING_H
#define CH_MODEL_THINKING_H
#include "model/catalog/claude.h"
#include "model/catalog/model_request.h"
#include "json/writer.h"

struct ch_thinking {
    enum ch_claude_thinking style;
    bool on, off; /* both false: parameter omitted */
    int64_t budget;
    int64_t max_tokens; /* limit of the whole reply */
};

/* The parameters for this model and effort. */
struct ch_thinking ch_thinking_for(const struct ch_model_request *req);

/* Write the member "thinking", if needed. */
void ch_thinking_write(const struct ch_thinking *t, struct ch_jw *w);

/* "low", "medium" or "high" if the model takes an effort; else NULL. */
const char *ch_thinking_effort(const struct ch_model_request *req, const struct ch_thinking *t);

/* True if the request forces a tool call. */
static inline bool ch_is_forced(const struct ch_model_request *req) {
    return req->ntools && (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE);
}

#endif
