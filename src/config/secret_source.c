/* secret_source.c -- see secret_source.h. */
#include "config/secret_source.h"

#include "agent/handle/runtime.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "egress/secret_refs.h"
#include "json/writer.h"

/* A list joined with commas, or NULL, as an array. */
static void write_joined(struct ch_jw *w, const char *key, const char *list) {
    struct ch_sv rest = ch_sv_str(list);
    ch_jw_kbegin(w, key, '[');
    while (rest.n)
        ch_jw_str(w, ch_sv_split(&rest, ','));
    ch_jw_end(w, ']');
}

void ch_secret_source_write(const struct ch_conf_secret_source *c, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    const struct {
        const char *key, *value;
    } texts[] = {{"env", c->env}, {"file", c->file}, {"credential", c->credential},
                 {"header", c->header}};
    ch_jw_begin(&w, '{');
    for (size_t i = 0; i < CH_LEN(texts); i++)
        if (texts[i].value)
            ch_jw_kcstr(&w, texts[i].key, texts[i].value);
    if (c->command) {
        ch_jw_kbegin(&w, "command", '[');
        for (const char *const *word = c->command; *word; word++)
            ch_jw_cstr(&w, *word);
        ch_jw_end(&w, ']');
    }
    write_joined(&w, "hosts", c->hosts);
    ch_jw_end(&w, '}');
}

static const char *variable_of(const char *name, void *providers) {
    return ch_providers_env(providers, name);
}

/* A secret without a value is left out, as for the tools. */
static int read_all(const chela_config *cfg, chela_runtime *rt, struct ch_secret_refs **out,
                    struct chela_error *err) {
    const struct ch_conf_secret_source *c = cfg->conf.secrets.items;

    for (size_t i = 0; i < cfg->conf.secrets.n; i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO json = {0};
        const struct ch_json *v = NULL;
        struct chela_error why = {0};
        ch_secret_source_write(&c[i], &json);
        int rc = ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, &why);
        if (rc == 0)
            rc = ch_secret_refs_add(out, ch_sv_str(c[i].item.name), v, variable_of, &rt->providers,
                                    &why);
        if (rc < 0 && rc != CHELA_ENOENT)
            return ch_fail(err, rc, "%s", why.message);
        if (rc < 0)
            ch_log(CH_LOG_WARN, "mcp", "%s", why.message);
    }
    return 0;
}

static bool has_header(const char *const *lines, struct ch_sv line) {
    const char *colon = memchr(line.p, ':', line.n);
    size_t n = colon ? (size_t)(colon - line.p) + 1 : line.n;

    for (; lines && *lines; lines++)
        if (strncasecmp(*lines, line.p, n) == 0)
            return true;
    return false;
}

/* True: the configuration has each secret that the line refers to, so one of them has no value. */
static bool lacks_value(const chela_config *cfg, const char *line) {
    const struct ch_conf_secret_source *c = cfg->conf.secrets.items;
    for (size_t i = 0; i < cfg->conf.secrets.n; i++) {
        CH_BUF_AUTO ref = {0};
        ch_buf_addf(&ref, "{{secret:%s}}", c[i].item.name);
        if (strstr(line, ch_buf_str(&ref)))
            return true;
    }
    return false;
}

int ch_secret_source_headers(const chela_config *cfg, chela_runtime *rt, const char *url,
                             const char *const *lines, const char *const **out,
                             struct chela_error *err) {
    struct ch_secret_refs *refs = NULL;
    const char *own[CH_SECRET_HEADERS];
    struct ch_url to;
    size_t n = 0;

    *out = lines;
    if (!url || !cfg->conf.secrets.n || ch_url_parse(ch_sv_str(url), &to, NULL) < 0)
        return 0;
    int rc = read_all(cfg, rt, &refs, err);
    size_t nown = ch_secret_refs_headers(refs, &to, cfg->arena, own, CH_LEN(own));
    for (const char *const *line = lines; line && *line; line++)
        n++;
    const char **all = ch_arena_zalloc(cfg->arena, (n + nown + 1) * sizeof(*all));
    n = 0;
    for (const char *const *line = lines; rc == 0 && line && *line; line++) {
        CH_BUF_AUTO filled = {0};
        struct chela_error why = {0};
        rc = ch_secret_refs_fill(refs, &to, ch_sv_str(*line), &filled, &why);
        if (rc == CHELA_ENOENT && lacks_value(cfg, *line)) { /* read_all has warned */
            rc = 0;
            continue;
        }
        if (rc < 0)
            ch_fail(err, rc, "%s", why.message);
        all[n++] = ch_arena_str(cfg->arena, ch_buf_sv(&filled));
    }
    for (size_t i = 0; i < nown; i++)
        if (!has_header(lines, ch_sv_str(own[i])))
            all[n++] = own[i];
    *out = all;
    ch_secret_refs_free(refs);
    return rc;
}
