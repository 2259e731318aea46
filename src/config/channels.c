/* channels.c -- the options of channels, which the channels declare themselves.
 *
 * A secret NAME becomes the options NAMEEnv and NAMEFile; NAME itself is refused. */
#include "base/entry.h"
#include "channel/channels.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/opts.h"
#include "channel/channel_host.h"
#include "config/conf.h"
#include "config/option.h"
#include "config/option_keys.h"

#define SLOT(i)                                \
    (offsetof(struct ch_conf_channel, slots) + \
     (i) * sizeof(((struct ch_conf_channel *)NULL)->slots[0]))
#define CHOICE(set, word) ch_choice_of(CHELA_CHOICE_##set, word)

/* --- rows */

static void rows_add(struct ch_option *rows, size_t *n, struct ch_option row) {
    if (*n == CH_LIMIT_CHANNEL_SLOTS)
        return;
    row.scope = CH_SCOPE_CHANNEL;
    row.offset = SLOT(*n);
    rows[(*n)++] = row;
}

static void rows_add_secret(struct ch_option *rows, size_t *n, const struct chela_channel_option *p,
                            struct ch_arena *a) {
    rows_add(rows, n,
             (struct ch_option){
                 .key = ch_arena_printf(a, "%sEnv", p->name),
                 .type = CH_CFG_ENV,
                 .otherwise = p->otherwise,
                 .help = ch_arena_printf(a, "environment variable that holds %s", p->help)});
    rows_add(rows, n,
             (struct ch_option){.key = ch_arena_printf(a, "%sFile", p->name),
                                .type = CH_CFG_PATH,
                                .help = "file that contains only this secret; reread on SIGHUP"});
    rows_add(rows, n,
             (struct ch_option){.key = p->name,
                                .type = CH_CFG_REFUSED,
                                .flags = CH_CFG_SECRET,
                                .help = ch_arena_printf(
                                    a, "a secret must not be in this file: use %sEnv or %sFile",
                                    p->name, p->name)});
}

const struct ch_option *ch_conf_channel_rows(const struct chela_channel_ops *ops,
                                             struct ch_arena *a) {
    struct ch_option *rows = ch_arena_zalloc(a, (CH_LIMIT_CHANNEL_SLOTS + 1) * sizeof(*rows));
    size_t n = 0;
    for (const struct chela_channel_option *p = ops->options; p && p->name; p++) {
        if (p->kind == CHELA_CHANNEL_SECRET)
            rows_add_secret(rows, &n, p, a);
        else
            rows_add(rows, &n,
                     (struct ch_option){.key = p->name,
                                        .type = p->kind == CHELA_CHANNEL_CHOICE ? CH_CFG_CHOICE
                                                : p->kind == CHELA_CHANNEL_BOOL ? CH_CFG_BOOL
                                                : p->kind == CHELA_CHANNEL_URL  ? CH_CFG_URL
                                                                                : CH_CFG_TEXT,
                                        .words = p->words,
                                        .otherwise = p->otherwise,
                                        .help = p->help});
    }
    return rows;
}

const struct ch_option *ch_conf_channel_row(const struct ch_conf_channel *c, struct ch_sv key) {
    for (const struct ch_option *o = c->rows; o->key; o++)
        if (ch_sv_is(key, o->key))
            return o;
    return ch_option_find(CH_SCOPE_CHANNEL, key);
}

bool ch_conf_channel_is_exposed(const struct ch_conf_channel *c, struct ch_sv key,
                                const char *value) {
    for (const struct chela_channel_option *p = c->ops->options; p && p->name; p++) {
        bool address = p->kind == CHELA_CHANNEL_URL || p->member == CHELA_CHANNEL_DOMAIN;
        if (address && ch_sv_is(key, p->name))
            return (strncmp(value, "http://", 7) == 0 || strncmp(value, "ws://", 5) == 0) &&
                   !ch_channel_is_safe_url(value);
    }
    return false;
}

/* --- values */

