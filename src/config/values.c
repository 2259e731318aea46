/* values.c -- read one value of each type.
 *
 * A reader checks type and range and stores the value in the form of the public
 * API. All copies are NUL-terminated and live in the configuration's arena.
 * Messages never contain a value, except a misspelt choice: a value may be a
 * secret in the wrong place. */
#include <math.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "base/when.h"
#include "base/when_read.h"
#include "config/address.h"
#include "config/parse.h"
#include "egress/egress.h"
#include "guard/secrets.h"
#include "model/catalog/provider.h"
#include "schema/schema.h"
#include "tool/call/command.h"
#include "tool/call/approval.h"
#include "tool/registry/policy.h"
#include "json/writer.h"
#include "net/server.h"
#include "store/store.h"

typedef int reader(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                   void *out);

static bool values_is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool only(struct ch_sv s, const char *others) {
    for (size_t i = 0; i < s.n; i++)
        if (!values_is_alnum(s.p[i]) && !(s.p[i] && strchr(others, s.p[i])))
            return false;
    return s.n > 0;
}

static bool values_has_control(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    return false;
}

/* --- texts ----------------------------------------------------------------- */

static int copy_text(struct ch_cfg_parser *p, const struct ch_json *v, const char *expected,
                     const char **out) {
    struct ch_sv s = ch_json_str(v);
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, expected);
    if (memchr(s.p, '\0', s.n))
        return ch_cfg_bad(p, v, "contains a NUL character");
    *out = ch_arena_str(p->cfg->arena, s);
    return 0;
}

static int values_read_text(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    const char **text = out;
    struct chela_error why;
    int rc = copy_text(p, v, "text", text);
    if (rc < 0)
        return rc;
    if ((o->flags & CH_CFG_LISTEN) && ch_server_check_address(*text, &why) < 0)
        return ch_cfg_bad(p, v, "%s", why.message);
    if (o->flags & CH_CFG_LISTEN)
        ch_cfg_place(p, v, *text);
    if (!(o->flags & CH_CFG_ADDRESS))
        return 0;
    ch_address_redact(*text);
    ch_cfg_place(p, v, ch_conf_store(p->cfg, *text));
    return ch_store_known(*text)
               ? 0
               : ch_cfg_bad(p, v, "expected sqlite:PATH, postgres://HOST/DATABASE, redis://HOST "
                                  "or memory:");
}

static int values_read_name(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    (void)o;
    struct ch_sv s = ch_json_str(v);
    if (v->type == CH_JSON_STRING && (!only(s, "_-") || s.n > 64))
        return ch_cfg_bad(p, v, "expected 1 to 64 letters, digits, _ or -");
    return copy_text(p, v, "text", out);
}

static int read_path(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out) {
    (void)o;
    const char *path;
    int rc = copy_text(p, v, "a path", &path);
    if (rc < 0)
        return rc;
    if (!*path || strlen(path) > CH_LIMIT_PATH)
        return ch_cfg_bad(p, v, "expected a path, of at most %d bytes", CH_LIMIT_PATH);
    if (*path == '$')
        return ch_cfg_bad(p, v, "paths have no variables: write ~/ for the home directory, ./ for "
                                "the directory of this file, or the whole path");
    *(const char **)out = ch_conf_path(p->cfg, ch_sv_str(path));
    ch_cfg_place(p, v, *(const char **)out);
    return 0;
}

static int values_read_url(struct ch_cfg_parser *p, const struct ch_json *v,
                           const struct ch_option *o, void *out) {
    struct ch_sv s = ch_json_str(v);
    const char *scheme = o->type == CH_CFG_SMTP ? "smtp" : "http";
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, "a URL");
    struct ch_sv rest = s, given = ch_sv_split(&rest, ':');
    bool known = ch_sv_starts(given, scheme) && ch_sv_starts(rest, "//") &&
                 (given.n == 4 || (given.n == 5 && given.p[4] == 's'));
    if (!known || s.n > CH_LIMIT_URL || values_has_control(s) || memchr(s.p, ' ', s.n))
        return ch_cfg_bad(p, v, "expected a URL that starts with %s:// or %ss://", scheme, scheme);
    if (memchr(s.p, '@', s.n))
        return ch_cfg_bad(p, v, "a URL cannot hold a user name or password here");
    return copy_text(p, v, "a URL", out);
}

