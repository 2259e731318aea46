/* config.c -- turn chela.yaml into calls of the public API; see chela/config.h.
 *
 * This file makes no decisions: parse.c has read and checked the file, and the
 * runtime and the agent interpret the values. If a call fails because of an
 * entry of the file, the position of the entry is prepended to the error. */
#include "chela/config.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/api/agent.h"
#include "agent/feature/hook/hook_list.h"
#include "agent/handle/agent.h"
#include "agent/handle/agent_options.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "config/conf.h"
#include "config/mcp_file.h"
#include "config/programs.h"
#include "config/secret_source.h"
#include "config/show.h"
#include "guard/secrets.h"
#include "json/writer.h"
#include "io/loop_entry.h"
#include "model/provider/facts_book.h"
#include "tool/call/command.h"
#include "tool/call/flow.h"

/* Absolute, because programs of the configuration run in other directories. */
static char *directory_of(const char *file) {
    const char *slash = strrchr(file, '/');
    CH_AUTOFREE char *given = slash ? ch_strndup(file, (size_t)(slash - file) + 1) : ch_strdup(".");
    char *real = realpath(given, NULL);
    char *dir = ch_strdup(real ? real : given);
    free(real);
    return dir;
}

int chela_config_open(const char *path, const struct chela_config_opts *opts, chela_config **out,
                      struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    struct chela_config_opts own;
    int rc = CH_OPTS_READ(chela_config_opts, &own, opts, err);
    if (rc == 0)
        rc = ch_file_load(path, CH_LIMIT_YAML_FILE, &text, err);
    if (rc < 0)
        return rc;
    CH_AUTOFREE char *dir = directory_of(path);
    CH_BUF_AUTO translated = {0};
    if (ch_mcp_file_is(path)) {
        rc = ch_mcp_file_translate(ch_buf_sv(&text), path, &translated, err);
        if (rc < 0)
            return rc;
        ch_buf_release(&text);
        text = translated;
        translated = (struct ch_buf){0};
    }
    return ch_config_parse_with(ch_buf_sv(&text), path, dir, &own, out, err);
}

int chela_config_load(const char *path, chela_config_warn_fn *warn, void *user, chela_config **out,
                      struct chela_error *err) {
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.warn = warn, .user = user);
    return chela_config_open(path, &opts, out, err);
}

/* Prepend the position of the entry to an error found by another module. */
static int config_blame(const chela_config *cfg, const struct ch_conf_item *item, int rc,
                        struct chela_error *err) {
    if (rc < 0 && err)
        ch_fail(err, rc, "%s:%u:%u: %s", cfg->file, item->where.line, item->where.column,
                err->message);
    return rc;
}

/* --- providers -------------------------------------------------------------- */

static int add_provider(const chela_config *cfg, const struct ch_conf_provider *p,
                        chela_runtime *rt, struct chela_error *err) {
    CH_BUF_AUTO key = {0};
    int rc = p->key_file ? ch_conf_read_key(cfg, p->key_file, &key, err) : 0;
    if (rc < 0)
        return rc;
    struct chela_provider_opts opts =
        CHELA_PROVIDER_OPTS(.name = p->item.name, .api = p->api, .base_url = p->base_url,
                            .api_key = key.p, .api_key_env = p->key_env, .headers = p->headers,
                            .extra_body = p->extra_body, .quirks = p->quirks,
                            .service_tier = p->service_tier, .cache_ttl = p->cache_ttl,
                            .transport = p->transport, .background = p->background,
                            .store = p->store);
    return config_blame(cfg, &p->item, chela_runtime_provider(rt, &opts, err), err);
}

/* A price needs both input and output. */
static int add_price(const struct ch_conf_provider *p, const struct ch_conf_model *m,
                     chela_runtime *rt, struct chela_error *err) {
    if (!m->input && !m->output && !m->cache_read && !m->cache_write)
        return 0;
    if (!m->input || !m->output)
        return ch_fail(err, CHELA_ECONFIG, "providers.%s.models: %s: price.%s is missing",
                       p->item.name, m->item.name, m->input ? "output" : "input");
    struct chela_price price =
        CHELA_PRICE(.input = *m->input, .output = *m->output, .cache_read = m->cache_read,
                    .cache_write = m->cache_write);
    return chela_runtime_price(rt, p->item.name, m->item.name, &price, err);
}

static int add_facts(const struct ch_conf_provider *p, const struct ch_conf_model *m,
                     chela_runtime *rt, struct chela_error *err) {
    CH_BUF_AUTO json = {0};
    for (unsigned c = 0; c < CH_COLUMNS; c++)
        if (m->facts[c])
            ch_buf_addf(&json, "%s\"%s\":%s", json.n ? "," : "{",
                        ch_column_name((enum ch_column)c), m->facts[c]);
    if (!json.n)
        return 0;
    ch_buf_addc(&json, '}');
    return ch_facts_book_add(&rt->providers, p->item.name, m->item.name, ch_buf_str(&json), err);
}