/* The value of an option or, with `tail`, of the option that names a secret. */
static const char *channel_value(const struct ch_conf_channel *c, const char *name,
                                 const char *tail) {
    struct ch_sv rest;
    for (const struct ch_option *o = c->rows; o->key; o++) {
        rest = ch_sv_str(o->key);
        if (!ch_sv_starts(rest, name))
            continue;
        rest = ch_sv(rest.p + strlen(name), rest.n - strlen(name));
        const char *at = (const char *)c + o->offset;
        if (ch_sv_is(rest, tail) && o->type == CH_CFG_BOOL)
            return *(const bool *)at ? "true" : NULL;
        if (ch_sv_is(rest, tail) && o->type != CH_CFG_REFUSED)
            return *(const char *const *)at;
    }
    return NULL;
}

const struct chela_channel_option *ch_conf_channel_lacks(const struct ch_conf_channel *c) {
    for (const struct chela_channel_option *p = c->ops->options; p && p->name; p++) {
        bool secret = p->kind == CHELA_CHANNEL_SECRET;
        if (p->enables && !channel_value(c, p->name, secret ? "Env" : "") &&
            !(secret && channel_value(c, p->name, "File")))
            return p;
    }
    return NULL;
}

bool ch_conf_channel_enabled(const struct ch_conf_channel *c) {
    return !ch_conf_channel_lacks(c);
}

/* Whether the option is used in the mode of the file. */
static bool channel_uses(const struct ch_conf_channel *c, const struct chela_channel_option *p) {
    const char *mode = channel_value(c, "mode", "");
    for (const struct chela_channel_option *q = c->ops->options; !mode && q->name; q++)
        if (strcmp(q->name, "mode") == 0)
            mode = q->otherwise;
    return !p->mode || (mode && strcmp(mode, p->mode) == 0);
}

/* Where a value belongs; NULL: among the settings. */
static const char **channel_member(struct chela_channel_opts *o,
                                   const struct chela_channel_option *p) {
    switch (p->member) {
    case CHELA_CHANNEL_ACCOUNT:
        return &o->account;
    case CHELA_CHANNEL_KEY:
        return &o->secret;
    case CHELA_CHANNEL_TOKEN:
        return &o->token;
    case CHELA_CHANNEL_ENCRYPT_KEY:
        return &o->encrypt_key;
    case CHELA_CHANNEL_DOMAIN:
        return &o->domain;
    default:
        return NULL;
    }
}

static void add_setting(const char **list, const char *name, const char *value) {
    while (*list)
        list += 2;
    list[0] = name;
    list[1] = value;
}

static void set_secret(const struct ch_conf_channel *c, const struct chela_channel_option *p,
                       struct chela_channel_env *env, const char **settings) {
    const char *name = channel_value(c, p->name, "Env");
    if (channel_value(c, p->name, "File") || !channel_uses(c, p))
        return;
    name = name ? name : p->otherwise;
    if (!name)
        return;
    if (p->member == CHELA_CHANNEL_KEY)
        env->secret = name;
    else if (p->member == CHELA_CHANNEL_TOKEN)
        env->token = name;
    else if (p->member == CHELA_CHANNEL_ENCRYPT_KEY)
        env->encrypt_key = name;
    else
        add_setting(settings, p->name, name);
}

static void set_value(const struct ch_conf_channel *c, const struct chela_channel_option *p,
                      struct chela_channel_opts *o, const char **settings) {
    const char *value = channel_value(c, p->name, "");
    const char **member = channel_member(o, p);
    if (p->member == CHELA_CHANNEL_MODE)
        o->mode = CHOICE(TRANSPORT, value);
    else if (p->member == CHELA_CHANNEL_STREAMING)
        o->streaming = value != NULL;
    else if (member)
        *member = value;
    else if (value)
        add_setting(settings, p->name, value);
}

static void describe(const chela_config *cfg, const struct ch_conf_channel *c,
                     struct chela_channel_opts *o, struct chela_channel_env *env) {
    size_t size = (2 * CH_LIMIT_CHANNEL_SLOTS + 1) * sizeof(char *);
    const char **settings = ch_arena_zalloc(cfg->arena, size);
    const char **envs = ch_arena_zalloc(cfg->arena, size);
    *o = (struct chela_channel_opts)CHELA_CHANNEL_OPTS(
            .name = c->item.name, .agent = c->agent, .dm_policy = CHOICE(ACCESS, c->dm_policy),
            .group_policy = CHOICE(ACCESS, c->group_policy), .allow_from = c->allow_from,
            .groups = c->groups, .owners = c->owners, .unasked = c->unasked,
            .group_session = CHOICE(GROUP_SESSION, c->group_session),
            .language = CHOICE(LANGUAGE, c->language), .group_lines = c->group_lines,
            .group_minutes = c->group_minutes);
    *env = (struct chela_channel_env)CHELA_CHANNEL_ENV(.settings = envs);
    for (const struct chela_channel_option *p = c->ops->options; p && p->name; p++)
        if (p->kind == CHELA_CHANNEL_SECRET)
            set_secret(c, p, env, envs);
        else
            set_value(c, p, o, settings);
    o->settings = settings;
}

