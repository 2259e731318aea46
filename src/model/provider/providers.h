/* providers.h -- the model services of a runtime: how they are reached, and what the
 * host configured about them.
 *
 * A runtime owns one struct ch_providers. Targets (target.h) are made from it, borrow from
 * it and are freed before it. Facts that one run learns about a service (cooldowns, context
 * windows) apply to all runs. Loop thread only. */
#ifndef CH_MODEL_PROVIDERS_H
#define CH_MODEL_PROVIDERS_H
#include "base/sv.h"
#include "chela/session.h"
#include "model/catalog/price.h"
#include "model/catalog/service.h"
#include "model/provider/cooldown.h"
#include "model/provider/learning.h"
#include "net/cassette.h"
#include "net/http.h"

struct ch_context_window;
struct ch_facts_book;
struct ch_errand;

/* Quirks that are switched on or off. */
struct ch_quirk_set {
    unsigned on, off;
};

/* A server as configured: overrides of a built-in one, or a new one. */
struct ch_provider_conf {
    struct ch_provider_conf *next;
    char *name, *api, *base_url, *api_key, *api_key_env; /* owned, may be NULL */
    struct ch_header *headers;                           /* owned texts */
    size_t nheaders;
    char *extra_body; /* members without the braces */
    struct ch_quirk_set quirks;
    struct ch_service_opts service; /* texts are owned */
};

/* A setting of one model, as configured. The list that holds it says which member counts. */
struct ch_model_conf {
    struct ch_model_conf *next;
    char *provider, *model; /* owned */
    union {
        struct ch_price price;
        int64_t tokens; /* size of the context */
        struct ch_quirk_set quirks;
    };
};

struct ch_providers {
    struct ch_loop *loop;           /* borrowed, as the next four */
    struct ch_http *http;           /* the network */
    struct ch_transport *transport; /* transport of model calls: the cassette's, or http's */
    struct ch_cassette *cassette;   /* NULL: none */
    const char *(*env)(const char *name, void *user);
    void *user;
    struct ch_provider_conf *confs; /* owned, as the next two; the newest first */
    struct ch_model_conf *prices, *windows; /* owned */
    struct ch_model_conf *model_quirks;     /* owned; the oldest first */
    struct ch_facts_book *facts; /* owned: facts about models (facts_book.h); NULL: not read yet */
    struct ch_cooldowns cooldowns;
    struct ch_learning learning;
    /* owned: sizes that local servers reported (context_window.h) */
    struct ch_context_window *reported;
    struct ch_errand *errands; /* owned: requests whose answer nobody waits for (errand.h) */
};

/* Frees the settings. Call ch_context_windows_free and ch_learning_release before. */
void ch_providers_release(struct ch_providers *ps);

/* Add settings; later ones win. The public functions chela_runtime_provider, _price,
 * _context_window and _model_quirks document arguments and errors. */
int ch_providers_add(struct ch_providers *ps, const struct chela_provider_opts *opts,
                     struct chela_error *err);
int ch_providers_add_price(struct ch_providers *ps, const char *provider, const char *model,
                           const struct chela_price *price, struct chela_error *err);
int ch_providers_add_window(struct ch_providers *ps, const char *provider, const char *model,
                            int64_t tokens, struct chela_error *err);
int ch_providers_add_quirks(struct ch_providers *ps, const char *provider, const char *model,
                            const char *quirks, struct chela_error *err);

/* The settings of the server of this name; NULL: none. */
const struct ch_provider_conf *ch_providers_conf(const struct ch_providers *ps, struct ch_sv name);
/* The value of an environment variable that the host passed; NULL: not set. */
/* Keys of the environment must not leave, whether or not a model uses them (guard/secrets.h). */
void ch_providers_hide_keys(const struct ch_providers *ps);
const char *ch_providers_env(const struct ch_providers *ps, const char *name);

#endif