static int read_env(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                    void *out) {
    (void)o;
    struct ch_sv s = ch_json_str(v);
    bool name = only(s, "_") && !(s.p[0] >= '0' && s.p[0] <= '9') && s.n <= 256;
    if (v->type == CH_JSON_STRING && !name)
        return ch_cfg_bad(p, v, "expected the name of an environment variable");
    int rc = copy_text(p, v, "the name of an environment variable", out);
    if (rc < 0)
        return rc;
    ch_cfg_place(p, v, *(const char **)out);
    struct ch_conf_secret *secret = ch_arena_alloc(p->cfg->arena, sizeof(*secret));
    *secret = (struct ch_conf_secret){*(const char **)out, p->cfg->secrets};
    p->cfg->secrets = secret;
    return 0;
}

static int read_envs(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out) {
    CH_BUF_AUTO joined = {0};
    const char *name;
    if (v->type != CH_JSON_ARRAY)
        return read_env(p, v, o, out);
    if (v->n == 0 || v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "expected 1 to %d names of environment variables",
                          CH_LIMIT_CONFIG_ITEMS);
    for (CH_JSON_EACH(e, v)) {
        int rc = read_env(p, e, o, &name);
        if (rc < 0)
            return rc;
        ch_buf_addf(&joined, "%s%s", joined.n ? "," : "", name);
    }
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&joined));
    return 0;
}

static int values_read_choice(struct ch_cfg_parser *p, const struct ch_json *v,
                              const struct ch_option *o, void *out) {
    struct ch_sv rest = ch_sv_str(o->words), given = ch_json_str(v);
    CH_BUF_AUTO all = {0};
    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, '|');
        if (v->type == CH_JSON_STRING && ch_sv_eq(word, given)) {
            *(const char **)out = ch_arena_str(p->cfg->arena, word);
            return 0;
        }
        ch_buf_addf(&all, "%s%.*s", !all.n ? "" : rest.n ? ", " : " or ", CH_SV_FMT(word));
    }
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, ch_buf_str(&all));
    given = ch_utf8_cut(given, 40);
    return ch_cfg_bad(p, v, "expected %s, not \"%.*s\"", ch_buf_str(&all), CH_SV_FMT(given));
}

/* --- numbers --------------------------------------------------------------- */

static int out_of_range(struct ch_cfg_parser *p, const struct ch_json *v,
                        const struct ch_option *o) {
    return ch_cfg_bad(p, v, "expected a number from %.15g to %.15g", o->min, o->max);
}

static int values_read_int(struct ch_cfg_parser *p, const struct ch_json *v,
                           const struct ch_option *o, void *out) {
    int64_t n;
    if (v->type != CH_JSON_NUMBER)
        return ch_cfg_wrong_type(p, v, "a whole number");
    if (!ch_json_as_int(v, &n))
        return ch_cfg_bad(p, v, "expected a whole number");
    if ((double)n < o->min || (double)n > o->max)
        return out_of_range(p, v, o);
    *(int64_t *)out = n;
    return 0;
}

static int read_limit(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                      void *out) {
    int64_t n = 0;
    int rc = values_read_int(p, v, o, &n);
    if (rc == 0)
        *(int64_t *)out = n ? n : -1;
    return rc;
}

static int values_read_double(struct ch_cfg_parser *p, const struct ch_json *v,
                              const struct ch_option *o, double *out) {
    if (v->type != CH_JSON_NUMBER)
        return ch_cfg_wrong_type(p, v, "a number");
    double n = ch_json_double(v, NAN);
    if (!(n >= o->min && n <= o->max))
        return out_of_range(p, v, o);
    *out = n;
    return 0;
}

static int values_read_number(struct ch_cfg_parser *p, const struct ch_json *v,
                              const struct ch_option *o, void *out) {
    double *n = ch_arena_alloc(p->cfg->arena, sizeof(*n));
    int rc = values_read_double(p, v, o, n);
    if (rc == 0)
        *(const double **)out = n;
    return rc;
}

static int read_budget(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out) {
    double n = 0;
    int rc = values_read_double(p, v, o, &n);
    if (rc == 0)
        *(double *)out = n > 0 ? n : -1;
    return rc;
}

