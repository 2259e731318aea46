/* channels.c -- the list of chat services. */
#include "channel/channels.h"

#include "base/error.h"
#include "guard/secrets.h"
#include "io/module.h"

static const struct chela_channel_ops *const channels[] = {&ch_feishu_channel,
                                                           &ch_telegram_channel};

/* Modules that are built with the library; NULL at the end. */
static const char *const modules[] = {"slack", "discord", "dingtalk", "wecom", NULL};

static int channels_check(const struct chela_channel_ops *ops, const char *name,
                          struct chela_error *err) {
    if (ops && ops->name && strcmp(ops->name, name) == 0 && ops->open && ops->close &&
        (ops->deliver || (ops->post && ops->most_text)))
        return 0;
    return ch_fail(err, CHELA_EMODULE,
                   "the module channel-%s needs the name %s, open, close, and post with most_text",
                   name, name);
}

int ch_channel_find(const char *name, const char *search_path, const struct chela_channel_ops **out,
                    struct chela_error *err) {
    const void *ops = NULL;
    CH_BUF_AUTO module = {0};
    for (size_t i = 0; i < CH_LEN(channels); i++)
        if (strcmp(channels[i]->name, name) == 0) {
            *out = channels[i];
            return 0;
        }
    ch_buf_addf(&module, "channel-%s", name);
    if (!ch_module_is_installed(ch_buf_str(&module), search_path))
        return CHELA_ENOENT;
    int rc = ch_module_load(ch_buf_str(&module), "channel", search_path, &ops, err);
    if (rc == 0)
        rc = channels_check(ops, name, err);
    if (rc == 0)
        *out = ops;
    return rc;
}

const char *ch_channel_name(size_t i) {
    if (i < CH_LEN(channels))
        return channels[i]->name;
    i -= CH_LEN(channels);
    return i < CH_LEN(modules) ? modules[i] : NULL;
}

const struct chela_channel_ops *ch_channel_listed(size_t i, const char *search_path) {
    const struct chela_channel_ops *ops;
    if (i < CH_LEN(channels))
        return channels[i];
    i -= CH_LEN(channels);
    for (size_t k = 0; modules[k]; k++)
        if (ch_channel_find(modules[k], search_path, &ops, NULL) == 0 && i-- == 0)
            return ops;
    return NULL;
}

/* The value of an option of the channel's own; NULL: not set. */
static const char *channel_setting(const struct chela_channel_opts *o, const char *name) {
    for (size_t i = 0; o->settings && o->settings[i]; i += 2)
        if (strcmp(o->settings[i], name) == 0)
            return o->settings[i + 1];
    return NULL;
}

void ch_channel_redact(const struct chela_channel_ops *ops, const struct chela_channel_opts *o) {
    const char *const secrets[][2] = {
        {o->secret, "secret"}, {o->token, "token"}, {o->encrypt_key, "encryption key"}};
    for (size_t i = 0; i < CH_LEN(secrets); i++)
        ch_secret_add(secrets[i][0], "the %s of channel %s", secrets[i][1], o->name);
    for (const struct chela_channel_option *p = ops ? ops->options : NULL; p && p->name; p++) {
        const char *value = channel_setting(o, p->name);
        if (p->kind == CHELA_CHANNEL_SECRET && value)
            ch_secret_add(value, "%s of channel %s", p->name, o->name);
    }
}
