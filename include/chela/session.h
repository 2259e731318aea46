/* session.h -- runtimes, agents, sessions and runs.
 *
 * A runtime owns an event loop and everything that lives in the loop. An agent is a
 * definition: model, prompt, tools, limits. A session is a conversation with an agent. A
 * run is the work that one input causes; a session has one run at a time.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts and options are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_SESSION_H
#define CHELA_SESSION_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
#include "chela/event.h"
#include "chela/heartbeat.h"
#include "chela/sandbox.h"
#include "chela/tool.h"
#include "chela/version.h"
CHELA_BEGIN_DECLS

typedef struct chela_runtime chela_runtime;
typedef struct chela_session chela_session;

/* --- runtime -------------------------------------------------------------- */

/* The severity of a log line. TRACE is only logged for the areas in `trace`. */
enum chela_log_level {
    CHELA_LOG_TRACE = 0,
    CHELA_LOG_INFO = 1,
    CHELA_LOG_WARN = 2,
    CHELA_LOG_ERROR = 3
};

/* Receives log lines, on any thread, also on several at once. The texts are borrowed until
 * the function returns. It must not call the library, except functions of error.h. */
typedef void chela_log_fn(enum chela_log_level level, const char *area, const char *line,
                          void *user);

/* A runtime. */
struct chela_runtime_opts {
    size_t size; /* set by CHELA_RUNTIME_OPTS */
    void *uv_loop;                     /* a uv_loop_t of the host; NULL: a loop of its own */
    /* Returns the value of an environment variable, or NULL. Called on the loop thread;
     * must not call the library. NULL: the process's environment. */
    const char *(*env)(const char *name, void *user);
    chela_log_fn *log;                 /* NULL: no log */
    const char *trace;                 /* areas to trace: "net,run" or "all"; NULL: none */
    const char *module_path;           /* searched first for libchela-*.so; may be NULL */
    const char *ca_file;               /* NULL: the system's trust store */
    unsigned max_threads;              /* threads for blocking tools; 0: 64 */
    void *user;                        /* for env and log; borrowed */
    /* A file to record model calls to, or a file to replay them from instead of using the
     * network (docs/cassettes.md). At most one of the two. */
    const char *record, *replay;
    enum chela_language language; /* of sentences for people, such as the one of RUN_END */
};
#define CHELA_RUNTIME_OPTS(...) {.size = sizeof(struct chela_runtime_opts), __VA_ARGS__}

/* Create a runtime. opts may be NULL. The calling thread becomes the loop thread unless
 * the host passes a loop.
 * Ownership: the caller owns *out and closes it with chela_runtime_close; opts is copied,
 * except uv_loop and user, which are borrowed while the runtime is open.
 * Threads: any
 * Errors: CHELA_EINVAL: an option is wrong. CHELA_EIO: the loop cannot be created, or the
 * file of `record` cannot be written. CHELA_ENOENT, CHELA_EIO, CHELA_ELIMIT,
 * CHELA_ECONFIG: the file of `replay` cannot be used. */
CHELA_API int chela_runtime_new(const struct chela_runtime_opts *opts, chela_runtime **out,
                                struct chela_error *err);

/* Cancel all runs and free the runtime with its agents, sessions and runs. NULL is
 * allowed. No event is sent during or after the call. The call waits for tools that are
 * running on threads. Close gateways before. In a host's loop, the last handles are closed
 * by the next iterations of the loop. If the server of the store does not answer, the call
 * waits until a call of the store has failed (45 s) and makes no further one: the last
 * changes are lost, as if the process had been killed.
 * Ownership: rt and everything that was created with it becomes invalid, except stores.
 * Callbacks: no: the function logs an error and does nothing. */
CHELA_API void chela_runtime_close(chela_runtime *rt);

/* Work until no run is in progress and no message waits to be started, accepted or sent. A
 * message in the outbox (chela/mailbox.h) whose channel has no send function waits until
 * chela_outbox_channel names one: the call does not return before, and another thread cannot
 * end it. Use chela_runtime_poll if the channel is named later.
 * Callbacks: no: CHELA_EBUSY, or 0 if nothing is in progress.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback. */
CHELA_API int chela_runtime_run(chela_runtime *rt);

/* Do the work that is ready, without waiting. Returns 0.
 * Callbacks: no: the function does nothing. */
CHELA_API int chela_runtime_poll(chela_runtime *rt);

/* A model service: a new one, or changes to a built-in one. */
struct chela_provider_opts {
    size_t size; /* set by CHELA_PROVIDER_OPTS */
    const char *name;     /* the part of a model's name before the slash */
    const char *api;      /* "anthropic", "openai", "gemini", "bedrock"; NULL: unchanged */
    const char *base_url; /* NULL: unchanged */
    const char *api_key;  /* NULL: from api_key_env */
    const char *api_key_env; /* environment variable that holds the key */
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char *extra_body;     /* JSON object that is merged into each request */
    const char *quirks;         /* comma-separated list; "-name" removes a quirk */
    const char *service_tier;   /* as the service names it; NULL: the service's default */
    const char *cache_ttl;      /* "5m" or "1h"; NULL: as the agent asks */
    const char *transport;      /* "http", or "websocket" for the Responses API; NULL: "http" */
    int background;             /* 1: replies are made in the background, and polled */
    int store;                  /* 1: the service may store replies; 0 or -1: it must not */
};
#define CHELA_PROVIDER_OPTS(...) {.size = sizeof(struct chela_provider_opts), __VA_ARGS__}

/* Add or change a provider. Applies to agents that are created afterwards.
 * Errors: CHELA_EINVAL: the name is missing or contains a slash. CHELA_ECONFIG: the api, a quirk,
 * a header, extra_body or an option that the service does not have is wrong. */
CHELA_API int chela_runtime_provider(chela_runtime *rt, const struct chela_provider_opts *opts,
                                     struct chela_error *err);

