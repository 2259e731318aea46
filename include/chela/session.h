/* session.h -- runtime, agent, session, run.
 *
 * A runtime owns a loop and everything that lives in it. An agent is a
 * definition: model, prompt, tools, limits. A session is a conversation with
 * an agent; it runs one thing at a time. A run is what one input causes, from
 * its first event to its last.
 *
 * Calls are made on the loop thread (the thread that created the runtime, or
 * the host loop's), except where "any thread" is said. */
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

enum chela_log_level {
    CHELA_LOG_TRACE = 0,
    CHELA_LOG_INFO = 1,
    CHELA_LOG_WARN = 2,
    CHELA_LOG_ERROR = 3
};
typedef void chela_log_fn(enum chela_log_level level, const char *area, const char *line,
                          void *user);

struct chela_runtime_opts {
    size_t size; /* set by CHELA_RUNTIME_OPTS */
    void *uv_loop;                     /* a uv_loop_t to live in; NULL: our own */
    const char *(*env)(const char *name, void *user); /* NULL: the process's */
    chela_log_fn *log;                 /* NULL: silent */
    const char *trace;                 /* areas: "net,run" or "all" */
    const char *module_path;           /* where libchela-*.so is looked for first */
    const char *ca_file;               /* NULL: the system's trust store */
    unsigned max_threads;              /* for blocking tools; 0: 64 */
    void *user;                        /* for env and log */
    /* A file to record the calls of models to, or to play them back from
     * instead of the network (docs/cassettes.md); at most one of the two. */
    const char *record, *replay;
};
#define CHELA_RUNTIME_OPTS(...) {.size = sizeof(struct chela_runtime_opts), __VA_ARGS__}

/* opts may be NULL. On success the caller owns *out and must close it. */
CHELA_API int chela_runtime_new(const struct chela_runtime_opts *opts, chela_runtime **out,
                                struct chela_error *err);

/* Cancel what runs, free everything (agents, sessions and runs included).
 * NULL is a no-op. No event arrives during or after. In a host's loop the last
 * handles are closed by the loop's next iterations. Waits for blocking tools
 * that are still running. Not from inside a callback: there it logs an error and
 * does nothing. */
CHELA_API void chela_runtime_close(chela_runtime *rt);

/* Work until no run is in progress. Not with a host's loop (CHELA_ESTATE). */
CHELA_API int chela_runtime_run(chela_runtime *rt);
/* One pass without waiting. */
CHELA_API int chela_runtime_poll(chela_runtime *rt);

/* A server that is not built in, or fields of one that is. */
struct chela_provider_opts {
    size_t size;
    const char *name;     /* what users type before the slash */
    const char *api;      /* "anthropic", "openai", "gemini", "bedrock"; NULL: keep */
    const char *base_url; /* NULL: keep */
    const char *api_key;  /* NULL: from api_key_env */
    const char *api_key_env;
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char *extra_body;     /* JSON object merged into each request */
    const char *quirks;         /* comma list; "-name" takes one away */
};
#define CHELA_PROVIDER_OPTS(...) {.size = sizeof(struct chela_provider_opts), __VA_ARGS__}
CHELA_API int chela_runtime_provider(chela_runtime *rt, const struct chela_provider_opts *opts,
                                     struct chela_error *err);

/* What a model costs, in US dollars for a million tokens, where the built-in
 * list does not know it or knows it otherwise. Without a price the cost of a
 * run is unknown. Holds for agents made from now on; copied. */
struct chela_price {
    size_t size;
    double input, output;
    const double *cache_read, *cache_write; /* NULL: as input */
};
#define CHELA_PRICE(...) {.size = sizeof(struct chela_price), __VA_ARGS__}
CHELA_API int chela_runtime_price(chela_runtime *rt, const char *provider, const char *model,
                                  const struct chela_price *price, struct chela_error *err);

/* How many tokens of context a model has, where the built-in list does not know
 * it or a server gives it less: results of tools are cut to suit it. At least
 * 1. Holds for agents made from now on. */
