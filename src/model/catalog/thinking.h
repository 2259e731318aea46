/* thinking.h -- how much a Claude model is asked to think, and in which words;
 * the same in every protocol that reaches one. */
#ifndef CH_MODEL_THINKING_H
#define CH_MODEL_THINKING_H
#include "model/catalog/claude.h"
#include "model/catalog/model_request.h"
#include "json/writer.h"

struct ch_thinking {
    enum ch_claude_thinking style;
    bool on, off; /* neither: nothing is said */
    int64_t budget;
    int64_t max_tokens; /* of the whole answer */
};

/* What to ask of this model for this effort. */
struct ch_thinking ch_thinking_for(const struct ch_model_request *req);

/* The member "thinking", if there is anything to say. */
void ch_thinking_write(const struct ch_thinking *t, struct ch_jw *w);

/* "low", "medium" or "high" where the model is told so; NULL: it is not. */
const char *ch_thinking_effort(const struct ch_model_request *req, const struct ch_thinking *t);

/* A tool has to be called. */
static inline bool ch_is_forced(const struct ch_model_request *req) {
    return req->ntools && (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE);
}

#endif
