/* provider.h -- the providers that chela knows by name. */
#ifndef CH_MODEL_PROVIDER_H
#define CH_MODEL_PROVIDER_H
#include "model/catalog/model_request.h"

struct ch_provider {
    const char *name;     /* as users type it */
    const char *api;      /* codec; "scripted" runs in process */
    const char *base_url; /* NULL: must be configured */
    const char *key_env;  /* environment variable of the key; NULL: none needed */
    const char *also_env; /* another variable that makes the provider usable; may be NULL */
    unsigned quirks;
    bool local;                /* a local server that may need no key */
    const char *default_model; /* used if only a key is configured; may be NULL */
    const char *hosts; /* other hosts of the provider: names, ".name" for subdomains, ":port" */
};

extern const struct ch_provider ch_provider_table[]; /* terminated by name == NULL */
const struct ch_provider *ch_provider_find(struct ch_sv name);
/* The known provider with this protocol and host, whatever its name in the configuration;
 * NULL: none. */
const struct ch_provider *ch_provider_of_url(struct ch_sv api, const char *url);

/* The vendor whose protocol it is: the first row that speaks it. NULL: none. */
const struct ch_provider *ch_provider_of_api(const char *api);
/* True if both are rows of one service, by whatever protocol. */
bool ch_provider_same(const char *a, const char *b);

/* Configuration names of quirks: "max_tokens" is CH_Q_MAX_TOKENS. 0: unknown name. An index
 * past the last gives NULL. */
unsigned ch_quirk_find(struct ch_sv name);
const char *ch_quirk_name(size_t i, unsigned *bit);

/* Assumed quirks of an unknown server with this API: most support less than the vendor's
 * own server. */
unsigned ch_quirks_of_api(struct ch_sv api);
/* Quirks that a model has wherever it runs. */
unsigned ch_quirks_of_model(struct ch_sv api, const struct ch_model_facts *f);

/* Known properties of a model: output limit, context window. */
struct ch_model_info {
    int64_t context_window; /* 0: unknown */
    int64_t max_output;
    const char *resolved; /* dated id of an alias, or NULL */
};
struct ch_model_info ch_model_info(const char *provider, struct ch_sv model);

#endif
