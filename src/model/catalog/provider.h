/* provider.h -- which servers chela knows by name, and how to reach them. */
#ifndef CH_MODEL_PROVIDER_H
#define CH_MODEL_PROVIDER_H
#include "model/catalog/model_request.h"

struct ch_provider {
    const char *name;     /* users type it */
    const char *api;      /* codec; "scripted" is served in process */
    const char *base_url; /* NULL: must be configured */
    const char *key_env;  /* environment variable of the key; NULL: none needed */
    const char *also_env; /* another that says it can be used; may be NULL */
    unsigned quirks;
    bool local;                /* a server on this machine that may need no key */
    const char *default_model; /* used when only a key was found; may be NULL */
    const char *hosts; /* where else it is: names, ".name" for all below, ":port" */
};

extern const struct ch_provider ch_providers[]; /* ended by name == NULL */
const struct ch_provider *ch_provider_find(struct ch_sv name);
/* The one of this protocol whose address a URL is, whatever name it goes by in
 * the configuration; NULL: none that is known. */
const struct ch_provider *ch_provider_of_url(struct ch_sv api, const char *url);

/* Quirks have names for configuration: "max_tokens" is CH_Q_MAX_TOKENS. 0: no
 * such name. Index past the last gives NULL. */
unsigned ch_quirk_find(struct ch_sv name);
const char *ch_quirk_name(size_t i, unsigned *bit);

/* What to assume of a server that is known by its API alone: most take less
 * than the vendor's own. */
unsigned ch_quirks_of_api(struct ch_sv api);

/* Default output limit, context window: what is known of a model by name. */
struct ch_model_info {
    int64_t context_window; /* 0: unknown */
    int64_t max_output;
    const char *resolved; /* dated id of an alias, or NULL */
};
struct ch_model_info ch_model_info(const char *provider, struct ch_sv model);

/* Does it take images? */
enum ch_sight { CH_SIGHT_UNKNOWN, CH_SIGHT_IMAGES, CH_SIGHT_NONE };

#endif
