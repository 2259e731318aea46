/* settings.c -- see settings.h. One table row per key; databases use keys of the form
 * "databases.NAME", secrets keys "secrets.NAME", whose values are JSON. */
#include "tool/registry/settings.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "egress/egress.h"
#include "egress/secret_refs.h"
#include "guard/secrets.h"
#include "net/url.h"

enum kind {
    TEXT,  /* copied */
    FLAG,  /* "true" or "false" */
    ENV,   /* name of an environment variable; its value is stored in value_at */
    HTTP,  /* an http or https URL */
    SMTP,  /* an smtp or smtps URL */
    SEARCH, /* a search provider */
    REACH,  /* own, all or none */
    RULE,   /* ask, deny or off */
    NUMBER
};

#define AT(member) offsetof(struct ch_tool_settings, member)

static const struct key {
    const char *name;
    enum kind kind;
    size_t at, value_at; /* value_at: for ENV */
} keys[] = {
    {"egress.allow", TEXT, AT(egress_allow), 0},
    {"egress.deny", TEXT, AT(egress_deny), 0},
    {"egress.ask", TEXT, AT(egress_ask), 0},
    {"flow.rule", RULE, AT(flow_rule), 0},
    {"flow.trust", TEXT, AT(flow_trust), 0},
    {"flow.private", TEXT, AT(flow_private), 0},
    {"webFetch.allowHosts", TEXT, AT(allow_hosts), 0},
    {"webFetch.denyHosts", TEXT, AT(deny_hosts), 0},
    {"webFetch.allowPrivate", FLAG, AT(allow_private), 0},
    {"webSearch.provider", SEARCH, AT(search_provider), 0},
    {"webSearch.baseUrl", HTTP, AT(search_url), 0},
    {"webSearch.apiKeyEnv", ENV, AT(search_key_env), AT(search_key)},
    {"mail.smtp", SMTP, AT(smtp), 0},
    {"mail.from", TEXT, AT(mail_from), 0},
    {"mail.user", TEXT, AT(mail_user), 0},
    {"mail.passwordEnv", ENV, AT(mail_password_env), AT(mail_password)},
    {"mail.allowTo", TEXT, AT(mail_allow_to), 0},
    {"mail.noTls", FLAG, AT(mail_no_tls), 0},
    {"wait.enabled", FLAG, AT(wait), 0},
    {"memory.enabled", FLAG, AT(memory), 0},
    {"memory.sessions", REACH, AT(memory_sessions), 0},
    {"memory.inject", NUMBER, AT(memory_inject), 0},
};

static char **settings_text_at(struct ch_tool_settings *s, size_t at) {
    return (char **)((char *)s + at);
}

/* --- databases ---------------------------------------------------------------- */

