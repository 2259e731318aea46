/* models.c -- which models there are; see chela/models.h. */
#include "chela/models.h"

#include "agent/handle/runtime.h"
#include "io/loop_entry.h"
#include "model/provider/server_query.h"
#include "model/provider/target.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/catalog/listing.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/price.h"
#include "model/catalog/provider.h"
#include "json/writer.h"
#include "model/catalog/vision_support.h"

static void write_size(struct ch_jw *w, const char *key, int64_t n) {
    ch_jw_key(w, key);
    if (n > 0)
        ch_jw_int(w, n);
    else
        ch_jw_null(w);
}

static void write_price(const chela_runtime *rt, struct ch_jw *w, const char *provider,
                        struct ch_sv model) {
    int day = ch_model_day(ch_now_ms(ch_loop_clock(rt->loop)));
    struct ch_price p;
    ch_jw_key(w, "price");
    if (!ch_price_find(provider, model, day, &p)) {
        ch_jw_null(w);
        return;
    }
    ch_jw_begin(w, '{');
    ch_jw_kdouble(w, "input", p.input);
    ch_jw_kdouble(w, "output", p.output);
    ch_jw_end(w, '}');
}

/* Writes a model. The server's own data takes precedence over the table. */
static void write_model(const chela_runtime *rt, struct ch_jw *w, const char *provider,
                        const struct ch_listed *m, bool listed) {
    const struct ch_model_facts *f = ch_model_facts(m->id);
    bool own = f->provider && strcmp(f->provider, provider) == 0;
    struct ch_model_info info = ch_model_info(provider, m->id);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "provider", provider);
    ch_jw_kstr(w, "model", m->id);
    ch_jw_kcstr(w, "resolved", info.resolved);
    write_size(w, "context_window", m->context_window ? m->context_window : info.context_window);
    write_size(w, "max_output", m->max_output ? m->max_output : info.max_output);
    ch_jw_key(w, "images");
    enum ch_sight sight = ch_model_sight(m->id);
    if (sight == CH_SIGHT_UNKNOWN)
        ch_jw_null(w);
    else
        ch_jw_bool(w, sight == CH_SIGHT_IMAGES);
    write_price(rt, w, provider, m->id);
    ch_jw_kcstr(w, "ends", own ? f->ends : NULL);
    ch_jw_kcstr(w, "source", listed ? "table" : "server");
    ch_jw_kcstr(w, "as_of", listed ? CH_MODEL_FACTS_AS_OF : NULL);
    ch_jw_end(w, '}');
}

/* --- providers: built in, and of the configuration */

static void write_provider(const chela_runtime *rt, struct ch_jw *w, const char *name,
                           const struct ch_provider *known, const struct ch_provider_conf *conf) {
    const char *api = conf && conf->api ? conf->api : known ? known->api : NULL;
    const char *url = conf && conf->base_url ? conf->base_url : known ? known->base_url : NULL;
    const char *env = conf && conf->api_key_env ? conf->api_key_env : known ? known->key_env : NULL;
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "api", api);
    ch_jw_kcstr(w, "base_url", url);
    ch_jw_kcstr(w, "key_env", env);
    ch_jw_kbool(w, "key", ch_target_has_key(&rt->providers, env) || (conf && conf->api_key));
    ch_jw_kbool(w, "local", known && known->local);
    ch_jw_end(w, '}');
}

static bool is_wanted(const char *name, const char *only) {
    return !only || strcmp(name, only) == 0;
}

static size_t write_providers(const chela_runtime *rt, const char *only, struct ch_jw *w) {
    size_t n = 0;
    for (const struct ch_provider *p = ch_provider_table; p->name; p++)
        if (is_wanted(p->name, only)) {
            write_provider(rt, w, p->name, p,
                           ch_providers_conf(&rt->providers, ch_sv_str(p->name)));
            n++;
        }
    for (const struct ch_provider_conf *c = rt->providers.confs; c; c = c->next)
        if (is_wanted(c->name, only) && !ch_provider_find(ch_sv_str(c->name)) &&
            ch_providers_conf(&rt->providers, ch_sv_str(c->name)) == c) {
            write_provider(rt, w, c->name, NULL, c);
            n++;
        }
    return n;
}

/* --- models: of the table, or of a server */

static void write_known(const chela_runtime *rt, struct ch_jw *w) {
    const struct ch_model_facts *f;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++)
        if (f->provider)
            write_model(rt, w, f->provider, &(struct ch_listed){.id = ch_sv_str(f->match)}, true);
}

struct offers {
    const chela_runtime *rt;
    struct ch_jw *w;
    const char *provider;
};

static void write_offer(const struct ch_listed *m, void *user) {
    struct offers *o = user;
    write_model(o->rt, o->w, o->provider, m, false);
}

static int write_offered(chela_runtime *rt, const char *provider, struct ch_jw *w,
                         struct chela_error *err) {
    CH_BUF_AUTO spec = {0};
    CH_BUF_AUTO body = {0};
    CH_AUTO(ch_target) t = NULL;
    struct offers o = {rt, w, provider};
    const struct ch_provider *known = ch_provider_find(ch_sv_str(provider));
    const char *any = known ? known->default_model : NULL; /* a scripted model must exist */
    ch_buf_addf(&spec, "%s/%s", provider, any ? any : "any");
    int rc = ch_target_new(&rt->providers, ch_buf_str(&spec), NULL, &t, err);
    if (rc == 0)
        rc = ch_server_query_models(&rt->providers, t, &body, err);
    return rc < 0 ? rc : ch_listing_read(ch_buf_sv(&body), write_offer, &o, err);
}

char *chela_models_json(chela_runtime *rt, const char *provider, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    int rc = CHELA_OK;
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "providers", '[');
    if (!write_providers(rt, provider, &w))
        rc = ch_fail(err, CHELA_ENOENT, "there is no provider '%s'", provider);
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "models", '[');
    if (!provider)
        write_known(rt, &w);
    else if (rc == CHELA_OK)
        rc = write_offered(rt, provider, &w, err);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    if (rc == CHELA_OK)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    return NULL;
}
