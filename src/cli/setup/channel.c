/* channel.c -- see channel.h. */
#include "cli/setup/channel.h"

#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

/* env NULL: the secret is not in the environment. */
static void find_secret(const chela_config *config, struct ch_setup_channel *c, const char *env,
                        const char **out) {
    const char *value = env ? getenv(env) : NULL;
    bool set = value && *value && strcmp(value, CHELA_CONFIG_OPEN) != 0;
    if (set)
        *out = value;
    if (!env || set)
        return;
    if (!c->missing)
        c->place = chela_config_place(config, env);
    char *longer = ch_format("%s%s%s", c->missing ? c->missing : "", c->missing ? ", " : "", env);
    free(c->missing);
    c->missing = longer;
}

static size_t count_settings(const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n += 2;
    return n;
}

static void find_settings(const chela_config *config, struct ch_setup_channel *c,
                          const struct chela_channel_env *env) {
    size_t n = count_settings(c->opts.settings), more = count_settings(env->settings);
    c->settings = ch_must(calloc(n + more + 1, sizeof(*c->settings)));
    if (n)
        memcpy(c->settings, c->opts.settings, n * sizeof(*c->settings));
    for (size_t i = 0; i < more; i += 2) {
        const char *value = NULL;
        find_secret(config, c, env->settings[i + 1], &value);
        if (!value)
            continue;
        c->settings[n++] = env->settings[i];
        c->settings[n++] = value;
    }
    c->opts.settings = c->settings;
}

int ch_setup_channel(const chela_config *config, size_t i, struct ch_setup_channel *out,
                     struct chela_error *err) {
    struct chela_channel_env env = CHELA_CHANNEL_ENV(.secret = NULL);
    *out = (struct ch_setup_channel){.opts = CHELA_CHANNEL_OPTS(.name = NULL)};
    int rc = chela_config_channel(config, i, &out->opts, &env, NULL);
    if (rc < 0)
        return rc;
    rc = chela_config_channel_secrets(config, &out->opts, err);
    if (rc < 0)
        return rc;
    find_secret(config, out, env.secret, &out->opts.secret);
    find_secret(config, out, env.token, &out->opts.token);
    find_secret(config, out, env.encrypt_key, &out->opts.encrypt_key);
    find_settings(config, out, &env);
    return 0;
}

void ch_setup_channel_release(struct ch_setup_channel *c) {
    free(c->settings);
    free(c->missing);
    *c = (struct ch_setup_channel){.settings = NULL};
}
