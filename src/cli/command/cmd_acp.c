/* cmd_acp.c -- `chela acp`: an agent for editors, over standard input and output.
 *
 * Each directory that the editor works in has its own configuration, runtime and store. All
 * runtimes share one loop. */
#include <string.h>

#include "chela/acp.h"
#include "cli/command/cmd.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/setup/trust.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/stdio.h"

enum { MODELS = 200 };

struct flags {
    struct ch_setup_flags setup;
    const char *model, *base_url, *api_key_env, *ca_file, *record, *replay;
    const char *system, *reasoning, *approve;
    bool no_stream;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_RUN_OPTS_SERVICE(struct flags),
    CH_RUN_OPTS_WIRE(struct flags),
    CH_RUN_OPT_SYSTEM(struct flags),
    CH_RUN_OPT_NO_STREAM(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct place { /* a directory of the editor */
    struct ch_setup_flags flags;
    struct ch_setup setup;
    char *cwd;      /* owned */
    char *state;    /* owned: directory for MCP servers of the editor; NULL: none */
    char *settings; /* owned: sensitive settings of an untrusted file; NULL: none */
    char **models;  /* owned, NULL-terminated */
    size_t nmodels;
};

struct acp {
    struct flags flags;
    struct ch_env env;
    struct ch_console console;
    struct ch_cli_input system; /* owned */
    struct ch_stdio io;
    chela_runtime *rt;
    chela_acp *acp;
    struct chela_error err;
};

/* --- directories ------------------------------------------------------------------------ */

static void add_model(struct place *p, const char *name) {
    for (size_t i = 0; i < p->nmodels; i++)
        if (strcmp(p->models[i], name) == 0)
            return;
    p->models = ch_must(realloc(p->models, (p->nmodels + 2) * sizeof(*p->models)));
    p->models[p->nmodels++] = ch_dup(name);
    p->models[p->nmodels] = NULL;
}

static char *text_at(const char *json, const char *list, size_t i, const char *member) {
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/%s/%zu/%s", list, i, member);
    return chela_json_get(json, strlen(json), pointer, NULL);
}

static bool has_key(const char *json, const char *provider) {
    bool has = false;
    char *name;
    for (size_t i = 0; !has && (name = text_at(json, "providers", i, "name")); i++) {
        char *key = strcmp(name, provider) == 0 ? text_at(json, "providers", i, "key") : NULL;
        has = key && strcmp(key, "true") == 0;
        chela_free(key);
        chela_free(name);
    }
    return has;
}

/* Lists the agent's model first, then its fallbacks and the known models for which a key is
 * available. */
static void list_models(struct acp *a, struct place *p) {
    struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = a->flags.model);
    char *last = NULL, *provider, *model;
    bool known = false;
    if (p->setup.config)
        chela_config_agent(p->setup.config, p->flags.agent, &o, NULL);
    add_model(p, o.model ? o.model : chela_default_model(p->setup.rt, NULL));
    for (const char *const *f = o.fallbacks; f && *f; f++)
        add_model(p, *f);
    char *json = chela_models_json(p->setup.rt, NULL, NULL);
    for (size_t i = 0; json && i < MODELS && (provider = text_at(json, "models", i, "provider"));
         i++) {
        if (!last || strcmp(last, provider) != 0)
            known = has_key(json, provider);
        chela_free(last);
        last = provider;
        model = known ? text_at(json, "models", i, "model") : NULL;
        if (model) {
            char *full = ch_format("%s/%s", provider, model);
            add_model(p, full);
            free(full);
            chela_free(model);
        }
    }
    chela_free(last);
    chela_free(json);
}

static void place_free(struct place *p) {
    ch_setup_release(&p->setup);
    for (size_t i = 0; i < p->nmodels; i++)
        free(p->models[i]);
    free(p->models);
    free(p->settings);
    free(p->state);
    free(p->cwd);
    free(p);
}

/* What the file of the directory would decide, if the user does not trust it. */
static int read_settings(struct place *p, struct chela_error *err) {
    struct ch_draft d;
    chela_config *cfg;
    if (!p->setup.untrusted || p->setup.ignored == 0)
        return CHELA_OK;
    if (ch_setup_load(&p->setup, p->setup.untrusted, &cfg, err) < 0)
        return err->code;
    ch_draft_init(&d);
    ch_trust_write(d.f, p->setup.env, cfg);
    ch_draft_finish(&d);
    p->settings = d.p;
    chela_config_free(cfg);
    return CHELA_OK;
}

static int place_enter(const char *cwd, struct chela_acp_place *out, struct chela_error *err,
                       void *user) {
    struct acp *a = user;
    struct place *p = ch_must(calloc(1, sizeof(*p)));
    p->cwd = ch_dup(cwd);
    p->flags = a->flags.setup;
    p->flags.workspace = p->flags.workspace ? p->flags.workspace : p->cwd;
    p->setup = (struct ch_setup){.env = &a->env,
                                 .flags = &p->flags,
                                 .console = &a->console,
                                 .directory = p->cwd,
                                 .ca_file = a->flags.ca_file,
                                 .record = a->flags.record,
                                 .replay = a->flags.replay,
                                 .uv_loop = &a->io.loop,
                                 .uses = CH_USES_NOTHING,
                                 .open_ended = true, /* an editor is a chat */
                                 .model = a->flags.model};
    int rc = ch_setup_config(&p->setup, err);
    if (rc == 0)
        rc = read_settings(p, err);
    if (rc == 0)
        rc = ch_setup_runtime(&p->setup, err);
    if (rc == 0)
        rc = ch_setup_store(&p->setup, CH_STORE_WANTED, err);
    if (rc < 0) {
        place_free(p);
        return rc;
    }
    list_models(a, p);
    char *state = ch_setup_mcp_state(&a->env);
    p->state = state ? ch_format("%s/editor", state) : NULL;
    free(state);
    *out = (struct chela_acp_place){.handle = p,
                                    .store = p->setup.store,
                                    .models = (const char *const *)p->models,
                                    .untrusted = p->settings ? p->setup.untrusted : NULL,
                                    .settings = p->settings,
                                    .state_dir = p->state};
    return CHELA_OK;
}

static void place_leave(void *handle, void *user) {
    (void)user;
    place_free(handle);
}

static int place_trust(void *handle, struct chela_error *err, void *user) {
    struct place *p = handle;
    chela_config *cfg;
    (void)user;
    int rc = ch_setup_load(&p->setup, p->setup.untrusted, &cfg, err);
    if (rc < 0)
        return rc;
    rc = ch_trust_add(p->setup.env, cfg, err);
    chela_config_free(cfg);
    return rc;
}

/* --- agents ------------------------------------------------------------------------------ */

static int agent_new(void *handle, const struct chela_acp_choice *choice, chela_agent **out,
                     void **hold, struct chela_error *err, void *user) {
    struct acp *a = user;
    struct place *p = handle;
    struct chela_request_opts request = CHELA_REQUEST_OPTS(.no_stream = a->flags.no_stream);
    struct chela_agent_opts o =
        CHELA_AGENT_OPTS(.model = choice->model ? choice->model : a->flags.model,
                         .base_url = a->flags.base_url, .api_key_env = a->flags.api_key_env,
                         .system = a->system.p, .mode = choice->mode,
                         .reasoning = choice->reasoning, .approve = choice->approve,
                         .request = &request);
    struct ch_setup_team *team = ch_must(calloc(1, sizeof(*team)));
    int rc = ch_setup_agent(&p->setup, &o, out, err);
    *team = ch_setup_take_team(&p->setup);
    if (rc < 0) {
        ch_setup_team_close(team);
        free(team);
        return rc;
    }
    *hold = team;
    return CHELA_OK;
}

static void agent_drop(void *hold, void *user) {
    (void)user;
    ch_setup_team_close(hold);
    free(hold);
}

/* --- bytes -------------------------------------------------------------------------------- */

static void write_out(const char *p, size_t n, void *user) {
    struct acp *a = user;
    ch_stdio_write(&a->io, p, n);
}

static int take(const char *p, size_t n, void *user) {
    struct acp *a = user;
    return chela_acp_feed(a->acp, p, n, &a->err) < 0 ? ch_problem_exit(&a->err) : -1;
}

static bool busy(void *user) {
    struct acp *a = user;
    return chela_acp_busy(a->acp);
}

/* --- the loop ----------------------------------------------------------------------------- */

static int begin(struct acp *a, struct chela_error *err) {
    struct chela_runtime_opts ro =
        CHELA_RUNTIME_OPTS(.uv_loop = &a->io.loop, .trace = a->env.trace);
    struct chela_acp_opts ao =
        CHELA_ACP_OPTS(.user = a, .write = write_out, .enter = place_enter, .leave = place_leave,
                       .trust = place_trust, .agent = agent_new, .drop = agent_drop);
    int rc = a->flags.system ? ch_input_text(a->flags.system, CH_INPUT_SYSTEM, &a->system, err) : 0;
    if (rc == 0)
        rc = chela_runtime_new(&ro, &a->rt, err);
    if (rc == 0)
        rc = chela_acp_new(a->rt, &ao, &a->acp, err);
    return rc;
}

static void end(struct acp *a) {
    chela_acp_close(a->acp);
    ch_stdio_close(&a->io);
    chela_runtime_close(a->rt);
    ch_stdio_release(&a->io);
}

static int acp_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct acp *a = ch_must(calloc(1, sizeof(*a)));
    struct ch_args args;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &a->flags, &args);

    if (code < 0) {
        ch_console_init(&a->console, env, ch_setup_verbosity(&a->flags.setup),
                        a->flags.setup.no_color);
        a->env = *env;
        a->io.take = take;
        a->io.busy = busy;
        a->io.user = a;
        ch_stdio_init(&a->io);
        int rc = begin(a, &err);
        if (rc == 0)
            ch_stdio_run(&a->io);
        end(a);
        if (rc < 0)
            ch_console_error(&a->console, "%s", err.message);
        else if (a->err.code < 0)
            ch_console_error(&a->console, "%s", a->err.message);
        code = rc < 0 ? ch_problem_exit(&err) : a->io.code;
        ch_input_release(&a->system);
        ch_console_release(&a->console);
    }
    ch_args_release(&args);
    free(a);
    return code;
}

const struct ch_cmd ch_cmd_acp = {
    .name = "acp",
    .args = "",
    .summary = "serve an editor (Agent Client Protocol)",
    .about =
        "Speaks the Agent Client Protocol, version 1, over standard input and output: one JSON-RPC "
        "message per line. Editors such as Zed start this command and show the agent in a panel. "
        "docs/editors.md shows how to configure each editor.\n\n"
        "The directory of a session is the one that the editor names. Its chela.yaml is used as "
        "with 'chela chat'; a file that is not trusted is shown to the user first. Sessions are "
        "stored: the editor can load them again, and 'chela chat' and a gateway with the same "
        "store can continue them.",
    .opts = opts,
    .run = acp_run,
};
