/* acp_servers.c -- MCP servers that an editor passes with a session.
 *
 * The editor's user has configured them, so they are not asked about again; their tools need
 * consent like those of every server. A server that does not work is named in a notice. */
#include "acp/acp_servers.h"

#include "acp/acp_reply.h"
#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/limits.h"
#include "mcp/mcp_client.h"

enum { NAME = 32 }; /* bytes of a server's name (struct chela_mcp_opts) */

/* The editor's name as one that chela accepts. */
static char *server_name(struct ch_arena *a, struct ch_sv name) {
    CH_BUF_AUTO out = {0};
    for (size_t i = 0; i < name.n && out.n < NAME; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || c == '-' || (c == '_' && (out.n == 0 || out.p[out.n - 1] != '_')))
            ch_buf_addc(&out, c);
        else if (out.n > 0 && out.p[out.n - 1] != '-')
            ch_buf_addc(&out, '-');
    }
    return ch_arena_str(a, out.n ? ch_buf_sv(&out) : CH_SV("server"));
}

/* [{"name","value"}] as "NAME<between>value". */
static const char *const *pairs(struct ch_arena *a, const struct ch_json *list,
                                const char *between) {
    size_t n = 0, max = ch_json_is(list, CH_JSON_ARRAY) ? list->n : 0;
    const char **out = ch_arena_zalloc(a, (max + 1) * sizeof(*out));
    for (CH_JSON_EACH(e, list))
        out[n++] = ch_arena_printf(a, "%.*s%s%.*s", CH_SV_FMT(ch_json_get_str(e, "name")), between,
                                   CH_SV_FMT(ch_json_get_str(e, "value")));
    return out;
}

static const char *const *words(struct ch_arena *a, const struct ch_json *server) {
    const struct ch_json *args = ch_json_get(server, "args");
    size_t n = 0, max = ch_json_is(args, CH_JSON_ARRAY) ? args->n : 0;
    const char **out = ch_arena_zalloc(a, (max + 2) * sizeof(*out));
    out[n++] = ch_arena_str(a, ch_json_get_str(server, "command"));
    for (CH_JSON_EACH(e, args))
        out[n++] = ch_arena_str(a, ch_json_str(e));
    return out;
}

static bool is_same_list(const char *const *a, const char *const *b) {
    while (a && *a && b && *b && strcmp(*a, *b) == 0)
        a++, b++;
    return !(a && *a) && !(b && *b);
}

static bool is_same_server(const struct chela_mcp_opts *a, const struct chela_mcp_opts *b) {
    return is_same_list(a->command, b->command) && is_same_list(a->env, b->env) &&
           is_same_list(a->headers, b->headers) &&
           strcmp(a->url ? a->url : "", b->url ? b->url : "") == 0;
}

static int attach(struct ch_acp_session *s, const struct ch_json *server, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv type = ch_json_get_str(server, "type"), url = ch_json_get_str(server, "url");
    bool program = ch_json_get_str(server, "command").n > 0;
    chela_runtime *rt = s->agent->rt;
    struct chela_mcp_opts opts =
        CHELA_MCP_OPTS(.name = server_name(&a, ch_json_get_str(server, "name")),
                       .state_dir = s->place->given.state_dir);

    if (program && !s->place->given.state_dir)
        return ch_fail(err, CHELA_ESTATE, "there is no directory for its program");
    if (program) {
        opts.command = words(&a, server);
        opts.env = pairs(&a, ch_json_get(server, "env"), "=");
    } else if (ch_sv_is(type, "http") && url.n) {
        opts.url = ch_arena_str(&a, url);
        opts.headers = pairs(&a, ch_json_get(server, "headers"), ": ");
    } else {
        return ch_fail(err, CHELA_EINVAL, "its transport is not supported");
    }
    const char *name = opts.name;
    chela_mcp *client; /* of an earlier session, or a configured one */
    for (unsigned i = 2;
         (client = chela_mcp_find(rt, opts.name)) && !is_same_server(&client->opts, &opts); i++)
        opts.name = ch_arena_printf(&a, "%.28s-%u", name, i);
    int rc = client ? CHELA_OK : chela_mcp_new(rt, &opts, &client, err);
    return rc < 0 ? rc : chela_agent_mcp(s->agent, client, err);
}

void ch_acp_servers_attach(struct ch_acp_session *s) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *servers = NULL;
    size_t n = 0;
    if (!s->servers ||
        ch_json_parse(&a, ch_sv_str(s->servers), CH_JSON_REPLACE, &servers, NULL, NULL) < 0)
        return;
    for (CH_JSON_EACH(server, servers)) {
        CH_BUF_AUTO text = {0};
        struct ch_sv name = ch_json_get_str(server, "name");
        struct chela_error err = {0};
        if (n++ == CH_LIMIT_ACP_SERVERS) {
            ch_acp_notice(s, "warning", "Further MCP servers of the editor are not used.");
            return;
        }
        if (attach(s, server, &err) == CHELA_OK)
            continue;
        ch_buf_addf(&text, "The MCP server %.*s is not used: %s", (int)CH_MIN(name.n, (size_t)60),
                    name.p ? name.p : "", err.message);
        ch_acp_notice(s, "warning", ch_buf_str(&text));
    }
}

void ch_acp_servers_take(struct ch_acp_session *s, const struct ch_json *params) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *servers = ch_json_get(params, "mcpServers");
    if (!ch_json_is(servers, CH_JSON_ARRAY) || servers->n == 0)
        return;
    ch_jw_value(&w, servers);
    s->servers = ch_buf_take(&text);
}