/* The price of a model in US dollars per million tokens. */
struct chela_price {
    size_t size; /* set by CHELA_PRICE */
    double input, output;
    const double *cache_read, *cache_write; /* NULL: as input */
};
#define CHELA_PRICE(...) {.size = sizeof(struct chela_price), __VA_ARGS__}

/* Set the price of a model that the built-in list lacks, or change it. Without a price the
 * cost of a run is unknown. Applies to agents that are created afterwards.
 * Errors: CHELA_EINVAL: provider or model is missing, or a price is negative. */
CHELA_API int chela_runtime_price(chela_runtime *rt, const char *provider, const char *model,
                                  const struct chela_price *price, struct chela_error *err);

/* Set the context window of a model that the built-in list lacks, or change it. Applies to
 * agents that are created afterwards.
 * Errors: CHELA_EINVAL: provider or model is missing, or tokens is less than 1. */
CHELA_API int chela_runtime_context_window(chela_runtime *rt, const char *provider,
                                           const char *model, int64_t tokens,
                                           struct chela_error *err);

/* Add quirks to one model, in addition to those of its provider: a comma-separated list as
 * in chela_provider_opts, such as "reasons" for an Azure deployment of a reasoning model
 * under a name of its own. Applies to agents that are created afterwards.
 * Errors: CHELA_EINVAL: the provider or the model is missing. CHELA_ECONFIG: a quirk is
 * unknown. */
CHELA_API int chela_runtime_model_quirks(chela_runtime *rt, const char *provider,
                                         const char *model, const char *quirks,
                                         struct chela_error *err);

/* Add a directory with skills of the user: its folders hold a SKILL.md each (docs/skills.md).
 * Agents that are created afterwards offer the skills after those of their workspace, and
 * their tools may read the directory. dir is absolute; it need not exist.
 * Errors: CHELA_EINVAL: dir is not absolute. CHELA_ELIMIT: too many directories. */
CHELA_API int chela_runtime_skills(chela_runtime *rt, const char *dir, struct chela_error *err);

/* The default model: that of the first provider with a key in the environment, else of a
 * local server, else "scripted/demo". The first call may wait for a local server; from a
 * callback or in a host's loop no server is asked. *why (may be NULL) becomes the reason for
 * the choice.
 * Ownership: the result and *why are borrowed from the runtime. */
CHELA_API const char *chela_default_model(chela_runtime *rt, const char **why);

/* --- agent ---------------------------------------------------------------- */

/* The limits of a run. 0: the default; -1: no limit. Other negative values and NaN are refused. */
struct chela_limits {
    size_t size;                    /* set by CHELA_LIMITS */
    int64_t max_turns;              /* model calls in a run: 25 */
    int64_t max_tool_calls;         /* 200 */
    int64_t max_consecutive_errors; /* 3 */
    int64_t token_budget;           /* input and output tokens of a run: no limit */
    int64_t timeout_ms;             /* timeout of a run: 30 minutes */
    double cost_budget_usd;         /* no limit */
    /* At a limit of turns, tool calls or errors, and in a loop, the model is asked once more,
     * without tools, for a summary. 0 and above: yes; negative: no. */
    int sum_up;
};
#define CHELA_LIMITS(...) {.size = sizeof(struct chela_limits), __VA_ARGS__}

/* The detection of loops. After this many repetitions the model is warned; after half as
 * many more the run ends with the reason LOOP. 0: the default; -1: no detection. Other negative
 * values are refused. */
struct chela_loop_guard {
    size_t size;           /* set by CHELA_LOOP_GUARD */
    int64_t repeats;       /* the same call with the same result: 5 */
    int64_t cycles;        /* the same sequence of two or more calls: 3 */
    int64_t texts;         /* the same text without a new call: 3 */
    int64_t polls;         /* calls that ask for progress and find none: 12 */
    int64_t unknown_tools; /* calls of tools that do not exist: 3 */
};
#define CHELA_LOOP_GUARD(...) {.size = sizeof(struct chela_loop_guard), __VA_ARGS__}

/* The queue of messages that arrive during a run (chela_session_send). */
struct chela_queue_opts {
    size_t size; /* set by CHELA_QUEUE_OPTS */
    enum chela_queue_mode mode;
    enum chela_overflow overflow;
    unsigned cap;        /* maximum number of waiting messages; 0: 20 */
    int64_t debounce_ms; /* COLLECT: pause that ends the collection; 0: one second */
};
#define CHELA_QUEUE_OPTS(...) {.size = sizeof(struct chela_queue_opts), __VA_ARGS__}

/* Limits for people who write through a channel. A policy applies to a run if its channel
 * and senders match `channel` and `sender` of struct chela_run_opts. Policies only restrict
 * an agent: a tool must be allowed by the agent and by every policy that applies, and the
 * lowest permission and the strictest `approve` count. */
struct chela_policy {
    size_t size;         /* set by CHELA_POLICY */
    const char *id;      /* for messages */
    const char *channel; /* name of a channel, or a pattern with * and ?; required */
    /* senders: ids of the people that the policy applies to, as the channel gives them;
     * patterns with * and ? are allowed; NULL: everybody. except: ids of people that the
     * policy does not apply to. Ids belong to one channel: with either list, `channel`
     * must not be a pattern. NULL-terminated. */
    const char *const *senders, *const *except;
    const char *allow, *deny;         /* tools, as in struct chela_agent_opts */
    enum chela_permission permission; /* as in struct chela_agent_opts */
    enum chela_approve approve; /* with DENY, remembered approvals are ignored */
};
#define CHELA_POLICY(...) {.size = sizeof(struct chela_policy), __VA_ARGS__}

