/* config.h -- chela.yaml: agents, providers and tools from a file.
 *
 * Precedence: default < file < environment < flag. An unknown key is an error in sections
 * that decide who may do what or which agent answers, and a warning elsewhere; both name the
 * nearest known key. A wrong type is an error. Errors have file, line and column.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; results are borrowed from cfg.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_CONFIG_H
#define CHELA_CONFIG_H
#include "chela/gateway.h"
#include "chela/mcp.h"
#include "chela/session.h"
#include "chela/telemetry.h"
CHELA_BEGIN_DECLS

typedef struct chela_config chela_config;

/* Receives warnings, "FILE:LINE:COLUMN: text"; line is borrowed until the function returns.
 * Called by chela_config_load and chela_config_open only. */
typedef void chela_config_warn_fn(const char *line, void *user);

/* Read a file. Paths in the file are relative to the file. A file named mcp.json or .mcp.json
 * holds `mcpServers`, as other MCP clients write them, and is read as a configuration of MCP
 * servers alone. warn may be NULL.
 * Ownership: the caller owns *out and frees it with chela_config_free.
 * Errors: CHELA_ENOENT: there is no such file. CHELA_EIO: the file cannot be read.
 * CHELA_ELIMIT: the file is too large. CHELA_EPARSE: the content is not YAML. CHELA_ECONFIG:
 * the content is wrong. The message is "FILE:LINE:COLUMN: KEY: reason". */
CHELA_API int chela_config_load(const char *path, chela_config_warn_fn *warn, void *user,
                                chela_config **out, struct chela_error *err);

/* What `chela init` writes for a value of a channel that the user must fill in. */
#define CHELA_CONFIG_OPEN "CHANGE-ME"

/* Options for reading a file. */
struct chela_config_opts {
    size_t size; /* set by CHELA_CONFIG_OPTS */
    chela_config_warn_fn *warn, *complain; /* receive each warning and each error; may be NULL */
    void *user;
    int strict; /* every unknown key is an error */
    const char *module_path; /* searched first for libchela-channel-*.so; may be NULL */
    int complete; /* CHELA_CONFIG_OPEN as a value of a channel is an error, not a warning */
    const char *home; /* the directory that `~/` in a path means; NULL: unknown, path kept */
};
#define CHELA_CONFIG_OPTS(...) {.size = sizeof(struct chela_config_opts), __VA_ARGS__}

/* Read a file with options, which may be NULL. The whole file is checked: err names the first
 * error and the number of the others, and complain receives all of them.
 * Ownership: the caller owns *out and frees it with chela_config_free.
 * Errors: as for chela_config_load. CHELA_EINVAL: the size of opts is wrong. */
CHELA_API int chela_config_open(const char *path, const struct chela_config_opts *opts,
                                chela_config **out, struct chela_error *err);

/* Free a configuration. NULL is allowed.
 * Ownership: cfg and everything that is borrowed from it becomes invalid. */
CHELA_API void chela_config_free(chela_config *cfg);

/* Register the providers, models and prompts of the file with rt. Key files are read now.
 * Threads: loop
 * Errors: CHELA_ECONFIG: an entry of the file is wrong. CHELA_ENOENT, CHELA_EIO,
 * CHELA_ELIMIT: a file that the configuration names cannot be read. CHELA_EINVAL: a price or
 * context window is wrong. CHELA_EPARSE: a prompt file is wrong. */
CHELA_API int chela_config_apply(const chela_config *cfg, chela_runtime *rt,
                                 struct chela_error *err);

/* Fill the members of opts that are NULL or 0 from agent `id` of the file, then from the
 * defaults of the file. The tools that the file denies are added to opts->deny. If
 * opts->model is set, opts->fallbacks is not filled. opts->tools becomes all built-in
 * tools. id NULL: the first agent or, if there is none, the defaults.
 * Ownership: the members that are filled are borrowed from cfg.
 * Errors: CHELA_ENOENT: the file has no such agent; the message lists the ids.
 * CHELA_ECONFIG: the agent refers to an unknown agent, a value is wrong, or the program is
 * too old for a restriction in the file. CHELA_EINVAL: an option is wrong. */
CHELA_API int chela_config_agent(const chela_config *cfg, const char *id,
                                 struct chela_agent_opts *opts, struct chela_error *err);

/* Create the clients of the MCP servers of the file in rt (chela/mcp.h), except those that rt
 * has. state_dir: as in struct chela_mcp_opts. mode: for programs whose sandbox.mode the file
 * does not set. chela_config_tools then offers the servers' tools.
 * Threads: loop
 * Errors: CHELA_EINVAL, CHELA_ELIMIT: as for chela_mcp_new; the message names the line. */