static bool is_url_safe(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static void settings_add_encoded(struct ch_buf *out, const char *text) {
    for (; *text; text++)
        if (is_url_safe(*text))
            ch_buf_addc(out, *text);
        else
            ch_buf_addf(out, "%%%02X", (unsigned char)*text);
}

/* Replace ${NAME} in a URL by the value of a variable, percent-encoded. */
static void settings_expand(struct ch_database_setting *d, struct ch_sv url,
                            const struct ch_settings_opts *o) {
    CH_BUF_AUTO out = {0};

    for (size_t i = 0; i < url.n; i++) {
        const char *end = memchr(url.p + i, '}', url.n - i);
        if (!end || !ch_sv_starts(ch_sv(url.p + i, url.n - i), "${")) {
            ch_buf_addc(&out, url.p[i]);
            continue;
        }
        CH_AUTOFREE char *name = ch_strndup(url.p + i + 2, (size_t)(end - url.p) - i - 2);
        const char *value = o->env ? o->env(name, o->user) : NULL;
        if (!value) {
            d->unset = CH_TAKE(name);
            return;
        }
        ch_secret_add(value, "%s", name);
        settings_add_encoded(&out, value);
        i = (size_t)(end - url.p);
    }
    d->target = ch_buf_take(&out);
}

/* Register the password between ':' and '@' of a URL for redaction. */
static void hide_password(const char *url) {
    const char *from = url ? strstr(url, "://") : NULL;
    const char *at = from ? strchr(from + 3, '@') : NULL;
    const char *colon = at ? memchr(from + 3, ':', (size_t)(at - from) - 3) : NULL;

    if (!colon)
        return;
    CH_AUTOFREE char *secret = ch_strndup(colon + 1, (size_t)(at - colon) - 1);
    ch_secret_add(secret, "the password of a database");
}

static int add_database(struct ch_tool_settings *s, struct ch_sv name, struct ch_sv url,
                        const struct ch_settings_opts *o, struct chela_error *err) {
    bool lite = ch_sv_starts(url, "sqlite:");

    if (name.n == 0 || name.n > 64)
        return ch_fail(err, CHELA_EINVAL, "databases: a name has 1 to 64 characters");
    if (ch_settings_database(s, name))
        return ch_fail(err, CHELA_EINVAL, "databases.%.*s is given twice", CH_SV_FMT(name));
    if (!lite && !ch_sv_starts(url, "postgres://") && !ch_sv_starts(url, "postgresql://"))
        return ch_fail(err, CHELA_EINVAL,
                       "databases.%.*s: expected sqlite:PATH or postgres://HOST/DATABASE",
                       CH_SV_FMT(name));
    s->databases = ch_realloc(s->databases, (s->ndatabases + 1) * sizeof(*s->databases));
    struct ch_database_setting *d = &s->databases[s->ndatabases++];
    *d = (struct ch_database_setting){.name = ch_strndup(name.p, name.n),
                                      .kind = ch_strdup(lite ? "sqlite" : "postgres")};
    if (lite)
        d->target = ch_strndup(url.p + 7, url.n - 7);
    else
        settings_expand(d, url, o);
    hide_password(d->target);
    return 0;
}

const struct ch_database_setting *ch_settings_database(const struct ch_tool_settings *s,
                                                       struct ch_sv name) {
    for (size_t i = 0; i < s->ndatabases; i++)
        if (ch_sv_is(name, s->databases[i].name))
            return &s->databases[i];
    return NULL;
}

/* --- secrets ------------------------------------------------------------------- */

static int add_secret(struct ch_tool_settings *s, struct ch_sv name, struct ch_sv value,
                      const struct ch_settings_opts *o, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct chela_error why = {0};
    int rc = ch_json_parse(&arena, value, CH_JSON_STRICT, &v, NULL, &why);

    if (rc == 0)
        rc = ch_secret_refs_add(&s->secrets, name, v, o->env, o->user, &why);
    if (rc != CHELA_ENOENT)
        return rc < 0 ? ch_fail(err, rc, "%s", why.message) : 0;
    ch_log(CH_LOG_WARN, "tools", "%s; requests are made without it", why.message);
    return 0;
}

/* --- the other keys ------------------------------------------------------------- */

static int settings_unknown_key(struct ch_sv name, struct chela_error *err) {
    struct ch_nearest near = ch_nearest(name);

    ch_nearest_try(&near, CH_SV("databases.default"));
    for (size_t i = 0; i < CH_LEN(keys); i++)
        ch_nearest_try(&near, ch_sv_str(keys[i].name));
    if (near.best.n)
        return ch_fail(err, CHELA_EINVAL, "settings: there is no %.*s, did you mean %.*s?",
                       CH_SV_FMT(name), CH_SV_FMT(near.best));
    return ch_fail(err, CHELA_EINVAL, "settings: there is no %.*s", CH_SV_FMT(name));
}

static int set_flag(struct ch_tool_settings *s, const struct key *k, struct ch_sv value,
                    struct chela_error *err) {
    if (!ch_sv_is(value, "true") && !ch_sv_is(value, "false"))
        return ch_fail(err, CHELA_EINVAL, "%s: expected true or false", k->name);
    *(bool *)((char *)s + k->at) = ch_sv_is(value, "true");
    return 0;
}

static int settings_set_number(struct ch_tool_settings *s, const struct key *k, struct ch_sv value,
                               struct chela_error *err) {
    int64_t n = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || n > 1000000)
            return ch_fail(err, CHELA_EINVAL, "%s: expected a whole number", k->name);
        n = n * 10 + (value.p[i] - '0');
    }
    *(int64_t *)(void *)((char *)s + k->at) = n;
    return 0;
}

static int check_text(const struct key *k, struct ch_sv value, struct chela_error *err) {
    struct chela_error why = {0};
    struct ch_url url;

    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ')
            return ch_fail(err, CHELA_EINVAL, "%s: expected one line of text", k->name);
    if (k->kind == HTTP && ch_url_parse(value, &url, &why) < 0)
        return ch_fail(err, CHELA_EINVAL, "%s: %s", k->name, why.message);
    if (k->kind == SMTP && !ch_sv_starts(value, "smtp://") && !ch_sv_starts(value, "smtps://"))
        return ch_fail(err, CHELA_EINVAL, "%s: expected smtp://HOST or smtps://HOST", k->name);
    if (k->kind == SMTP && memchr(value.p, '@', value.n))
        return ch_fail(err, CHELA_EINVAL, "%s: name the user in mail.user", k->name);
    if (k->kind == REACH && !ch_sv_is(value, "own") && !ch_sv_is(value, "all") &&
        !ch_sv_is(value, "none"))
        return ch_fail(err, CHELA_EINVAL, "%s: expected own, all or none", k->name);
    if (k->kind == RULE && !ch_sv_is(value, "ask") && !ch_sv_is(value, "deny") &&
        !ch_sv_is(value, "off"))
        return ch_fail(err, CHELA_EINVAL, "%s: expected ask, deny or off", k->name);
    if (k->kind == SEARCH && !ch_sv_is(value, "searxng") && !ch_sv_is(value, "brave"))
        return ch_fail(err, CHELA_EINVAL, "%s: expected searxng or brave", k->name);
    return 0;
}

