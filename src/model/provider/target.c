/* target.c -- see target.h.
 *
 * Each field comes from the agent's options, else from the provider's configuration, else
 * from the built-in table. Keys are searched in the same order. A local server and a server
 * whose URL was configured may have no key. Every key is registered for redaction. */
#include "model/catalog/model_facts.h"
#include "model/provider/facts_book.h"
#include "model/provider/target.h"

#include "model/provider/target_aws.h"
#include "model/provider/context_window.h"
#include "model/provider/cooldown.h"
#include "model/provider/server_query.h"
#include "model/provider/shared_head.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "guard/secrets.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/catalog/provider.h"
#include "model/scripted/scripted.h"
#include "net/url.h"

#define PROMPTED "prompted+" /* prefix of a provider: tools are described in the prompt */

/* True if an entry of the configuration applies to the target's model, under the requested
 * name or the name that an alias stands for. */
static bool is_about(const char *provider, const char *model, const struct ch_target *t,
                     struct ch_sv asked) {
    return strcmp(provider, t->provider) == 0 &&
           (strcmp(model, t->model) == 0 || ch_sv_is(asked, model));
}

static int64_t target_find_window(const struct ch_providers *ps, const struct ch_target *t,
                                  struct ch_sv asked) {
    for (const struct ch_model_conf *c = ps->windows; c; c = c->next)
        if (is_about(c->provider, c->model, t, asked))
            return c->tokens;
    return 0;
}

/* The configured price, else that of the facts. */
static bool find_price(const struct ch_providers *ps, const struct ch_target *t, struct ch_sv asked,
                       bool known, struct ch_price *out) {
    *out = t->facts.price;
    for (const struct ch_model_conf *c = ps->prices; c; c = c->next)
        if (is_about(c->provider, c->model, t, asked)) {
            *out = c->price;
            return true;
        }
    return known;
}

static const char *first_of(const char *a, const char *b, const char *c) {
    return a ? a : b ? b : c;
}

/* --- keys */

/* name NULL: the key has no variable. */
static void add_key(struct ch_target *t, const char *name, struct ch_sv key) {
    t->keys = ch_realloc(t->keys, (t->nkeys + 1) * sizeof(*t->keys));
    t->keys[t->nkeys++] = ch_strndup(key.p, key.n);
    if (name)
        ch_secret_add(t->keys[t->nkeys - 1], "%s", name);
    else
        ch_secret_add(t->keys[t->nkeys - 1], "the API key for %s", t->provider);
}

/* The value of the next variable of a comma list; empty: the variable is. Blanks around a key,
 * such as a line's end of another system, do not belong to it. */
static struct ch_sv next_key(const struct ch_providers *ps, struct ch_sv *names) {
    struct ch_sv name = ch_sv_trim(ch_sv_split(names, ','));
    CH_AUTOFREE char *variable = ch_strndup(name.p, name.n);
    const char *v = ch_providers_env(ps, variable);
    return ch_sv_trim(ch_sv_str(v));
}

bool ch_target_has_key(const struct ch_providers *ps, const char *names) {
    struct ch_sv rest = ch_sv_str(names);
    while (rest.n)
        if (next_key(ps, &rest).n)
            return true;
    return false;
}

static void add_keys(struct ch_target *t, const struct ch_providers *ps, const char *names) {
    struct ch_sv rest = ch_sv_str(names);
    while (rest.n) {
        struct ch_sv name = rest, key = next_key(ps, &rest);
        name = ch_sv_trim(ch_sv_split(&name, ','));
        CH_AUTOFREE char *variable = ch_strndup(name.p, name.n);
        if (key.n)
            add_key(t, variable, key);
    }
}

/* A header cannot carry such a key. */
static int check_keys(const struct ch_target *t, struct chela_error *err) {
    for (size_t i = 0; i < t->nkeys; i++)
        for (const char *p = t->keys[i]; *p; p++)
            if ((unsigned char)*p < ' ' || *p == 0x7f)
                return ch_fail(err, CHELA_EAUTH, "the API key for %s holds a control character",
                               t->provider);
    return 0;
}