/* A fraction of a millisecond is rounded up, since 0 means "no limit". */
static int values_read_seconds(struct ch_cfg_parser *p, const struct ch_json *v,
                               const struct ch_option *o, void *out) {
    double n = 0;
    int rc = values_read_double(p, v, o, &n);
    if (rc == 0)
        *(int64_t *)out = n > 0 ? (int64_t)ceil(n * 1000) : -1;
    return rc;
}

static int values_read_bool(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    (void)o;
    if (v->type != CH_JSON_TRUE && v->type != CH_JSON_FALSE)
        return ch_cfg_wrong_type(p, v, "true or false");
    *(bool *)out = v->type == CH_JSON_TRUE;
    return 0;
}

static int read_flag(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out) {
    bool yes = false;
    int rc = values_read_bool(p, v, o, &yes);
    if (rc == 0)
        *(signed char *)out = yes ? 1 : -1;
    return rc;
}

static int read_unless(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out) {
    int rc = values_read_bool(p, v, o, out);
    if (rc == 0)
        *(bool *)out = !*(bool *)out;
    return rc;
}

/* --- lists and mappings ------------------------------------------------------ */

static int unknown_group(struct ch_cfg_parser *p, const struct ch_json *v) {
    CH_BUF_AUTO all = {0};
    ch_policy_groups(&all);
    return ch_cfg_bad(p, v, "there is no such group (there are %s)", ch_buf_str(&all));
}

/* A name of a list, or a pattern of hosts and mail addresses. Globs are allowed; only the separator
 * is forbidden. */
static int values_check_name(struct ch_cfg_parser *p, const struct ch_json *e, bool pattern) {
    struct ch_sv s = ch_json_str(e);
    if (e->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, e, pattern ? "text (in quotes)" : "a name");
    if (!only(s, pattern ? ".-_*?:[]@+" : "_-*?:") || (pattern && s.n > 512))
        return ch_cfg_bad(p, e, "%s",
                          pattern ? "expected a host or an address, in which * stands for anything"
                                  : "expected the name of a tool, or a glob");
    return !pattern && ch_sv_starts(s, "group:") && !ch_policy_group(s) ? unknown_group(p, e) : 0;
}

static int values_read_names(struct ch_cfg_parser *p, const struct ch_json *v,
                             const struct ch_option *o, void *out) {
    bool pattern = o->type == CH_CFG_PATTERNS;
    CH_BUF_AUTO joined = {0};
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, pattern ? "a list of patterns" : "a list of names");
    if (pattern && v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CONFIG_ITEMS);
    for (CH_JSON_EACH(e, v)) {
        int rc = values_check_name(p, e, pattern);
        if (rc < 0)
            return rc;
        ch_buf_addf(&joined, "%s%.*s", joined.n ? "," : "", CH_SV_FMT(ch_json_str(e)));
    }
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&joined));
    return 0;
}

static bool is_one_of_words(const char *words, struct ch_sv given) {
    struct ch_sv rest = ch_sv_str(words);
    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, '|');
        bool begins = word.n && word.p[word.n - 1] == ':';
        if (begins ? given.n > word.n && memcmp(given.p, word.p, word.n) == 0
                   : ch_sv_eq(given, word))
            return true;
    }
    return false;
}

/* Words of a closed set; a name that follows such a word has no separator. */
static int read_words(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                      void *out) {
    CH_BUF_AUTO joined = {0}, all = {0};
    struct ch_sv rest = ch_sv_str(o->words);
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of words");
    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, '|');
        bool begins = word.n && word.p[word.n - 1] == ':';
        ch_buf_addf(&all, "%s%.*s%s", all.n ? ", " : "", CH_SV_FMT(word), begins ? "NAME" : "");
    }
    for (CH_JSON_EACH(e, v)) {
        struct ch_sv given = ch_json_str(e);
        if (e->type != CH_JSON_STRING)
            return ch_cfg_wrong_type(p, e, "a word");
        if (!is_one_of_words(o->words, given) || !only(given, ".-_:[]"))
            return ch_cfg_bad(p, e, "\"%.*s\" is none of %s",
                              CH_SV_FMT(ch_utf8_cut(given, 40)), ch_buf_str(&all));
        ch_buf_addf(&joined, "%s%.*s", joined.n ? "," : "", CH_SV_FMT(given));
    }
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&joined));
    return 0;
}