CHELA_API int chela_runtime_context_window(chela_runtime *rt, const char *provider,
                                           const char *model, int64_t tokens,
                                           struct chela_error *err);

/* The model to use when nobody chose one: the first key found in the
 * environment, a local server, else "scripted/demo". Borrowed; *why says how
 * it was found. */
CHELA_API const char *chela_default_model(chela_runtime *rt, const char **why);

/* --- agent ---------------------------------------------------------------- */

/* How far a run may go. 0: the default; -1: no limit. */
struct chela_limits {
    size_t size;                    /* set by CHELA_LIMITS */
    int64_t max_turns;              /* model calls in a run: 25 */
    int64_t max_tool_calls;         /* 200 */
    int64_t max_consecutive_errors; /* 3 */
    int64_t token_budget;           /* input + output of a run: none */
    int64_t timeout_ms;             /* of a run: 30 minutes */
    double cost_budget_usd;         /* none */
    /* At a limit of turns, calls or errors, or in a loop, the model is asked to
     * sum up, once and without tools: one model call more than the limit. */
    int sum_up;
};
#define CHELA_LIMITS(...) {.size = sizeof(struct chela_limits), __VA_ARGS__}

/* When a run repeats itself: at this many repetitions the model is told, half as
 * many later the run ends. 0: the default; -1: never. */
struct chela_loop_guard {
    size_t size;           /* set by CHELA_LOOP_GUARD */
    int64_t repeats;       /* the same call with the same result: 5 */
    int64_t cycles;        /* the same two or more calls in turn: 3 */
    int64_t texts;         /* the same text without a new call: 3 */
    int64_t polls;         /* calls that ask for progress and find none: 12 */
    int64_t unknown_tools; /* calls of tools that do not exist: 3 */
};
#define CHELA_LOOP_GUARD(...) {.size = sizeof(struct chela_loop_guard), __VA_ARGS__}

/* What becomes of messages that come while a run is in progress
 * (chela_session_send). */
struct chela_queue_opts {
    size_t size; /* set by CHELA_QUEUE_OPTS */
    enum chela_queue_mode mode;
    enum chela_overflow overflow;
    unsigned cap;        /* messages that may wait; 0: 20 */
    int64_t debounce_ms; /* COLLECT: how long is quiet; 0: one second */
};
#define CHELA_QUEUE_OPTS(...) {.size = sizeof(struct chela_queue_opts), __VA_ARGS__}

/* Bounds for people who write through a channel. Every policy whose channel and
 * senders match a run (`channel` and `sender` of chela_run_opts) applies, and can
 * only restrict what the agent may do: a tool must be allowed by all of them, and
 * the lowest permission and the strictest `approve` count. Strings are copied. */
struct chela_policy {
    size_t size;         /* set by CHELA_POLICY */
    const char *id;      /* for messages */
    const char *channel; /* a channel's name or, with * and ?, several; required */
    /* Ids of people that the policy applies to, as the channel gives them, * and ?
     * allowed; NULL: everybody. And of people that it does not apply to. An id
     * means nothing without its channel: with either list, channel must be one
     * name. NULL-terminated. */
    const char *const *senders, *const *except;
    const char *allow, *deny;         /* as those of an agent */
    enum chela_permission permission; /* likewise */
    enum chela_approve approve; /* with DENY, remembered approvals do not count */
};
#define CHELA_POLICY(...) {.size = sizeof(struct chela_policy), __VA_ARGS__}