static int config_add_model(const struct ch_conf_provider *p, const struct ch_conf_model *m,
                            chela_runtime *rt, struct chela_error *err) {
    int rc = add_price(p, m, rt, err);
    if (rc == 0)
        rc = add_facts(p, m, rt, err);
    if (rc == 0 && m->quirks)
        rc = chela_runtime_model_quirks(rt, p->item.name, m->item.name, m->quirks, err);
    if (rc < 0 || !m->context_window)
        return rc;
    return chela_runtime_context_window(rt, p->item.name, m->item.name, m->context_window, err);
}

static int add_models(const chela_config *cfg, const struct ch_conf_provider *p, chela_runtime *rt,
                      struct chela_error *err) {
    const struct ch_conf_model *models = p->models.items;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->models.n; i++)
        rc = config_blame(cfg, &models[i].item, config_add_model(p, &models[i], rt, err), err);
    return rc;
}

/* All secrets of the file are known from the start, also those that nothing has used yet. */
static void hide_secrets(const chela_config *cfg, const chela_runtime *rt) {
    for (const struct ch_conf_secret *s = cfg->secrets; s; s = s->next)
        ch_secret_add(ch_providers_env(&rt->providers, s->env), "%s", s->env);
}

struct knowing {
    const chela_config *cfg;
    chela_runtime *rt;
};

/* The variables that count without being named, and the files; one that cannot be read matters
 * where it is used. */
static void know_secret(const struct ch_option *o, const void *at, const char *key, bool item,
                        void *user) {
    const struct knowing *k = user;
    const char *value = o->type == CH_CFG_ENV || o->type == CH_CFG_PATH ? *(const char *const *)at
                                                                         : NULL;
    size_t n = strlen(key);
    (void)item;
    if (o->type == CH_CFG_ENV && !value && o->otherwise)
        ch_secret_add(ch_providers_env(&k->rt->providers, o->otherwise), "%s", o->otherwise);
    if (o->type == CH_CFG_PATH && value && n > 4 && strcmp(key + n - 4, "File") == 0) {
        CH_BUF_AUTO text = {0};
        ch_conf_read_key(k->cfg, value, &text, &(struct chela_error){0});
    }
}

/* Whatever this process does, it knows the secrets of channels and of the gateway, too. */
static void know_secrets(const chela_config *cfg, chela_runtime *rt) {
    ch_conf_each(&cfg->conf, know_secret, &(struct knowing){cfg, rt});
}

int chela_config_apply(const chela_config *cfg, chela_runtime *rt, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    CH_ENTER(rt, rt->loop, err);
    const struct ch_conf_provider *providers = cfg->conf.providers.items;
    struct chela_error why = {0};
    if (!err)
        err = &why;
    hide_secrets(cfg, rt);
    for (size_t i = 0; i < cfg->conf.providers.n; i++) {
        int rc = add_provider(cfg, &providers[i], rt, err);
        if (rc == 0)
            rc = add_models(cfg, &providers[i], rt, err);
        if (rc < 0)
            return rc;
    }
    know_secrets(cfg, rt);
    return ch_conf_prompts_apply(cfg, rt, err);
}

/* --- agents ------------------------------------------------------------------ */

static int config_against_name(const void *id, const void *agent) {
    return strcmp(id, (*(const struct ch_conf_agent *const *)agent)->item.name);
}

const struct ch_conf_agent *ch_conf_find_agent(const chela_config *cfg, const char *id) {
    size_t n = cfg->conf.agents.n;
    if (!id)
        return n ? cfg->conf.agents.items : &cfg->conf.defaults;
    const struct ch_conf_agent *const *found =
        n ? bsearch(id, cfg->by_name, n, sizeof(*found), config_against_name) : NULL;
    return found ? *found : NULL;
}

static int find_agent(const chela_config *cfg, const char *id, const struct ch_conf_agent **out,
                      struct chela_error *err) {
    const struct ch_conf_agent *agents = cfg->conf.agents.items;
    size_t n = cfg->conf.agents.n;
    CH_BUF_AUTO known = {0};

    *out = ch_conf_find_agent(cfg, id);
    if (*out)
        return 0;
    for (size_t i = 0; err && i < n; i++)
        ch_buf_addf(&known, "%s%s", i ? ", " : "", agents[i].item.name);
    return ch_fail(err, CHELA_ENOENT, "%s: there is no agent '%s' (%s%s)", cfg->file, id,
                   n ? "known: " : "it defines none", ch_buf_str(&known));
}

/* No limit (negative) becomes the limit of a whole answer. */
static int64_t config_patience(int64_t ms) {
    return ms < 0 ? CH_DEFAULT_TOTAL_MS : ms;
}

#define EITHER(a, d, member) ((a)->member ? (a)->member : (d)->member)

static void config_add_name(struct ch_buf *list, const char *name) {
    if (name && *name)
        ch_buf_addf(list, "%s%s", list->n ? "," : "", name);
}

/* Combine deny lists: a tool denied by either stays denied. */
static const char *join_deny(const chela_config *cfg, const char *asked, const char *deny) {
    CH_BUF_AUTO list = {0};
    config_add_name(&list, asked);
    config_add_name(&list, deny);
    return list.n ? ch_arena_str(cfg->arena, ch_buf_sv(&list)) : NULL;
}