int chela_config_channel(const chela_config *cfg, size_t i, struct chela_channel_opts *out,
                         struct chela_channel_env *env, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_channel *list = cfg->conf.channels.items;
    struct chela_channel_opts o;
    struct chela_channel_env own;
    for (size_t k = 0; k < cfg->conf.channels.n; k++) {
        if (!ch_conf_channel_enabled(&list[k]) || i-- > 0)
            continue;
        describe(cfg, &list[k], &o, &own);
        int rc = CH_OPTS_WRITE(chela_channel_opts, out, &o, err);
        return rc < 0 ? rc : CH_OPTS_WRITE(chela_channel_env, env, &own, err);
    }
    return CHELA_ENOENT;
}

/* --- secrets in files */

void ch_conf_channel_files(const struct ch_conf *conf, void (*fn)(const char *path, void *user),
                           void *user) {
    const struct ch_conf_channel *list = conf->channels.items;
    for (size_t k = 0; k < conf->channels.n; k++)
        for (const struct chela_channel_option *p = list[k].ops->options; p && p->name; p++) {
            bool secret = p->kind == CHELA_CHANNEL_SECRET;
            const char *path = secret ? channel_value(&list[k], p->name, "File") : NULL;
            if (path)
                fn(path, user);
        }
}

static int refuse_open(const struct ch_conf_channel *c, const struct chela_channel_option *p,
                       const char *value, struct chela_error *err) {
    if (!value || strcmp(value, CHELA_CONFIG_OPEN) != 0)
        return 0;
    return ch_fail(err, CHELA_ECONFIG, "channels.%s.%s is not filled in: it is still %s",
                   c->item.name, p->name, value);
}

static int read_secrets(const chela_config *cfg, const struct ch_conf_channel *c,
                        struct chela_channel_opts *o, struct chela_error *err) {
    const char **settings =
        ch_arena_zalloc(cfg->arena, (2 * CH_LIMIT_CHANNEL_SLOTS + 1) * sizeof(*settings));
    for (size_t i = 0; o->settings && o->settings[i]; i += 2)
        add_setting(settings, o->settings[i], o->settings[i + 1]);
    o->settings = settings;
    for (const struct chela_channel_option *p = c->ops->options; p && p->name; p++) {
        bool secret = p->kind == CHELA_CHANNEL_SECRET && channel_uses(c, p);
        const char *path = secret ? channel_value(c, p->name, "File") : NULL;
        CH_BUF_AUTO text = {0};
        int rc = path ? ch_conf_read_key(cfg, path, &text, err) : 0;
        const char *value =
            path && rc == 0 ? ch_arena_str(cfg->arena, ch_buf_sv(&text)) : NULL;
        if (rc == 0)
            rc = refuse_open(c, p, value ? value : channel_value(c, p->name, ""), err);
        if (rc < 0)
            return rc;
        const char **member = channel_member(o, p);
        if (value && member)
            *member = value;
        else if (value)
            add_setting(settings, p->name, value);
    }
    return 0;
}

int chela_config_channel_secrets(const chela_config *cfg, struct chela_channel_opts *channel,
                                 struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_channel *list = cfg->conf.channels.items;
    struct chela_channel_opts own;
    int rc = CH_OPTS_NEED(chela_channel_opts, &own, channel, err);
    if (rc == 0 && !own.name)
        rc = ch_fail(err, CHELA_EINVAL, "the channel has no name");
    for (size_t k = 0; rc == 0 && k < cfg->conf.channels.n; k++)
        if (strcmp(list[k].item.name, own.name) == 0)
            rc = read_secrets(cfg, &list[k], &own, err);
    return rc < 0 ? rc : CH_OPTS_WRITE(chela_channel_opts, channel, &own, err);
}
