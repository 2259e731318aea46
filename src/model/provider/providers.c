/* providers.c -- see providers.h. */
#include "model/provider/providers.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/opts.h"
#include "guard/secrets.h"
#include "json/json.h"
#include "model/catalog/provider.h"
#include "model/codec/codec.h"
#include "model/provider/facts_book.h"

static int parse_quirks(const char *list, const char *provider, struct ch_quirk_set *q,
                        struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(list);
    while (rest.n) {
        struct ch_sv name = ch_sv_trim(ch_sv_split(&rest, ','));
        bool off = name.n && name.p[0] == '-';
        if (off)
            name = ch_sv(name.p + 1, name.n - 1);
        unsigned bit = ch_quirk_find(name);
        if (!bit && name.n)
            return ch_fail(err, CHELA_ECONFIG, "provider %s: unknown quirk '%.*s'", provider,
                           CH_SV_FMT(name));
        *(off ? &q->off : &q->on) |= bit;
    }
    return 0;
}

static int parse_headers(const char *const *lines, struct ch_provider_conf *c,
                         struct chela_error *err) {
    size_t n = 0;
    while (lines[n])
        n++;
    c->headers = ch_alloc((n + 1) * sizeof(*c->headers));
    for (size_t i = 0; i < n; i++) {
        struct ch_sv rest = ch_sv_str(lines[i]);
        struct ch_sv name = ch_sv_trim(ch_sv_split(&rest, ':'));
        struct ch_sv value = ch_sv_trim(rest);
        if (!name.n || !rest.p || strcspn(name.p, "\r\n") < (size_t)(value.p + value.n - name.p))
            return ch_fail(err, CHELA_ECONFIG,
                           "provider %s: a header needs the form 'Name: value', in one line",
                           c->name);
        c->headers[c->nheaders++] =
            (struct ch_header){ch_sv(ch_strndup(name.p, name.n), name.n),
                               ch_sv(ch_strndup(value.p, value.n), value.n)};
    }
    return 0;
}

