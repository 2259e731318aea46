/* patch.c -- see patch.h. */
#include "config/patch.h"

#include "base/error.h"
#include "base/limits.h"
#include "config/option.h"
#include "config/option_keys.h"
#include "json/writer.h"
#include "json/yaml_edit.h"
#include "tool/registry/registry.h"

#define MOST_STEPS 8

/* The options that may be changed. All others are for the operator only:
 * secrets and their places, who may write, decide and call, the sandbox,
 * policies, approvals, tools, workspaces, services and their addresses, the
 * store. A new option is not in this list by default. */
static const struct {
    enum ch_scope scope;
    const char *keys; /* globs */
} patchable[] = {
    {CH_SCOPE_FILE, "gateway.drainSec,gateway.retentionDays"},
    {CH_SCOPE_AGENT,
     "name,description,model,systemPrompt,mode,reasoning,temperature,topP,topK,logprobs,seed,stop,"
     "maxOutputTokens,retries,overloadRetries,limits.*,loopGuard.*,timeouts.*,queue.*,compaction.*,"
     "context.reminder,context.rules,context.softRules,context.outputPercent,context.systemPercent,"
     "heartbeat.*,reflection.when,roles.*"},
};

bool ch_config_may_patch(const struct ch_option *o) {
    for (size_t i = 0; i < CH_LEN(patchable); i++)
        if (o->scope == patchable[i].scope && !(o->flags & CH_CFG_SECRET) &&
            ch_tool_matches(ch_sv_str(patchable[i].keys), ch_sv_str(o->key)))
            return true;
    return false;
}

/* --- keys */

struct target {
    const struct ch_option *option;
    struct ch_sv steps[MOST_STEPS]; /* for ch_yaml_set */
    size_t n;
};

/* Split "limits.maxTurns" into steps. */
static bool add_steps(struct target *t, struct ch_sv key) {
    while (key.p && key.n) {
        if (t->n == MOST_STEPS)
            return false;
        t->steps[t->n++] = ch_sv_split(&key, '.');
    }
    return true;
}

/* The part of an agent's key after "agents.list[ID]." or "agents.defaults.";
 * the steps before it are added to t. p NULL: not an agent's key. */
static struct ch_sv enter_agent(struct target *t, struct ch_sv key) {
    static const char list[] = "agents.list[", defaults[] = "agents.defaults.";
    const char *end = memchr(key.p, ']', key.n);
    t->steps[t->n++] = CH_SV("agents");
    if (ch_sv_starts(key, defaults)) {
        t->steps[t->n++] = CH_SV("defaults");
        return ch_sv(key.p + strlen(defaults), key.n - strlen(defaults));
    }
    if (!ch_sv_starts(key, list) || !end || end + 2 >= key.p + key.n || end[1] != '.')
        return ch_sv(NULL, 0);
    const char *id = key.p + strlen(list) - 1;
    t->steps[t->n++] = CH_SV("list");
    t->steps[t->n++] = ch_sv(id, (size_t)(end + 1 - id));
    return ch_sv(end + 2, (size_t)(key.p + key.n - end) - 2);
}

static int config_patch_find_target(struct ch_sv key, struct target *t, struct chela_error *err) {
    *t = (struct target){0};
    bool agent = ch_sv_starts(key, "agents.");
    struct ch_sv rest = agent ? enter_agent(t, key) : key;
    if (ch_sv_starts(key, "channels."))
        rest = CH_SV("channels"); /* none of them may be changed */
    if (rest.n)
        t->option = ch_option_find(agent ? CH_SCOPE_AGENT : CH_SCOPE_FILE, rest);
    if (!t->option || !add_steps(t, rest))
        return ch_fail(err, CHELA_ENOENT,
                       "there is no option %.*s (they are named as in gateway.drainSec and "
                       "agents.list[ID].limits.maxTurns)",
                       (int)CH_MIN(key.n, 200), key.p);
    if (!ch_config_may_patch(t->option))
        return ch_fail(err, CHELA_EPERM, "%.*s may be changed only by the operator, in the file",
                       (int)CH_MIN(key.n, 200), key.p);
    return 0;
}

bool ch_config_key_may_change(struct ch_sv key) {
    struct target t;
    return config_patch_find_target(key, &t, NULL) == 0;
}

/* --- explanations */