/* How the model's service is called. */
struct chela_request_opts {
    size_t size;                /* set by CHELA_REQUEST_OPTS */
    const double *top_p;        /* NULL: the model's default */
    int64_t top_k;              /* 0: the model's default; only where the service has it */
    const int64_t *seed;        /* NULL: none; only where the service has it */
    const char *const *stop;    /* texts that end a reply; NULL-terminated */
    enum chela_cache cache;     /* of the prompt, by the service */
    int strict;                 /* hold the model to the tools' schemas, where possible */
    int no_stream;              /* ask for whole replies */
    enum chela_output_by output_by; /* how the model is told `output_schema` */
    int64_t idle_timeout_ms;    /* silence of a stream; 0: 120 s */
    int64_t connect_timeout_ms, first_byte_timeout_ms; /* 0: the defaults of docs/limits.md */
    int max_retries;            /* of a failed model call; 0: 2; -1: none */
};
#define CHELA_REQUEST_OPTS(...) {.size = sizeof(struct chela_request_opts), __VA_ARGS__}

/* What the system prompt holds (docs/context.md). */
struct chela_prompt_opts {
    size_t size; /* set by CHELA_PROMPT_OPTS */
    /* With `system` of the agent, that text takes the place of the generated
     * instructions; skills, project files, channel and rules follow it. */
    enum chela_prompt_style style;
    /* Which of the workspace's skills (skills/NAME/SKILL.md, or below .agents) are
     * described to the model: names and globs; NULL: all, "": none. None is if the
     * agent has no tool `read`. */
    const char *skills;
    /* Files of the workspace that the prompt holds, NULL-terminated; NULL:
     * AGENTS.md, SOUL.md, TOOLS.md, USER.md and MEMORY.md, where they exist. Only
     * for an agent that has the tool `read`. */
    const char *const *project_files;
    size_t project_file_max, project_files_max; /* bytes of one, of all; 0: 20 KB, 60 KB */
    /* Rules of the agent's own, NULL-terminated: the first seven are in the system
     * prompt; of the others, those that match the input are sent with it. */
    const char *const *rules;
    const char *reminder; /* sent at the end of every request; NULL: nothing */
    const char *docs;     /* where the model can read about its work: a path or URL */
    /* Per cent of the model's context for the system prompt, and those that are
     * kept free for the answer; 0: 25, 15. */
    unsigned system_share, output_share;
};
#define CHELA_PROMPT_OPTS(...) {.size = sizeof(struct chela_prompt_opts), __VA_ARGS__}

/* How tools are described to the model and run. */
struct chela_toolset_opts {
    size_t size; /* set by CHELA_TOOLSET_OPTS */
    /* Which tools a request describes. During a session tools are added, never
     * removed. */
    enum chela_selection selection;
    unsigned selection_size; /* tools that one input adds with topk; 0: 10 */
    /* "provider/model" of a service that speaks OpenAI's protocol: topk then also
     * compares meanings, and auto uses it for more than 50 tools; so do notes and
     * past turns where memory is enabled (docs/memory.md). NULL: words alone. If
     * the service fails, a WARNING says so, and words decide. */
    const char *embedding;
    unsigned parallel; /* tool calls at once; 0: 8 */
    /* Settings of tools that reach outside, NULL-terminated: "key=value", with the
     * keys of docs/tools.md ("databases.default=sqlite:./data.db"). Without their
     * settings query_database, web_search and send_email are not offered. */
    const char *const *settings;
};
#define CHELA_TOOLSET_OPTS(...) {.size = sizeof(struct chela_toolset_opts), __VA_ARGS__}

/* Which calls need consent, beyond `approve` of the agent. */
struct chela_approval_opts {
    size_t size; /* set by CHELA_APPROVAL_OPTS */
    /* Tools whose calls need consent or do not, where that differs from the default
     * (tools that are risky or flagged confirm, exec, send_email need it):
     * "exec=ask,group:net=deny,my_*=auto". */
    const char *tools;
    /* Calls that need no consent although their tool does, NULL-terminated:
     * "exec: git status", "web_fetch: url=https://docs.example.com/\*". */
    const char *const *calls;
    const struct chela_policy *const *policies; /* NULL-terminated; may be NULL */
};
#define CHELA_APPROVAL_OPTS(...) {.size = sizeof(struct chela_approval_opts), __VA_ARGS__}