/* Add the tools for agents and features that the file enables to the allow
 * list. */
static const char *with_calls(const chela_config *cfg, const char *allow,
                              const struct ch_conf_agent *a, const struct ch_conf_agent *d) {
    const char *const *calls = EITHER(a, d, calls), *const *takers = EITHER(a, d, takers);
    CH_BUF_AUTO list = {0};
    if (!allow)
        return NULL;
    config_add_name(&list, allow);
    if (EITHER(a, d, send_to))
        config_add_name(&list, "sessions_send");
    if (EITHER(a, d, chat_actions) > 0)
        config_add_name(&list, "chat_*");
    if (EITHER(a, d, gateway_tool) > 0)
        config_add_name(&list, "gateway");
    for (; calls && *calls; calls++)
        config_add_name(&list, *calls);
    if (takers && *takers)
        config_add_name(&list, "handoff");
    return ch_arena_str(cfg->arena, ch_buf_sv(&list));
}

/* The enumerator of a word; 0 if word is NULL. The table of options accepts only known words. */
#define CHOICE(set, word) ch_choice_of(CHELA_CHOICE_##set, word)

#define FILL(member, value)      \
    do {                         \
        if (!o->member)          \
            o->member = (value); \
    } while (0)

static void fill_limits(struct chela_limits *o, const struct chela_limits *a,
                        const struct chela_limits *d) {
    FILL(max_turns, EITHER(a, d, max_turns));
    FILL(max_tool_calls, EITHER(a, d, max_tool_calls));
    FILL(max_consecutive_errors, EITHER(a, d, max_consecutive_errors));
    FILL(token_budget, EITHER(a, d, token_budget));
    FILL(timeout_ms, EITHER(a, d, timeout_ms));
    if (o->cost_budget_usd == 0)
        o->cost_budget_usd = a->cost_budget_usd != 0 ? a->cost_budget_usd : d->cost_budget_usd;
}

static void fill_guard(struct chela_loop_guard *o, const struct chela_loop_guard *a,
                       const struct chela_loop_guard *d) {
    FILL(repeats, EITHER(a, d, repeats));
    FILL(cycles, EITHER(a, d, cycles));
    FILL(texts, EITHER(a, d, texts));
    FILL(polls, EITHER(a, d, polls));
    FILL(unknown_tools, EITHER(a, d, unknown_tools));
}

static void fill_queue(struct chela_queue_opts *o, const struct ch_conf_agent *a,
                       const struct ch_conf_agent *d) {
    FILL(mode, CHOICE(QUEUE_MODE, EITHER(a, d, queue_mode)));
    FILL(overflow, CHOICE(OVERFLOW, EITHER(a, d, queue_overflow)));
    FILL(cap, (unsigned)EITHER(a, d, queue_cap));
    FILL(debounce_ms, EITHER(a, d, queue_debounce_ms));
}

/* If the caller chose a model, the models of the file are not used as fallbacks. */
static void fill_models(struct ch_agent_opts *o, const char *const *models) {
    if (o->model || !models)
        return;
    o->model = models[0];
    FILL(fallbacks, models[1] ? models + 1 : NULL);
}

static int64_t config_bytes_of(int64_t mb) {
    return mb > 0 ? mb * (int64_t)CH_MB : mb;
}

/* The path of the configuration file: the agent must not change its own
 * permissions. */
static const char *const *own_file(const chela_config *cfg) {
    const char **list = ch_arena_zalloc(cfg->arena, 2 * sizeof(*list));
    char *real = realpath(cfg->file, NULL);
    if (real)
        list[0] = ch_arena_str(cfg->arena, ch_sv_str(real));
    free(real);
    return list;
}

struct private_list {
    const char **list;
    size_t n;
};

static void private_add(const char *path, void *user) {
    struct private_list *l = user;
    l->list[l->n++] = path;
}

/* Files with keys, and the store: an agent neither reads nor writes them. */
static const char *const *private_files(const chela_config *cfg) {
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    const struct ch_conf *c = &cfg->conf;
    const char *const keys[] = {c->gateway.token_file, c->gateway.tls_key};
    size_t channels = c->channels.n * CH_LIMIT_CHANNEL_SLOTS;
    size_t most = c->providers.n + CH_LEN(keys) + CH_LEN(parts) + channels;
    const char **list = ch_arena_zalloc(cfg->arena, (most + 1) * sizeof(*list));
    struct private_list of_channels = {list, 0};
    ch_conf_channel_files(c, private_add, &of_channels);
    size_t n = of_channels.n;
    const struct ch_conf_provider *providers = c->providers.items;
    for (size_t i = 0; i < c->providers.n; i++)
        if (providers[i].key_file)
            list[n++] = providers[i].key_file;
    for (size_t i = 0; i < CH_LEN(keys); i++)
        if (keys[i])
            list[n++] = keys[i];
    const char *store = chela_config_store(cfg);
    for (size_t i = 0; store && strncmp(store, "sqlite:", 7) == 0 && i < CH_LEN(parts); i++)
        list[n++] = ch_arena_printf(cfg->arena, "%s%s", store + 7, parts[i]);
    for (size_t i = 0; i < n; i++) {
        char *here = list[i][0] == '/' ? NULL : getcwd(NULL, 0);
        if (here)
            list[i] = ch_arena_printf(cfg->arena, "%s/%s", here, list[i]);
        free(here);
    }
    return list;
}

