/* mcp.c -- the MCP servers of a configuration: makes their clients, offers their tools. */
#include <sys/stat.h>

#include "agent/handle/agent.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/mem.h"
#include "chela/mcp.h"
#include "config/programs.h"
#include "config/secret_source.h"
#include "guard/secrets.h"
#include "io/loop_entry.h"
#include "mcp/mcp_client.h"
#include "tool/call/flow.h"

/* "NAME: value" of the file as "NAME=value". */
static const char *const *mcp_env(struct ch_arena *a, const char *const *lines) {
    size_t n = 0;

    while (lines && lines[n])
        n++;
    const char **env = ch_arena_zalloc(a, (n + 1) * sizeof(*env));
    for (size_t i = 0; i < n; i++) {
        struct ch_sv value = ch_sv_str(lines[i]), name = ch_sv_split(&value, ':');
        env[i] = ch_arena_printf(a, "%.*s=%.*s", CH_SV_FMT(name), (int)value.n - 1, value.p + 1);
        if (ch_secret_is_named(name))
            ch_secret_add(env[i] + name.n + 1, "%.*s of an MCP server", CH_SV_FMT(name));
    }
    return env;
}

/* The program starts in a directory of its own, so an argument that is a file beside the
 * configuration gets its whole path. */
const char *const *ch_conf_mcp_command(const chela_config *cfg, const char *const *words) {
    struct stat st;
    size_t n = 0;

    while (words && words[n])
        n++;
    if (!n)
        return NULL;
    const char **list = ch_arena_zalloc(cfg->arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        list[i] = words[i];
        if (i == 0 || words[i][0] == '/' || words[i][0] == '-' || !strpbrk(words[i], "./"))
            continue;
        const char *path = ch_conf_path(cfg, ch_sv_str(words[i]));
        if (stat(path, &st) == 0)
            list[i] = path;
    }
    return list;
}

static enum chela_sandbox_mode mcp_mode(const chela_config *cfg, const struct ch_conf_mcp *s,
                                        enum chela_sandbox_mode mode) {
    const char *own = s->sandbox ? s->sandbox : cfg->conf.sandbox.mode;

    if (!s->sandbox && mode != CHELA_SANDBOX_DEFAULT)
        return mode;
    return ch_choice_of(CHELA_CHOICE_SANDBOX_MODE, own);
}

static int mcp_add(const chela_config *cfg, const struct ch_conf_mcp *s, chela_runtime *rt,
                   const char *state_dir, enum chela_sandbox_mode mode,
                   struct chela_error *err) {
    size_t n = 0;
    chela_mcp *client;

    while (s->writable && s->writable[n])
        n++;
    const char **writable = ch_arena_zalloc(cfg->arena, (n + 2) * sizeof(*writable));
    writable[0] = "workspace"; /* the program's own directory */
    for (size_t i = 0; i < n; i++)
        writable[i + 1] = s->writable[i];
    struct chela_sandbox_opts box = CHELA_SANDBOX_OPTS(
            .mode = mcp_mode(cfg, s, mode),
            .network = s->no_network ? CHELA_NETWORK_NONE : CHELA_NETWORK_HOST,
            .writable = writable, .readable = s->readable);
    const char *const *headers;
    int rc = ch_secret_source_headers(cfg, rt, s->url, s->headers, &headers, err);
    if (rc < 0)
        return rc;
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(
            .name = s->item.name, .command = ch_conf_mcp_command(cfg, s->command),
            .env = mcp_env(cfg->arena, s->env), .url = s->url, .headers = headers,
            .era = ch_choice_of(CHELA_CHOICE_MCP_ERA, s->era), .state_dir = state_dir,
            .sandbox = &box, .effect = ch_choice_of(CHELA_CHOICE_EFFECT, s->effect),
            .permission = ch_choice_of(CHELA_CHOICE_PERMISSION, s->permission),
            .no_confirm = s->unasked, .allow = s->allow, .deny = s->deny,
            .timeout_ms = s->timeout_ms, .client_id = s->client_id,
            .client_secret = s->client_secret_env
                                 ? ch_providers_env(&rt->providers, s->client_secret_env)
                                 : NULL,
            .client_metadata_url = s->client_metadata_url, .issuer = s->issuer,
            .roots = s->roots && s->roots[0] ? s->roots : NULL, .log_level = s->log_level,
            .resources = s->resources, .sampling = s->sampling,
            .sampling_no_confirm = s->sampling_unasked,
            .sampling_requests = s->sampling_requests, .sampling_tokens = s->sampling_tokens,
            .flow = ch_flow_flags(s->flow), .egress_allow = cfg->conf.outside.egress.allow,
            .egress_deny = cfg->conf.outside.egress.deny);
    CH_CONF_RETRY(&opts, &s->retry);
    rc = chela_mcp_new(rt, &opts, &client, err);
    if (rc == 0)
        ch_mcp_pin(client, ch_conf_server_pins(
                               cfg, (size_t)(s - (const struct ch_conf_mcp *)cfg->conf.mcp.items)));
    return rc;
}

int chela_config_mcp(const chela_config *cfg, chela_runtime *rt, const char *state_dir,
                     enum chela_sandbox_mode mode, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    CH_ENTER(rt, rt->loop, err);
    const struct ch_conf_mcp *servers = cfg->conf.mcp.items;
    struct chela_error why = {0};

    for (size_t i = 0; i < cfg->conf.mcp.n; i++) {
        const struct ch_conf_mcp *s = &servers[i];
        if (s->disabled || chela_mcp_find(rt, s->item.name))
            continue;
        int rc = mcp_add(cfg, s, rt, state_dir, mode, &why);
        if (rc < 0)
            return ch_fail(err, rc, "%s:%u:%u: %s", cfg->file, s->item.where.line,
                           s->item.where.column, why.message);
    }
    return 0;
}

const char *chela_config_mcp_name(const chela_config *cfg, size_t i) {
    CH_NEEDS_OR(cfg, NULL, NULL);
    const struct ch_conf_mcp *servers = cfg->conf.mcp.items;

    for (size_t k = 0; k < cfg->conf.mcp.n; k++)
        if (!servers[k].disabled && i-- == 0)
            return servers[k].item.name;
    return NULL;
}

int ch_conf_mcp_attach(const chela_config *cfg, chela_agent *agent, struct chela_error *err) {
    const char *name;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (name = chela_config_mcp_name(cfg, i)); i++) {
        chela_mcp *client = chela_mcp_find(agent->rt, name);
        if (client)
            rc = chela_agent_mcp(agent, client, err);
    }
    return rc;
}
