/* service.c -- see service.h. */
#include "model/catalog/service.h"

#include "base/mem.h"
#include "json/writer.h"
#include "model/catalog/provider.h"

#define OPENAI_TIERS "auto default flex scale priority fast ultrafast"
#define MAX_TIER 32 /* bytes of a tier that is not in the table */

enum { HAS_STORE = 1, HAS_BACKGROUND = 2, HAS_WEBSOCKET = 4, HAS_TTL = 8, IS_NOT_STORED = 16 };

/* The first row that fits counts. */
static const struct service {
    const char *api;
    const char *provider; /* NULL: all other servers of the protocol */
    const char *tiers;    /* "": none; NULL: any word */
    unsigned has;
    enum { TIER_SNAKE, TIER_CAMEL, TIER_OBJECT } form;
} services[] = {
    {"anthropic", "anthropic", "auto standard_only", HAS_TTL, TIER_SNAKE},
    {"anthropic", NULL, NULL, HAS_TTL, TIER_SNAKE},
    {"openai", "openai", OPENAI_TIERS, HAS_STORE | IS_NOT_STORED, TIER_SNAKE},
    {"openai", "azure", NULL, HAS_STORE, TIER_SNAKE},
    {"openai", "openrouter", NULL, HAS_TTL, TIER_SNAKE},
    {"openai", NULL, NULL, 0, TIER_SNAKE},
    {"openai-responses", "openai-responses", OPENAI_TIERS,
     HAS_STORE | HAS_BACKGROUND | HAS_WEBSOCKET, TIER_SNAKE},
    {"openai-responses", NULL, NULL, HAS_STORE | HAS_BACKGROUND | HAS_WEBSOCKET, TIER_SNAKE},
    {"gemini", "gemini", "standard flex priority", HAS_STORE, TIER_CAMEL},
    {"gemini", NULL, "", 0, TIER_CAMEL},
    {"interactions", "gemini-interactions", "standard flex priority deferred",
     HAS_STORE | HAS_BACKGROUND, TIER_SNAKE},
    {"interactions", NULL, NULL, HAS_STORE | HAS_BACKGROUND, TIER_SNAKE},
    {"bedrock", NULL, "default flex priority reserved", HAS_TTL, TIER_OBJECT},
    {"", NULL, "", 0, TIER_SNAKE},
};

/* A layered protocol ("prompted+openai", "prompted") has the options of the one below. */
static struct ch_sv service_inner(struct ch_sv api) {
    static const struct ch_sv prefix = CH_SV("prompted+");
    if (ch_sv_starts(api, prefix.p))
        return ch_sv(api.p + prefix.n, api.n - prefix.n);
    return ch_sv_is(api, "prompted") ? CH_SV("openai") : api;
}

static const struct service *service_at(const struct ch_service_place *at) {
    struct ch_sv api = service_inner(at->api);
    const struct ch_provider *p = ch_provider_of_url(api, at->url);
    const char *provider = p ? p->name : at->provider;
    const struct service *s = services;
    while (*s->api && !(ch_sv_is(api, s->api) &&
                        (!s->provider || (provider && strcmp(s->provider, provider) == 0))))
        s++;
    return s;
}

static bool service_lists(const char *words, struct ch_sv word) {
    struct ch_sv rest = ch_sv_str(words);
    while (rest.n)
        if (ch_sv_eq(ch_sv_split(&rest, ' '), word))
            return true;
    return false;
}

static bool is_word(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
              s.p[i] == '_' || s.p[i] == '-'))
            return false;
    return s.n > 0 && s.n <= MAX_TIER;
}

static bool takes_tier(const struct service *s, const char *tier, struct ch_buf *why) {
    struct ch_sv word = ch_sv_str(tier);
    if (s->tiers ? service_lists(s->tiers, word) : is_word(word))
        return true;
    if (s->tiers && !*s->tiers)
        CH_BUF_LIT(why, "this service has no tiers");
    else if (s->tiers)
        ch_buf_addf(why, "this service has no such tier (it has: %s)", s->tiers);
    else
        CH_BUF_LIT(why, "a tier is a word in lower case");
    return false;
}

const char *ch_service_refuses(const struct ch_service_place *at, const struct ch_service_opts *o,
                               struct ch_buf *why) {
    const struct service *s = service_at(at);
    CH_BUF_AUTO unread = {0};
    bool websocket = o->transport && strcmp(o->transport, "websocket") == 0;
    if (!why)
        why = &unread;
    if (o->tier && !takes_tier(s, o->tier, why))
        return "serviceTier";
    if (o->cache_ttl && !(s->has & HAS_TTL)) {
        CH_BUF_LIT(why, "the cache of this service has no lifetime that can be chosen");
        return "cacheTtl";
    }
    if (o->background > 0 && !(s->has & HAS_BACKGROUND)) {
        CH_BUF_LIT(why, "this service makes no replies in the background (api: openai-responses "
                        "and interactions do)");
        return "background";
    }
    if (o->background > 0 && o->store < 0) {
        CH_BUF_LIT(why, "a reply that is made in the background is stored until it is fetched");
        return "store";
    }
    if (o->store > 0 && !(s->has & HAS_STORE)) {
        CH_BUF_LIT(why, "this service stores nothing");
        return "store";
    }
    if (websocket && !(s->has & HAS_WEBSOCKET)) {
        CH_BUF_LIT(why, "this service has no WebSocket (api: openai-responses has)");
        return "transport";
    }
    if (websocket && o->background > 0) {
        CH_BUF_LIT(why, "replies are not made in the background over a WebSocket");
        return "transport";
    }
    return NULL;
}

void ch_service_members(const struct ch_service_place *at, const struct ch_service_opts *o,
                        struct ch_buf *out) {
    const struct service *s = service_at(at);
    struct ch_jw w = ch_jw(out);
    if (o->tier && s->form == TIER_OBJECT) {
        ch_jw_kbegin(&w, "serviceTier", '{');
        ch_jw_kcstr(&w, "type", o->tier);
        ch_jw_end(&w, '}');
    } else if (o->tier) {
        ch_jw_kcstr(&w, s->form == TIER_CAMEL ? "serviceTier" : "service_tier", o->tier);
    }
    if (o->background > 0)
        ch_jw_kbool(&w, "background", true);
    if (s->has & HAS_STORE && (o->store || o->background > 0 || s->has & IS_NOT_STORED))
        ch_jw_kbool(&w, "store", o->store > 0 || o->background > 0);
}
