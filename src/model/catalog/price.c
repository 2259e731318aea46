/* price.c -- the vendors' list prices; see price.h. */
#include "model/catalog/price.h"

#include "base/mem.h"
#include "model/catalog/claude.h"
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

/* Bedrock sells Claude at Anthropic's prices; from 4.5 on only through global profiles,
 * because regional ones cost more. "global.anthropic.NAME-v1:0" gives NAME, other ids give
 * an empty name. */
static struct ch_sv sold_by_bedrock(struct ch_sv id) {
    static const struct ch_sv maker = CH_SV("anthropic.");
    if (ch_sv_starts(id, "arn:")) /* the last component is the id of the profile */
        while (memchr(id.p, '/', id.n))
            ch_sv_split(&id, '/');
    const char *at = id.n ? memmem(id.p, id.n, maker.p, maker.n) : NULL;
    bool global = ch_sv_starts(id, "global.");
    if (!at || (!global && ch_claude_from(ch_claude_parse(id), 4, 5)))
        return CH_SV("");
    struct ch_sv name = ch_sv(at + maker.n, id.n - (size_t)(at - id.p) - maker.n);
    const char *version = memmem(name.p, name.n, "-v", 2);
    return version ? ch_sv(name.p, (size_t)(version - name.p)) : name;
}

bool ch_price_find(const char *provider, struct ch_sv model, int day, struct ch_price *out) {
    if (strcmp(provider, "bedrock") == 0) {
        model = sold_by_bedrock(model);
        provider = "anthropic";
    }
    const struct ch_model_facts *f;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++) {
        size_t n = strlen(f->match);
        if (f->price.input <= 0 || !sells_for(provider, f->provider) ||
            !ch_sv_starts(model, f->match))
            continue;
        if (model.n == n || ch_model_is_version(ch_sv(model.p + n, model.n - n))) {
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