static int read_hosts(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                      void *out) {
    CH_BUF_AUTO joined = {0};
    (void)o;
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of hosts");
    if (v->n > CH_LIMIT_EGRESS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_EGRESS);
    for (CH_JSON_EACH(e, v)) {
        struct chela_error why;
        if (e->type != CH_JSON_STRING)
            return ch_cfg_wrong_type(p, e, "a host (in quotes)");
        if (ch_egress_check(ch_json_str(e), &why) < 0)
            return ch_cfg_bad(p, e, "%s", why.message);
        ch_buf_addf(&joined, "%s%.*s", joined.n ? "," : "", CH_SV_FMT(ch_json_str(e)));
    }
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&joined));
    return 0;
}

static int read_network(struct ch_cfg_parser *p, const struct ch_json *v,
                        const struct ch_option *o, void *out) {
    struct ch_sv word = ch_json_str(v);
    if (v->type == CH_JSON_ARRAY)
        return read_hosts(p, v, o, out);
    if (v->type != CH_JSON_STRING || (!ch_sv_is(word, "none") && !ch_sv_is(word, "host")))
        return ch_cfg_bad(p, v, "expected none, host, or a list of hosts");
    *(const char **)out = ch_arena_str(p->cfg->arena, word);
    return 0;
}

/* Whether a URL contains a password, which must not be in this file. url: the
 * text after "://". */
static bool holds_password(struct ch_sv url) {
    size_t n = 0;
    while (n < url.n && url.p[n] != '/' && url.p[n] != '?')
        n++;
    if (ch_sv_contains_nocase(url, "password="))
        return true;
    const char *at = n ? memrchr(url.p, '@', n) : NULL;
    const char *colon = at ? memchr(url.p, ':', (size_t)(at - url.p)) : NULL;
    if (!colon)
        return false;
    struct ch_sv password = ch_sv(colon + 1, (size_t)(at - colon) - 1);
    return !(ch_sv_starts(password, "${") && password.p[password.n - 1] == '}');
}

static int read_database(struct ch_cfg_parser *p, struct ch_sv name, const struct ch_json *v,
                         const char **out) {
    const char *url;
    int rc = copy_text(p, v, "sqlite:PATH or postgres://HOST/DATABASE", &url);
    if (rc < 0)
        return rc;
    struct ch_sv rest = ch_sv_str(url), kind = ch_sv_split(&rest, ':');
    bool lite = ch_sv_is(kind, "sqlite") && rest.n;
    bool remote = (ch_sv_is(kind, "postgres") || ch_sv_is(kind, "postgresql")) &&
                  ch_sv_starts(rest, "//") && !values_has_control(rest);
    if (!lite && !remote)
        return ch_cfg_bad(p, v, "expected sqlite:PATH or postgres://HOST/DATABASE");
    if (remote && holds_password(ch_sv(rest.p + 2, rest.n - 2)))
        return ch_cfg_bad(p, v,
                          "a password must not be in this file: write "
                          "postgres://USER:${VARIABLE}@HOST/DATABASE");
    if (lite)
        url = ch_arena_printf(p->cfg->arena, "sqlite:%s", ch_conf_path(p->cfg, rest));
    *out = ch_arena_printf(p->cfg->arena, "databases.%.*s=%s", CH_SV_FMT(name), url);
    return 0;
}

static int read_databases(struct ch_cfg_parser *p, const struct ch_json *v,
                          const struct ch_option *o, void *out) {
    static const struct ch_option as_name = {.type = CH_CFG_NAME};
    (void)o;
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of names to URLs");
    if (v->n > CH_LIMIT_CONFIG_DATABASES)
        return ch_cfg_bad(p, v, "more than %d databases", CH_LIMIT_CONFIG_DATABASES);
    const char **list = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_MEMBERS(key, value, v)) {
        const char *name;
        int rc = ch_cfg_value(p, key, &as_name, &name);
        if (rc == 0)
            rc = read_database(p, ch_json_str(key), value, &list[n++]);
        if (rc < 0)
            return rc;
    }
    *(const char *const **)out = list;
    return 0;
}

/* Resolve each path against the file's directory, except the word `workspace`. */
static int read_paths(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                      void *out) {
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of paths");
    if (v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CONFIG_ITEMS);
    const char **list = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_EACH(e, v)) {
        bool home = ch_sv_starts(ch_json_str(e), "~");
        bool as_it_is = (o->type == CH_CFG_INSIDE && !home) ||
                        (o->type == CH_CFG_PLACES && ch_sv_is(ch_json_str(e), "workspace"));
        int rc = as_it_is ? copy_text(p, e, "a path", &list[n]) : read_path(p, e, o, &list[n]);
        if (rc < 0)
            return rc;
        n++;
    }
    *(const char *const **)out = list;
    return 0;
}

