/* show.c -- show the effective configuration: each option with its value from the file, or
 * the default. The table of options states where each value is stored. */
#include "config/show.h"
#include "base/buf.h"
#include "base/mem.h"
#include "config/address.h"
#include "config/conf.h"
#include "config/option.h"
#include "json/number.h"

static void add_list(struct ch_buf *out, const char *const *list) {
    for (size_t i = 0; list && list[i]; i++)
        ch_buf_addf(out, "%s%s", i ? ", " : "", list[i]);
}

static void config_show_add_rules(struct ch_buf *out, const struct ch_conf_list *l, bool percent) {
    const struct ch_conf_prompt_rule *rules = l->items;
    for (size_t i = 0; i < l->n; i++) {
        ch_buf_addf(out, "%s%s %s", i ? ", " : "", rules[i].item.name, rules[i].version);
        if (percent)
            ch_buf_addf(out, " %u%%", rules[i].percent);
    }
}

static void config_show_add_double(struct ch_buf *out, double value) {
    char text[CH_NUMBER_MAX];
    ch_buf_add(out, text, ch_number_format(text, value));
}

/* -1 is written as 0. */
static void config_show_add_number(struct ch_buf *out, double value, double unit) {
    if (value != 0)
        config_show_add_double(out, value < 0 ? 0 : value / unit);
}

static void add_approvals(struct ch_buf *out, const struct ch_conf_approvals *a) {
    if (a->levels)
        ch_buf_add_str(out, a->levels);
    if (a->rules)
        ch_buf_add_str(out, out->n ? "; allow: " : "allow: ");
    add_list(out, a->rules);
}

void ch_conf_show_value(struct ch_buf *out, const struct ch_option *o, const void *at) {
    switch (ch_cfg_member(o->type)) {
    case CH_MEMBER_TEXT: {
        const char *text = *(const char *const *)at;
        if (text && (o->flags & CH_CFG_ADDRESS))
            ch_address_show(out, text);
        else if (text)
            ch_buf_add_str(out, *text ? text : "(none)");
        return;
    }
    case CH_MEMBER_TEXTS:
        add_list(out, *(const char *const *const *)at);
        return;
    case CH_MEMBER_BOOL:
        if (*(const bool *)at)
            ch_buf_add_str(out, o->type == CH_CFG_UNLESS ? "false" : "true");
        return;
    case CH_MEMBER_FLAG:
        if (*(const signed char *)at)
            ch_buf_add_str(out, *(const signed char *)at > 0 ? "true" : "false");
        return;
    case CH_MEMBER_INT:
        config_show_add_number(out, (double)*(const int64_t *)at,
                               o->type == CH_CFG_SECONDS ? 1000 : 1);
        return;
    case CH_MEMBER_DOUBLE:
        config_show_add_number(out, *(const double *)at, 1);
        return;
    case CH_MEMBER_OPTIONAL:
        if (*(const double *const *)at)
            config_show_add_double(out, **(const double *const *)at);
        return;
    case CH_MEMBER_APPROVALS:
        add_approvals(out, at);
        return;
    case CH_MEMBER_ITEM:
        if (((const struct ch_conf_item *)at)->name)
            ch_buf_add_str(out, ((const struct ch_conf_item *)at)->name);
        return;
    case CH_MEMBER_LIST: /* the options of other lists are shown one by one */
        if (o->type == CH_CFG_PINS || o->type == CH_CFG_ROLLOUT)
            config_show_add_rules(out, at, o->type == CH_CFG_ROLLOUT);
        return;
    case CH_MEMBER_NONE:
    case CH_MEMBER_SCOPE:
        return;
    }
    CH_UNREACHABLE();
}

/* --- the walk */

struct walk {
    ch_conf_each_fn *fn;
    void *user;
    struct ch_buf key; /* of the current option */
};

static void walk_scope(struct walk *w, enum ch_scope scope, const void *base, bool item);

/* Append a name to the key; the result restores the key. */
static size_t enter(struct walk *w, const char *name) {
    size_t before = w->key.n;
    if (before)
        ch_buf_addc(&w->key, '.');
    ch_buf_add_str(&w->key, name);
    return before;
}

/* Entries are identified by their name. */
static void walk_entries(struct walk *w, const struct ch_option *o, const struct ch_conf_list *l) {
    size_t size = ch_scope_size(o->of), before = w->key.n;
    for (size_t i = 0; i < l->n; i++) {
        const void *entry = (const char *)l->items + i * size;
        ch_buf_addf(&w->key, "[%s]", ((const struct ch_conf_item *)entry)->name);
        walk_scope(w, o->of, entry, true);
        w->key.n = before;
    }
}

/* A channel's own options, then those that all channels have. */
static void walk_channels(struct walk *w, const struct ch_conf_list *l) {
    const struct ch_conf_channel *channels = l->items;
    for (size_t i = 0; i < l->n; i++) {
        size_t before = enter(w, channels[i].item.name);
        for (const struct ch_option *o = channels[i].rows; o && o->key; o++) {
            size_t above = enter(w, o->key);
            if (o->type != CH_CFG_REFUSED)
                w->fn(o, (const char *)&channels[i] + o->offset, ch_buf_str(&w->key), false,
                      w->user);
            w->key.n = above;
        }
        walk_scope(w, CH_SCOPE_CHANNEL, &channels[i], false);
        w->key.n = before;
    }
}

static void walk_option(struct walk *w, const struct ch_option *o, const void *base, bool item) {
    const void *at = (const char *)base + o->offset;
    if (o->type == CH_CFG_ONE)
        walk_scope(w, o->of, at, false);
    else if (o->type == CH_CFG_LIST || o->type == CH_CFG_MAP)
        walk_entries(w, o, at);
    else if (o->type == CH_CFG_CHANNELS)
        walk_channels(w, at);
    else if (o->type != CH_CFG_REFUSED && o->type != CH_CFG_ANY)
        w->fn(o, at, ch_buf_str(&w->key), item, w->user);
}

/* item: an entry of a list; its defaults are in another scope. Recursion follows the table,
 * not the input. */
static void walk_scope(struct walk *w, enum ch_scope scope, const void *base, bool item) {
    for (const struct ch_option *o = ch_options; o->key; o++) {
        if (o->scope != scope || (o->flags & CH_CFG_UNUSED) || (!item && (o->flags & CH_CFG_ITEM)))
            continue;
        size_t above = enter(w, o->key);
        walk_option(w, o, base, item);
        w->key.n = above;
    }
}

void ch_conf_each(const struct ch_conf *conf, ch_conf_each_fn *fn, void *user) {
    struct walk w = {.fn = fn, .user = user};
    walk_scope(&w, CH_SCOPE_FILE, conf, false);
    ch_buf_release(&w.key);
}

/* --- the public listing */

struct showing {
    chela_config_show_fn *fn;
    void *user;
};

static void show_option(const struct ch_option *o, const void *at, const char *key, bool item,
                        void *user) {
    const struct showing *s = user;
    CH_BUF_AUTO value = {0};
    ch_conf_show_value(&value, o, at);
    if (value.n && (o->flags & CH_CFG_SECRET))
        s->fn(key, "(set, not shown)", 1, s->user);
    else if (value.n)
        s->fn(key, ch_buf_str(&value), 1, s->user);
    else if (!item && o->otherwise)
        s->fn(key, o->otherwise, 0, s->user);
}

void chela_config_show(const chela_config *cfg, chela_config_show_fn *fn, void *user) {
    static const struct ch_conf nothing;
    ch_conf_each(cfg ? &cfg->conf : &nothing, show_option, &(struct showing){fn, user});
}
