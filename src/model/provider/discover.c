/* discover.c -- see discover.h.
 *
 * The first key in the environment selects the provider, in the order of the provider table;
 * else a local model server that answers on its default port; else the scripted demo model,
 * which always works. */
#include "model/provider/discover.h"

#include "model/provider/server_query.h"
#include "base/mem.h"
#include "model/catalog/listing.h"
#include "model/catalog/provider.h"

#define PROBE_MS 300

static void take_first(const struct ch_listed *m, void *user) {
    char **id = user;
    if (!*id)
        *id = ch_strndup(m->id.p, m->id.n);
}

static char *discover_join(const char *provider, const char *model) {
    struct ch_buf b = {0};
    ch_buf_addf(&b, "%s/%s", provider, model);
    return ch_buf_take(&b);
}

static char *probe_local(struct ch_providers *ps, const struct ch_provider *p) {
    CH_BUF_AUTO url = {0};
    CH_BUF_AUTO body = {0};
    CH_AUTOFREE char *model = NULL;
    ch_buf_addf(&url, "%s/models", p->base_url);
    struct ch_http_request req = {.method = "GET",
                                  .url = ch_buf_str(&url),
                                  .timeouts = {PROBE_MS, PROBE_MS, PROBE_MS, PROBE_MS}};
    if (ch_server_query(ps, &req, &body, NULL) == 0)
        ch_listing_read(ch_buf_sv(&body), take_first, &model, NULL);
    return model ? discover_join(p->name, model) : NULL;
}

static bool probed(const struct ch_provider *p) {
    return p->local && p->base_url &&
           (strcmp(p->name, "ollama") == 0 || strcmp(p->name, "llamacpp") == 0);
}

static bool is_set(struct ch_providers *ps, const char *name) {
    const char *value = name ? ch_providers_env(ps, name) : NULL;
    return value && *value;
}

/* The environment variable that holds a key of the provider, or NULL. */
static const char *discover_key_of(struct ch_providers *ps, const struct ch_provider *p) {
    return is_set(ps, p->key_env) ? p->key_env : is_set(ps, p->also_env) ? p->also_env : NULL;
}

char *ch_discover_model(struct ch_providers *ps, const char **why) {
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        const char *found = p->default_model ? discover_key_of(ps, p) : NULL;
        if (found) {
            *why = found;
            return discover_join(p->name, p->default_model);
        }
    }
    bool may_probe = ch_loop_may_run(ps->loop, NULL) == 0 && !ch_cassette_plays(ps->cassette);
    for (const struct ch_provider *p = ch_provider_table; p->name && may_probe; p++) {
        char *found = probed(p) ? probe_local(ps, p) : NULL;
        if (found) {
            *why = "a local server";
            return found;
        }
    }
    *why = "no key and no local server found";
    return ch_strdup("scripted/demo");
}