/* How requests are sent to the model's service. */
struct chela_request_opts {
    size_t size;                /* set by CHELA_REQUEST_OPTS */
    const double *top_p;        /* NULL: the model's default */
    int64_t top_k;              /* 0: the model's default; ignored by some services */
    const int64_t *seed;        /* NULL: none; ignored by some services */
    const char *const *stop;    /* texts that end a reply; NULL-terminated */
    enum chela_cache cache;     /* prompt cache of the service */
    int strict;                 /* let the service enforce the schemas of tools, if it can */
    int no_stream;              /* request complete replies */
    enum chela_output_by output_by; /* how the model learns `output_schema` */
    int64_t idle_timeout_ms;    /* longest silence of a stream; 0: 120 s */
    int64_t connect_timeout_ms, first_byte_timeout_ms; /* 0: the defaults of docs/limits.md */
    int max_retries;            /* retries of a failed model call; 0: 2; -1: none */
    /* Tools of the vendor, such as its web search or shell (docs/models.md): JSON, a list in the
     * vendor's form, or an object of such lists by provider or protocol; NULL: none. */
    const char *server_tools;
    /* Retries of a call that an overloaded service refused, if no fallback model is left;
     * never fewer than max_retries. 0: 6, or none if max_retries is -1; -1: as max_retries. */
    int overload_retries;
    int64_t logprobs; /* alternatives per token that TURN_END reports; 0: none; ignored by some
                         services */
};
#define CHELA_REQUEST_OPTS(...) {.size = sizeof(struct chela_request_opts), __VA_ARGS__}

/* The content of the system prompt (docs/context.md). */
struct chela_prompt_opts {
    size_t size; /* set by CHELA_PROMPT_OPTS */
    /* The length of the generated instructions. `system` of the agent is a section after
     * them; skills, project files, channel and rules follow. */
    enum chela_prompt_style style;
    /* Skills that the system prompt mentions (skills/NAME/SKILL.md of the workspace, also
     * below .agents and .claude, and those of chela_runtime_skills): names and globs; NULL:
     * all, "": none, "user:*": those of chela_runtime_skills. An agent without the tool
     * `read` has no skills. */
    const char *skills;
    /* Files of the workspace that the prompt contains, NULL-terminated; NULL: AGENTS.md,
     * SOUL.md, TOOLS.md, USER.md and MEMORY.md, if they exist. Only for agents with the
     * tool `read`. */
    const char *const *project_files;
    size_t project_file_max, project_files_max; /* bytes of one file, of all; 0: 20 KB, 60 KB */
    /* Rules of the agent, NULL-terminated. The system prompt contains the first seven. Of
     * the others, those that match an input are sent with the input. */
    const char *const *rules;
    const char *reminder; /* text at the end of every user message; NULL: none */
    const char *docs;     /* documentation for the model: a path or URL; may be NULL */
    /* Percentage of the context for the system prompt, and percentage that is reserved for
     * the answer; 0: 25, 15. */
    unsigned system_share, output_share;
    int system_replaces; /* true: `system` replaces the generated instructions */
    /* Percentage of the context for the descriptions of tools; 0: 15. If the descriptions
     * need more, an event WARNING is sent, and the selection AUTO describes only some. */
    unsigned tools_share;
    /* A prompt (chela/prompt.h) whose text takes the place of `system` of the agent, unless that
     * is set: its name, and the values of its variables as a JSON object (NULL: none). Each
     * session gets the version that is pinned, rolled out to it, or the newest. */
    const char *name, *vars;
    /* Wishes that the model may trade against a rule or the request, NULL-terminated. They are a
     * section of the system prompt, the first to be shortened, and are not repeated. */
    const char *const *soft_rules;
};
#define CHELA_PROMPT_OPTS(...) {.size = sizeof(struct chela_prompt_opts), __VA_ARGS__}

/* How tools are described to the model and run. */
struct chela_toolset_opts {
    size_t size; /* set by CHELA_TOOLSET_OPTS */
    /* Which tools a request describes. During a session, tools are added to the
     * description and never removed. */
    enum chela_selection selection;
    unsigned selection_size; /* TOPK: tools that are described; 0: 10 */
    /* An embedding model, "provider/model", of a service with OpenAI's protocol. TOPK then
     * also compares meanings, and AUTO uses TOPK for more than 50 tools; the search in
     * notes and past turns (docs/memory.md) also compares meanings. NULL: words only. If
     * the service fails, an event WARNING is sent and words are compared. */
    const char *embedding;
    unsigned parallel; /* tool calls at the same time; 0: 8 */
    /* Settings of built-in tools, NULL-terminated: "key=value" with the keys of
     * docs/tools.md, for instance "databases.default=sqlite:./data.db". query_database,
     * web_search and send_email are only offered with their settings. */
    const char *const *settings;
};
#define CHELA_TOOLSET_OPTS(...) {.size = sizeof(struct chela_toolset_opts), __VA_ARGS__}

/* Which calls need consent. `approve` of the agent decides how consent is given. */
struct chela_approval_opts {
    size_t size; /* set by CHELA_APPROVAL_OPTS */
    /* Tools whose calls need consent (ask), do not need it (auto) or are refused (deny):
     * "exec=ask,group:net=deny,my_*=auto". By default exec, send_email and tools with the
     * flags RISKY or CONFIRM need consent. */
    const char *tools;
    /* Calls that do not need consent although their tool does, NULL-terminated:
     * "exec: git status", "web_fetch: url=https://docs.example.com/\*". */
    const char *const *calls;
    const struct chela_policy *const *policies; /* NULL-terminated; may be NULL */
};
#define CHELA_APPROVAL_OPTS(...) {.size = sizeof(struct chela_approval_opts), __VA_ARGS__}

/* What happens when a conversation exceeds the model's context. */
struct chela_compaction_opts {
    size_t size; /* set by CHELA_COMPACTION_OPTS */
    enum chela_compaction mode;
    const char *model; /* writes the summary: "provider/model"; NULL: the run's model */
    enum chela_compaction_by by;
    /* A plain window: messages of people beyond this number are removed, with the replies to them,
     * when the next one arrives. 0: none is removed before the context is full. */
    int64_t history_turns;
};
#define CHELA_COMPACTION_OPTS(...) {.size = sizeof(struct chela_compaction_opts), __VA_ARGS__}