/* Resolve the rule file of a scripted model against the file's directory. */
static const char *resolve_model(struct ch_cfg_parser *p, const char *spec) {
    struct ch_sv file = ch_sv_str(spec);
    struct ch_sv provider = ch_sv_split(&file, '/');
    if (!ch_sv_is(provider, "scripted") || ch_sv_is(file, "demo"))
        return spec;
    return ch_arena_printf(p->cfg->arena, "scripted/%s", ch_conf_path(p->cfg, file));
}

/* Whether the protocol and the URL of the provider are known. A host may register the provider;
 * otherwise the place is named when an agent needs it. */
static bool values_knows_provider(const struct ch_cfg_parser *p, struct ch_sv name) {
    struct ch_sv prompted = CH_SV("prompted+");
    if (ch_sv_starts(name, prompted.p))
        name = ch_sv(name.p + prompted.n, name.n - prompted.n);
    const struct ch_provider *known = ch_provider_find(name);
    const struct ch_json *conf = ch_json_get_sv(ch_json_get(p->yaml.root, "providers"), name);
    if (known && (known->base_url || known->local))
        return true;
    return ch_json_get(conf, "baseUrl") && (known || ch_json_get(conf, "api"));
}

static int read_model(struct ch_cfg_parser *p, const struct ch_json *v, const char **out) {
    const char *spec;
    int rc = copy_text(p, v, "PROVIDER/MODEL", &spec);
    if (rc < 0)
        return rc;
    const char *slash = strchr(spec, '/');
    if (!slash || slash == spec || !slash[1] || values_has_control(ch_sv_str(spec)))
        return ch_cfg_bad(p, v, "expected PROVIDER/MODEL, for example openai/gpt-6-sol");
    *out = resolve_model(p, spec);
    if (!values_knows_provider(p, ch_sv(spec, (size_t)(slash - spec))))
        ch_cfg_place(p, v, *out);
    return 0;
}

static int read_one_model(struct ch_cfg_parser *p, const struct ch_json *v,
                          const struct ch_option *o, void *out) {
    (void)o;
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, "PROVIDER/MODEL");
    return read_model(p, v, out);
}

static int read_models(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out) {
    (void)o;
    bool list = v->type == CH_JSON_ARRAY;
    if ((!list && v->type != CH_JSON_STRING) || (list && v->n == 0))
        return ch_cfg_wrong_type(p, v, "PROVIDER/MODEL or a list of them");
    size_t n = 0;
    const char **models = ch_arena_zalloc(p->cfg->arena, ((list ? v->n : 1) + 1) * sizeof(*models));
    int rc = list ? 0 : read_model(p, v, &models[0]);
    for (CH_JSON_EACH(e, v))
        if (rc == 0)
            rc = read_model(p, e, &models[n++]);
    if (rc == 0)
        *(const char *const **)out = models;
    return rc;
}

static int values_read_texts(struct ch_cfg_parser *p, const struct ch_json *v,
                             const struct ch_option *o, void *out) {
    (void)o;
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of texts");
    if (v->n > CH_LIMIT_CONFIG_ITEMS)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_CONFIG_ITEMS);
    const char **list = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_EACH(e, v)) {
        int rc = copy_text(p, e, "text (in quotes)", &list[n]);
        if (rc < 0)
            return rc;
        if (!*list[n++])
            return ch_cfg_bad(p, e, "the text is empty");
    }
    *(const char *const **)out = list;
    return 0;
}

/* A program name is searched in PATH; a path is resolved against the file's
 * directory. */
static int values_read_command(struct ch_cfg_parser *p, const struct ch_json *v,
                               const struct ch_option *o, void *out) {
    (void)o;
    if (v->type != CH_JSON_ARRAY || v->n == 0)
        return ch_cfg_wrong_type(p, v, "a list such as [program, argument]");
    const char **list = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_EACH(e, v)) {
        int rc = copy_text(p, e, "text (in quotes)", &list[n++]);
        if (rc < 0)
            return rc;
    }
    if (!*list[0])
        return ch_cfg_bad(p, v, "the program is missing");
    if (strchr(list[0], '/'))
        list[0] = ch_conf_path(p->cfg, ch_sv_str(list[0]));
    *(const char *const **)out = list;
    return 0;
}

