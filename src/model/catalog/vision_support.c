/* vision_support.c -- text-only and vision models, by name.
 *
 * An image sent to a text-only model fails the request, and all later requests once the
 * image is in the history. For a model that is not listed, images are sent, because the
 * server knows best. */
#include "model/catalog/vision_support.h"

#include "base/mem.h"
#include "model/catalog/provider.h"

/* Matched by prefix of the bare name, ignoring case; the longest match wins. */
static const struct {
    const char *prefix;
    bool blind;
} rows[] = {
    {"claude-", false},
    {"codestral", true},
    {"command-r", true},
    {"deepseek-", true},
    {"deepseek-vl", false},
    {"deepseek-ocr", false},
    {"devstral-small-2507", true},
    {"glm-4.5", true},
    {"glm-4.5v", false},
    {"glm-4.6", true},
    {"glm-4.6v", false},
    {"glm-4.7", true},
    {"gemini-", false},
    {"gpt-3.5", true},
    {"gpt-4-turbo", false},
    {"gpt-4.1", false},
    {"gpt-4o", false},
    {"gpt-5", false},
    {"gpt-6", false},
    {"gpt-oss", true},
    {"grok-3", true},
    {"grok-4", false},
    {"grok-code", true},
    {"kimi-k2", true},
    {"kimi-k2.", false},
    {"llama-3.1", true},
    {"llama-3.3", true},
    {"llama3.1", true},
    {"llama3.3", true},
    {"meta-llama-3.1", true},
    {"mistral-nemo", true},
    {"moonshot-v1", true},
    {"moonshot-v1-8k-vision", false},
    {"moonshot-v1-32k-vision", false},
    {"moonshot-v1-128k-vision", false},
    {"o1", false},
    {"o1-mini", true},
    {"o1-preview", true},
    {"o3", false},
    {"o3-mini", true},
    {"o4-mini", false},
    {"open-mixtral", true},
    {"qwen2.5-coder", true},
    {"qwen3-coder", true},
};

enum ch_sight ch_model_sight(struct ch_sv model) {
    size_t longest = 0;
    enum ch_sight sight = CH_SIGHT_UNKNOWN;
    for (size_t i = model.n; i > 0; i--)
        if (model.p[i - 1] == '/') {
            model = ch_sv(model.p + i, model.n - i);
            break;
        }
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_sv prefix = ch_sv_str(rows[i].prefix);
        if (prefix.n <= longest || prefix.n > model.n ||
            !ch_sv_eq_nocase(ch_sv(model.p, prefix.n), prefix))
            continue;
        longest = prefix.n;
        sight = rows[i].blind ? CH_SIGHT_NONE : CH_SIGHT_IMAGES;
    }
    return sight;
}

void ch_model_add_sight(struct ch_model_facts *f, struct ch_sv model) {
    enum ch_sight sight = ch_model_sight(model);
    if (!(f->flags & (CH_M_TEXT | CH_M_IMAGES)) && sight != CH_SIGHT_UNKNOWN)
        f->flags |= CH_M_TEXT | (sight == CH_SIGHT_IMAGES ? CH_M_IMAGES : 0);
}