/* Plans and reflection (docs/modes.md). */
struct chela_planning_opts {
    size_t size; /* set by CHELA_PLANNING_OPTS */
    enum chela_reflection reflection;
    const char *reflect_tools; /* also judge results of these tools: names and globs */
    int review_plan; /* modes plan and route: a person must approve each plan */
    /* The models of the roles, "provider/model"; NULL: the agent's model. */
    const char *router, *planner, *executor, *reflector;
    /* A file with a fixed plan, in place of the planner: mode plan (docs/modes.md); NULL: none */
    const char *plan;
};
#define CHELA_PLANNING_OPTS(...) {.size = sizeof(struct chela_planning_opts), __VA_ARGS__}

/* Limits for agents that this agent calls (chela_agent_delegate). */
struct chela_team_opts {
    size_t size;           /* set by CHELA_TEAM_OPTS */
    unsigned max_depth;    /* depth of nested calls, 1 to 8; 0: 3 */
    unsigned max_children; /* calls of agents in one run; 0: 16 */
};
#define CHELA_TEAM_OPTS(...) {.size = sizeof(struct chela_team_opts), __VA_ARGS__}

/* What an agent may do in a gateway. */
struct chela_agent_gateway_opts {
    size_t size; /* set by CHELA_AGENT_GATEWAY_OPTS */
    /* Sessions that the tool `sessions_send` may write to: keys and globs; NULL: none. */
    const char *send_to;
    int chat_actions; /* offer chat_react and similar tools in chats */
    int gateway_tool; /* offer the tool `gateway`, to owners of a channel only */
};
#define CHELA_AGENT_GATEWAY_OPTS(...) {.size = sizeof(struct chela_agent_gateway_opts), __VA_ARGS__}

/* An agent. Everything is copied, including the groups. A group that is NULL has its
 * defaults. */
struct chela_agent_opts {
    size_t size;                  /* set by CHELA_AGENT_OPTS */
    const char *id;               /* NULL: "main" */
    const char *model;            /* "provider/model"; NULL: chela_default_model */
    const char *const *fallbacks; /* tried in order if model fails; NULL-terminated */
    const char *base_url;         /* replaces the provider's URL */
    const char *api_key;          /* replaces the key of the environment */
    const char *api_key_env;      /* another environment variable that holds the key */
    const char *system;           /* instructions; NULL: only generated instructions, "": none */
    const char *workspace;        /* directory of the file tools; NULL: the current one */
    const char *tools;            /* built-in tools to add: names, globs, groups
                                     ("read,ls", "group:files"); NULL: none */
    const char *allow;            /* tools to offer, of every kind; NULL: all, "": none */
    const char *deny;             /* tools never to offer, of every kind; overrides allow */
    enum chela_permission permission; /* offer only tools that need no more than this */
    const char *tool_choice;      /* "auto", "any", "none" or the name of a tool */
    enum chela_approve approve;   /* how consent to calls is given */
    enum chela_mode mode;
    enum chela_reasoning reasoning;
    int64_t max_output_tokens;    /* limit of a reply; 0: the model's default */
    const double *temperature;    /* NULL: the model's default */
    /* JSON Schema of the final answer. The text of RUN_END is then JSON that matches the
     * schema. If an answer does not match, the model is asked once more; then the run
     * fails. */
    const char *output_schema;
    /* The purpose of the agent in one sentence, for agents that may call this one
     * (chela_agent_delegate). NULL: the first sentence of `system`. */
    const char *description;
    const struct chela_limits *limits;
    const struct chela_loop_guard *loop_guard;
    const struct chela_request_opts *request;
    const struct chela_prompt_opts *prompt;
    const struct chela_toolset_opts *toolset;
    const struct chela_approval_opts *approvals;
    const struct chela_sandbox_opts *sandbox; /* for programs that tools start */
    const struct chela_queue_opts *queue;     /* queue of the agent's sessions */
    const struct chela_compaction_opts *compaction;
    const struct chela_planning_opts *planning;
    const struct chela_team_opts *team;
    const struct chela_heartbeat_opts *heartbeat; /* mode heartbeat */
    const struct chela_agent_gateway_opts *gateway;
    enum chela_apply apply; /* when the changes of its runs become real; another value than EACH
                               needs a machine that can mount layers, else CHELA_EPERM */
};
#define CHELA_AGENT_OPTS(...) {.size = sizeof(struct chela_agent_opts), __VA_ARGS__}

/* Create an agent. opts may be NULL.
 * Ownership: the caller owns *out and closes it with chela_agent_close, or leaves that to
 * chela_runtime_close; opts is copied.
 * Errors: CHELA_EINVAL: rt is NULL, or an option is wrong. CHELA_ECONFIG: a model, a
 * provider or a base URL is wrong. CHELA_EAUTH: a key is missing. CHELA_ENOENT, CHELA_EPERM: the
 * workspace cannot be used, or there is no such file of a scripted model or a plan.
 * CHELA_ELIMIT: too many fallbacks, files, rules, policies or settings. */
CHELA_API int chela_agent_new(chela_runtime *rt, const struct chela_agent_opts *opts,
                              chela_agent **out, struct chela_error *err);

/* Close an agent. NULL is allowed. The session of chela_ask is closed. No new session can
 * be opened with the agent, and no other agent can call it or hand a conversation to it.
 * Open sessions continue.
 * Ownership: agent becomes invalid for the caller. The library frees the agent after its
 * last session is closed and no gateway serves it. */
CHELA_API void chela_agent_close(chela_agent *agent);