/* What happens when the conversation no longer fits the model's context. */
struct chela_compaction_opts {
    size_t size; /* set by CHELA_COMPACTION_OPTS */
    enum chela_compaction mode;
    const char *model; /* that summarises: "provider/model"; NULL: the run's own */
};
#define CHELA_COMPACTION_OPTS(...) {.size = sizeof(struct chela_compaction_opts), __VA_ARGS__}

/* Plans and reflection (docs/modes.md). */
struct chela_planning_opts {
    size_t size; /* set by CHELA_PLANNING_OPTS */
    enum chela_reflection reflection;
    const char *reflect_tools; /* judge results of these tools, too: names and globs */
    int review_plan; /* modes plan and route: a person must agree to each plan */
    /* Models of the roles, "provider/model"; NULL: the agent's own. */
    const char *router, *planner, *executor, *reflector;
};
#define CHELA_PLANNING_OPTS(...) {.size = sizeof(struct chela_planning_opts), __VA_ARGS__}

/* Bounds of the agents that an agent calls (chela_agent_delegate). */
struct chela_team_opts {
    size_t size;           /* set by CHELA_TEAM_OPTS */
    unsigned max_depth;    /* how deep they may call one another, 1 to 8; 0: 3 */
    unsigned max_children; /* how many one run may call; 0: 16 */
};
#define CHELA_TEAM_OPTS(...) {.size = sizeof(struct chela_team_opts), __VA_ARGS__}

/* What an agent may do when a gateway serves it. */
struct chela_agent_gateway_opts {
    size_t size; /* set by CHELA_AGENT_GATEWAY_OPTS */
    /* Sessions that it may write to with the tool `sessions_send`, keys and globs;
     * NULL: none. */
    const char *send_to;
    int chat_actions; /* offer chat_react and the like in the chats of channels */
    int gateway_tool; /* offer `gateway`, to owners of a channel alone */
};
#define CHELA_AGENT_GATEWAY_OPTS(...) {.size = sizeof(struct chela_agent_gateway_opts), __VA_ARGS__}

/* Everything that an agent is made from. All of it is copied, the groups below
 * too. 0 and NULL: the default; a group that is NULL has its defaults. */
struct chela_agent_opts {
    size_t size;                  /* set by CHELA_AGENT_OPTS */
    const char *id;               /* NULL: "main" */
    const char *model;            /* "provider/model"; NULL: chela_default_model */
    const char *const *fallbacks; /* tried in turn when model fails; NULL-terminated */
    const char *base_url;         /* instead of the provider's */
    const char *api_key;          /* instead of the environment's */
    const char *api_key_env;      /* name of another variable */
    const char *system;           /* instructions; NULL: a short default */
    const char *workspace;        /* directory of the file tools; NULL: the current one */
    const char *tools;            /* built-ins to add: names, globs, groups ("read,ls",
                                     "group:files"); NULL: none */
    const char *allow;            /* tools to offer, of any kind; NULL: all, "": none */
    const char *deny;             /* tools never to offer, of any kind; wins over allow */
    enum chela_permission permission; /* offer no tool that needs more; 0: admin */
    const char *tool_choice;      /* auto any none NAME */
    enum chela_approve approve;   /* what becomes of calls that need consent */
    enum chela_mode mode;
    enum chela_reasoning reasoning;
    int64_t max_output_tokens;    /* of a reply; 0: the model's default */
    const double *temperature;    /* NULL: the model's default */
    /* JSON Schema of the final answer: the text of RUN_END is then JSON that
     * matches it. An answer that does not match is requested once more; then the
     * run fails. */
    const char *output_schema;
    /* What it is for, in a sentence: shown to agents that may call it
     * (chela_agent_delegate); NULL: the first sentence of `system`. */
    const char *description;
    const struct chela_limits *limits;
    const struct chela_loop_guard *loop_guard;
    const struct chela_request_opts *request;
    const struct chela_prompt_opts *prompt;
    const struct chela_toolset_opts *toolset;
    const struct chela_approval_opts *approvals;
    const struct chela_sandbox_opts *sandbox; /* of the programs that tools start */
    const struct chela_queue_opts *queue;     /* of its sessions */
    const struct chela_compaction_opts *compaction;
    const struct chela_planning_opts *planning;
    const struct chela_team_opts *team;
    const struct chela_heartbeat_opts *heartbeat; /* mode heartbeat */
    const struct chela_agent_gateway_opts *gateway;
};
#define CHELA_AGENT_OPTS(...) {.size = sizeof(struct chela_agent_opts), __VA_ARGS__}