static int find_key(struct ch_target *t, const struct ch_providers *ps,
                    const struct ch_target_opts *opts, const struct ch_provider_conf *conf,
                    const struct ch_provider *known, struct chela_error *err) {
    const char *named = opts->api_key_env ? opts->api_key_env : conf ? conf->api_key_env : NULL;
    const char *key = opts->api_key            ? opts->api_key
                      : conf && !opts->api_key_env ? conf->api_key
                                                   : NULL;
    if (key)
        add_key(t, NULL, ch_sv_trim(ch_sv_str(key)));
    else
        add_keys(t, ps, named);
    if (!t->nkeys && !opts->api_key_env && known)
        add_keys(t, ps, known->key_env);
    if (t->nkeys)
        return check_keys(t, err);
    if (ch_cassette_plays(ps->cassette))
        return 0; /* replaying a cassette needs no key */
    if (named)
        return ch_fail(err, CHELA_EAUTH,
                       strchr(named, ',') ? "no API key for %s: none of %s is set"
                                          : "no API key for %s: %s is not set",
                       t->provider, named);
    bool by_hand = opts->base_url || (conf && conf->base_url);
    if (by_hand || !known || known->local || !known->key_env || ch_target_aws_is_used(t))
        return 0;
    return ch_fail(err, CHELA_EAUTH, "no API key for %s: set %s", t->provider, known->key_env);
}

struct ch_cooling ch_target_cooling(const struct ch_target *t, const struct ch_cooldowns *c,
                                    int64_t now, const char **key) {
    struct ch_cooling least = {0};
    *key = NULL;
    for (size_t i = 0; i < CH_MAX(t->nkeys, 1); i++) {
        const char *tried = t->nkeys ? t->keys[i] : NULL;
        struct ch_cooling one = ch_cooldown_of(c, ch_target_subject(t, tried), now);
        if (i > 0 && one.ms >= least.ms)
            continue;
        least = one;
        *key = tried;
    }
    return least;
}

static char *without_trailing_slash(const char *url) {
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    return ch_strndup(url, n);
}

static int connect_script(struct ch_target *t, struct ch_providers *ps,
                          const struct ch_target_opts *opts, struct chela_error *err) {
    t->ep.codec = &ch_codec_anthropic;
    t->base_url = ch_strdup("scripted:");
    if (opts->taped && ch_cassette_plays(ps->cassette)) {
        t->transport = ps->transport;
        return 0;
    }
    int rc = ch_scripted_new(ps->loop, t->model, &t->scripted, err);
    t->transport = rc == 0 ? ch_scripted_transport(t->scripted) : NULL;
    if (rc == 0 && ps->cassette && !opts->taped)
        ch_log(CH_LOG_WARN, "cassette",
               "%s is not %s: it needs no service, and runs the same without a cassette", t->spec,
               ch_cassette_plays(ps->cassette) ? "replayed" : "recorded");
    return rc;
}

/* A URL that nothing can be sent to is an error of the configuration, not of the first request. */
static int check_url(const struct ch_target *t, struct chela_error *err) {
    struct chela_error why = {0};
    struct ch_url url;
    int rc = ch_url_parse(ch_sv_str(t->base_url), &url, &why);
    if (rc == 0 && !url.userinfo.p)
        return 0;
    return ch_fail(err, CHELA_ECONFIG, "the base URL of %s: %s", t->provider,
                   rc < 0 ? why.message : "credentials do not belong in it (before the '@')");
}

/* A vendor's own service that speaks a second protocol: the facts choose. OpenAI's refuses tools of
 * its newer models at /v1/chat/completions; a cassette that was recorded there is replayed as it
 * is. NULL: the provider's protocol. */