/* An agent as a tool of another agent. */
struct chela_delegate_opts {
    size_t size;             /* set by CHELA_DELEGATE_OPTS */
    const char *name;        /* name of the tool; NULL: the id of the agent that is called */
    const char *description; /* description of the tool; NULL: the description of that agent */
    /* The model may start the agent in the background: the call returns at once, and the
     * session is notified when the run has ended, as for a process (chela_session_on_wake).
     * The host listens with chela_session_on_task. Such a run has the limits of its own
     * agent. */
    int background;
};
#define CHELA_DELEGATE_OPTS(...) {.size = sizeof(struct chela_delegate_opts), __VA_ARGS__}

/* Add agent `to` as a tool of `agent`. The model passes a task; `to` works on the task
 * with its own model, tools and workspace, and its answer is the result of the call. Its
 * run belongs to a session of its own, whose key begins with the key of the caller's
 * session. The run shares the limits, budgets and policies of the caller. Its questions
 * appear in the caller's session (APPROVAL_REQUIRED, CLIENT_TOOL_REQUIRED), its events as
 * CHILD. Cancelling the caller cancels the run. opts may be NULL.
 * Ownership: both agents are borrowed; opts is copied.
 * Errors: CHELA_EINVAL: the agents belong to different runtimes, or the name is wrong.
 * CHELA_EEXIST: the agent has a tool of this name. CHELA_ELIMIT: the agent has too many
 * tools. */
CHELA_API int chela_agent_delegate(chela_agent *agent, chela_agent *to,
                                   const struct chela_delegate_opts *opts,
                                   struct chela_error *err);

/* Allow `agent` to hand a conversation to `to` with the tool `handoff`. From the next model
 * call on, `to` works in the session (event HANDOFF), also after the session is opened
 * again. May be called for several agents, and while the agent has a run: the tool is
 * offered from the run's next model call on.
 * Ownership: both agents are borrowed.
 * Errors: CHELA_EINVAL: the agents belong to different runtimes. CHELA_EEXIST: the agent
 * has another tool `handoff`. CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_agent_handoff(chela_agent *agent, chela_agent *to, struct chela_error *err);

/* A program as a tool: it reads the arguments as JSON from standard input and writes the
 * result to standard output. */
struct chela_command_opts {
    size_t size;                        /* set by CHELA_COMMAND_OPTS */
    const struct chela_tool_opts *tool; /* required; fn and user are not used */
    const char *const *argv;            /* NULL-terminated; argv[0] is the program */
    const char *cwd;                    /* NULL: the workspace */
};
#define CHELA_COMMAND_OPTS(...) {.size = sizeof(struct chela_command_opts), __VA_ARGS__}

/* Add a program as a tool.
 * Errors: CHELA_EINVAL: an option is wrong. CHELA_EEXIST: the agent has a tool of this
 * name. CHELA_ELIMIT: the agent has too many tools. */
CHELA_API int chela_agent_add_command(chela_agent *agent, const struct chela_command_opts *opts,
                                      struct chela_error *err);

/* Replace `allow`, `deny` and `permission` of the agent, from the next model call on.
 * allow and deny may be NULL, as in struct chela_agent_opts.
 * Errors: CHELA_EINVAL: a group of tools or the permission is unknown. */
CHELA_API int chela_agent_policy(chela_agent *agent, const char *allow, const char *deny,
                                 enum chela_permission permission, struct chela_error *err);

/* The tools that the agent may use: a JSON array of {name, description, summary, schema,
 * effect, permission}.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_agent_tools_json(const chela_agent *agent);

/* The tools that the agent may use in a run with this channel and sender; both may be
 * NULL. The form is that of chela_agent_tools_json.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_agent_tools_for_json(const chela_agent *agent, const char *channel,
                                           const char *sender);

/* The policies that apply to a run with this channel and sender; both may be NULL:
 * {"policies":["id",...],"approve":"ask"}. "approve" is the value that results from the
 * agent and the policies.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_agent_policies_json(const chela_agent *agent, const char *channel,
                                          const char *sender);

/* What each allow rule of the agent permits: a JSON array of {area, name, status, detail,
 * tool, program, reads}. name is the rule, and area is "rule". status is "ok", or "warn" if
 * the rule has no effect on this machine: there is no such program, or the rule holds only
 * in the full sandbox and the machine lacks a layer of it. program (the file that would run)
 * and reads (what the program reads besides the files of its arguments) are absent for other
 * tools than exec. Tests the sandbox, as chela_runtime_survey does.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_agent_rules_json(const chela_agent *agent);

/* The context window of the agent's model in tokens; 0: unknown. */
CHELA_API int64_t chela_agent_context_window(const chela_agent *agent);

/* The skills of the workspace and of the user: a JSON array of {name, description, version,
 * location, file, used, told, user_invocable, problem, warning, allowed_tools, tools_trusted,
 * unknown_tools}. location is the path that the model is given. told: the prompt mentions the
 * skill. problem: the reason why the skill is not used, or null. warning: how its file departs
 * from the format, or null. allowed_tools: the entries of its allowed-tools; unknown_tools: those
 * that name no tool, or null. tools_trusted: the entries count (chela_trust_skills).
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_agent_skills_json(const chela_agent *agent);

/* Store a JSON object of the host, of at most 4 KB, with the runs of the agent's sessions: member
 * "host" of their STATE records (chela_store_records). The library does not use the object. It is
 * part of a fork and of an export, and is not imported. json NULL: none from now on.
 * Errors: CHELA_EINVAL: no JSON object. CHELA_ELIMIT: too long. */
CHELA_API int chela_agent_memo(chela_agent *agent, const char *json, struct chela_error *err);

/* Expand a prompt that begins with "/skill NAME" to the instructions of the skill and the
 * rest of the prompt. Any other prompt is copied. Reads a file.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EINVAL: the name of the skill is missing. CHELA_ENOENT: the workspace has no
 * such skill, people may not call the skill, or its file cannot be read. */
CHELA_API char *chela_agent_expand(const chela_agent *agent, const char *text, size_t len,
                                   struct chela_error *err);

