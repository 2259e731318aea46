/* config.h -- chela.yaml: agents, providers, tools from a file.
 *
 * Order: default < file < environment < flag. Unknown keys are errors in sections
 * that decide who may do what or which agent answers, and warnings elsewhere; both
 * name the nearest known key. Wrong types are errors. All have file, line, column. */
#ifndef CHELA_CONFIG_H
#define CHELA_CONFIG_H
#include "chela/gateway.h"
#include "chela/session.h"
CHELA_BEGIN_DECLS

typedef struct chela_config chela_config;

/* Called for each warning, "FILE:LINE:COLUMN: text". */
typedef void chela_config_warn_fn(const char *line, void *user);

/* Read a file. Relative paths in it are relative to the file. warn may be
 * NULL. On failure err reads "FILE:LINE:COLUMN: KEY: why" where the contents
 * are wrong. */
CHELA_API int chela_config_load(const char *path, chela_config_warn_fn *warn, void *user,
                                chela_config **out, struct chela_error *err);

/* The same with options. The whole file is read whatever is wrong with it: err has
 * the first error and the number of the others, and complain is told each of them. */
struct chela_config_opts {
    size_t size; /* set by CHELA_CONFIG_OPTS */
    chela_config_warn_fn *warn, *complain; /* each may be NULL */
    void *user;
    int strict; /* every unknown key is an error */
};
#define CHELA_CONFIG_OPTS(...) {.size = sizeof(struct chela_config_opts), __VA_ARGS__}
CHELA_API int chela_config_open(const char *path, const struct chela_config_opts *opts,
                                chela_config **out, struct chela_error *err);
CHELA_API void chela_config_free(chela_config *cfg);

/* Register the file's providers with rt. Key files are read now. */
CHELA_API int chela_config_apply(const chela_config *cfg, chela_runtime *rt,
                                 struct chela_error *err);

/* Fill the fields of opts that are not set (NULL, 0) from agent `id` of the
 * file, then from its defaults; `deny` is added to, so that nothing the file
 * forbids comes back. A model that is set keeps its own fallbacks. `tools`
 * becomes all the built-in ones. Borrowed from cfg.
 * id NULL: the first agent, or the defaults alone. CHELA_ENOENT names the
 * known ids. */
CHELA_API int chela_config_agent(const chela_config *cfg, const char *id,
                                 struct chela_agent_opts *opts, struct chela_error *err);

/* Add the file's own tools. Which of them the agent may use is a matter of its
 * options, as it is for all others. */
CHELA_API int chela_config_tools(const chela_config *cfg, const char *id, chela_agent *agent,
                                 struct chela_error *err);

/* The URL of the file's store with its path made absolute, and how safe it has
 * to be; NULL: it says nothing. Borrowed from cfg. */
CHELA_API const char *chela_config_store(const chela_config *cfg);
CHELA_API const char *chela_config_durability(const chela_config *cfg);

/* The ids of agents that agent `id` may call, in order; NULL past the last. They
 * are to be made and offered to it (chela_agent_delegate). Borrowed from cfg. */
CHELA_API const char *chela_config_calls(const chela_config *cfg, const char *id, size_t i);
/* Likewise those that it may hand a conversation to (chela_agent_handoff). */
CHELA_API const char *chela_config_takers(const chela_config *cfg, const char *id, size_t i);

/* The ids of its agents, in order; NULL past the last. Borrowed from cfg. */
CHELA_API const char *chela_config_agent_id(const chela_config *cfg, size_t i);

/* Fill the fields of opts that are not set from the file's gateway; the token
 * is not there, *token_env (may be NULL) is the variable that holds it. */
CHELA_API int chela_config_gateway(const chela_config *cfg, struct chela_gateway_opts *opts,
                                   const char **token_env, int64_t *drain_ms,
                                   struct chela_error *err);

/* The token that is in the file's gateway.tokenFile, as that is now; *out is NULL
 * if there is no such option. Borrowed from cfg. */
CHELA_API int chela_config_token(const chela_config *cfg, const char **out,
                                 struct chela_error *err);

/* One hook of the gateway, but for its secret: *secret_env is the variable that
 * holds it. CHELA_ENOENT past the last. */
CHELA_API int chela_config_hook(const chela_config *cfg, size_t i, struct chela_gateway_hook *out,
                                const char **secret_env, struct chela_error *err);

/* One run that begins by the clock: a schedule, or an agent that wakes up.
 * CHELA_ENOENT past the last; CHELA_ECONFIG names the place. Borrowed from cfg. */
CHELA_API int chela_config_schedule(const chela_config *cfg, size_t i, struct chela_schedule *out,
                                    struct chela_error *err);
/* Is the agent (NULL: the first) to have the tool `schedule`? */
CHELA_API int chela_config_schedule_tool(const chela_config *cfg, const char *id);

/* A chat channel of the gateway, but for its secrets: env says which variables
 * hold them, NULL where there is none, or a file does. CHELA_ENOENT past the last. */
struct chela_channel_env {
    size_t size; /* set by CHELA_CHANNEL_ENV */
    const char *secret, *token, *encrypt_key;
};
#define CHELA_CHANNEL_ENV(...) {.size = sizeof(struct chela_channel_env), __VA_ARGS__}
CHELA_API int chela_config_channel(const chela_config *cfg, size_t i,
                                   struct chela_channel_opts *out, struct chela_channel_env *env,
                                   struct chela_error *err);

/* Those of its secrets that are in files, as they are now. Borrowed from cfg. */
CHELA_API int chela_config_channel_secrets(const chela_config *cfg,
                                           struct chela_channel_opts *channel,
                                           struct chela_error *err);

/* Every option that has a value, "agents.list[coder].limits.maxTurns", in the
 * order of the manual: from_file, or the default. What may be secret is not
 * shown. cfg NULL: the defaults. Texts are borrowed for the call. */
typedef void chela_config_show_fn(const char *key, const char *value, int from_file, void *user);
CHELA_API void chela_config_show(const chela_config *cfg, chela_config_show_fn *fn, void *user);

/* Trust: a file that came with a directory is not to be believed before the user
 * agreed (chela/trust.h). Every option that then decides anything, which is all
 * but names, texts for the model and lower limits. kind is one of "behavior",
 * "limit", "model", "file", "schedule", "server", "endpoint", "sandbox",
 * "permission", "key" and "command", in this order. Secrets are replaced and long
 * values cut. Texts are borrowed for the call. */
typedef void chela_config_claim_fn(const char *kind, const char *key, const char *value,
                                   void *user);
CHELA_API void chela_config_claims(const chela_config *cfg, chela_config_claim_fn *fn, void *user);

/* Keep of a file that is not trusted only what decides nothing: names, texts for
 * the model, and limits below those of `own`, the user's own file, which is taken
 * over and otherwise holds; NULL: the defaults hold. Skills of the workspace are
 * not offered. */
CHELA_API void chela_config_restrict(chela_config *cfg, chela_config *own);

/* Do both files give the same rights? They may differ in options that an owner may
 * change by the tool `gateway`. */
CHELA_API int chela_config_same_rights(const chela_config *a, const chela_config *b);

/* The JSON Schema of the file, for editors; yours to chela_free. */
CHELA_API char *chela_config_schema(void);

CHELA_END_DECLS
#endif
