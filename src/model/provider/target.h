/* target.h -- "provider/model" made concrete: where to send, how to encode. */
#ifndef CH_MODEL_TARGET_H
#define CH_MODEL_TARGET_H
#include "model/provider/providers.h"
#include "model/codec/codec.h"

struct ch_aws;
struct ch_scripted;
struct ch_context_window;

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

struct ch_target_opts { /* in place of what is configured for the provider; may be NULL */
    const char *base_url, *api_key, *api_key_env;
};
/* spec: "provider/model". opts may be NULL. */
int ch_target_new(struct ch_providers *ps, const char *spec, const struct ch_target_opts *opts,
                  struct ch_target **out, struct chela_error *err);
void ch_target_free(struct ch_target *t);
/* How long the key that rests least will: `key`, the first of those that do not
 * rest; NULL without any. */
struct ch_cooling ch_target_cooling(const struct ch_target *t, const struct ch_cooldowns *c,
                                    int64_t now, const char **key);
/* Where requests with this key go. */
struct ch_endpoint ch_target_with_key(const struct ch_target *t, const char *key);
/* One of a list of variables holds a key. */
bool ch_target_has_key(const struct ch_providers *ps, const char *names);
int64_t ch_target_window(const struct ch_target *t); /* in tokens; 0: unknown */
CH_DEFINE_AUTO(ch_target)

#endif