/* Run a tool as a run would, with validation, policy and sandbox, and wait for the result:
 * {id, name, is_error, error_type, retryable, content, details, truncated, duration_ms}.
 * The call counts as approved. arguments is a JSON object; NULL or "": no arguments.
 * Ownership: the caller frees the result with chela_free.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_ESTATE: the loop belongs to a host, or the host runs the tool. CHELA_EBUSY:
 * called from a callback. Failures of the tool are in the result. */
CHELA_API char *chela_agent_call_tool(chela_agent *agent, const char *name, const char *arguments,
                                      struct chela_error *err);

/* --- session -------------------------------------------------------------- */

/* Open a session. key NULL: a new random key. With a store (chela/store.h) the session is
 * read from the store, which takes a moment. Runs can be started before: they wait, and
 * end with the reason STORE if the session cannot be read.
 * Ownership: the caller owns *out and closes it with chela_session_close, or leaves that
 * to chela_runtime_close; key is copied.
 * Errors: CHELA_EINVAL: the key is not UTF-8 of 1 to 256 bytes. CHELA_EEXIST: the runtime
 * has a session with this key open. CHELA_ESTATE: the agent is closed. */
CHELA_API int chela_session_new(chela_agent *agent, const char *key, chela_session **out,
                                struct chela_error *err);

/* Close a session and cancel its run. NULL is allowed. No event of the run follows.
 * Ownership: s becomes invalid. Handles of runs stay valid until chela_run_free. */
CHELA_API void chela_session_close(chela_session *s);

/* Called when a session with a store has been read or cannot be read; err is NULL on
 * success. Called on the loop thread. err is borrowed until the function returns. */
typedef void chela_ready_fn(chela_session *s, const struct chela_error *err, void *user);

/* Set the function that is called when the session has been read. fn may be NULL: none.
 * fn is not called for a session without a store, or after the session was read.
 * Ownership: user is borrowed until the session is closed. */
CHELA_API void chela_session_on_ready(chela_session *s, chela_ready_fn *fn, void *user);

/* Wait until the session has been read.
 * Callbacks: no: CHELA_EBUSY, unless the session has been read.
 * Errors: CHELA_ESTATE: the loop belongs to a host and the session is not read yet.
 * CHELA_EBUSY: called from a callback, or another process uses the session. CHELA_EPARSE:
 * the stored session is damaged. CHELA_EIO, CHELA_ENET, CHELA_EPERM, CHELA_ELIMIT: the
 * store failed. CHELA_ECANCELED: a callback closed the session. */
CHELA_API int chela_session_wait(chela_session *s, struct chela_error *err);

/* The state of the session. chela_run_resume continues a session in any state but IDLE. */
CHELA_API enum chela_session_status chela_session_status(const chela_session *s);

/* The key of the session.
 * Ownership: the result is borrowed from the session. */
CHELA_API const char *chela_session_key(const chela_session *s);

/* The text of the model's last message; "" if there is none.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_session_last_text(const chela_session *s);

/* The conversation: a JSON array of messages in chela's own format.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_session_messages_json(const chela_session *s);

/* The last n messages of the conversation, in the form of chela_session_messages_json. The
 * first of them may be the result of a call whose message is not among them.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_session_recent_json(const chela_session *s, size_t n);

/* --- run ------------------------------------------------------------------ */

/* Where the input of a run comes from. */
enum chela_input_kind {
    CHELA_INPUT_USER = 0,   /* a person */
    CHELA_INPUT_EVENT = 1,  /* an event in the session, such as the end of a process */
    CHELA_INPUT_TIMER = 2,  /* a schedule */
    CHELA_INPUT_WEBHOOK = 3 /* another program */
};

/* An image (PNG, JPEG, GIF, WebP) or a PDF: bytes, or a URL. The model's service fetches
 * the URL, unless it has the form data:TYPE;base64,... */
struct chela_media {
    const void *data;
    size_t len;
    const char *url;        /* used instead of data; NULL: data is used */
    const char *media_type; /* NULL: derived from the bytes */
    const char *name;       /* for messages and titles; may be NULL */
};

struct chela_inbound;

/* A run. Texts are copied. */
struct chela_run_opts {
    size_t size; /* set by CHELA_RUN_OPTS */
    chela_event_fn *on_event; /* may be NULL */
    void *user;               /* for on_event; borrowed until RUN_END */
    enum chela_input_kind kind;
    /* Restrictions for this run, within those of the agent. */
    const char *allow, *deny;
    enum chela_permission permission;
    enum chela_approve approve;
    /* Nonzero: the program can take back a reply that it has shown. A model call that
     * failed in the middle of a reply is then repeated; an event RETRY or FALLBACK
     * announces that the reply starts again. */
    int may_redo;
    int insist;          /* chela_run_resume: also resume a session that is PARKED */
    /* Images and documents for the model, with the text. CHELA_EINVAL, CHELA_ELIMIT: no
     * service accepts them. */
    const struct chela_media *media;
    size_t nmedia;
    /* The sender of the input, for the agent's policies. channel: name of the channel;
     * NULL: the session's channel (chela_session_channel). sender: the id that the channel
     * assigns to the sender, never a name that the sender chose. Stored with the input: a
     * resumed run has the restrictions that it began with. */
    const char *channel, *sender;
    /* Facts about a message that arrived through a channel (chela/channel.h); NULL: there
     * is only the text. */
    const struct chela_inbound *inbound;
    const char *prompt; /* fingerprint to record (chela/prompt.h); NULL: the agent's own */
    /* For channels (mailbox.h), in sessions with a store. event_id: id of the accepted
     * event that this input is. answer_to: address of the answer, as the session's channel
     * understands it; NULL: the answer is not sent. */
    const char *event_id, *answer_to;
    /* If the answer of the run is this text, input and answer are removed from the
     * conversation. NULL: they stay. */
    const char *drop_if;
    const struct chela_urge *urge; /* mode heartbeat: the decision that led to the run;
                                      NULL: none */
    /* W3C Trace Context of the caller, "00-TRACE-SPAN-01": the run belongs to that trace
     * (chela/telemetry.h). Stored with the input. A text of another form is ignored; NULL:
     * none. */
    const char *traceparent;
    /* The sources of the input, comma-separated, for the rule of two (docs/policy.md), such as
     * "web:example.com" or, for private data, "private=mcp:tickets". Stored with the input. NULL: a
     * group or a sender of the channel, another program, or else the owner. */
    const char *labels;
};
#define CHELA_RUN_OPTS(...) {.size = sizeof(struct chela_run_opts), __VA_ARGS__}