/* Make an agent. On success the caller owns *out and closes it with
 * chela_agent_close, or leaves that to chela_runtime_close. On failure *out is
 * NULL. opts may be NULL. */
CHELA_API int chela_agent_new(chela_runtime *rt, const struct chela_agent_opts *opts,
                              chela_agent **out, struct chela_error *err);

/* Give the agent back; NULL is a no-op. The session of chela_ask is closed. From
 * now on no session can be opened with the agent, and no other agent can call it
 * or hand a conversation to it. Sessions that are open go on; the agent is freed
 * once the last of them is closed and no gateway serves the agent any more. May be
 * called from any callback on the loop thread. */
CHELA_API void chela_agent_close(chela_agent *agent);

/* Another agent as a tool: the model gives it a task, it works on its own, with
 * its own model, tools and workspace, and what it answers is the result. Its run
 * is one of a session of its own, whose key begins with that of the caller's. It
 * shares the caller's limits, budgets and bounds; what it asks of people is asked
 * in the caller's session (APPROVAL_REQUIRED, CLIENT_TOOL_REQUIRED); what it does
 * is told as CHILD. Cancelling the caller cancels it. */
struct chela_delegate_opts {
    size_t size;
    const char *name;        /* of the tool; NULL: the agent's id */
    const char *description; /* NULL: the agent's */
};
#define CHELA_DELEGATE_OPTS(...) {.size = sizeof(struct chela_delegate_opts), __VA_ARGS__}
/* opts may be NULL. Both agents are of one runtime. */
CHELA_API int chela_agent_delegate(chela_agent *agent, chela_agent *to,
                                   const struct chela_delegate_opts *opts,
                                   struct chela_error *err);

/* Another agent that may take a conversation over: the tool `handoff` names it,
 * and from the next model call on the session is that agent's (HANDOFF), also when
 * it is opened again. May be called for several. */
CHELA_API int chela_agent_handoff(chela_agent *agent, chela_agent *to, struct chela_error *err);

/* A program as a tool: JSON arguments on stdin, the result on stdout. */
struct chela_command_opts {
    size_t size;
    const struct chela_tool_opts *tool; /* required; fn and user are not used */
    const char *const *argv;            /* NULL-terminated; argv[0] is the program */
    const char *cwd;                    /* NULL: the workspace */
};
#define CHELA_COMMAND_OPTS(...) {.size = sizeof(struct chela_command_opts), __VA_ARGS__}
CHELA_API int chela_agent_add_command(chela_agent *agent, const struct chela_command_opts *opts,
                                      struct chela_error *err);

/* Replace `allow`, `deny` and `permission` of the agent; copied. Holds from the
 * next model call on. */
CHELA_API int chela_agent_policy(chela_agent *agent, const char *allow, const char *deny,
                                 enum chela_permission permission, struct chela_error *err);

/* The tools it may use as a JSON array of {name, description, summary, schema,
 * effect, permission}; yours to chela_free. */
CHELA_API char *chela_agent_tools_json(const chela_agent *agent);
/* The same for a run with this channel and sender, which may be NULL. */
CHELA_API char *chela_agent_tools_for_json(const chela_agent *agent, const char *channel,
                                           const char *sender);
/* The policies that fit such a run: {"policies":["id",...],"approve":"ask"}, with
 * what asking comes to; yours to chela_free. */
