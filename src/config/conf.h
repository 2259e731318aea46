/* conf.h -- the parsed chela.yaml: plain structs, filled by the table in
 * option.c. Zero or NULL means "not set" everywhere. The configuration owns all
 * memory. */
#ifndef CH_CONFIG_CONF_H
#define CH_CONFIG_CONF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "chela/config.h"
#include "json/json.h"
#include "model/catalog/model_columns.h"

struct chela_channel_ops;
struct chela_channel_option;
struct ch_option;

/* The first member of every entry of a list or map. */
struct ch_conf_item {
    const char *name; /* unique in its list */
    struct ch_json_where where;
};

/* The place of a value that may turn out to be wrong; see chela_config_place. */
struct ch_conf_place {
    const char *value, *place; /* place: "FILE:LINE:COLUMN: KEY" */
    struct ch_conf_place *next;
};

/* An environment variable that the file names for a secret. */
struct ch_conf_secret {
    const char *env;
    struct ch_conf_secret *next;
};

struct ch_conf_list {
    void *items; /* n structs of the list's scope */
    size_t n;
};

/* Willingness to answer in one kind of chat. */
struct ch_conf_willing {
    signed char answers_all;
    const double *text, *mention, *quote, *direct, *keyword_factor, *most, *half_life, *threshold,
        *slope, *reply_cost, *refractory, *share_low, *share_high;
};

struct ch_conf_heartbeat {
    const char *const *names, *const *keywords, *const *stop_words; /* NULL-terminated */
    const char *quiet_hours, *utc_offset;
    int64_t hush_s, bot_turns, beats, history, debounce_ms;
    const char *protocol, *busy, *opinion;
    const char *const *memory;
    const double *typing;
    struct ch_conf_willing group, direct;
};

/* An agent that wakes up by a schedule. */
struct ch_conf_wake {
    const char *every, *file, *session, *timezone, *quiet_hours;
    double cost_usd;
    int64_t max_per_day;
};

/* Patterns of hosts (egress.h), joined with commas; NULL: not set. */
struct ch_conf_egress {
    const char *allow, *deny, *ask;
};

/* The rule of two (egress/labels.h); trust joined with commas; NULL: not set. */
struct ch_conf_flow {
    const char *rule, *trust;
    const char *const *files; /* NULL-terminated */
};

/* A text `system` that begins so is JSON: {"prompt","vars"}. */
#define CH_CONF_PROMPT "\xe2\x81\xa0"

struct ch_conf_agent {
    struct ch_conf_item item;
    struct ch_conf_egress egress;
    const char *title;
    const char *description;
    const char *const *calls; /* ids of agents that it may call as tools; NULL-terminated */
    const char *send_to; /* globs, comma separated */
    const char *const *takers; /* ids of agents that it may hand a conversation to */
    int64_t max_depth, max_children; /* limits for called agents */
    const char *const *models; /* the first, then its fallbacks; NULL-terminated */
    const char *embedding;     /* one embedding model */
    const char *system, *workspace;
    const char *allow, *deny; /* globs, comma separated */
    const char *skills;       /* globs, comma separated */
    const char *prompt, *reminder, *docs, *system_mode;
    const char *const *project_files, *const *rules, *const *soft_rules; /* NULL-terminated */
    int64_t file_bytes, files_bytes, system_share, output_share, tools_share;
    const char *permission, *selection, *choice, *mode, *reasoning, *apply;
    int64_t parallel, selection_size, max_output_tokens;
    const double *temperature, *top_p;
    int64_t top_k, seed, retries, overload_retries, logprobs;
    const char *const *stop;
    const char *cache;
    signed char strict;
    const char *output_schema, *output_by;
    const char *server_tools;
    const char *compaction, *compaction_by, *compaction_model;
    int64_t history_turns;
    int64_t idle_ms, connect_ms, first_byte_ms;
    struct chela_limits limits;
    struct chela_loop_guard loop_guard;
    signed char sum_up;
    const char *plan;
    signed char review_plan;
    const char *reflection, *reflect_tools;
    const char *router, *planner, *executor, *reflector; /* models */
    const char *queue_mode, *queue_overflow;
    int64_t queue_cap, queue_debounce_ms;
    struct ch_conf_heartbeat heartbeat;
    struct ch_conf_wake wake;
    signed char schedule_tool, chat_actions, gateway_tool;
};