static const struct ch_codec *second_codec(const struct ch_target *t,
                                           const struct ch_providers *ps) {
    CH_BUF_AUTO chat = {0};
    const struct ch_provider *there =
        ch_provider_of_url(ch_sv_str(t->ep.codec->name), t->base_url);
    if (!there || strcmp(there->name, t->ep.codec->name) != 0)
        return NULL;
    if (t->ep.codec == &ch_codec_gemini && t->facts.flags & CH_M_INTERACTIONS)
        return &ch_codec_interactions;
    if (t->ep.codec != &ch_codec_openai || !(t->facts.flags & CH_M_RESPONSES))
        return NULL;
    ch_buf_addf(&chat, "%s/chat/completions", t->base_url);
    return ch_cassette_has(ps->cassette, ch_buf_str(&chat)) ? NULL : &ch_codec_responses;
}

static int connect_target(struct ch_target *t, struct ch_providers *ps,
                          const struct ch_target_opts *opts, const struct ch_provider_conf *conf,
                          const struct ch_provider *known, struct chela_error *err) {
    const char *api = first_of(conf ? conf->api : NULL, known ? known->api : NULL, NULL);
    if (!api)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: its api is not configured", t->provider);
    if (strcmp(api, "scripted") == 0)
        return connect_script(t, ps, opts, err);
    t->ep.codec = ch_codec_find(ch_sv_str(api));
    if (!t->ep.codec)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: unknown api '%s' (known: %s)", t->provider,
                       api, ch_codec_names());
    const char *url =
        first_of(opts->base_url, conf ? conf->base_url : NULL, known ? known->base_url : NULL);
    if (!url)
        return ch_fail(err, CHELA_ECONFIG, "provider %s needs a base URL", t->provider);
    t->base_url = without_trailing_slash(url);
    const struct ch_codec *second = conf && conf->api ? NULL : second_codec(t, ps);
    t->ep.codec = second ? second : t->ep.codec;
    t->transport = ps->transport;
    int rc = find_key(t, ps, opts, conf, known, err);
    if (rc == 0 && ch_target_aws_is_used(t))
        rc = ch_target_aws_find(t, ps, opts->base_url || (conf && conf->base_url), err);
    return rc < 0 ? rc : check_url(t, err);
}

/* The URL decides: users choose the names of providers. */
static unsigned find_quirks(const struct ch_target *t, const struct ch_provider *known) {
    const struct ch_codec *codec = t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec;
    struct ch_sv api = ch_sv_str(codec->name);
    const struct ch_provider *there = ch_provider_of_url(api, t->base_url);
    const struct ch_provider *p = there ? there : known;
    return (p ? p->quirks : ch_quirks_of_api(api)) |
           ch_quirks_of_model(api, &t->facts);
}

static int unknown_provider(struct ch_sv name, struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    struct ch_nearest near = ch_nearest(name);
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        ch_buf_addf(&known, " %s", p->name);
        ch_nearest_try(&near, ch_sv_str(p->name));
    }
    return ch_fail(err, CHELA_ECONFIG,
                   "unknown provider '%.*s'%s%.*s%s (known:%s; others go into the configuration)",
                   CH_SV_FMT(name), near.best.n ? ", did you mean " : "", CH_SV_FMT(near.best),
                   near.best.n ? "?" : "", ch_buf_str(&known));
}

/* Replaces an alias by the dated name, so that later requests get the same model. Resellers
 * have other names. */
static char *resolve_alias(const char *provider, struct ch_sv model) {
    struct ch_model_info info = ch_model_info(provider, model);
    bool sellers_own = strcmp(provider, "anthropic") == 0;
    return info.resolved && sellers_own ? ch_strdup(info.resolved) : ch_strndup(model.p, model.n);
}

/* Words such as "sonnet" or "gpt-6" that lack the provider: name a known model. */
static int not_a_model(const char *spec, struct chela_error *err) {
    const char *seller = NULL, *newest = NULL; /* the table is in order of age */
    const struct ch_model_facts *f;
    for (size_t i = 0; *spec && (f = ch_model_facts_at(i)); i++) {
        if (!f->provider || !ch_sv_contains_nocase(ch_sv_str(f->match), spec) ||
            (seller && strcmp(seller, f->provider) != 0))
            continue;
        seller = f->provider;
        newest = f->match;
        if (strcmp(f->match, spec) == 0)
            break;
    }
    if (newest)
        return ch_fail(err, CHELA_ECONFIG,
                       "model '%s' is not of the form provider/model (did you mean %s/%s?)", spec,
                       seller, newest);
    return ch_fail(err, CHELA_ECONFIG, "model '%s' is not of the form provider/model", spec);
}