/* Header values are often credentials: they are never shown. */
static int values_read_headers(struct ch_cfg_parser *p, const struct ch_json *v,
                               const struct ch_option *o, void *out) {
    (void)o;
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of header names to texts");
    const char **lines = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*lines));
    size_t n = 0;
    for (CH_JSON_MEMBERS(key, value, v)) {
        struct ch_sv name = ch_json_str(key), text = ch_json_str(value);
        if (!only(name, "!#$%&'*+-.^_`|~"))
            return ch_cfg_bad(p, key, "not the name of a header");
        if (value->type != CH_JSON_STRING)
            return ch_cfg_wrong_type(p, value, "text (in quotes)");
        if (values_has_control(text))
            return ch_cfg_bad(p, value, "a header's value is one line of text");
        const char *secret = ch_arena_str(p->cfg->arena, text);
        if (ch_secret_is_named(name))
            ch_secret_add(secret, "the header %.*s", CH_SV_FMT(name));
        else
            ch_redact_add(secret);
        lines[n++] = ch_arena_printf(p->cfg->arena, "%.*s: %.*s", CH_SV_FMT(name), CH_SV_FMT(text));
    }
    *(const char *const **)out = lines;
    return 0;
}

static void refuse_quirk(struct ch_cfg_parser *p, const struct ch_json *key) {
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    unsigned bit;
    for (size_t i = 0; ch_quirk_name(i, &bit); i++)
        ch_nearest_try(&near, ch_sv_str(ch_quirk_name(i, &bit)));
    struct ch_sv given = ch_utf8_cut(near.word, 64);
    if (near.best.n)
        ch_cfg_bad(p, key, "unknown quirk %.*s, did you mean %.*s?", CH_SV_FMT(given),
                    CH_SV_FMT(near.best));
    else
        ch_cfg_bad(p, key, "unknown quirk %.*s", CH_SV_FMT(given));
}

/* An unknown name is a warning, as for other keys. */
static int values_read_quirks(struct ch_cfg_parser *p, const struct ch_json *v,
                              const struct ch_option *o, void *out) {
    (void)o;
    CH_BUF_AUTO list = {0};
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of names to true or false");
    for (CH_JSON_MEMBERS(key, value, v)) {
        struct ch_sv name = ch_json_str(key);
        if (value->type != CH_JSON_TRUE && value->type != CH_JSON_FALSE)
            return ch_cfg_wrong_type(p, value, "true or false");
        if (!ch_quirk_find(name)) {
            refuse_quirk(p, key);
            continue;
        }
        ch_buf_addf(&list, "%s%s%.*s", list.n ? "," : "", value->type == CH_JSON_TRUE ? "" : "-",
                    CH_SV_FMT(name));
    }
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&list));
    return 0;
}

static int values_read_json(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    (void)o;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping");
    ch_jw_value(&w, v);
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&json));
    return 0;
}

/* A program and its arguments, or patterns by argument. */
static int values_read_check(struct ch_cfg_parser *p, const struct ch_json *v,
                             const struct ch_option *o, void *out) {
    const char *const *words = NULL;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (v->type == CH_JSON_OBJECT) {
        CH_AUTO(ch_schema) rules = NULL;
        struct chela_error why = {0};
        if (ch_check_rules(v, &rules, &why) < 0)
            return ch_cfg_bad(p, v, "%s", why.message);
        return values_read_json(p, v, o, out);
    }
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v,
                                 "a list such as [program, argument], or a mapping of arguments to "
                                 "patterns");
    int rc = values_read_command(p, v, o, &words);
    if (rc < 0)
        return rc;
    ch_jw_begin(&w, '[');
    for (; *words; words++)
        ch_jw_cstr(&w, *words);
    ch_jw_end(&w, ']');
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&json));
    return 0;
}

/* The column checks its value. */
static int values_read_fact(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    struct ch_some_facts ignored = {0};
    struct chela_error why = {0};
    if (ch_column_read(ch_column_find(ch_sv_str(o->key)), v, p->cfg->arena, &ignored, &why) < 0)
        return ch_cfg_bad(p, v, "%s", why.message);
    ch_jw_value(&w, v);
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&json));
    return 0;
}