CHELA_API char *chela_agent_policies_json(const chela_agent *agent, const char *channel,
                                          const char *sender);

/* The skills that were found, as a JSON array of {name, description, version,
 * location, file, used, told, user_invocable, problem}: location is the file as
 * the model is told it, told says whether it is, problem why a skill is not used,
 * else it is null; yours to chela_free. */
CHELA_API char *chela_agent_skills_json(const chela_agent *agent);

/* A prompt as a run takes it: one that begins with "/skill NAME" calls that skill
 * of the workspace by hand and becomes its instructions and the words that
 * follow; any other is copied. Blocking; yours to chela_free. NULL and err:
 * CHELA_ENOENT for a skill that is not there, or not for people. */
CHELA_API char *chela_agent_expand(const chela_agent *agent, const char *text, size_t len,
                                   struct chela_error *err);

/* Run one tool through the whole path, blocking. The result object
 * {id,name,is_error,error_type,retryable,content,details,truncated,duration_ms}
 * is yours to chela_free; NULL and err when it could not even be tried. */
CHELA_API char *chela_agent_call_tool(chela_agent *agent, const char *name, const char *arguments,
                                      struct chela_error *err);

/* --- session -------------------------------------------------------------- */

/* key NULL: a fresh one. CHELA_EEXIST if this runtime has that key open. */
CHELA_API int chela_session_new(chela_agent *agent, const char *key, chela_session **out,
                                struct chela_error *err);
CHELA_API void chela_session_close(chela_session *s); /* cancels its run */

/* With a store (chela/store.h) a session is read when it is made, which takes a
 * moment. Runs can be started at once: they wait for it, and end with
 * store_error if it cannot be read (in use elsewhere, damaged). */
typedef void chela_ready_fn(chela_session *s, const struct chela_error *err, void *user);
CHELA_API void chela_session_on_ready(chela_session *s, chela_ready_fn *fn, void *user);
/* Block until it was read. Not with a host's loop, unless it was. */
CHELA_API int chela_session_wait(chela_session *s, struct chela_error *err);
/* For all but IDLE chela_run_resume goes on. */
CHELA_API enum chela_session_status chela_session_status(const chela_session *s);
CHELA_API const char *chela_session_key(const chela_session *s);
/* What the model said last, "" if nothing; yours to chela_free. */
CHELA_API char *chela_session_last_text(const chela_session *s);
/* The conversation as a JSON array of neutral messages; yours to chela_free. */
CHELA_API char *chela_session_messages_json(const chela_session *s);

/* --- run ------------------------------------------------------------------ */

enum chela_input_kind {
    CHELA_INPUT_USER = 0,
    CHELA_INPUT_EVENT = 1,
    CHELA_INPUT_TIMER = 2,
    CHELA_INPUT_WEBHOOK = 3
};

/* An image (PNG, JPEG, GIF, WebP) or a PDF: either bytes or a URL, which may be
 * data:TYPE;base64,... or is fetched by the model's service. */
struct chela_media {
    const void *data;
    size_t len;
    const char *url;        /* instead of data; NULL: data */
    const char *media_type; /* NULL: told by the bytes */
    const char *name;       /* for messages and titles; may be NULL */
};

struct chela_inbound;

