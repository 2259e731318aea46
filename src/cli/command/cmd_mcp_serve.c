/* cmd_mcp_serve.c -- `chela mcp serve`: agents offered to other programs over the Model
 * Context Protocol. */
#include <string.h>

#include "chela/mcp_server.h"
#include "cli/command/cmd.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/stdio.h"

#define SESSIONS "chela://sessions/"

#define TOKEN_ENV "CHELA_TOKEN"

enum { MOST_SESSIONS = 200, ORIGINS = 32 };
_Static_assert(sizeof(((struct ch_texts *)0)->list) == ORIGINS * sizeof(char *), "");

struct flags {
    struct ch_setup_flags setup;
    const char *model, *base_url, *api_key_env, *ca_file, *record, *replay, *listen;
    const char *reasoning, *approve, *token_env;
    struct ch_texts origins;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"listen", 0, CH_OPT_TEXT, AT(listen), "ADDR", 0, 0, "Server",
     "serve over HTTP at /mcp of a loopback address, such as 127.0.0.1:0, instead of standard "
     "input and output"},
    {"token-env", 0, CH_OPT_TEXT, AT(token_env), "NAME", 0, 0, "Server",
     "with --listen: the environment variable of the token that clients must show (default "
     TOKEN_ENV ")"},
    {"origin", 0, CH_OPT_TEXTS, AT(origins), "URL", 0, 0, "Server",
     "with --listen: the origin of web pages that may send requests, such as "
     "http://localhost:6274"},
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_RUN_OPTS_SERVICE(struct flags),
    CH_RUN_OPTS_WIRE(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct mcp_serve {
    struct flags flags;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_stdio io;
    chela_agent **agents; /* owned array */
    chela_mcp_server *server;
    chela_mcp_connection *client; /* NULL: over HTTP */
    struct chela_error err;
};

/* --- transcripts --------------------------------------------------------------------------- */

static int list_session(const struct chela_store_session *row, void *user) {
    char *uri = ch_format(SESSIONS "%s", row->key);
    chela_mcp_result_link(user, uri, row->title && *row->title ? row->title : row->key,
                          "application/json", NULL);
    free(uri);
    return 0;
}

static int list_sessions(chela_mcp_call *call, void *user) {
    struct mcp_serve *s = user;
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = MOST_SESSIONS);
    return chela_store_list(s->setup.store, &filter, list_session, call, NULL);
}

static int read_session(chela_mcp_call *call, void *user) {
    struct mcp_serve *s = user;
    char *json = NULL;
    if (chela_store_show(s->setup.store, chela_mcp_call_argument(call, "key"), &json, NULL) < 0)
        return chela_mcp_result_not_found(call);
    chela_mcp_result_text(call, json, strlen(json));
    chela_free(json);
    return CHELA_OK;
}

/* --- the offer ------------------------------------------------------------------------------ */

/* The first agent with everything, the others as tools. */
static int offer_agents(struct mcp_serve *s, struct chela_error *err) {
    struct chela_mcp_resource_opts sessions = CHELA_MCP_RESOURCE_OPTS(
        .uri = SESSIONS "{+key}", .name = "sessions", .description = "A stored conversation.",
        .mime_type = "application/json", .fn = read_session, .list = list_sessions, .user = s,
        .flags = CHELA_MCP_ON_LOOP);
    int rc = chela_mcp_server_agent(s->server, s->agents[0], 0, err);
    for (size_t i = 1; rc == 0 && s->agents[i]; i++)
        rc = chela_mcp_server_agent(s->server, s->agents[i], CHELA_MCP_OFFER_AGENT, err);
    if (rc == 0 && s->setup.store)
        rc = chela_mcp_server_resource(s->server, &sessions, err);
    return rc;
}

static bool is_loopback(const char *address) {
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0 ||
           strncmp(address, "localhost:", 10) == 0;
}

/* --- bytes ---------------------------------------------------------------------------------- */

static void serve_write(const char *p, size_t n, void *user) {
    struct mcp_serve *s = user;
    ch_stdio_write(&s->io, p, n);
}

static int serve_take(const char *p, size_t n, void *user) {
    struct mcp_serve *s = user;
    return chela_mcp_connection_feed(s->client, p, n, &s->err) < 0 ? ch_problem_exit(&s->err) : -1;
}

static bool serve_busy(void *user) {
    struct mcp_serve *s = user;
    return s->io.no_input || chela_mcp_connection_busy(s->client);
}

/* --- the token ----------------------------------------------------------------------------- */