static int settings_set_text(struct ch_tool_settings *s, const struct key *k, struct ch_sv value,
                             const struct ch_settings_opts *o, struct chela_error *err) {
    char **to = settings_text_at(s, k->at);

    if (*to)
        return ch_fail(err, CHELA_EINVAL, "%s is given twice", k->name);
    int rc = check_text(k, value, err);
    if (rc < 0)
        return rc;
    *to = ch_strndup(value.p, value.n);
    const char *secret = k->kind == ENV && o->env ? o->env(*to, o->user) : NULL;
    if (secret && *secret) {
        *settings_text_at(s, k->value_at) = ch_strdup(secret);
        ch_secret_add(secret, "%s", *to);
    }
    return 0;
}

static int settings_set(struct ch_tool_settings *s, struct ch_sv line,
                        const struct ch_settings_opts *o, struct chela_error *err) {
    struct ch_sv value = line, name = ch_sv_split(&value, '=');

    if (!value.p)
        return ch_fail(err, CHELA_EINVAL, "settings: expected key=value");
    if (ch_sv_starts(name, "databases."))
        return add_database(s, ch_sv(name.p + 10, name.n - 10), value, o, err);
    if (ch_sv_starts(name, "secrets."))
        return add_secret(s, ch_sv(name.p + 8, name.n - 8), value, o, err);
    for (size_t i = 0; i < CH_LEN(keys); i++) {
        if (!ch_sv_is(name, keys[i].name))
            continue;
        return keys[i].kind == FLAG     ? set_flag(s, &keys[i], value, err)
               : keys[i].kind == NUMBER ? settings_set_number(s, &keys[i], value, err)
                                        : settings_set_text(s, &keys[i], value, o, err);
    }
    return settings_unknown_key(name, err);
}

static enum ch_flow_rule rule_of(const char *word) {
    return word && strcmp(word, "off") == 0    ? CH_FLOW_OFF
           : word && strcmp(word, "deny") == 0 ? CH_FLOW_DENY
                                               : CH_FLOW_ASK;
}

/* --- all settings ------------------------------------------------------------------ */

int ch_settings_new(const struct ch_settings_opts *o, struct ch_tool_settings **out,
                    struct chela_error *err) {
    struct ch_tool_settings *s = ch_alloc(sizeof(*s));
    int rc = 0;

    atomic_init(&s->refs, 1);
    s->transport = o->transport;
    s->recall = o->recall;
    s->embedder = o->embedder;
    s->module_path = ch_strdup(o->module_path);
    s->ca_file = ch_strdup(o->ca_file);
    for (size_t i = 0; rc == 0 && o->list && o->list[i]; i++)
        rc = i < CH_LIMIT_SETTINGS
                 ? settings_set(s, ch_sv_str(o->list[i]), o, err)
                 : ch_fail(err, CHELA_ELIMIT, "more than %d settings", CH_LIMIT_SETTINGS);
    if (rc == 0)
        rc = ch_egress_new(
            &(struct ch_egress_lists){s->egress_allow, s->egress_deny, s->egress_ask}, &s->egress,
            err);
    s->flow = (struct ch_flow_rules){.rule = rule_of(s->flow_rule),
                                     .trust = s->flow_trust,
                                     .private_files = s->flow_private};
    if (rc < 0)
        ch_settings_unref(s);
    else
        *out = s;
    return rc;
}

struct ch_tool_settings *ch_settings_ref(struct ch_tool_settings *s) {
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void ch_settings_unref(struct ch_tool_settings *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    for (size_t i = 0; i < s->ndatabases; i++) {
        ch_free(s->databases[i].name);
        ch_free(s->databases[i].kind);
        ch_free(s->databases[i].target);
        ch_free(s->databases[i].unset);
    }
    ch_free(s->databases);
    for (size_t i = 0; i < CH_LEN(keys); i++) {
        if (keys[i].kind == FLAG || keys[i].kind == NUMBER)
            continue;
        ch_free(*settings_text_at(s, keys[i].at));
        if (keys[i].kind == ENV)
            ch_free(*settings_text_at(s, keys[i].value_at));
    }
    ch_egress_free(s->egress);
    ch_secret_refs_free(s->secrets);
    if (s->notes)
        s->notes_free(s->notes);
    ch_free(s->module_path);
    ch_free(s->ca_file);
    ch_free(s);
}
