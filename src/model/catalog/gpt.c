/* gpt.c -- see gpt.h. */
#include "model/catalog/gpt.h"

#include <string.h>

#include "base/mem.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/provider.h"

struct ch_sv ch_gpt_bare(struct ch_sv model) {
    for (size_t i = model.n; i > 0; i--)
        if (model.p[i - 1] == '/')
            return ch_sv(model.p + i, model.n - i);
    return model;
}

/* A name of OpenAI's: the efforts of other makers' models say nothing about these rules. */
static bool is_gpt(struct ch_sv model) {
    model = ch_gpt_bare(model);
    return ch_sv_starts(model, "gpt-") || ch_sv_starts(model, "o") || ch_sv_starts(model, "ft:");
}

bool ch_gpt_reasons(struct ch_sv model) {
    return is_gpt(model) && !ch_sv_starts(ch_gpt_bare(model), "gpt-oss") &&
           ch_model_facts(model)->efforts;
}

bool ch_gpt_request_reasons(const struct ch_model_request *req) {
    unsigned quirks = req->endpoint->quirks;
    if (quirks & (CH_Q_REASONS | CH_Q_NO_REASONING))
        return quirks & CH_Q_REASONS;
    struct ch_sv name = ch_gpt_bare(req->model);
    return is_gpt(name) && !ch_sv_starts(name, "gpt-oss") && ch_request_facts(req)->efforts;
}

bool ch_gpt_same(struct ch_sv a, struct ch_sv b) {
    a = ch_gpt_bare(a);
    b = ch_gpt_bare(b);
    struct ch_sv longer = a.n > b.n ? a : b;
    size_t n = CH_MIN(a.n, b.n);
    if (!n || memcmp(a.p, b.p, n) != 0)
        return false;
    return longer.n == n || ch_model_is_version(ch_sv(longer.p + n, longer.n - n));
}