static bool is_network_word(const char *network) {
    return network && (strcmp(network, "none") == 0 || strcmp(network, "host") == 0);
}

static const struct chela_sandbox_opts *sandbox_of(const chela_config *cfg) {
    const struct ch_conf_sandbox *c = &cfg->conf.sandbox;
    struct chela_sandbox_opts *o = ch_arena_alloc(cfg->arena, sizeof(*o));
    struct chela_sandbox_limits *l = ch_arena_alloc(cfg->arena, sizeof(*l));
    *l = c->limits;
    l->size = sizeof(*l);
    l->memory = config_bytes_of(c->limits.memory);
    l->file_size = config_bytes_of(c->limits.file_size);
    l->tmp = config_bytes_of(c->limits.tmp);
    l->disk = config_bytes_of(c->limits.disk);
    *o = (struct chela_sandbox_opts)CHELA_SANDBOX_OPTS(.mode = CHOICE(SANDBOX_MODE, c->mode),
                                                       .network = is_network_word(c->network)
                                                                      ? CHOICE(NETWORK, c->network)
                                                                      : CHELA_NETWORK_DEFAULT,
                                                       .network_hosts =
                                                           is_network_word(c->network) ? NULL
                                                                                       : c->network,
                                                       .writable = c->writable,
                                                       .readable = c->readable,
                                                       .protect = c->protect,
                                                       .ask = own_file(cfg),
                                                       .hide = private_files(cfg),
                                                       .limits = l,
                                                       .home = c->home);
    return o;
}

static const struct chela_policy *const *policies_of(const chela_config *cfg) {
    const struct ch_conf_policy *c = cfg->conf.policies.items;
    size_t n = cfg->conf.policies.n;
    if (n == 0)
        return NULL;
    struct chela_policy *all = ch_arena_alloc(cfg->arena, n * sizeof(*all));
    const struct chela_policy **list = ch_arena_zalloc(cfg->arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        all[i] =
            (struct chela_policy)CHELA_POLICY(.id = c[i].item.name, .channel = c[i].channel,
                                              .senders = c[i].senders, .except = c[i].except,
                                              .allow = c[i].allow, .deny = c[i].deny,
                                              .permission = CHOICE(PERMISSION, c[i].permission),
                                              .approve = CHOICE(APPROVE, c[i].approve));
        list[i] = &all[i];
    }
    return list;
}

/* What is denied anywhere is denied. */
static const char *denied_hosts(const chela_config *cfg, const struct ch_conf_agent *a) {
    const char *lists[] = {cfg->conf.outside.egress.deny, cfg->conf.defaults.egress.deny,
                           a->egress.deny};
    CH_BUF_AUTO all = {0};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        if (lists[i] && *lists[i])
            ch_buf_addf(&all, "%s%s", all.n ? "," : "", lists[i]);
    return all.n ? ch_arena_str(cfg->arena, ch_buf_sv(&all)) : NULL;
}

static const char *join_texts(const chela_config *cfg, const char *const *texts) {
    CH_BUF_AUTO all = {0};
    for (; texts && *texts; texts++)
        ch_buf_addf(&all, "%s%s", all.n ? "," : "", *texts);
    return all.n ? ch_arena_str(cfg->arena, ch_buf_sv(&all)) : NULL;
}

/* Settings as "key=value", as many as the file sets. */
static const char *const *settings_of(const chela_config *cfg, const struct ch_conf_agent *a) {
    const struct ch_conf_outside *c = &cfg->conf.outside;
    const struct ch_conf_agent *d = &cfg->conf.defaults;
    const char *allow = EITHER(a, d, egress.allow), *ask = EITHER(a, d, egress.ask);
    const struct {
        const char *key, *value;
    } rows[] = {
        {"egress.allow", allow ? allow : c->egress.allow},
        {"egress.deny", denied_hosts(cfg, a)},
        {"egress.ask", ask ? ask : c->egress.ask},
        {"flow.rule", c->flow.rule},
        {"flow.trust", c->flow.trust},
        {"flow.private", join_texts(cfg, c->flow.files)},
        {"webFetch.allowHosts", c->fetch_allow},
        {"webFetch.denyHosts", c->fetch_deny},
        {"webFetch.allowPrivate", c->fetch_private ? "true" : NULL},
        {"webSearch.provider", c->search_provider},
        {"webSearch.baseUrl", c->search_url},
        {"webSearch.apiKeyEnv", c->search_key_env},
        {"mail.smtp", c->smtp},
        {"mail.from", c->mail_from},
        {"mail.user", c->mail_user},
        {"mail.passwordEnv", c->mail_password_env},
        {"mail.allowTo", c->mail_allow},
        {"wait.enabled", c->wait ? "true" : NULL},
        {"memory.enabled", c->memory ? "true" : NULL},
        {"memory.sessions", c->memory_sessions},
        {"memory.inject", c->memory_inject > 0
                              ? ch_arena_printf(cfg->arena, "%lld", (long long)c->memory_inject)
                              : NULL},
        {"mail.noTls", c->mail_tls && strcmp(c->mail_tls, "optional") == 0 ? "true" : NULL},
    };
    const struct ch_conf_secret_source *secrets = cfg->conf.secrets.items;
    size_t nsecrets = CH_MIN(cfg->conf.secrets.n, CH_LIMIT_CONFIG_SECRETS);
    size_t n = 0, most = CH_LEN(rows) + CH_LIMIT_CONFIG_DATABASES + nsecrets;
    const char **list = ch_arena_zalloc(cfg->arena, (most + 1) * sizeof(*list));
    for (const char *const *db = c->databases; db && *db; db++)
        list[n++] = *db;
    for (size_t i = 0; i < nsecrets; i++) {
        CH_BUF_AUTO json = {0};
        ch_secret_source_write(&secrets[i], &json);
        list[n++] = ch_arena_printf(cfg->arena, "secrets.%s=%s", secrets[i].item.name,
                                    ch_buf_str(&json));
    }
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (rows[i].value)
            list[n++] = ch_arena_printf(cfg->arena, "%s=%s", rows[i].key, rows[i].value);
    return n ? list : NULL;
}

