/* schema_keyword.c -- see schema_keyword.h. */
#include "schema/schema_keyword.h"

#include "base/mem.h"

const struct ch_keyword_info ch_keywords[CH_KW_COUNT] = {
    [CH_KW_NONE] = {{"", 0}, 0, 0, CH_SHAPE_NONE},
#define X(id, name, drafts, vocabulary, shape) \
    [CH_KW_##id] = {                           \
        {name, sizeof(name) - 1}, CH_DRAFT_##drafts, CH_VOCAB_##vocabulary, CH_SHAPE_##shape},
    CH_KEYWORDS(X)
#undef X
};

enum ch_keyword ch_keyword_find(struct ch_sv name) {
    for (size_t i = 1; i < CH_LEN(ch_keywords); i++)
        if (ch_sv_eq(ch_keywords[i].name, name))
            return (enum ch_keyword)i;
    return CH_KW_NONE;
}