/* --- approvals --------------------------------------------------------------- */

static int values_read_level(struct ch_cfg_parser *p, const struct ch_json *key,
                             const struct ch_json *v, struct ch_buf *levels) {
    static const struct ch_option choice = {.words = "ask|sandbox|auto|deny"};
    struct ch_sv who = ch_json_str(key);
    const char *level;
    if (!only(who, "_-*?:"))
        return ch_cfg_bad(p, key, "expected the name of a tool, a glob or a group");
    if (ch_sv_starts(who, "group:") && !ch_policy_group(who))
        return unknown_group(p, key);
    int rc = values_read_choice(p, v, &choice, &level);
    if (rc == 0)
        ch_buf_addf(levels, "%s%.*s=%s", levels->n ? "," : "", CH_SV_FMT(who), level);
    return rc;
}

/* `TOOL: PATTERN`, which YAML reads as a mapping unless it is quoted. */
static int values_read_rule(struct ch_cfg_parser *p, const struct ch_json *e, const char **out) {
    struct ch_approvals *checked;
    struct chela_error why = {0};
    if (e->type == CH_JSON_OBJECT && e->n == 1 && e[2].type == CH_JSON_STRING)
        *out = ch_arena_printf(p->cfg->arena, "%.*s: %.*s", CH_SV_FMT(ch_json_str(&e[1])),
                               CH_SV_FMT(ch_json_str(&e[2])));
    else if (e->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, e, "TOOL: PATTERN");
    else if (copy_text(p, e, "TOOL: PATTERN", out) < 0)
        return CHELA_ECONFIG;
    const char *const rules[] = {*out, NULL};
    if (ch_approvals_new(NULL, rules, &checked, &why) < 0)
        return ch_cfg_bad(p, e, "%s", why.message);
    ch_approvals_free(checked);
    return 0;
}

static int values_read_rules(struct ch_cfg_parser *p, const struct ch_json *v,
                             const char *const **out) {
    if (v->type != CH_JSON_ARRAY)
        return ch_cfg_wrong_type(p, v, "a list of rules");
    if (v->n > CH_LIMIT_RULES)
        return ch_cfg_bad(p, v, "more than %d rules", CH_LIMIT_RULES);
    const char **rules = ch_arena_zalloc(p->cfg->arena, (v->n + 1) * sizeof(*rules));
    size_t n = 0;
    for (CH_JSON_EACH(e, v)) {
        int rc = values_read_rule(p, e, &rules[n++]);
        if (rc < 0)
            return rc;
    }
    *out = rules;
    return 0;
}

static int read_approvals(struct ch_cfg_parser *p, const struct ch_json *v,
                          const struct ch_option *o, void *out) {
    (void)o;
    struct ch_conf_approvals *a = out;
    CH_BUF_AUTO levels = {0};
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of tools to ask, sandbox, auto or deny");
    if (v->n > CH_LIMIT_RULES)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_RULES);
    for (CH_JSON_MEMBERS(key, value, v)) {
        if (value->type == CH_JSON_NULL)
            continue;
        int rc = ch_sv_is(ch_json_str(key), "allow") ? values_read_rules(p, value, &a->rules)
                                                     : values_read_level(p, key, value, &levels);
        if (rc < 0)
            return rc;
    }
    a->levels = ch_arena_str(p->cfg->arena, ch_buf_sv(&levels));
    return 0;
}

static int values_refuse(struct ch_cfg_parser *p, const struct ch_json *v,
                         const struct ch_option *o, void *out) {
    (void)out;
    return ch_cfg_bad(p, v, "%s", o->help);
}

static int leave_alone(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out) {
    (void)p, (void)v, (void)o, (void)out;
    return 0;
}

static int values_read_when(struct ch_cfg_parser *p, const struct ch_json *v,
                            const struct ch_option *o, void *out) {
    CH_AUTO(ch_zone) utc = ch_zone_fixed(0);
    struct chela_error why = {0};
    struct ch_when when;
    (void)o;
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, "a time");
    if (ch_when_read(ch_json_str(v), utc, &when, &why) < 0)
        return ch_cfg_bad(p, v, "%s", why.message);
    return copy_text(p, v, "a time", out);
}