/* Instructions: a text, or a prompt with values. */
static void fill_system(const chela_config *cfg, const char *system, struct ch_agent_opts *o) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO vars = {0};
    const struct ch_json *v = NULL;
    size_t n = strlen(CH_CONF_PROMPT);
    if (!system || strncmp(system, CH_CONF_PROMPT, n) != 0) {
        FILL(system, system);
        return;
    }
    if (o->system || o->prompt.name)
        return; /* the caller's count */
    ch_json_parse(&arena, ch_sv_str(system + n), CH_JSON_STRICT, &v, NULL, NULL);
    struct ch_jw w = ch_jw(&vars);
    if (ch_json_get(v, "vars"))
        ch_jw_value(&w, ch_json_get(v, "vars"));
    o->prompt.name = ch_arena_str(cfg->arena, ch_json_get_str(v, "prompt"));
    o->prompt.vars = vars.n ? ch_arena_str(cfg->arena, ch_buf_sv(&vars)) : NULL;
}

static void config_fill(const chela_config *cfg, const struct ch_conf_agent *a,
                        struct ch_agent_opts *o) {
    const struct ch_conf_agent *d = &cfg->conf.defaults;
    FILL(id, a->item.name);
    fill_models(o, EITHER(a, d, models));
    FILL(toolset.embedding, EITHER(a, d, embedding));
    fill_system(cfg, EITHER(a, d, system), o);
    FILL(workspace, EITHER(a, d, workspace));
    FILL(tools, "*");
    FILL(allow, with_calls(cfg, EITHER(a, d, allow), a, d));
    FILL(description, a->description);
    FILL(gateway.send_to, EITHER(a, d, send_to));
    FILL(gateway.chat_actions, EITHER(a, d, chat_actions) > 0);
    FILL(gateway.gateway_tool, EITHER(a, d, gateway_tool) > 0);
    FILL(team.max_depth, (unsigned)EITHER(a, d, max_depth));
    FILL(team.max_children, (unsigned)EITHER(a, d, max_children));
    FILL(prompt.skills, EITHER(a, d, skills));
    FILL(prompt.style, CHOICE(PROMPT_STYLE, EITHER(a, d, prompt)));
    FILL(prompt.project_files, EITHER(a, d, project_files));
    FILL(prompt.project_file_max, (size_t)EITHER(a, d, file_bytes));
    FILL(prompt.project_files_max, (size_t)EITHER(a, d, files_bytes));
    FILL(prompt.rules, EITHER(a, d, rules));
    FILL(prompt.soft_rules, EITHER(a, d, soft_rules));
    FILL(prompt.reminder, EITHER(a, d, reminder));
    FILL(prompt.docs, EITHER(a, d, docs));
    const char *mode = EITHER(a, d, system_mode);
    FILL(prompt.system_replaces, mode && strcmp(mode, "replace") == 0);
    FILL(prompt.system_share, (unsigned)EITHER(a, d, system_share));
    FILL(prompt.output_share, (unsigned)EITHER(a, d, output_share));
    FILL(prompt.tools_share, (unsigned)EITHER(a, d, tools_share));
    o->deny = join_deny(cfg, o->deny, EITHER(a, d, deny));
    FILL(permission, CHOICE(PERMISSION, EITHER(a, d, permission)));
    const char *apply = EITHER(a, d, apply);
    FILL(apply, CHOICE(APPLY, apply ? apply : cfg->conf.apply));
    FILL(approvals.tools, cfg->conf.approvals.levels);
    FILL(approvals.calls, cfg->conf.approvals.rules);
    FILL(approvals.policies, policies_of(cfg));
    FILL(tool_choice, EITHER(a, d, choice));
    FILL(mode, CHOICE(MODE, EITHER(a, d, mode)));
    FILL(reasoning, CHOICE(REASONING, EITHER(a, d, reasoning)));
    FILL(max_output_tokens, EITHER(a, d, max_output_tokens));
    FILL(temperature, EITHER(a, d, temperature));
    FILL(request.top_p, EITHER(a, d, top_p));
    FILL(request.top_k, EITHER(a, d, top_k));
    FILL(request.logprobs, EITHER(a, d, logprobs));
    FILL(request.seed, a->seed ? &a->seed : d->seed ? &d->seed : NULL);
    FILL(request.stop, EITHER(a, d, stop));
    FILL(request.cache, CHOICE(CACHE, EITHER(a, d, cache)));
    FILL(request.strict, EITHER(a, d, strict) > 0);
    FILL(request.server_tools, EITHER(a, d, server_tools));
    FILL(output_schema, EITHER(a, d, output_schema));
    FILL(compaction.mode, CHOICE(COMPACTION, EITHER(a, d, compaction)));
    FILL(compaction.history_turns, EITHER(a, d, history_turns));
    FILL(compaction.by, CHOICE(COMPACTION_BY, EITHER(a, d, compaction_by)));
    FILL(compaction.model, EITHER(a, d, compaction_model));
    FILL(request.output_by, CHOICE(OUTPUT_BY, EITHER(a, d, output_by)));
    FILL(request.max_retries, (int)EITHER(a, d, retries));
    FILL(request.overload_retries, (int)EITHER(a, d, overload_retries));
    FILL(request.idle_timeout_ms, config_patience(EITHER(a, d, idle_ms)));
    FILL(request.connect_timeout_ms, config_patience(EITHER(a, d, connect_ms)));
    FILL(request.first_byte_timeout_ms, config_patience(EITHER(a, d, first_byte_ms)));
    FILL(toolset.selection, CHOICE(SELECTION, EITHER(a, d, selection)));
    FILL(toolset.selection_size, (unsigned)EITHER(a, d, selection_size));
    FILL(toolset.parallel, (unsigned)EITHER(a, d, parallel));
    fill_limits(&o->limits, &a->limits, &d->limits);
    fill_guard(&o->loop_guard, &a->loop_guard, &d->loop_guard);
    FILL(limits.sum_up, EITHER(a, d, sum_up));
    FILL(planning.reflection, CHOICE(REFLECTION, EITHER(a, d, reflection)));
    FILL(planning.reflect_tools, EITHER(a, d, reflect_tools));
    FILL(planning.review_plan, EITHER(a, d, review_plan) > 0);
    FILL(planning.plan, EITHER(a, d, plan));
    FILL(planning.router, EITHER(a, d, router));
    FILL(planning.planner, EITHER(a, d, planner));
    FILL(planning.executor, EITHER(a, d, executor));
    FILL(planning.reflector, EITHER(a, d, reflector));
    fill_queue(&o->queue, a, d);
    FILL(toolset.settings, settings_of(cfg, a));
    FILL(sandbox, sandbox_of(cfg));
}