struct ch_conf_model {
    struct ch_conf_item item;
    int64_t context_window;
    const double *input, *output, *cache_read, *cache_write; /* US dollars per million tokens */
    const char *quirks;
    const char *facts[CH_COLUMNS]; /* values as JSON; NULL: the file does not say it */
};

struct ch_conf_provider {
    struct ch_conf_item item;
    const char *api, *base_url, *key_env, *key_file;
    const char *const *headers;
    const char *extra_body, *quirks;
    const char *transport, *service_tier, *cache_ttl;
    signed char background, store;
    struct ch_conf_list models;
};

/* A retry policy; all 0: none. */
struct ch_conf_retry {
    int64_t attempts, backoff_ms, max_backoff_ms, deadline_ms;
};

struct ch_conf_tool {
    struct ch_conf_item item;
    const char *description, *parameters;
    const char *const *command;
    const char *cwd, *effect, *permission;
    const char *flow;  /* words joined with commas; NULL: not set */
    const char *check; /* JSON: a list, the program and its arguments, or a mapping of arguments */
    int64_t timeout_ms;
    struct ch_conf_retry retry;
    bool confirm, action;
};

/* An MCP server: a command or a URL. */
struct ch_conf_mcp {
    struct ch_conf_item item;
    const char *const *command, *const *env, *const *headers; /* "Name: value" */
    const char *url, *era, *effect, *permission, *allow, *deny, *sandbox;
    const char *const *writable, *const *readable;
    const char *client_id, *client_secret_env, *client_metadata_url, *issuer;
    const char *const *roots;
    const char *log_level, *flow;
    bool no_network, unasked, disabled, resources, sampling, sampling_unasked;
    int64_t timeout_ms, sampling_requests, sampling_tokens;
    struct ch_conf_retry retry;
};

struct ch_conf_approvals {
    const char *levels;       /* "exec=ask,write=auto" */
    const char *const *rules; /* "exec: git status"; NULL-terminated */
};

/* Limits for people who write through a channel. */
struct ch_conf_policy {
    struct ch_conf_item item;
    const char *channel, *allow, *deny, *permission, *approve;
    const char *const *senders, *const *except;
};

/* Settings of tools that access external services. */
struct ch_conf_outside {
    const char *const *databases; /* "databases.NAME=URL"; NULL-terminated */
    struct ch_conf_egress egress;
    struct ch_conf_flow flow;
    const char *fetch_allow, *fetch_deny;
    bool fetch_private;
    const char *search_provider, *search_url, *search_key_env;
    const char *smtp, *mail_from, *mail_user, *mail_password_env, *mail_tls, *mail_allow;
    bool wait, memory;
    const char *memory_sessions;
    int64_t memory_inject;
};

/* What the programs of tools can access. */
struct ch_conf_sandbox {
    const char *mode, *network;
    bool home;
    const char *const *writable, *const *readable, *const *protect; /* NULL-terminated */
    struct chela_sandbox_limits limits; /* sizes in MB */
};

struct ch_conf_hook {
    struct ch_conf_item item;
    const char *secret_env, *agent, *session;
};

/* A program that is run when something happens. */
struct ch_conf_hook_program {
    struct ch_conf_item item;
    const char *match;
    const char *const *command;
    const char *cwd;
    int64_t timeout_ms;
};

enum { CH_CONF_HOOK_EVENTS = 8 }; /* as CH_HOOK_EVENTS (agent/feature/hook/hook_list.h) */

struct ch_conf_schedule {
    struct ch_conf_item item;
    const char *when, *timezone, *agent, *session, *prompt, *missed, *quiet_hours;
    bool fresh;
    double cost_usd;
    int64_t max_turns, timeout_ms, max_per_day;
};

