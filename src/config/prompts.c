/* prompts.c -- the `prompts` section: directories of prompt files, and which version is used
 * for whom. This file only reads the rules; ch_conf_prompts_apply checks them once the
 * prompt files are loaded. */
#include "base/error.h"
#include "base/limits.h"
#include "chela/prompt.h"
#include "config/parse.h"
#include "json/writer.h"

int ch_cfg_read_folder(struct ch_cfg_parser *p, const struct ch_json *v,
                       const struct ch_option *o, void *out) {
    struct ch_option path = *o;
    struct ch_conf_item *item = out;
    path.type = CH_CFG_PATH;
    item->where = ch_yaml_where(&p->yaml, v);
    return ch_cfg_value(p, v, &path, &item->name);
}

/* 2.0 without quotes is a number; its text is the version. */
static int config_prompts_read_version(struct ch_cfg_parser *p, const struct ch_json *v,
                                       struct ch_sv version, struct ch_conf_prompt_rule *out) {
    bool digits = version.n > 0;
    for (size_t i = 0; i < version.n; i++)
        digits &= (version.p[i] >= '0' && version.p[i] <= '9') || version.p[i] == '.';
    if (!digits)
        return ch_cfg_bad(p, v, "expected a version such as \"2.0\"");
    out->version = ch_arena_str(p->cfg->arena, version);
    return 0;
}

static int read_share(struct ch_cfg_parser *p, const struct ch_json *v,
                      struct ch_conf_prompt_rule *out) {
    int64_t percent;
    if (v->type != CH_JSON_NUMBER)
        return ch_cfg_wrong_type(p, v, "a percentage");
    if (!ch_json_as_int(v, &percent) || percent < 0 || percent > 100)
        return ch_cfg_bad(p, v, "expected a percentage from 0 to 100");
    out->percent = (unsigned)percent;
    return 0;
}

static struct ch_conf_prompt_rule *config_prompts_add_rule(struct ch_cfg_parser *p,
                                                           struct ch_conf_list *list,
                                                           const struct ch_json *name,
                                                           const struct ch_json *at) {
    struct ch_conf_prompt_rule *rules = list->items, *r = &rules[list->n++];
    r->item.name = ch_arena_str(p->cfg->arena, ch_json_str(name));
    r->item.where = ch_yaml_where(&p->yaml, at);
    return r;
}

static size_t count_rules(const struct ch_json *v) {
    size_t n = 0;
    for (CH_JSON_MEMBERS(name, value, v)) {
        (void)name;
        n += value->type == CH_JSON_OBJECT ? value->n : 1;
    }
    return n;
}

int ch_cfg_read_pins(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out) {
    struct ch_conf_list *list = out;
    (void)o;
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of prompts to versions");
    if (v->n > CH_LIMIT_RULES)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_RULES);
    list->items = ch_arena_zalloc(p->cfg->arena,
                                  (v->n + 1) * sizeof(struct ch_conf_prompt_rule));
    for (CH_JSON_MEMBERS(name, version, v)) {
        if (version->type != CH_JSON_STRING && version->type != CH_JSON_NUMBER)
            return ch_cfg_wrong_type(p, version, "a version such as \"2.0\"");
        int rc = config_prompts_read_version(p, version, ch_sv(version->s, version->n),
                                             config_prompts_add_rule(p, list, name, version));
        if (rc < 0)
            return rc;
    }
    return 0;
}

int ch_cfg_read_rollout(struct ch_cfg_parser *p, const struct ch_json *v,
                        const struct ch_option *o, void *out) {
    struct ch_conf_list *list = out;
    (void)o;
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, v, "a mapping of prompts to { VERSION: PERCENT }");
    if (count_rules(v) > CH_LIMIT_RULES)
        return ch_cfg_bad(p, v, "more than %d entries", CH_LIMIT_RULES);
    list->items = ch_arena_zalloc(p->cfg->arena,
                                  (count_rules(v) + 1) * sizeof(struct ch_conf_prompt_rule));
    for (CH_JSON_MEMBERS(name, shares, v)) {
        if (shares->type != CH_JSON_OBJECT)
            return ch_cfg_wrong_type(p, shares, "{ VERSION: PERCENT }");
        for (CH_JSON_MEMBERS(version, share, shares)) {
            struct ch_conf_prompt_rule *r = config_prompts_add_rule(p, list, name, version);
            int rc = config_prompts_read_version(p, version, ch_json_str(version), r);
            if (rc == 0)
                rc = read_share(p, share, r);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* --- the instructions of an agent -------------------------------------------------------- */

int ch_cfg_read_system(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out) {
    struct ch_option text = *o;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    text.type = CH_CFG_TEXT;
    if (v->type != CH_JSON_OBJECT)
        return ch_cfg_value(p, v, &text, out);
    const struct ch_json *name = ch_json_get(v, "prompt"), *vars = ch_json_get(v, "vars");
    for (CH_JSON_MEMBERS(k, m, v)) {
        (void)m;
        if (!ch_sv_is(ch_json_str(k), "prompt") && !ch_sv_is(ch_json_str(k), "vars"))
            return ch_cfg_bad(p, k, "systemPrompt: unknown key %.*s; expected prompt and vars",
                              CH_SV_FMT(ch_json_str(k)));
    }
    if (!ch_json_str(name).n)
        return ch_cfg_bad(p, name ? name : v, "systemPrompt: expected { prompt: NAME, vars: {} }");
    if (vars && vars->type != CH_JSON_OBJECT)
        return ch_cfg_wrong_type(p, vars, "a mapping of variables to values");
    ch_buf_add_str(&json, CH_CONF_PROMPT);
    ch_jw_value(&w, v);
    *(const char **)out = ch_arena_str(p->cfg->arena, ch_buf_sv(&json));
    ch_cfg_place(p, v, *(const char **)out);
    return 0;
}

/* --- applying the rules ------------------------------------------------------------------ */

static int config_prompts_blame(const chela_config *cfg, const struct ch_conf_item *item,
                                const char *key, int rc, struct chela_error *err) {
    if (rc < 0 && err)
        ch_fail(err, rc, "%s:%u:%u: prompts.%s: %s", cfg->file, item->where.line,
                item->where.column, key, err->message);
    return rc;
}

static int apply_rules(const chela_config *cfg, const struct ch_conf_list *list, const char *key,
                       chela_runtime *rt, struct chela_error *err) {
    const struct ch_conf_prompt_rule *r = list->items;
    for (size_t i = 0; i < list->n; i++) {
        int rc = list == &cfg->conf.prompts.pins
                     ? chela_prompts_pin(rt, r[i].item.name, r[i].version, err)
                     : chela_prompts_rollout(rt, r[i].item.name, r[i].version, r[i].percent, err);
        if (rc < 0)
            return config_prompts_blame(cfg, &r[i].item, key, rc, err);
    }
    return 0;
}

int ch_conf_prompts_apply(const chela_config *cfg, chela_runtime *rt, struct chela_error *err) {
    const struct ch_conf_prompts *c = &cfg->conf.prompts;
    int rc = 0;
    if (c->dir.name)
        rc = config_prompts_blame(cfg, &c->dir, "dir", chela_prompts_load(rt, c->dir.name, err),
                                  err);
    if (rc == 0)
        rc = apply_rules(cfg, &c->pins, "pin", rt, err);
    return rc < 0 ? rc : apply_rules(cfg, &c->rollout, "rollout", rt, err);
}