static int check_others(const chela_config *cfg, const struct ch_conf_agent *a,
                        const char *const *list, const char *key, struct chela_error *err) {
    const struct ch_conf_item *at = &a->item;
    const struct ch_conf_agent *other;
    for (; list && *list; list++) {
        bool itself = at->name && strcmp(*list, at->name) == 0;
        if (itself || find_agent(cfg, *list, &other, NULL) < 0)
            return ch_fail(err, CHELA_ECONFIG, "%s:%u:%u: %s: %s '%s'", cfg->file, at->where.line,
                           at->where.column, key,
                           itself ? "this is the agent itself," : "there is no agent", *list);
    }
    return 0;
}

static int check_calls(const chela_config *cfg, const struct ch_conf_agent *a,
                       struct chela_error *err) {
    const struct ch_conf_agent *d = &cfg->conf.defaults;
    int rc = check_others(cfg, a, EITHER(a, d, calls), "agents", err);
    return rc < 0 ? rc : check_others(cfg, a, EITHER(a, d, takers), "handoff", err);
}

int chela_config_agent(const chela_config *cfg, const char *id, struct chela_agent_opts *opts,
                       struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_agent *agent;
    int rc = find_agent(cfg, id, &agent, err);
    if (rc == 0)
        rc = check_calls(cfg, agent, err);
    if (rc < 0)
        return rc;
    static const struct ch_conf_sandbox no_sandbox;
    struct chela_agent_opts out;
    struct ch_agent_opts whole;
    rc = CH_OPTS_NEED(chela_agent_opts, &out, opts, err);
    if (rc == 0)
        rc = ch_agent_opts_read(&out, &whole, err);
    if (rc < 0)
        return rc;
    config_fill(cfg, agent, &whole);
    rc = whole.heartbeat ? 0 : ch_conf_heartbeat(cfg, agent, &whole.heartbeat, err);
    if (rc < 0)
        return config_blame(cfg, &agent->item, rc, err);
    bool bounds = whole.allow || whole.permission || whole.approvals.tools ||
                  whole.approvals.calls || whole.approvals.policies ||
                  memcmp(&cfg->conf.sandbox, &no_sandbox, sizeof(no_sandbox)) != 0;
    if (bounds && opts->size < sizeof(out)) /* built for an older header */
        return ch_fail(err, CHELA_ECONFIG,
                       "%s: the file restricts tools, and this program is too old to apply that",
                       cfg->file);
    ch_agent_opts_write(&whole, cfg->arena, &out);
    return CH_OPTS_WRITE(chela_agent_opts, opts, &out, err);
}