struct ch_conf_budget {
    struct ch_conf_item item;
    const char *agent, *channel, *sender;
    double cost_usd;
    int64_t tokens;
};

/* A secret: one source, the hosts that own it (joined with commas), a header or NULL. */
struct ch_conf_secret_source {
    struct ch_conf_item item;
    const char *env, *file, *credential, *hosts, *header;
    const char *const *command;
};

struct ch_conf_gateway {
    const char *listen, *token_env, *token_file, *tls_cert, *tls_key;
    const char *const *hosts, *const *origins; /* NULL-terminated */
    int64_t drain_s;
    int64_t workers;
    int64_t retention_days;
    struct ch_conf_list hooks; /* struct ch_conf_hook */
    bool mcp;                  /* serve /mcp */
    const char *mcp_agent, *mcp_issuer, *mcp_resource, *mcp_introspection, *mcp_client_id,
        *mcp_client_secret_env, *mcp_scope;
};

/* A chat service. Its own options are in the slots, at the offsets of its rows. */
struct ch_conf_channel {
    struct ch_conf_item item;
    const struct chela_channel_ops *ops;
    const struct ch_option *rows; /* the channel's own options; ended by key == NULL */
    const char *agent, *dm_policy, *group_policy, *group_session, *language;
    const char *const *allow_from, *const *groups, *const *owners; /* NULL-terminated */
    bool unasked;
    int64_t group_lines, group_minutes;
    union {
        const char *text;
        bool flag;
    } slots[CH_LIMIT_CHANNEL_SLOTS];
};

struct ch_conf_prompt_rule {
    struct ch_conf_item item; /* its name is the name of the prompt */
    const char *version;
    unsigned percent; /* share of sessions of a roll-out */
};

struct ch_conf_prompts {
    struct ch_conf_item dir;           /* the item's name is the path */
    struct ch_conf_list pins, rollout; /* struct ch_conf_prompt_rule */
};

struct ch_conf_telemetry {
    const char *otlp, *protocol, *service;
    bool content;
};

struct ch_conf {
    struct ch_conf_agent defaults;
    struct ch_conf_list agents;    /* struct ch_conf_agent */
    struct ch_conf_list providers; /* struct ch_conf_provider */
    struct ch_conf_list tools;     /* struct ch_conf_tool */
    struct ch_conf_list mcp;       /* struct ch_conf_mcp */
    struct ch_conf_list hooks[CH_CONF_HOOK_EVENTS]; /* struct ch_conf_hook_program, by event */
    struct ch_conf_approvals approvals;
    struct ch_conf_list policies;  /* struct ch_conf_policy */
    struct ch_conf_list schedules; /* struct ch_conf_schedule */
    struct ch_conf_list budgets;   /* struct ch_conf_budget */
    struct ch_conf_list secrets;   /* struct ch_conf_secret_source */
    const char *store, *durability, *language, *apply;
    struct ch_conf_outside outside;
    struct ch_conf_sandbox sandbox;
    struct ch_conf_gateway gateway;
    struct ch_conf_list channels; /* struct ch_conf_channel */
    struct ch_conf_prompts prompts;
    struct ch_conf_telemetry telemetry;
};

struct chela_config {
    struct ch_arena *arena; /* owned */
    const char *file;       /* file name as the caller gave it */
    const char *dir;        /* base directory for relative paths */
    const char *home;       /* that `~/` means; NULL: unknown */
    const char *path;       /* file name below its real directory, for the trust record */
    struct chela_config *own; /* owned; the user's own file, if the file is not trusted; else
                               * NULL */
    struct ch_conf conf;
    struct ch_conf_place *places; /* in the arena */
    struct ch_conf_secret *secrets; /* in the arena */
    struct ch_conf_programs *programs; /* programs.h; in the arena */
    const struct ch_conf_agent **by_name; /* agents of the file, sorted by name; in the arena */
};