CHELA_API int chela_config_mcp(const chela_config *cfg, chela_runtime *rt, const char *state_dir,
                               enum chela_sandbox_mode mode, struct chela_error *err);

/* The name of MCP server number i of the file, from 0; NULL after the last. Servers that are
 * disabled are left out.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_mcp_name(const chela_config *cfg, size_t i);

/* Add, replace or remove an MCP server in a file with `mcpServers`. definition: a JSON object
 * with command and args, or url; NULL: remove the server. The file is created if needed.
 * Errors: CHELA_ENOENT: there is no such server. CHELA_EPARSE, CHELA_ECONFIG: the file or the
 * definition is wrong. CHELA_EIO, CHELA_ELIMIT: the file cannot be read or written. */
CHELA_API int chela_config_mcp_edit(const char *path, const char *name, const char *definition,
                                    struct chela_error *err);

/* Add the tools of the file to an agent. The options of the agent decide which of them the
 * agent may use. id: the agent in the file, as in chela_config_agent.
 * Threads: loop
 * Errors: CHELA_ENOENT: the file has no such agent. CHELA_EINVAL, CHELA_EEXIST,
 * CHELA_ELIMIT: as for chela_agent_add_command; the message names the line. */
CHELA_API int chela_config_tools(const chela_config *cfg, const char *id, chela_agent *agent,
                                 struct chela_error *err);

/* The URL of the store in the file, with an absolute path; NULL: none.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_store(const chela_config *cfg);

/* The place of a value, as other functions of this header return the value:
 * "FILE:LINE:COLUMN: KEY". The value is a path, the store's URL, the address of the gateway, the
 * name of an environment variable, also the default of a channel, a model whose provider is not
 * completely defined by the library or the file, or an agent of a channel, a hook, a schedule or
 * /mcp that the file does not define. NULL: no file contains the value.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_place(const chela_config *cfg, const char *value);

/* Fill the members of opts that are NULL or 0 from the section `telemetry` of the file.
 * Ownership: the members that are filled are borrowed from cfg.
 * Errors: CHELA_EINVAL: the size of opts is wrong. */
CHELA_API int chela_config_telemetry(const chela_config *cfg, struct chela_telemetry_opts *opts,
                                     struct chela_error *err);

/* The durability of the store in the file. */
CHELA_API enum chela_durability chela_config_durability(const chela_config *cfg);

/* The language of the file, for struct chela_runtime_opts. */
CHELA_API enum chela_language chela_config_language(const chela_config *cfg);

/* The id of agent number i, from 0, that agent `id` may call; NULL after the last. The
 * program creates these agents and passes them to chela_agent_delegate.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_calls(const chela_config *cfg, const char *id, size_t i);

/* The id of agent number i, from 0, that agent `id` may hand a conversation to; NULL after
 * the last. The program creates these agents and passes them to chela_agent_handoff.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_takers(const chela_config *cfg, const char *id, size_t i);

/* The id of agent number i of the file, from 0; NULL after the last.
 * Ownership: the result is borrowed from cfg. */
CHELA_API const char *chela_config_agent_id(const chela_config *cfg, size_t i);

/* Fill the members of opts that are NULL or 0 from the sections gateway and budgets of the file,
 * except the token. token_env and drain_ms may be NULL. *token_env becomes the environment variable
 * that holds the token, and *drain_ms the time for chela_gateway_stop, if the file has
 * them; otherwise they are unchanged.
 * Ownership: the members that are filled and *token_env are borrowed from cfg.
 * Errors: CHELA_EINVAL: the size of opts is wrong. */
CHELA_API int chela_config_gateway(const chela_config *cfg, struct chela_gateway_opts *opts,
                                   const char **token_env, int64_t *drain_ms,
                                   struct chela_error *err);

/* Read the token file of the gateway section now. *out becomes the token; NULL: the file has
 * no such option.
 * Ownership: *out is borrowed from cfg.
 * Errors: CHELA_ENOENT, CHELA_EIO, CHELA_ELIMIT: the token file cannot be read.
 * CHELA_ECONFIG: its content is not a token. */
CHELA_API int chela_config_token(const chela_config *cfg, const char **out,
                                 struct chela_error *err);

/* Hook number i of the gateway section, from 0, except its secret. *secret_env becomes the
 * environment variable that holds the secret.
 * Ownership: the members of *out and *secret_env are borrowed from cfg.
 * Errors: CHELA_ENOENT: there is no hook i; err is not set. CHELA_EINVAL: the size of out is
 * wrong. */