/* Start a run. text is the input. opts and out may be NULL. Exactly one RUN_END follows,
 * unless the session or the runtime is closed before.
 * Ownership: text and opts are copied, opts->user is borrowed until RUN_END. The caller
 * owns the handle *out and frees it with chela_run_free, at any time.
 * Errors: CHELA_EBUSY: a run is in progress; use chela_run_steer, chela_run_follow_up or
 * chela_session_send. CHELA_ESTATE: a run is paused, or the session is not ready for
 * event_id or answer_to. CHELA_EEXIST: the session has the event event_id already.
 * CHELA_EINVAL: an option is wrong. CHELA_ELIMIT: the input, an image or the session is
 * too large. */
CHELA_API int chela_run_start(chela_session *s, const char *text, size_t len,
                              const struct chela_run_opts *opts, chela_run **out,
                              struct chela_error *err);

/* Start a run that shortens the conversation: a summary replaces all but the last messages.
 * focus (may be NULL) names what the summary must preserve. An event COMPACTION reports the
 * result; without the event there was nothing to shorten. opts and out may be NULL.
 * Ownership: as for chela_run_start.
 * Errors: CHELA_EBUSY: a run is in progress. CHELA_ESTATE: a run is unfinished.
 * CHELA_EINVAL: an option is wrong. */
CHELA_API int chela_session_compact(chela_session *s, const char *focus,
                                    const struct chela_run_opts *opts, chela_run **out,
                                    struct chela_error *err);

/* Called when something happened in a session without a run, such as the end of a process
 * that `exec` started in the background. The next run gets a note about it. Called on the
 * loop thread, never from inside another function. */
typedef void chela_wake_fn(chela_session *s, void *user);

/* Set the function that is called when something happened. fn may be NULL: none. A host that
 * wants the model to react at once calls chela_run_wake, in fn or later. A run in progress
 * gets the note before its next model call (event SYSTEM_EVENT); fn is not called.
 * Ownership: user is borrowed until the session is closed. */
CHELA_API void chela_session_on_wake(chela_session *s, chela_wake_fn *fn, void *user);

/* Set the function that gets the events of agents in the background, as CHILD events with an
 * empty `parent` and the task's id as `call`. Their questions are answered with
 * chela_session_approve and chela_session_answer, which also resume them. fn may be NULL.
 * Ownership: user is borrowed until the session is closed. */
CHELA_API void chela_session_on_task(chela_session *s, chela_event_fn *fn, void *user);

/* The tasks of the session, agents in the background and processes of `exec`, as a JSON array
 * of {id, kind, title, status, ms}: kind is "agent" or "command"; status is running, waiting
 * (for a person), interrupted, or as in RUN_END; with `agent`, or with `exit_code`. Ended tasks
 * are listed for a while.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_session_tasks_json(chela_session *s);

/* What a task has said or printed so far: the last text of an agent, the log of a process.
 * NULL: see err.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ENOENT: there is no such task. */
CHELA_API char *chela_session_task_text(chela_session *s, const char *id, struct chela_error *err);

/* End a task. The model's next request mentions the end.
 * Errors: CHELA_ENOENT: there is no such task. CHELA_ESTATE: it has ended. */
CHELA_API int chela_session_task_cancel(chela_session *s, const char *id,
                                        struct chela_error *err);

/* Start a run whose input describes what happened (chela_session_on_wake). opts and out may
 * be NULL.
 * Ownership: as for chela_run_start.
 * Errors: CHELA_ENOENT: nothing happened. Others as for chela_run_start: CHELA_EBUSY,
 * CHELA_ESTATE, CHELA_EEXIST, CHELA_EINVAL, CHELA_ELIMIT. */
CHELA_API int chela_run_wake(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                             struct chela_error *err);

/* Send a message to a run in progress. The message is delivered before the next model call;
 * tool calls of the current reply that have not started are skipped. The run keeps its
 * restrictions: if senders have different ones, use chela_session_send.
 * Errors: CHELA_ESTATE: the run has ended. CHELA_ELIMIT: the message is too large, or too
 * many messages wait. */
CHELA_API int chela_run_steer(chela_run *run, const char *text, size_t len);

/* Send a message that is delivered when the run would end; the run then continues.
 * Errors: CHELA_ESTATE: the run has ended. CHELA_ELIMIT: the message is too large, or too
 * many messages wait. */
CHELA_API int chela_run_follow_up(chela_run *run, const char *text, size_t len);

/* Set how chela_session_send treats messages that arrive during a run; the default is
 * `queue` of the agent.
 * Errors: CHELA_EINVAL: an option is wrong. */
CHELA_API int chela_session_queue(chela_session *s, const struct chela_queue_opts *opts,
                                  struct chela_error *err);

/* Send a message to a session in any state. Without a run the message starts one. During a
 * run the queue decides (chela_session_queue). While a run is paused the message waits. A
 * message whose restrictions differ from those of the run in progress never joins that run;
 * it starts a run of its own later. opts (may be NULL) is for the run that the message
 * starts. text NULL: send nothing, but start with the messages that wait since an earlier
 * process.
 * Ownership: text and opts are copied, opts->user is borrowed until the session is closed
 * or the function is called again.
 * Errors: CHELA_ELIMIT: the message is too large, or too many messages wait. CHELA_ENOENT:
 * text is NULL and no message waits. Others as for chela_run_start: CHELA_EINVAL,
 * CHELA_ESTATE, CHELA_EEXIST. */