/* --- the store -------------------------------------------------------------------- */

static const char *nth(const char *const *list, size_t i) {
    while (list && *list && i--)
        list++;
    return list ? *list : NULL;
}

const char *chela_config_calls(const chela_config *cfg, const char *id, size_t i) {
    CH_NEEDS_OR(cfg, NULL, NULL);
    const struct ch_conf_agent *a;
    bool known = find_agent(cfg, id, &a, NULL) == 0;
    return known ? nth(EITHER(a, &cfg->conf.defaults, calls), i) : NULL;
}

const char *chela_config_takers(const chela_config *cfg, const char *id, size_t i) {
    CH_NEEDS_OR(cfg, NULL, NULL);
    const struct ch_conf_agent *a;
    bool known = find_agent(cfg, id, &a, NULL) == 0;
    return known ? nth(EITHER(a, &cfg->conf.defaults, takers), i) : NULL;
}

const char *chela_config_agent_id(const chela_config *cfg, size_t i) {
    CH_NEEDS_OR(cfg, NULL, NULL);
    const struct ch_conf_agent *list = cfg->conf.agents.items;
    return i < cfg->conf.agents.n ? list[i].item.name : NULL;
}

int chela_config_hook(const chela_config *cfg, size_t i, struct chela_gateway_hook *out,
                      const char **secret_env, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_list *hooks = &cfg->conf.gateway.hooks;
    const struct ch_conf_hook *h = (const struct ch_conf_hook *)hooks->items + i;
    if (i >= hooks->n)
        return CHELA_ENOENT;
    struct chela_gateway_hook own = CHELA_GATEWAY_HOOK(
        .name = h->item.name, .agent = h->agent, .session = h->session);
    *secret_env = h->secret_env;
    return CH_OPTS_WRITE(chela_gateway_hook, out, &own, err);
}

static const struct chela_budget *const *budgets_of(const chela_config *cfg) {
    const struct ch_conf_budget *c = cfg->conf.budgets.items;
    size_t n = cfg->conf.budgets.n;
    if (n == 0)
        return NULL;
    struct chela_budget *all = ch_arena_alloc(cfg->arena, n * sizeof(*all));
    const struct chela_budget **list = ch_arena_zalloc(cfg->arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct chela_budget)CHELA_BUDGET(.name = c[i].item.name, .agent = c[i].agent,
                                                   .channel = c[i].channel, .sender = c[i].sender,
                                                   .cost_usd = CH_MAX(c[i].cost_usd, 0.0),
                                                   .tokens = CH_MAX(c[i].tokens, 0));
        list[i] = &all[i];
    }
    return list;
}

int chela_config_gateway(const chela_config *cfg, struct chela_gateway_opts *opts,
                         const char **token_env, int64_t *drain_ms, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_gateway *g = &cfg->conf.gateway;
    struct chela_gateway_opts own, *o = &own;
    int rc = CH_OPTS_NEED(chela_gateway_opts, &own, opts, err);
    if (rc < 0)
        return rc;
    FILL(listen, g->listen);
    FILL(hosts, g->hosts);
    FILL(origins, g->origins);
    FILL(tls_cert, g->tls_cert);
    FILL(tls_key, g->tls_key);
    FILL(retention_days, g->retention_days);
    FILL(budgets, budgets_of(cfg));
    FILL(workers, (size_t)g->workers);
    if (g->mcp) {
        struct chela_gateway_mcp *m = ch_arena_zalloc(cfg->arena, sizeof(*m));
        *m = (struct chela_gateway_mcp)CHELA_GATEWAY_MCP(
            .agent = g->mcp_agent, .issuer = g->mcp_issuer, .resource = g->mcp_resource,
            .introspection = g->mcp_introspection, .client_id = g->mcp_client_id,
            .client_secret_env = g->mcp_client_secret_env, .scope = g->mcp_scope);
        FILL(mcp, m);
    }
    if (token_env && g->token_env)
        *token_env = g->token_env;
    if (drain_ms && g->drain_s)
        *drain_ms = g->drain_s * 1000;
    return CH_OPTS_WRITE(chela_gateway_opts, opts, &own, err);
}

int chela_config_telemetry(const chela_config *cfg, struct chela_telemetry_opts *opts,
                           struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_telemetry *t = &cfg->conf.telemetry;
    struct chela_telemetry_opts own, *o = &own;
    int rc = CH_OPTS_NEED(chela_telemetry_opts, &own, opts, err);
    if (rc < 0)
        return rc;
    FILL(endpoint, t->otlp);
    FILL(protocol, t->protocol);
    FILL(service, t->service);
    FILL(content, t->content);
    return CH_OPTS_WRITE(chela_telemetry_opts, opts, &own, err);
}