/* `{"a":1}` is kept as `"a":1`, ready to be put among other members. */
static int parse_extra_body(const char *json, struct ch_provider_conf *c, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_sv text = ch_sv_trim(ch_sv_str(json));
    if (ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        v->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: extra body is no JSON object", c->name);
    struct ch_sv inner = ch_sv_trim(ch_sv(text.p + 1, text.n - 2));
    c->extra_body = ch_strndup(inner.p, inner.n);
    return 0;
}

/* Whether the service has the options is known with its URL and model (target.c). */
static int read_service(const struct chela_provider_opts *o, struct ch_provider_conf *c,
                        struct chela_error *err) {
    if (o->cache_ttl && strcmp(o->cache_ttl, "5m") != 0 && strcmp(o->cache_ttl, "1h") != 0)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: cache_ttl is 5m or 1h", c->name);
    if (o->transport && strcmp(o->transport, "http") != 0 && strcmp(o->transport, "websocket") != 0)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: transport is http or websocket", c->name);
    c->service =
        (struct ch_service_opts){.tier = ch_strdup(o->service_tier),
                                 .cache_ttl = ch_strdup(o->cache_ttl),
                                 .transport = ch_strdup(o->transport),
                                 .background = (signed char)(o->background > 0),
                                 .store = (signed char)(o->store > 0 ? 1 : o->store < 0 ? -1 : 0)};
    return 0;
}

static void provider_conf_free(struct ch_provider_conf *c) {
    ch_free(c->name);
    ch_free(c->api);
    ch_free(c->base_url);
    ch_free(c->api_key);
    ch_free(c->api_key_env);
    ch_free(c->extra_body);
    ch_free((char *)c->service.tier);
    ch_free((char *)c->service.cache_ttl);
    ch_free((char *)c->service.transport);
    for (size_t i = 0; i < c->nheaders; i++) {
        ch_free((char *)c->headers[i].name.p);
        ch_free((char *)c->headers[i].value.p);
    }
    ch_free(c->headers);
    ch_free(c);
}

static void free_confs(struct ch_provider_conf *list) {
    while (list) {
        struct ch_provider_conf *next = list->next;
        provider_conf_free(list);
        list = next;
    }
}

static void free_model_confs(struct ch_model_conf *list) {
    while (list) {
        struct ch_model_conf *next = list->next;
        ch_free(list->provider);
        ch_free(list->model);
        ch_free(list);
        list = next;
    }
}

/* what: the beginning of the error text, "a price needs". */
static int check_names(const char *provider, const char *model, const char *what,
                       struct chela_error *err) {
    if (!provider || !model || !*provider || !*model)
        return ch_fail(err, CHELA_EINVAL, "%s a provider and a model", what);
    return 0;
}

/* Adds an entry before *at. The first entry of a list wins, except for quirks. */
static struct ch_model_conf *add_model_conf(struct ch_model_conf **at, const char *provider,
                                            const char *model) {
    struct ch_model_conf *c = ch_alloc(sizeof(*c));
    c->provider = ch_strdup(provider);
    c->model = ch_strdup(model);
    c->next = *at;
    *at = c;
    return c;
}

int ch_providers_add_price(struct ch_providers *ps, const char *provider, const char *model,
                           const struct chela_price *given, struct chela_error *err) {
    struct chela_price p;
    int rc = CH_OPTS_NEED(chela_price, &p, given, err);
    if (rc == 0)
        rc = check_names(provider, model, "a price needs", err);
    if (rc < 0)
        return rc;
    double read = p.cache_read ? *p.cache_read : -1, write = p.cache_write ? *p.cache_write : -1;
    bool bad_cache = (p.cache_read && !(read >= 0)) || (p.cache_write && !(write >= 0));
    if (!(p.input >= 0) || !(p.output >= 0) || bad_cache)
        return ch_fail(err, CHELA_EINVAL, "%s/%s: a price is a number from 0 on", provider, model);
    add_model_conf(&ps->prices, provider, model)->price = (struct ch_price){
        .input = p.input, .output = p.output, .cache_read = read, .cache_write = write};
    return 0;
}

int ch_providers_add_window(struct ch_providers *ps, const char *provider, const char *model,
                            int64_t tokens, struct chela_error *err) {
    int rc = check_names(provider, model, "a context window needs", err);
    if (rc < 0)
        return rc;
    if (tokens < 1)
        return ch_fail(err, CHELA_EINVAL, "%s/%s: a context window has at least 1 token", provider,
                       model);
    add_model_conf(&ps->windows, provider, model)->tokens = tokens;
    return 0;
}

int ch_providers_add_quirks(struct ch_providers *ps, const char *provider, const char *model,
                            const char *quirks, struct chela_error *err) {
    struct ch_quirk_set set = {0};
    int rc = check_names(provider, model, "quirks of a model need", err);
    if (rc == 0)
        rc = parse_quirks(quirks, provider, &set, err);
    if (rc < 0)
        return rc;
    struct ch_model_conf **end = &ps->model_quirks; /* applied in order: the newest wins */
    while (*end)
        end = &(*end)->next;
    add_model_conf(end, provider, model)->quirks = set;
    return 0;
}

int ch_providers_add(struct ch_providers *ps, const struct chela_provider_opts *given,
                     struct chela_error *err) {
    struct chela_provider_opts opts;
    int rc = CH_OPTS_NEED(chela_provider_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    if (!opts.name || !*opts.name)
        return ch_fail(err, CHELA_EINVAL, "a provider needs a name");
    if (strchr(opts.name, '/'))
        return ch_fail(err, CHELA_EINVAL, "provider %s: no model can name it: the name ends at '/'",
                       opts.name);
    if (opts.api && strcmp(opts.api, "scripted") != 0 && !ch_codec_find(ch_sv_str(opts.api)))
        return ch_fail(err, CHELA_ECONFIG, "provider %s: unknown api '%s' (known: %s)", opts.name,
                       opts.api, ch_codec_names());
    struct ch_provider_conf *c = ch_alloc(sizeof(*c));
    c->name = ch_strdup(opts.name);
    c->api = ch_strdup(opts.api);
    c->base_url = ch_strdup(opts.base_url);
    c->api_key = ch_strdup(opts.api_key);
    c->api_key_env = ch_strdup(opts.api_key_env);
    rc = opts.quirks ? parse_quirks(opts.quirks, c->name, &c->quirks, err) : 0;
    if (rc == 0 && opts.headers)
        rc = parse_headers(opts.headers, c, err);
    if (rc == 0 && opts.extra_body)
        rc = parse_extra_body(opts.extra_body, c, err);
    if (rc == 0)
        rc = read_service(&opts, c, err);
    if (rc < 0) {
        provider_conf_free(c);
        return rc;
    }
    c->next = ps->confs; /* the newest wins */
    ps->confs = c;
    return 0;
}

const struct ch_provider_conf *ch_providers_conf(const struct ch_providers *ps, struct ch_sv name) {
    for (const struct ch_provider_conf *c = ps->confs; c; c = c->next)
        if (ch_sv_is(name, c->name))
            return c;
    return NULL;
}

const char *ch_providers_env(const struct ch_providers *ps, const char *name) {
    return ps->env(name, ps->user);
}

void ch_providers_hide_keys(const struct ch_providers *ps) {
    static const char *const others[] = {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                                         "CHELA_TOKEN"};
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        if (p->key_env)
            ch_secret_add(ch_providers_env(ps, p->key_env), "%s", p->key_env);
    }
    for (size_t i = 0; i < CH_LEN(others); i++)
        ch_secret_add(ch_providers_env(ps, others[i]), "%s", others[i]);
}

void ch_providers_release(struct ch_providers *ps) {
    free_confs(ps->confs);
    free_model_confs(ps->prices);
    free_model_confs(ps->windows);
    free_model_confs(ps->model_quirks);
    ch_facts_book_free(ps->facts);
    ch_cooldowns_release(&ps->cooldowns);
}