/* *out NULL: there is no listener. */
static int serve_token(const struct mcp_serve *s, const char **out, struct chela_error *err) {
    const char *name = s->flags.token_env ? s->flags.token_env : TOKEN_ENV;

    *out = s->flags.listen ? getenv(name) : NULL;
    if (!s->flags.listen || (*out && **out))
        return CHELA_OK;
    return ch_problem(err, CHELA_ECONFIG,
                      "--listen needs a token that clients must show, since every program of this "
                      "machine can reach the port: set %s, for example with: export %s=$(openssl "
                      "rand -hex 24)", name, name);
}

/* --- the command ---------------------------------------------------------------------------- */

static int serve_open(struct mcp_serve *s, struct chela_error *err) {
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = s->flags.model,
                                                 .base_url = s->flags.base_url,
                                                 .api_key_env = s->flags.api_key_env);
    const char *token, *origins[ORIGINS + 1] = {NULL};
    memcpy(origins, s->flags.origins.list, s->flags.origins.n * sizeof(*origins));
    int rc = serve_token(s, &token, err);
    if (rc == 0)
        rc = ch_setup_config(&s->setup, err);
    if (rc == 0)
        rc = ch_setup_runtime(&s->setup, err);
    if (rc == 0)
        rc = ch_setup_store(&s->setup, CH_STORE_IF_CHOSEN, err);
    if (rc == 0)
        rc = ch_setup_agents(&s->setup, &s->flags.setup, &o, &s->agents, err);
    struct chela_mcp_server_opts so = CHELA_MCP_SERVER_OPTS(
        .name = "chela", .version = chela_version(), .token = token, .origins = origins,
        .instructions = "Tools and agents of chela. ask_AGENT gives an agent a task; the other "
                        "tools run at once.");
    if (rc == 0)
        rc = chela_mcp_server_new(s->setup.rt, &so, &s->server, err);
    return rc == 0 ? offer_agents(s, err) : rc;
}

static int serve_start(struct mcp_serve *s, struct chela_error *err) {
    const char *listen = s->flags.listen;
    if (!listen)
        return chela_mcp_server_open(s->server, serve_write, s, "", &s->client, err);
    if (!is_loopback(listen))
        return ch_problem(err, CHELA_EINVAL, "--listen %s: only an address of this machine's "
                          "loopback is possible, such as 127.0.0.1:0", listen);
    int rc = chela_mcp_server_listen(s->server, listen, err);
    if (rc == 0)
        ch_console_note(&s->console, "serving http://%s/mcp", chela_mcp_server_address(s->server));
    s->io.no_input = true;
    return rc;
}

static int serve_body(struct mcp_serve *s) {
    struct chela_error err = {0};
    int rc = serve_open(s, &err);
    if (rc == 0)
        rc = serve_start(s, &err);
    if (rc == 0)
        ch_stdio_run(&s->io);
    chela_mcp_connection_close(s->client);
    ch_stdio_close(&s->io);
    chela_mcp_server_close(s->server);
    if (rc < 0)
        ch_console_error(&s->console, "%s", err.message);
    else if (s->err.code < 0)
        ch_console_error(&s->console, "%s", s->err.message);
    return rc < 0 ? ch_problem_exit(&err) : s->io.code;
}

static int run_mcp_serve(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                         char **argv) {
    struct mcp_serve *s = ch_must(calloc(1, sizeof(*s)));
    struct ch_args args;
    int code = ch_cmd_parse(cmd, env, argc, argv, &s->flags, &args);

    if (code < 0) {
        ch_console_init(&s->console, env, ch_setup_verbosity(&s->flags.setup),
                        s->flags.setup.no_color);
        s->io.take = serve_take;
        s->io.busy = serve_busy;
        s->io.user = s;
        ch_stdio_init(&s->io);
        s->setup = (struct ch_setup){.env = env,
                                     .flags = &s->flags.setup,
                                     .console = &s->console,
                                     .ca_file = s->flags.ca_file,
                                     .record = s->flags.record,
                                     .replay = s->flags.replay,
                                     .uv_loop = &s->io.loop,
                                     .uses = CH_USES_NOTHING,
                                     .model = s->flags.model};
        code = serve_body(s);
        free(s->agents);
        ch_setup_release(&s->setup);
        ch_stdio_release(&s->io);
        ch_console_release(&s->console);
    }
    ch_args_release(&args);
    free(s);
    return code;
}

const struct ch_cmd ch_cmd_mcp_serve = {
    .name = "mcp serve",
    .args = "",
    .summary = "offer agents to other programs",
    .about =
        "Speaks the Model Context Protocol over standard input and output, so that another agent "
        "or an editor can start this command as an MCP server. The client gets the tools of the "
        "first agent, or of --agent, each agent as a tool ask_AGENT, its skills as prompts, the "
        "files of its workspace and, with a store, the conversations as resources.\n\n"
        "A call takes the path of every call: schema, policy, sandbox. A call that needs a "
        "person's consent is refused; 'approvals' in the configuration allows it.",
    .opts = opts,
    .run = run_mcp_serve,
};