/* model: the name as given, perhaps an alias. */
static void set_endpoint(struct ch_target *t, const struct ch_providers *ps,
                         const struct ch_provider_conf *conf, const struct ch_provider *known,
                         struct ch_sv model) {
    t->ep.provider = t->provider;
    t->ep.base_url = t->base_url;
    t->ep.api_key = t->nkeys ? t->keys[0] : NULL;
    t->ep.quirks = find_quirks(t, known);
    if (conf) {
        t->ep.quirks = (t->ep.quirks | conf->quirks.on) & ~conf->quirks.off;
        t->ep.headers = conf->headers;
        t->ep.nheaders = conf->nheaders;
        t->ep.extra_body = ch_sv_str(conf->extra_body);
    }
    for (const struct ch_model_conf *c = ps->model_quirks; c; c = c->next)
        if (is_about(c->provider, c->model, t, model))
            t->ep.quirks = (t->ep.quirks | c->quirks.on) & ~c->quirks.off;
}

/* The vendor's last day says nothing about the same name at another URL. A day of the user's file
 * or the configuration counts there, too. */
static void keep_end(struct ch_target *t) {
    const struct ch_model_facts *row = ch_model_facts(ch_sv_str(t->model));
    const char *api = (t->ep.codec->inner ? t->ep.codec->inner : t->ep.codec)->name;
    const struct ch_provider *there = ch_provider_of_url(ch_sv_str(api), t->base_url);
    bool vendors = there && row->provider &&
                   strncmp(there->name, row->provider, strlen(row->provider)) == 0;
    if (t->facts.ends == row->ends && !vendors)
        t->facts.ends = t->facts.routed_to = NULL;
}

static const struct ch_codec *codec_of(const struct ch_target *t, unsigned api) {
    const struct ch_codec *other = api == CH_LEARNT_API_CHAT        ? &ch_codec_openai
                                   : api == CH_LEARNT_API_RESPONSES ? &ch_codec_responses
                                                                    : NULL;
    if (!other)
        return t->codec;
    return t->codec->inner ? ch_codec_prompted(other) : other;
}

void ch_target_learnt(struct ch_target *t, const struct ch_providers *ps,
                      const struct ch_learnt *learnt) {
    struct ch_sv model = ch_sv_str(t->spec), provider = ch_sv_str(t->provider);
    ch_sv_split(&model, '/');
    t->ep.learnt = *learnt;
    t->facts = t->known;
    ch_learnt_correct(learnt, &t->facts);
    t->ep.codec = codec_of(t, learnt->api);
    set_endpoint(t, ps, ch_providers_conf(ps, provider), ch_provider_find(provider), model);
    t->ep.quirks = ((t->ep.quirks | learnt->quirks_on) & ~learnt->quirks_off) | t->less;
    if (t->members) /* options of the service stay */
        t->ep.extra_body = ch_sv_str(t->members);
}