int chela_config_token(const chela_config *cfg, const char **out, struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS(cfg, err);
    const char *file = cfg->conf.gateway.token_file;
    CH_BUF_AUTO token = {0};
    int rc = file ? ch_conf_read_key(cfg, file, &token, err) : 0;
    *out = file && rc == 0 ? ch_arena_sv(cfg->arena, ch_buf_sv(&token)).p : NULL;
    return rc;
}

const char *chela_config_store(const chela_config *cfg) {
    CH_NEEDS_OR(cfg, NULL, NULL);
    return ch_conf_store(cfg, cfg->conf.store);
}

enum chela_durability chela_config_durability(const chela_config *cfg) {
    CH_NEEDS_OR(cfg, NULL, 0);
    return CHOICE(DURABILITY, cfg->conf.durability);
}

enum chela_language chela_config_language(const chela_config *cfg) {
    CH_NEEDS_OR(cfg, NULL, 0);
    return CHOICE(LANGUAGE, cfg->conf.language);
}

/* --- tools --------------------------------------------------------------------- */

/* Removes the built-in tool that has the name of a tool of the file. True: the file denies the
 * agent the name, and means the built-in tool. */
static bool makes_room(const char *name, const char *deny, chela_agent *agent) {
    struct ch_sv word = ch_sv_str(name);
    const struct ch_tool *other = ch_registry_find(&agent->registry, word);
    if (!other || !(other->flags & CH_TOOL_CONSTANT) ||
        ch_registry_remove(&agent->registry, name) < 0)
        return false;
    bool denied = deny && ch_policy_listed(ch_sv_str(deny), word);
    if (!denied)
        ch_log(CH_LOG_WARN, "config",
               "agent %s: the tool %s of tools.custom takes the place of the built-in tool",
               agent->id, name);
    return denied;
}

static int config_add_tool(const chela_config *cfg, size_t i, const char *deny, chela_agent *agent,
                           struct chela_error *err) {
    const struct ch_conf_tool *t = (const struct ch_conf_tool *)cfg->conf.tools.items + i;
    bool doubted = ch_conf_tools_are_doubted(cfg);
    struct ch_command_check check = {.argv = ch_conf_check_argv(cfg, t),
                                     .pins = ch_conf_check_pins(cfg, i)};
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
        .name = t->item.name, .description = t->description, .schema = t->parameters,
        .effect = CHOICE(EFFECT, t->effect), .permission = CHOICE(PERMISSION, t->permission),
        .flags = (t->confirm || doubted ? CHELA_TOOL_CONFIRM : 0) |
                 (doubted ? CH_TOOL_DOUBTED : 0) | ch_flow_flags(t->flow) |
                 (t->action ? CHELA_TOOL_ACTION : 0),
        .timeout_ms = t->timeout_ms);
    CH_CONF_RETRY(&tool, &t->retry);
    if (makes_room(t->item.name, deny, agent))
        tool.flags |= CH_TOOL_REPLACES;
    struct chela_command_opts opts =
        CHELA_COMMAND_OPTS(.tool = &tool, .argv = t->command, .cwd = t->cwd);
    if (!check.argv)
        check.rules = t->check;
    return ch_agent_add_command(agent, &opts, ch_conf_tool_pins(cfg, i), &check, err);
}

static int config_add_hooks(const chela_config *cfg, chela_agent *agent, struct chela_error *err) {
    int rc = 0;
    for (size_t e = 0; e < CH_CONF_HOOK_EVENTS; e++) {
        const struct ch_conf_hook_program *list = cfg->conf.hooks[e].items;
        for (size_t i = 0; rc == 0 && i < cfg->conf.hooks[e].n; i++) {
            struct ch_hook hook = {.event = (enum ch_hook_event)e,
                                   .match = list[i].match,
                                   .argv = list[i].command,
                                   .cwd = list[i].cwd,
                                   .timeout_ms = list[i].timeout_ms,
                                   .pins = ch_conf_hook_pins(cfg, e, i)};
            rc = config_blame(cfg, &list[i].item, ch_hooks_add(agent, &hook, err), err);
        }
    }
    return rc;
}

int chela_config_tools(const chela_config *cfg, const char *id, chela_agent *agent,
                       struct chela_error *err) {
    CH_NEEDS(cfg, err);
    if (agent)
        CH_ENTER(agent, agent->rt->loop, err);
    CH_LOG_SCOPE(agent ? agent->rt->sink : NULL);
    const struct ch_conf_agent *a;
    struct chela_error why = {0};
    if (!err)
        err = &why;
    int rc = find_agent(cfg, id, &a, err);
    if (rc < 0)
        return rc;
    CH_NEEDS(agent, err);
    const struct ch_conf_tool *tools = cfg->conf.tools.items;
    for (size_t i = 0; rc == 0 && i < cfg->conf.tools.n; i++)
        rc = config_blame(cfg, &tools[i].item,
                          config_add_tool(cfg, i, EITHER(a, &cfg->conf.defaults, deny), agent, err),
                          err);
    if (rc == 0)
        ch_agent_free_names(agent);
    if (rc == 0)
        rc = config_add_hooks(cfg, agent, err);
    return rc < 0 ? rc : ch_conf_mcp_attach(cfg, agent, err);
}