struct chela_run_opts {
    size_t size; /* set by CHELA_RUN_OPTS */
    chela_event_fn *on_event; /* may be NULL */
    void *user;               /* handed to on_event */
    enum chela_input_kind kind;
    /* On whose behalf: bounds within those of the agent, for this run. Copied. */
    const char *allow, *deny;
    enum chela_permission permission;
    enum chela_approve approve;
    /* Nonzero: what was shown of a reply can be taken back, so a call that
     * failed in the middle may be made again; a RETRY or FALLBACK event says
     * so, and the reply begins anew. */
    int may_redo;
    int insist;          /* chela_run_resume: also a run that was parked */
    /* Shown to the model beside the text; copied. CHELA_EINVAL and CHELA_ELIMIT
     * for what no service takes. */
    const struct chela_media *media;
    size_t nmedia;
    /* Who wrote, for the agent's policies: the channel's name, NULL: that of the
     * session's channel (chela_session_channel), and the id that the channel itself
     * gives the sender, never a name that people choose. Copied and stored with the
     * input: a run that is resumed has the bounds that it began with. */
    const char *channel, *sender;
    /* The message came through a channel, and this is known about it
     * (chela/channel.h); copied. NULL: the text is all there is. */
    const struct chela_inbound *inbound;
    const char *prompt; /* fingerprint to record (chela/prompt.h); NULL: the agent's own */
    /* For channels (mailbox.h), in sessions that are kept; copied. event_id: of
     * the accepted event that this is. answer_to: where the answer goes, in the
     * words of the session's channel; NULL: nowhere. */
    const char *event_id, *answer_to;
    /* If this is all that the run has to say in the end, it leaves nothing in the
     * conversation: later requests are as if it had never been. Copied; NULL: it
     * stays. */
    const char *drop_if;
    const struct chela_urge *urge; /* mode heartbeat: what led to it; NULL: nobody asked */
};
#define CHELA_RUN_OPTS(...) {.size = sizeof(struct chela_run_opts), __VA_ARGS__}

/* Start; text is copied. Exactly one RUN_END event follows unless the session
 * or runtime is closed first. CHELA_EBUSY while a run is in progress: steer it
 * or queue a follow-up. CHELA_ESTATE while one is paused: answer its calls.
 * out may be NULL; otherwise the caller owns *out and frees it, any time. */
CHELA_API int chela_run_start(chela_session *s, const char *text, size_t len,
                              const struct chela_run_opts *opts, chela_run **out,
                              struct chela_error *err);

/* A run that does nothing but condense the conversation, as far as it goes: all
 * but the last messages, with a summary that keeps above all what concerns
 * `focus` (may be NULL). A COMPACTION event tells what came of it; without one
 * there was nothing to condense. Errors as chela_run_start; CHELA_ESTATE also
 * while an earlier run is unfinished. */
CHELA_API int chela_session_compact(chela_session *s, const char *focus,
                                    const struct chela_run_opts *opts, chela_run **out,
                                    struct chela_error *err);

/* Something happened that the model should know of: a background process that
 * `exec` started has ended. A run in progress is told before its next model
 * call (SYSTEM_EVENT). Without one it waits for the next run, and fn is called,
 * on the loop thread, never from inside another call: a host that wants the
 * model to hear of it now calls chela_run_wake, there or later. */
typedef void chela_wake_fn(chela_session *s, void *user);
CHELA_API void chela_session_on_wake(chela_session *s, chela_wake_fn *fn, void *user);
/* As chela_run_start, with what happened meanwhile as its input. CHELA_ENOENT:
 * nothing did. */
CHELA_API int chela_run_wake(chela_session *s, const struct chela_run_opts *opts, chela_run **out,
                             struct chela_error *err);

/* A message for a run in progress: delivered before its next model call; tool
 * calls of the current batch not yet started are skipped. CHELA_ESTATE when
 * the run has ended, CHELA_ELIMIT when too many wait. The run keeps its bounds:
 * where senders differ in theirs, use chela_session_send. */
CHELA_API int chela_run_steer(chela_run *run, const char *text, size_t len);
/* A message that waits until the run would end, and then goes on with it. */
CHELA_API int chela_run_follow_up(chela_run *run, const char *text, size_t len);

/* Messages that come as they please: begin a run, or, while one is in progress,
 * do with them what the agent or chela_session_queue chose; while one is paused they wait. A
 * message whose bounds are not those of the run never joins it: it begins one of its own, later. */
CHELA_API int chela_session_queue(chela_session *s, const struct chela_queue_opts *opts,
                                  struct chela_error *err);
/* opts: of the run that begins with it; may be NULL. text is copied; NULL:
 * nothing new, but what waits since an earlier process begins (CHELA_ENOENT:
 * nothing does). */
