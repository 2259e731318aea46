/* gemini_model.h -- properties of a Gemini model, derived from its name. */
#ifndef CH_MODEL_GEMINI_MODEL_H
#define CH_MODEL_GEMINI_MODEL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"
#include "model/catalog/model_facts.h"

enum ch_gemini_tier {
    CH_GEMINI_NOT, /* another family, or a deployment's own name */
    CH_GEMINI_PRO,
    CH_GEMINI_FLASH,
    CH_GEMINI_FLASH_LITE,
    CH_GEMINI_OTHER,
};

struct ch_gemini {
    enum ch_gemini_tier tier;
    int major, minor; /* version, such as 2, 5; 0, 0 for a name without a version: the newest */
};

/* Parses gemini-2.5-flash-lite, models/gemini-3-pro-preview, gemini-pro-latest,
 * projects/P/locations/L/publishers/google/models/gemini-2.5-pro. */
struct ch_gemini ch_gemini_parse(struct ch_sv model);

/* True for at least this version; a name without a version counts as the newest. */
bool ch_gemini_from(struct ch_gemini g, int major, int minor);

/* From Gemini 3 on, calls have ids, a call of the current turn needs a signature, results
 * may contain media, and tools can be combined with structured output. Other models count
 * as new, because servers in front of them follow the newest protocol. */
static inline bool ch_gemini_is_3(struct ch_gemini g) {
    return g.tier == CH_GEMINI_NOT || ch_gemini_from(g, 3, 0);
}

/* True if both names denote the same model: previews, dated names and aliases. The minor
 * version is ignored, because the service answers for gemini-3-pro-preview with
 * gemini-3.1-pro-preview. A name that cannot be parsed counts as the same. */
bool ch_gemini_same(struct ch_sv a, struct ch_sv b);

/* Thinking parameters for an effort by the facts of the model: at most one of level and budget. */
struct ch_gemini_thinking {
    bool shown;        /* the text of thoughts, which is sent on request only */
    const char *level; /* "LOW"; NULL: none */
    bool has_budget;
    int64_t budget;
};
struct ch_gemini_thinking ch_gemini_thinking(const struct ch_model_request *req);
/* The level for a protocol without budgets; NULL: none. */
const char *ch_gemini_level(const struct ch_model_request *req);

#endif