static const char *scope_name(enum ch_scope scope) {
    static const char *const names[] = {
        [CH_SCOPE_FILE] = "",
        [CH_SCOPE_AGENT] = "agents.list[ID].",
        [CH_SCOPE_PROVIDER] = "providers[NAME].",
        [CH_SCOPE_MODEL] = "providers[NAME].models[ID].",
        [CH_SCOPE_TOOL] = "tools.custom[NAME].",
        [CH_SCOPE_POLICY] = "policies[ID].",
        [CH_SCOPE_MCP] = "mcp.servers[NAME].",
        [CH_SCOPE_CHANNEL] = "channels.NAME.",
        [CH_SCOPE_HOOK] = "gateway.hooks[NAME].",
        [CH_SCOPE_HOOK_PROGRAM] = "hooks.EVENT[NAME].",
        [CH_SCOPE_SCHEDULE] = "schedules[NAME].",
        [CH_SCOPE_BUDGET] = "budgets[NAME].",
        [CH_SCOPE_SECRET] = "secrets[NAME].",
    };
    return names[scope];
}

static void config_patch_explain(const struct ch_option *o, struct ch_buf *out) {
    ch_buf_addf(out, "%s%s: %s", scope_name(o->scope), o->key, ch_cfg_type_name(o->type));
    if (o->words)
        ch_buf_addf(out, " of %s", o->words);
    if (o->min < o->max)
        ch_buf_addf(out, " from %g to %g", o->min, o->max);
    if (o->otherwise)
        ch_buf_addf(out, ", default %s", o->otherwise);
    ch_buf_addf(out, ". %s.%s\n", o->help, ch_config_may_patch(o) ? " Can be patched." : "");
}

size_t ch_config_explain(struct ch_sv key, struct ch_buf *out) {
    struct target ignored = {0};
    struct ch_sv rest = ch_sv_starts(key, "agents.") ? enter_agent(&ignored, key) : key;
    size_t n = 0;
    rest = rest.n ? rest : key;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        struct ch_sv whole = ch_sv_str(o->key);
        bool fits = whole.n >= rest.n && memcmp(whole.p, rest.p, rest.n) == 0;
        if (!fits || o->flags & CH_CFG_UNUSED || o->type == CH_CFG_REFUSED)
            continue;
        if (n++ < CH_LIMIT_EXPLAINED)
            config_patch_explain(o, out);
    }
    return n;
}

/* --- a change */

struct shown { /* all options with their values */
    struct ch_buf lines;
    struct ch_sv but; /* except this option */
};

static void config_patch_show(const char *key, const char *value, int from_file, void *user) {
    struct shown *s = user;
    if (!ch_sv_is(s->but, key))
        ch_buf_addf(&s->lines, "%s\n%zu %s\n%d\n", key, strlen(value), value, from_file);
}

static int config_patch_read_all(struct ch_sv text, const struct ch_config_place *at,
                                 struct ch_sv but, struct ch_buf *out, struct chela_error *err) {
    chela_config *cfg;
    struct shown s = {.but = but};
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.module_path = at->module_path);
    int rc = ch_config_parse_with(text, at->file, "/", &opts, &cfg, err);
    if (rc < 0)
        return rc;
    chela_config_show(cfg, config_patch_show, &s);
    chela_config_free(cfg);
    ch_buf_add_sv(out, ch_buf_sv(&s.lines));
    ch_buf_release(&s.lines);
    return 0;
}

/* Check that the new text differs from the old one in that option, and only
 * there. */
static int config_patch_compare(struct ch_sv before, struct ch_sv after,
                                const struct ch_config_place *at, struct ch_sv key,
                                struct chela_error *err) {
    CH_BUF_AUTO was = {0}, is = {0};
    int rc = config_patch_read_all(before, at, key, &was, err);
    if (rc == 0)
        rc = config_patch_read_all(after, at, key, &is, err);
    if (rc < 0)
        return rc;
    if (!ch_sv_eq(ch_buf_sv(&was), ch_buf_sv(&is)))
        return ch_fail(err, CHELA_EINVAL,
                       "%s: other options would change with it: change it by "
                       "hand",
                       at->file);
    return ch_sv_eq(before, after) ? ch_fail(err, CHELA_EEXIST, "it has that value") : 0;
}

int ch_config_patch(struct ch_sv text, const struct ch_config_place *at, struct ch_sv key,
                    const struct ch_json *value, struct ch_buf *out, struct chela_error *err) {
    CH_BUF_AUTO words = {0}, after = {0};
    struct target t;
    struct ch_jw w = ch_jw(&words);
    ch_jw_value(&w, value);
    int rc = config_patch_find_target(key, &t, err);
    if (rc == 0)
        rc = ch_yaml_set(text, at->file, t.steps, t.n, ch_buf_sv(&words), &after, err);
    if (rc == 0)
        rc = config_patch_compare(text, ch_buf_sv(&after), at, key, err);
    if (rc == 0)
        ch_buf_add_sv(out, ch_buf_sv(&after));
    return rc;
}