/* Parse a configuration from memory. name is used in messages; relative paths
 * are resolved against dir. */
int ch_config_parse(struct ch_sv text, const char *name, const char *dir,
                    chela_config_warn_fn *warn, void *user, chela_config **out,
                    struct chela_error *err);
int ch_config_parse_with(struct ch_sv text, const char *name, const char *dir,
                         const struct chela_config_opts *opts, chela_config **out,
                         struct chela_error *err);

/* Set by_name after the list of agents was made: each agent is looked up several times, and
 * a file may list a thousand. */
void ch_conf_sort_agents(chela_config *cfg);
/* id NULL: the first agent, or the defaults if the file has no agent. NULL: no such agent. */
const struct ch_conf_agent *ch_conf_find_agent(const chela_config *cfg, const char *id);

/* Load the configured prompts into rt; errors name the place in the file. */
int ch_conf_prompts_apply(const chela_config *cfg, chela_runtime *rt, struct chela_error *err);

/* The command of an MCP server as it is run. */
const char *const *ch_conf_mcp_command(const chela_config *cfg, const char *const *words);

/* The heartbeat settings of agent a, with the defaults for settings it lacks. */
int ch_conf_heartbeat(const chela_config *cfg, const struct ch_conf_agent *a,
                      const struct chela_heartbeat_opts **out, struct chela_error *err);

/* Sets the retry options of a struct chela_tool_opts or chela_mcp_opts. */
#define CH_CONF_RETRY(to, r)                                                                       \
    do {                                                                                           \
        bool policy = (r)->attempts || (r)->backoff_ms || (r)->max_backoff_ms || (r)->deadline_ms; \
        (to)->max_retries = (r)->attempts == 1 ? -1 : (int)CH_MAX((r)->attempts - 1, 0);           \
        (to)->retry_backoff_ms = !policy            ? 0                                            \
                                 : (r)->backoff_ms ? CH_MAX((r)->backoff_ms, 1)                   \
                                                   : CH_DEFAULT_BACKOFF_MS;                       \
        (to)->retry_max_backoff_ms = CH_MAX((r)->max_backoff_ms, 0);                               \
        (to)->retry_deadline_ms = CH_MAX((r)->deadline_ms, 0);                                     \
    } while (0)

/* Offer the tools of the file's MCP servers that exist in the agent's runtime. */
int ch_conf_mcp_attach(const chela_config *cfg, chela_agent *agent, struct chela_error *err);

/* Read a file that contains a secret. file: as an option of cfg names it. */
int ch_conf_read_key(const chela_config *cfg, const char *file, struct ch_buf *out,
                     struct chela_error *err);

/* The rows of a channel's own options, in the arena. */
const struct ch_option *ch_conf_channel_rows(const struct chela_channel_ops *ops,
                                             struct ch_arena *a);
/* The row of an option of the channel: its own or a common one; NULL: none. */
const struct ch_option *ch_conf_channel_row(const struct ch_conf_channel *c, struct ch_sv key);
/* Whether the value is the address of a service to which secrets would go unencrypted. */
bool ch_conf_channel_is_exposed(const struct ch_conf_channel *c, struct ch_sv key,
                                const char *value);
/* Call fn with the files that hold secrets of channels. */
void ch_conf_channel_files(const struct ch_conf *conf, void (*fn)(const char *path, void *user),
                           void *user);
/* Whether the file configures the channel, and not only mentions it. */
bool ch_conf_channel_enabled(const struct ch_conf_channel *c);
/* The option without which the channel is not used; NULL: the file sets it. */
const struct chela_channel_option *ch_conf_channel_lacks(const struct ch_conf_channel *c);

/* Resolve path against the directory of the file, or against the home directory if it is `~` or
 * begins with `~/`; absolute paths stay unchanged. */
const char *ch_conf_path(const chela_config *cfg, struct ch_sv path);
/* The URL of a store, with its path resolved. */
const char *ch_conf_store(const chela_config *cfg, const char *url);

#endif
