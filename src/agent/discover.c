/* discover.c -- which model to use when nobody said.
 *
 * The first key in the environment decides, in the order of the provider
 * table; else a model server on this machine that answers on its usual port;
 * else the scripted demo model, so that something always runs. */
#include "agent/agent.h"
#include "base/mem.h"
#include "model/provider.h"
#include "json/json.h"

#define PROBE_MS 300
#define PROBE_BODY (256 * 1024)

/* One short GET, waited for. Only with a loop of our own. */
struct probe {
    struct ch_buf body;
    int status;
    bool done;
};

static void on_head(const struct ch_http_head *head, void *user) {
    struct probe *p = user;
    p->status = head->status;
}

static void on_data(struct ch_sv data, void *user) {
    struct probe *p = user;
    ch_buf_add_sv(&p->body, data);
}

static void on_done(const struct chela_error *err, void *user) {
    struct probe *p = user;
    if (err)
        p->status = 0;
    p->done = true;
}

static bool get(chela_runtime *rt, const char *url, struct probe *p) {
    static const struct ch_http_handler handler = {on_head, on_data, on_done};
    struct ch_http_request req = {
        .method = "GET",
        .url = url,
        .timeouts = {PROBE_MS, PROBE_MS, PROBE_MS, PROBE_MS},
        .max_body = PROBE_BODY,
    };
    struct ch_transport *t = ch_http_transport(rt->http);
    ch_transport_start(t, &req, &handler, p);
    return ch_loop_run(rt->loop, &p->done) == 0 && p->status == 200;
}

/* The id of the first model in {"data":[{"id":...}]}. */
static char *first_model(struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, body, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return NULL;
    struct ch_sv id = ch_json_get_str(ch_json_at(ch_json_get(v, "data"), 0), "id");
    return id.n ? ch_strndup(id.p, id.n) : NULL;
}

static char *join(const char *provider, const char *model) {
    struct ch_buf b = {0};
    ch_buf_addf(&b, "%s/%s", provider, model);
    return ch_buf_take(&b);
}

static char *probe_local(chela_runtime *rt, const struct ch_provider *p) {
    struct probe probe = {.body = {.max = PROBE_BODY}};
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/models", p->base_url);
    char *found = NULL;
    if (get(rt, ch_buf_str(&url), &probe)) {
        CH_AUTOFREE char *model = first_model(ch_buf_sv(&probe.body));
        found = model ? join(p->name, model) : NULL;
    }
    ch_buf_release(&probe.body);
    return found;
}

static bool probed(const struct ch_provider *p) {
    return p->local && p->base_url &&
           (strcmp(p->name, "ollama") == 0 || strcmp(p->name, "llamacpp") == 0);
}

char *ch_discover_model(chela_runtime *rt, const char **why) {
    for (const struct ch_provider *p = ch_providers; p->name; p++) {
        const char *key = p->key_env && p->default_model ? ch_runtime_env(rt, p->key_env) : NULL;
        if (key && *key) {
            *why = p->key_env;
            return join(p->name, p->default_model);
        }
    }
    bool may_probe = rt->own_loop && !ch_cassette_plays(rt->cassette);
    for (const struct ch_provider *p = ch_providers; p->name && may_probe; p++) {
        char *found = probed(p) ? probe_local(rt, p) : NULL;
        if (found) {
            *why = "a local server";
            return found;
        }
    }
    *why = "no key and no local server found";
    return ch_strdup("scripted/demo");
}
