/* gpt.c -- see gpt.h. */
#include "model/catalog/gpt.h"

#include <string.h>

#include "base/mem.h"
#include "model/catalog/provider.h"

struct ch_sv ch_gpt_bare(struct ch_sv model) {
    for (size_t i = model.n; i > 0; i--)
        if (model.p[i - 1] == '/')
            return ch_sv(model.p + i, model.n - i);
    return model;
}

static bool is_digit_at(struct ch_sv s, size_t i, char least) {
    return i < s.n && s.p[i] >= least && s.p[i] <= '9';
}

static bool is_o_series(struct ch_sv model) {
    return ch_sv_starts(model, "o") && is_digit_at(model, 1, '1');
}

bool ch_gpt_reasons(struct ch_sv model) {
    model = ch_gpt_bare(model);
    bool gpt = ch_sv_starts(model, "gpt-") && is_digit_at(model, 4, '5');
    return is_o_series(model) || (gpt && !ch_sv_contains_nocase(model, "chat"));
}

bool ch_gpt_request_reasons(const struct ch_model_request *req) {
    unsigned quirks = req->endpoint->quirks;
    if (quirks & (CH_Q_REASONS | CH_Q_NO_REASONING))
        return quirks & CH_Q_REASONS;
    return ch_gpt_reasons(req->model);
}

/* "none" from GPT-5.1 on, "minimal" for GPT-5; o models always reason at least a little. All
 * models accept "low". */
const char *ch_gpt_least_effort(struct ch_sv model) {
    model = ch_gpt_bare(model);
    if (is_o_series(model) || !ch_gpt_reasons(model))
        return "low";
    bool first = ch_sv_starts(model, "gpt-5") && !ch_sv_starts(model, "gpt-5.");
    return first ? "minimal" : "none";
}

/* In the first two families only the large models support it. */
bool ch_gpt_caches_long(struct ch_sv model) {
    static const char *const small[] = {"gpt-4.1-mini", "gpt-4.1-nano", "gpt-5-mini", "gpt-5-nano"};
    model = ch_gpt_bare(model);
    for (size_t i = 0; i < CH_LEN(small); i++)
        if (ch_sv_starts(model, small[i]))
            return false;
    return ch_sv_starts(model, "gpt-5") || ch_sv_starts(model, "gpt-4.1");
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
