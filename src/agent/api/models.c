/* models.c -- which models there are; see chela/models.h. */
#include "chela/models.h"

#include "agent/handle/runtime.h"
#include "io/loop_entry.h"
#include "model/provider/facts_book.h"
#include "model/provider/server_query.h"
#include "model/provider/target.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/catalog/listing.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/price.h"
#include "model/catalog/provider.h"
#include "json/writer.h"

static void write_size(struct ch_jw *w, const char *key, int64_t n) {
    ch_jw_key(w, key);
    if (n > 0)
        ch_jw_int(w, n);
    else
        ch_jw_null(w);
}

static void write_price(struct ch_jw *w, bool known, const struct ch_price *p) {
    ch_jw_key(w, "price");
    if (!known) {
        ch_jw_null(w);
        return;
    }
    ch_jw_begin(w, '{');
    ch_jw_kdouble(w, "input", p->input);
    ch_jw_kdouble(w, "output", p->output);
    ch_jw_end(w, '}');
}

/* Writes a model. The server's own data takes precedence over the facts. */
static void write_model(chela_runtime *rt, struct ch_jw *w, const char *provider,
                        const struct ch_listed *m, bool listed) {
    const char *as_of = NULL;
    struct ch_model_facts f;
    bool priced = ch_facts_book_get(&rt->providers, provider, m->id, m->id, &f);
    const char *source = ch_facts_book_source(&rt->providers, provider, m->id, &as_of);
    struct ch_model_info info = ch_model_info(provider, m->id);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "provider", provider);
    ch_jw_kstr(w, "model", m->id);
    ch_jw_kcstr(w, "resolved", info.resolved);
    write_size(w, "context_window", m->context_window ? m->context_window : f.window);
    write_size(w, "max_output", m->max_output ? m->max_output : f.output);
    ch_jw_key(w, "images");
    if (f.flags & (CH_M_TEXT | CH_M_IMAGES))
        ch_jw_bool(w, f.flags & CH_M_IMAGES);
    else
        ch_jw_null(w);
    write_price(w, priced, &f.price);
    ch_jw_kcstr(w, "ends", f.ends);
    ch_jw_kcstr(w, "successor", f.ends ? f.successor : NULL);
    ch_jw_kbegin(w, "facts", '{');
    ch_columns_write(w, &f, ~UINT64_C(0), true);
    ch_jw_end(w, '}');
    ch_jw_kcstr(w, "source", listed ? source : "server");
    ch_jw_kcstr(w, "as_of", listed ? as_of : NULL);
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

static bool has_ended(const char *day, int today) {
    return day && ch_model_day_of(day) < today;
}

/* The models of a service: the newest first, those that have ended last. */
static void write_service(chela_runtime *rt, struct ch_jw *w, size_t first, int today) {
    const struct ch_model_facts *f;
    const char *provider = ch_model_facts_at(first)->provider;
    for (int ended = 0; ended < 2; ended++) {
        size_t n = first;
        while (ch_model_facts_at(n))
            n++;
        while (n-- > first) {
            f = ch_model_facts_at(n);
            if (f->provider && strcmp(f->provider, provider) == 0 &&
                has_ended(f->ends, today) == (bool)ended)
                write_model(rt, w, provider, &(struct ch_listed){.id = ch_sv_str(f->match)}, true);
        }
    }
}

/* True if an earlier row is of the same service. */
static bool is_later_row(size_t i) {
    for (size_t k = 0; k < i; k++) {
        const char *p = ch_model_facts_at(k)->provider;
        if (p && strcmp(p, ch_model_facts_at(i)->provider) == 0)
            return true;
    }
    return false;
}

/* Models of the user's file that the table lacks. */
static void write_of_file(chela_runtime *rt, struct ch_jw *w) {
    const struct ch_facts_file *file = ch_facts_book_file(&rt->providers);
    for (size_t i = 0; i < file->n; i++) {
        const struct ch_facts_row *row = &file->rows[i];
        const struct ch_model_facts *f = ch_model_facts(ch_sv_str(row->name));
        bool in_table = f->provider && row->provider && strcmp(f->provider, row->provider) == 0;
        if (row->provider && !strchr(row->name, '*') && !in_table)
            write_model(rt, w, row->provider, &(struct ch_listed){.id = ch_sv_str(row->name)},
                        true);
    }
}

static void write_known(chela_runtime *rt, struct ch_jw *w) {
    int today = ch_model_day(ch_now_ms(ch_loop_clock(rt->loop)));
    const struct ch_model_facts *f;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++)
        if (f->provider && !is_later_row(i))
            write_service(rt, w, i, today);
    write_of_file(rt, w);
}

static void keep_fault(const char *text, void *user) {
    ch_jw_cstr(user, text);
}

/* Where the facts are from, and what is wrong with the user's file. */
static void write_facts(chela_runtime *rt, struct ch_jw *w) {
    CH_AUTOFREE char *path = ch_facts_book_path(&rt->providers);
    const struct ch_facts_file *file = ch_facts_book_file(&rt->providers);
    ch_jw_kbegin(w, "facts", '{');
    ch_jw_kcstr(w, "as_of", CH_MODEL_FACTS_AS_OF);
    ch_jw_kcstr(w, "file", path);
    ch_jw_kint(w, "file_models", (int64_t)file->n);
    ch_jw_kcstr(w, "file_as_of", file->n ? file->rows[file->n - 1].as_of : NULL);
    ch_jw_kbegin(w, "faults", '[');
    ch_facts_book_faults(&rt->providers, keep_fault, w);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

struct offers {
    chela_runtime *rt;
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
    write_facts(rt, &w);
    ch_jw_end(&w, '}');
    if (rc == CHELA_OK)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    return NULL;
}