CHELA_API int chela_config_hook(const chela_config *cfg, size_t i, struct chela_gateway_hook *out,
                                const char **secret_env, struct chela_error *err);

/* Schedule number i of the file, from 0: the schedules, then the agents that wake up.
 * Ownership: the members of *out are borrowed from cfg.
 * Errors: CHELA_ENOENT: there is no schedule i; err is not set. CHELA_ECONFIG: the schedule
 * is wrong; the message names the line. CHELA_EINVAL: the size of out is wrong. */
CHELA_API int chela_config_schedule(const chela_config *cfg, size_t i, struct chela_schedule *out,
                                    struct chela_error *err);

/* Nonzero: the file gives agent `id` (NULL: the first) the tool `schedule`
 * (chela_schedule_tool). */
CHELA_API int chela_config_schedule_tool(const chela_config *cfg, const char *id);

/* The environment variables that hold the secrets of a channel; NULL: none, or the secret
 * is in a file. */
struct chela_channel_env {
    size_t size; /* set by CHELA_CHANNEL_ENV */
    const char *secret, *token, *encrypt_key;
    /* For secrets among the channel's settings: name of the setting, name of the variable,
     * ..., NULL; may be NULL. */
    const char *const *settings;
};
#define CHELA_CHANNEL_ENV(...) {.size = sizeof(struct chela_channel_env), __VA_ARGS__}

/* Channel number i of the file, from 0, except its secrets.
 * Ownership: the members of *out and *env are borrowed from cfg.
 * Errors: CHELA_ENOENT: there is no channel i; err is not set. CHELA_EINVAL: the size of out
 * or env is wrong. */
CHELA_API int chela_config_channel(const chela_config *cfg, size_t i,
                                   struct chela_channel_opts *out, struct chela_channel_env *env,
                                   struct chela_error *err);

/* Read the secret files of a channel now, and set the secrets in *channel.
 * Ownership: the members that are set are borrowed from cfg.
 * Errors: CHELA_ENOENT, CHELA_EIO, CHELA_ELIMIT: a file cannot be read. CHELA_ECONFIG: its
 * content is not a secret, or an option is not filled in (CHELA_CONFIG_OPEN). CHELA_EINVAL:
 * channel has no name, or its size is wrong. */
CHELA_API int chela_config_channel_secrets(const chela_config *cfg,
                                           struct chela_channel_opts *channel,
                                           struct chela_error *err);

/* Receives an option and its value. from_file is 0 for a default. The texts are borrowed
 * until the function returns. */
typedef void chela_config_show_fn(const char *key, const char *value, int from_file, void *user);

/* Call fn with every option that has a value, such as "agents.list[coder].limits.maxTurns",
 * in the order of docs/configuration.md. Secrets are not shown. cfg NULL: the defaults. */
CHELA_API void chela_config_show(const chela_config *cfg, chela_config_show_fn *fn, void *user);

/* Receives a sensitive option. kind is one of "behavior", "limit", "model",
 * "file", "schedule", "server", "endpoint", "sandbox", "permission", "key", "command" and
 * "program". The texts are borrowed until the function returns. */
typedef void chela_config_claim_fn(const char *kind, const char *key, const char *value,
                                   void *user);

/* Call fn with every sensitive option of the file: all options except names, texts for the
 * model and the versions of prompts; and with every program in the project of the file that the
 * file names, which is read then. The kinds come in the order above. Secrets are
 * replaced and long values are cut. A file that came with a directory must not be used before
 * the user agreed to these options; see chela/trust.h. */
CHELA_API void chela_config_claims(const chela_config *cfg, chela_config_claim_fn *fn, void *user);

/* Remove the options of a file that is not trusted, except names, texts for the model, versions
 * of prompts, and limits below those of `own`. For all other options `own`, the user's own
 * file, holds; NULL: the defaults hold. Skills of the workspace are not offered.
 * Ownership: own belongs to cfg after the call. */
CHELA_API void chela_config_restrict(chela_config *cfg, chela_config *own);

/* Whether both files give the same rights: nonzero if they differ at most in options that an
 * owner may change with the tool `gateway`. */
CHELA_API int chela_config_same_rights(const chela_config *a, const chela_config *b);

/* The JSON Schema of chela.yaml, for editors.
 * Ownership: the caller frees the result with chela_free.
 * Threads: any */
CHELA_API char *chela_config_schema(void);

CHELA_END_DECLS
#endif