static int read_span(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out) {
    int64_t ms;
    (void)o;
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, "a time span such as 30m");
    if (!ch_duration_read(ch_json_str(v), &ms) || ms < CH_LIMIT_WHEN_LEAST_MS ||
        ms > CH_LIMIT_WHEN_MOST_MS)
        return ch_cfg_bad(p, v, "expected a time span such as 30m, 6h or 1d");
    return copy_text(p, v, "a time span", out);
}

static bool values_is_clock(struct ch_sv s) {
    struct ch_time t;
    return ch_time_read(s, &t) && !t.has_date && !t.has_offset;
}

static int read_hours(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                      void *out) {
    struct ch_sv rest = ch_json_str(v), from = ch_sv_split(&rest, '-');
    (void)o;
    if (v->type != CH_JSON_STRING)
        return ch_cfg_wrong_type(p, v, "hours such as 22:00-07:00");
    if (!values_is_clock(from) || !rest.p || !values_is_clock(rest))
        return ch_cfg_bad(p, v, "expected hours such as 22:00-07:00");
    return copy_text(p, v, "hours", out);
}

/* A host may have other agents; otherwise the place is named where the agent is needed. */
static bool values_defines_agent(const struct ch_cfg_parser *p, struct ch_sv id) {
    const struct ch_json *list = ch_json_get(ch_json_get(p->yaml.root, "agents"), "list");
    for (CH_JSON_EACH(agent, list))
        if (ch_sv_eq(ch_json_str(ch_json_get(agent, "id")), id))
            return true;
    return !list && ch_sv_is(id, "main");
}

int ch_cfg_value(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                 void *out) {
    static reader *const readers[] = {
        [CH_CFG_TEXT] = values_read_text,
        [CH_CFG_SYSTEM] = ch_cfg_read_system,
        [CH_CFG_NAME] = values_read_name,
        [CH_CFG_PATH] = read_path,
        [CH_CFG_URL] = values_read_url,
        [CH_CFG_ENVS] = read_envs,
        [CH_CFG_WHEN] = values_read_when,
        [CH_CFG_SPAN] = read_span,
        [CH_CFG_HOURS] = read_hours,
        [CH_CFG_ENV] = read_env,
        [CH_CFG_CHOICE] = values_read_choice,
        [CH_CFG_FLAG] = read_flag,
        [CH_CFG_UNLESS] = read_unless,
        [CH_CFG_BOOL] = values_read_bool,
        [CH_CFG_INT] = values_read_int,
        [CH_CFG_LIMIT] = read_limit,
        [CH_CFG_SECONDS] = values_read_seconds,
        [CH_CFG_BUDGET] = read_budget,
        [CH_CFG_NUMBER] = values_read_number,
        [CH_CFG_NAMES] = values_read_names,
        [CH_CFG_MODELS] = read_models,
        [CH_CFG_MODEL] = read_one_model,
        [CH_CFG_COMMAND] = values_read_command,
        [CH_CFG_HEADERS] = values_read_headers,
        [CH_CFG_QUIRKS] = values_read_quirks,
        [CH_CFG_JSON] = values_read_json,
        [CH_CFG_CHECK] = values_read_check,
        [CH_CFG_FACT] = values_read_fact,
        [CH_CFG_REFUSED] = values_refuse,
        [CH_CFG_ANY] = leave_alone,
        [CH_CFG_APPROVALS] = read_approvals,
        [CH_CFG_SMTP] = values_read_url,
        [CH_CFG_TEXTS] = values_read_texts,
        [CH_CFG_COUNT] = read_limit,
        [CH_CFG_PATTERNS] = values_read_names,
        [CH_CFG_HOSTS] = read_hosts,
        [CH_CFG_WORDS] = read_words,
        [CH_CFG_NETWORK] = read_network,
        [CH_CFG_DATABASES] = read_databases,
        [CH_CFG_PATHS] = read_paths,
        [CH_CFG_PLACES] = read_paths,
        [CH_CFG_INSIDE] = read_paths,
        [CH_CFG_FOLDER] = ch_cfg_read_folder,
        [CH_CFG_PINS] = ch_cfg_read_pins,
        [CH_CFG_ROLLOUT] = ch_cfg_read_rollout,
    };
    int rc = readers[o->type](p, v, o, out);
    if (rc == 0 && (o->flags & CH_CFG_AGENT) && !values_defines_agent(p, ch_json_str(v)))
        ch_cfg_place(p, v, *(const char **)out);
    return rc;
}