/* The options of the service become members of each request; `extraBody` goes before them. */
static int set_service(struct ch_target *t, const struct ch_provider_conf *conf,
                       const struct ch_provider *known, struct chela_error *err) {
    static const struct ch_service_opts none;
    const struct ch_service_opts *o = conf ? &conf->service : &none;
    const struct ch_service_place at = {ch_sv_str(t->ep.codec->name), t->base_url,
                                        known ? known->name : NULL};
    CH_BUF_AUTO why = {0};
    CH_BUF_AUTO own = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *mine = NULL, *extra = NULL;
    const char *refused = ch_service_refuses(&at, o, &why);
    if (refused)
        return ch_fail(err, CHELA_ECONFIG, "provider %s: %s, for %s: %s", t->provider, refused,
                       t->spec, ch_buf_str(&why));
    t->websocket = o->transport && strcmp(o->transport, "websocket") == 0;
    t->deletes_jobs = o->background > 0 && o->store <= 0;
    t->cache_ttl = o->cache_ttl;
    ch_service_members(&at, o, &own);
    if (!own.n)
        return 0;
    char *text = ch_arena_printf(&arena, "{%s}", ch_buf_str(&own));
    ch_json_parse(&arena, ch_sv_str(text), CH_JSON_STRICT, &mine, NULL, NULL);
    text = ch_arena_printf(&arena, "{%.*s}", CH_SV_FMT(t->ep.extra_body));
    ch_json_parse(&arena, ch_sv_str(text), CH_JSON_STRICT, &extra, NULL, NULL);
    ch_buf_clear(&own);
    struct ch_jw w = ch_jw(&own);
    for (CH_JSON_MEMBERS(k, v, mine))
        if (!ch_json_get_sv(extra, ch_json_str(k))) {
            ch_jw_key_sv(&w, ch_json_str(k));
            ch_jw_value(&w, v);
        }
    for (CH_JSON_MEMBERS(key, value, extra)) {
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    t->members = ch_buf_take(&own);
    t->ep.extra_body = ch_sv_str(t->members);
    return 0;
}

int ch_target_new(struct ch_providers *ps, const char *spec, const struct ch_target_opts *opts,
                  struct ch_target **out, struct chela_error *err) {
    struct ch_sv model = ch_sv_str(spec);
    struct ch_sv provider = ch_sv_split(&model, '/');
    bool prompted = ch_sv_starts(provider, PROMPTED);
    if (prompted)
        provider = ch_sv(provider.p + strlen(PROMPTED), provider.n - strlen(PROMPTED));
    if (!provider.n || !model.n)
        return not_a_model(spec, err);
    const struct ch_provider_conf *conf = ch_providers_conf(ps, provider);
    const struct ch_provider *known = ch_provider_find(provider);
    if (!conf && !known)
        return unknown_provider(provider, err);

    static const struct ch_target_opts none;
    CH_AUTO(ch_target) t = ch_alloc(sizeof(*t));
    t->spec = ch_strdup(spec);
    t->provider = ch_strndup(provider.p, provider.n);
    t->model = resolve_alias(t->provider, model);
    bool priced = ch_facts_book_get(ps, t->provider, ch_sv_str(t->model), model, &t->facts);
    t->ep.facts = &t->facts;
    int rc = connect_target(t, ps, opts ? opts : &none, conf, known, err);
    if (rc < 0)
        return rc;
    set_endpoint(t, ps, conf, known, model);
    rc = t->scripted ? 0 : set_service(t, conf, known, err);
    if (rc < 0)
        return rc;
    if (prompted || t->ep.quirks & CH_Q_PROMPTED)
        t->ep.codec = ch_codec_prompted(t->ep.codec);
    keep_end(t);
    t->codec = t->ep.codec;
    t->known = t->facts;
    t->has_price = find_price(ps, t, model, priced, &t->price);
    t->window = target_find_window(ps, t, model);
    t->listed = t->facts.window;
    t->local = ch_server_query_is_local(t);
    *out = CH_TAKE(t);
    return 0;
}

int64_t ch_target_window(const struct ch_target *t) {
    if (t->window)
        return t->window;
    return t->listed ? t->listed : ch_context_window_of(t->reported);
}

void ch_target_free(struct ch_target *t) {
    if (!t)
        return;
    ch_context_window_leave(t);
    ch_scripted_close(t->scripted);
    ch_target_aws_free(t->aws);
    ch_shared_head_release(t->head);
    ch_free(t->spec);
    ch_free(t->model);
    ch_free(t->provider);
    ch_free(t->base_url);
    ch_free(t->members);
    for (size_t i = 0; i < t->nkeys; i++)
        ch_free(t->keys[i]);
    ch_free(t->keys);
    ch_free(t);
}