CHELA_API int chela_session_send(chela_session *s, const char *text, size_t len,
                                 const struct chela_run_opts *opts, struct chela_error *err);

/* Cancel a run. NULL is allowed; a second call and a call after the end do nothing. The run
 * ends with the status CANCELLED, and its conversation stays valid. After a call from a
 * callback of the run, no delta is emitted and no tool call starts; the events of the end
 * follow. reason may be NULL.
 * Ownership: reason is copied. The caller must hold the handle, and the runtime must be
 * open, during the call.
 * Threads: any */
CHELA_API void chela_cancel(chela_run *run, const char *reason);

/* Stop a run at once, so that it can be resumed later: for a program that must exit. NULL is
 * allowed. Running tools are killed, nothing more is stored, and the run ends with the
 * status PAUSED and the reason INTERRUPTED. This process or another resumes the session
 * after opening it again. Without a store the function cancels the run.
 * Ownership: the caller must hold the handle, and the runtime must be open, during the call.
 * Threads: any */
CHELA_API void chela_run_leave(chela_run *run);

/* Free the handle of a run. NULL is allowed. The run continues.
 * Ownership: run becomes invalid for the caller. */
CHELA_API void chela_run_free(chela_run *run);

/* Set the result of a call that the host runs (event CLIENT_TOOL_REQUIRED).
 * Errors: CHELA_ENOENT: no such call waits. CHELA_EEXIST: the call has a result already. */
CHELA_API int chela_session_answer(chela_session *s, const char *call_id, const char *content,
                                   size_t len, int is_error, struct chela_error *err);

/* Decide about a call that needs consent (event APPROVAL_REQUIRED). enum chela_decision
 * states the meaning of reason, which may be NULL where a decision does not need it.
 * Errors: CHELA_EINVAL: there is no such decision, reason is missing, or the arguments do
 * not match the schema. CHELA_ENOENT: no call with this id waits. CHELA_EEXIST: the call
 * was decided before. CHELA_EPERM: ALLOW_ALWAYS is not possible for this call. */
CHELA_API int chela_session_approve(chela_session *s, const char *approval_id,
                                    enum chela_decision decision, const char *reason,
                                    struct chela_error *err);

/* End a run with a text of a person as its answer: in any state, also paused. The work in
 * progress is dropped.
 * Errors: CHELA_ESTATE: the run has ended. CHELA_EINVAL: the text is empty. CHELA_ELIMIT:
 * the text is too large. */
CHELA_API int chela_run_take_over(chela_run *run, const char *text, size_t len);

/* Continue a paused run after its calls are answered and decided, or continue a run that an
 * earlier process left unfinished: calls without an effect are repeated, calls that may
 * have had an effect are not, and calls that need consent are asked about again. opts and
 * out may be NULL.
 * Ownership: as for chela_run_start.
 * Errors: CHELA_ESTATE: there is nothing to continue, calls still wait, or the session is
 * PARKED and opts->insist is 0. CHELA_EINVAL: an option is wrong. */
CHELA_API int chela_run_resume(chela_session *s, const struct chela_run_opts *opts,
                               chela_run **out, struct chela_error *err);

/* Wait until the run has ended or paused.
 * Callbacks: no: CHELA_EBUSY, unless the run has ended.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback. */
CHELA_API int chela_run_wait(chela_run *run);

/* The status and the reason of a run, as in RUN_END; RUNNING and NONE before. A run whose
 * session was closed is CANCELLED. */
CHELA_API enum chela_status chela_run_status(const chela_run *run);
CHELA_API enum chela_reason chela_run_reason(const chela_run *run);

/* The answer and the error of a run, as in RUN_END; NULL before. The error is "" if there
 * is none.
 * Ownership: the result is borrowed from the handle, until chela_run_free or
 * chela_run_resume. */
CHELA_API const char *chela_run_text(const chela_run *run);
CHELA_API const char *chela_run_error(const chela_run *run);

/* --- convenience ---------------------------------------------------------- */

/* Ask a question and wait for the answer, in a session of the agent that all calls share.
 * If chela_agent_tool failed before, the next call fails once with the reason. If agent is
 * NULL and *err has a code, *err stays: it states why the agent could not be created.
 * Ownership: the caller frees the result with chela_free.
 * Callbacks: no: CHELA_EBUSY.
 * Errors: CHELA_EINVAL: agent is NULL. CHELA_ESTATE: the loop belongs to a host, the agent
 * is closed, or the run paused. CHELA_EBUSY: called from a callback. CHELA_ELIMIT: the run
 * stopped at a limit, or the input is too large. CHELA_ECANCELED: the run was cancelled.
 * CHELA_EMODEL: the run failed, or was refused. CHELA_EEXIST: an earlier chela_agent_tool
 * failed with this code. */
CHELA_API char *chela_ask(chela_agent *agent, const char *text, struct chela_error *err);

/* Free a text that the library returned. NULL is allowed.
 * Ownership: p becomes invalid.
 * Threads: any */
CHELA_API void chela_free(void *p);

/* The functions that replace malloc, realloc and free. They are called on any thread and
 * must not call the library. */
struct chela_allocator {
    void *(*malloc)(size_t n);
    void *(*realloc)(void *p, size_t n);
    void (*free)(void *p);
    void (*out_of_memory)(size_t wanted); /* must not return; NULL: abort */
};

/* Replace malloc for the whole process, once, before anything else.
 * Ownership: a is copied.
 * Threads: any, before every other call
 * Callbacks: no: the library has allocated memory by then. */
CHELA_API void chela_set_allocator(const struct chela_allocator *a);

CHELA_END_DECLS
#endif