CHELA_API int chela_session_send(chela_session *s, const char *text, size_t len,
                                 const struct chela_run_opts *opts, struct chela_error *err);

/* Any thread, as long as the caller holds the run and the runtime is open; a
 * second call and a call after the end do nothing. The run ends with status
 * "cancelled"; its history stays valid. reason may be NULL. */
CHELA_API void chela_cancel(chela_run *run, const char *reason);

/* Stop at once and leave the rest for later, from any thread like chela_cancel: a
 * program that has to end does this. Tools under way are killed, nothing more is
 * stored, and the run ends with status "paused", reason "interrupted". Its session
 * can be resumed once it is opened again, by this process or another. Without a
 * store there is no later: then it cancels. */
CHELA_API void chela_run_leave(chela_run *run);

/* Give the handle back; NULL is a no-op. The run itself goes on. */
CHELA_API void chela_run_free(chela_run *run);

/* Answer a call that the run handed to the host (CLIENT_TOOL_REQUIRED).
 * CHELA_ENOENT: no such call waits. CHELA_EEXIST: answered before. */
CHELA_API int chela_session_answer(chela_session *s, const char *call_id, const char *content,
                                   size_t len, int is_error, struct chela_error *err);
/* Decide about a call that needs consent (APPROVAL_REQUIRED); reason, which may
 * be NULL, is what the model is told about a denial, or what the decision says it
 * is. CHELA_EINVAL: arguments that do not fit. CHELA_ENOENT: nobody asked
 * with that id. CHELA_EEXIST: decided before. CHELA_EPERM: it cannot be allowed
 * always, ask for once. */
CHELA_API int chela_session_approve(chela_session *s, const char *approval_id,
                                    enum chela_decision decision, const char *reason,
                                    struct chela_error *err);
/* A person ends the run with words of their own, which become its answer: at any
 * step, also of one that is paused or was just resumed. What was under way is
 * dropped. CHELA_ESTATE: it has ended. */
CHELA_API int chela_run_take_over(chela_run *run, const char *text, size_t len);
/* Go on with a paused run once its calls are answered and decided about
 * (CHELA_ESTATE before); or with one that an earlier process left unfinished:
 * what changes nothing is done again, what may have taken effect is not, and
 * calls that still need consent are asked about again. CHELA_ESTATE: there is
 * none, or it is parked and opts->insist is not set. */
CHELA_API int chela_run_resume(chela_session *s, const struct chela_run_opts *opts,
                               chela_run **out, struct chela_error *err);

/* Block until the run has ended or paused. Not with a host's loop. */
CHELA_API int chela_run_wait(chela_run *run);
/* As in RUN_END; CHELA_STATUS_RUNNING and CHELA_REASON_NONE before. */
CHELA_API enum chela_status chela_run_status(const chela_run *run);
CHELA_API enum chela_reason chela_run_reason(const chela_run *run);
/* NULL while it runs; else as in RUN_END, valid as long as the handle. */
CHELA_API const char *chela_run_text(const chela_run *run);
CHELA_API const char *chela_run_error(const chela_run *run); /* "" without error */

/* --- convenience ---------------------------------------------------------- */

/* One question, one answer, in the agent's own session (which remembers).
 * Blocking. NULL and err when the run did not end well. Yours to chela_free.
 * If chela_agent_tool failed before, nothing is asked: NULL and err, once, with
 * the reason for that failure. */
CHELA_API char *chela_ask(chela_agent *agent, const char *text, struct chela_error *err);
CHELA_API void chela_free(void *p);

/* Replace malloc for the whole process, once, before anything else. */
struct chela_allocator {
    void *(*malloc)(size_t n);
    void *(*realloc)(void *p, size_t n);
    void (*free)(void *p);
    void (*out_of_memory)(size_t wanted); /* must not return; NULL: abort */
};
CHELA_API void chela_set_allocator(const struct chela_allocator *a);

CHELA_END_DECLS
#endif
