/* target.h -- a model and its endpoint: URL, keys, codec and transport for a "provider/model". */
#ifndef CH_MODEL_TARGET_H
#define CH_MODEL_TARGET_H
#include "model/provider/providers.h"
#include "model/catalog/model_facts.h"
#include "model/codec/codec.h"

struct ch_aws;
struct ch_scripted;
struct ch_context_window;
struct ch_shared_head;

/* One model at one endpoint. */
struct ch_target {
    char *spec; /* "anthropic/claude-sonnet-4-6" */
    char *model;
    char *provider, *base_url; /* owned; ep borrows them */
    char **keys;               /* owned; ep.api_key is the one in use */
    size_t nkeys;
    struct ch_endpoint ep;
    const struct ch_codec *codec; /* before anything was learnt */
    unsigned less; /* quirks of schemas that the service found too large */
    char *members;      /* owned: of options of the service and of the configuration */
    bool deletes_jobs;  /* a reply that was made in the background is deleted once it is stored */
    bool websocket;     /* replies are asked for over a WebSocket */
    int64_t http_until; /* monotonic time until which no WebSocket is tried again */
    const char *cache_ttl; /* borrowed; NULL: as the agent asks */
    enum ch_effort told; /* the last effort that was wanted in vain and said so */
    bool has_price; /* false: the cost is unknown */
    struct ch_price price;
    int64_t window; /* context window as configured, in tokens; 0: not configured */
    int64_t listed; /* context window by the facts; 0: unknown */
    struct ch_model_facts facts; /* what counts of this model here; ep.facts points to it */
    struct ch_model_facts known; /* the same before anything was learnt */
    bool told_end;               /* a warning has said that the model ends */
    bool local;     /* the server can be asked for its context window */
    struct ch_scripted *scripted; /* owned; NULL unless served in process */
    struct ch_aws *aws;           /* owned; NULL: nothing is signed */
    struct ch_transport *transport;
    struct ch_shared_head *head; /* URL and headers of the last request of a run; NULL: none yet */
    struct ch_context_window *reported; /* the server's own figure; NULL: not asked */
};

struct ch_target_opts { /* members that are set override the provider's configuration */
    const char *base_url, *api_key, *api_key_env;
    bool taped; /* the caller records a scripted model, too, so that replaying needs no rules */
};
/* spec: "provider/model". opts may be NULL. */
int ch_target_new(struct ch_providers *ps, const char *spec, const struct ch_target_opts *opts,
                  struct ch_target **out, struct chela_error *err);
void ch_target_free(struct ch_target *t);
/* Sets what is known about the deployment: quirks, protocol, facts. */
void ch_target_learnt(struct ch_target *t, const struct ch_providers *ps,
                      const struct ch_learnt *learnt);
/* The shortest cooldown among the target's keys. *key: the first key that does not cool down,
 * else the key with the shortest cooldown; NULL: the target has no key. */
struct ch_cooling ch_target_cooling(const struct ch_target *t, const struct ch_cooldowns *c,
                                    int64_t now, const char **key);
/* Texts are borrowed from the target. */
static inline struct ch_cooldown_subject ch_target_subject(const struct ch_target *t,
                                                           const char *key) {
    return (struct ch_cooldown_subject){t->ep.base_url, key, t->model};
}
/* True if a variable of the comma-separated list `names` holds a key. */
bool ch_target_has_key(const struct ch_providers *ps, const char *names);
/* How long the service shall cache: the provider's lifetime, unless the agent wants no cache. */
static inline enum ch_cache ch_target_cache(const struct ch_target *t, enum ch_cache wanted) {
    if (!t || !t->cache_ttl || wanted == CH_CACHE_OFF)
        return wanted;
    return t->cache_ttl[0] == '1' ? CH_CACHE_LONG : CH_CACHE_SHORT;
}
int64_t ch_target_window(const struct ch_target *t); /* in tokens; 0: unknown */
CH_DEFINE_AUTO(ch_target)

#endif
