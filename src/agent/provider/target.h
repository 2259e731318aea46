/* target.h -- "provider/model" made concrete: where to send, how to encode. */
#ifndef CH_AGENT_TARGET_H
#define CH_AGENT_TARGET_H
#include "agent/handle/agent_options.h"
#include "model/provider/cooldown.h"
#include "chela/session.h"
#include "model/catalog/price.h"
#include "model/codec/codec.h"
#include "net/http.h"

struct ch_aws;
struct ch_scripted;
struct ch_context_window;

/* A server as configured: overrides of a built-in one, or a new one. */
struct ch_provider_conf {
    struct ch_provider_conf *next;
    char *name, *api, *base_url, *api_key, *api_key_env; /* owned, may be NULL */
    struct ch_header *headers;                           /* owned texts */
    size_t nheaders;
    char *extra_body; /* members without the braces */
    unsigned quirks_on, quirks_off;
};

/* What a model costs, as configured. */
struct ch_price_conf {
    struct ch_price_conf *next;
    char *provider, *model; /* owned */
    struct ch_price price;
};

/* How large a model's context is, as configured. */
struct ch_context_window_conf {
    struct ch_context_window_conf *next;
    char *provider, *model; /* owned */
    int64_t tokens;
};

/* "provider/model" made concrete: where to send, how to encode. */
struct ch_target {
    char *spec; /* "anthropic/claude-sonnet-4-6" */
    char *model;
    char *provider, *base_url; /* owned; ep borrows them */
    char **keys;               /* owned; ep has the one that is in use */
    size_t nkeys;
    struct ch_endpoint ep;
    bool has_price; /* else the cost is unknown */
    struct ch_price price;
    int64_t window; /* as configured, in tokens; 0: as the built-in list says */
    int64_t listed; /* and what that says; 0: nothing */
    bool local;     /* its server is one that can be asked */
    struct ch_scripted *scripted; /* owned; NULL unless served in process */
    struct ch_aws *aws;           /* owned; NULL: nothing is signed */
    struct ch_transport *transport;
    struct ch_context_window *heard; /* what its server says of that; NULL: nobody asked */
};

int ch_target_new(chela_runtime *rt, const char *spec, const struct ch_agent_opts *opts,
                  struct ch_target **out, struct chela_error *err);
void ch_target_free(struct ch_target *t);
/* How long the key that rests least will: `key`, the first of those that do not
 * rest; NULL without any. */
struct ch_cooling ch_target_cooling(const struct ch_target *t, const struct ch_cooldowns *c,
                                    int64_t now, const char **key);
/* Where requests with this key go. */
struct ch_endpoint ch_target_with_key(const struct ch_target *t, const char *key);
/* One of a list of variables holds a key. */
bool ch_target_has_key(const chela_runtime *rt, const char *names);
int64_t ch_target_window(const struct ch_target *t); /* in tokens; 0: unknown */
CH_DEFINE_AUTO(ch_target)
void ch_provider_conf_free(struct ch_provider_conf *list);
void ch_price_conf_free(struct ch_price_conf *list);
void ch_context_window_conf_free(struct ch_context_window_conf *list);

#endif
