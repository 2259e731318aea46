/* price.c -- the vendors' list prices; see price.h. */
#include "model/catalog/price.h"

#include "base/mem.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/provider.h"

/* Anthropic's price factor of a one-hour cache over a five-minute cache. */
#define HOUR_FACTOR 1.6

/* True if the vendor's prices are the provider's, too. Azure sells OpenAI's models at the same
 * prices, usually with deployments named like the models. */
static bool sells_for(const char *provider, const char *vendor) {
    bool azure = strcmp(provider, "azure") == 0 || strcmp(provider, "azure-responses") == 0;
    return ch_provider_same(azure ? "openai" : provider, vendor);
}

/* Bedrock sells models of Anthropic at the maker's prices; newer ones cost more outside of the
 * global profiles. "us.anthropic.NAME-v1:0" and the ARN of a profile with this end give NAME. */
static bool bedrock_price(struct ch_sv id, int day, struct ch_price *out) {
    static const struct ch_sv maker = CH_SV("anthropic.");
    const char *slash = id.n ? memrchr(id.p, '/', id.n) : NULL;
    struct ch_sv profile = slash ? ch_sv(slash + 1, id.n - (size_t)(slash + 1 - id.p)) : id;
    const char *at = profile.n ? memmem(profile.p, profile.n, maker.p, maker.n) : NULL;
    if (!at)
        return false;
    at += maker.n;
    const struct ch_model_facts *f =
        ch_model_facts(ch_sv(at, profile.n - (size_t)(at - profile.p)));
    double times = ch_sv_starts(profile, "global.") || f->price_regional <= 0 ? 1
                                                                             : f->price_regional;
    *out = *ch_model_price(f, day);
    out->input *= times;
    out->output *= times;
    out->cache_read *= times;
    out->cache_write *= times;
    return out->input > 0;
}

bool ch_price_find(const char *provider, struct ch_sv model, int day, struct ch_price *out) {
    if (strcmp(provider, "bedrock") == 0)
        return bedrock_price(model, day, out);
    const struct ch_model_facts *f;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++) {
        if (f->price.input <= 0 || !ch_sv_starts(model, f->match))
            continue;
        size_t n = strlen(f->match);
        bool same = model.n == n || ch_model_is_version(ch_sv(model.p + n, model.n - n));
        if (same && sells_for(provider, f->provider)) {
            *out = *ch_model_price(f, day);
            return true;
        }
    }
    return false;
}

/* The tokens written to a one-hour cache: as reported, or else by the cache mode. */
static int64_t written_for_an_hour(const struct ch_usage *u, enum ch_cache cache) {
    if (u->cache_write_5m || u->cache_write_1h)
        return CH_MIN(u->cache_write_1h, u->cache_write);
    return cache == CH_CACHE_LONG ? u->cache_write : 0;
}

double ch_price_cost(const struct ch_price *p, const struct ch_usage *u, enum ch_cache cache) {
    double read = p->cache_read < 0 ? p->input : p->cache_read;
    double write = p->cache_write < 0 ? p->input : p->cache_write;
    int64_t hour = written_for_an_hour(u, cache);
    double hour_write = p->cache_write > p->input ? write * HOUR_FACTOR : write;
    bool is_long = p->long_input > 0 && u->input > (p->long_above ? p->long_above : CH_PRICE_LONG);
    int64_t plain = CH_MAX(u->input - u->cache_read - u->cache_write, 0);
    double in = (double)plain * p->input + (double)u->cache_read * read +
                (double)(u->cache_write - hour) * write + (double)hour * hour_write;
    double out = (double)u->output * p->output;
    return (in * (is_long ? p->long_input : 1) + out * (is_long ? p->long_output : 1)) / 1e6;
}
