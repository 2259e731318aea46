/* agent.h -- the structs behind the public handles.
 *
 * runtime > agent > session > run: each is owned by the one before it and
 * freed with it, except that a run is also held by whoever holds its handle.
 * Everything here belongs to the loop thread. */
#ifndef CH_AGENT_AGENT_H
#define CH_AGENT_AGENT_H
#include <stdatomic.h>

#include "agent/machine/message_origin.h"
#include "agent/provider/cooldown.h"
#include "agent/machine/output.h"
#include "agent/machine/run.h"
#include "base/list.h"
#include "chela/channel.h"
#include "chela/hooks.h"
#include "chela/session.h"
#include "io/worker.h"
#include "model/codec/codec.h"
#include "model/catalog/price.h"
#include "net/cassette.h"
#include "net/http.h"
#include "tool/call/batch.h"
#include "tool/memory/notes.h"
#include "prompt/measure.h"
#include "prompt/skills.h"
#include "prompt/system.h"
#include "search/bm25.h"
#include "tool/registry/policies.h"
#include "tool/registry/policy.h"
#include "tool/select/select.h"
#include "tool/call/state.h"

struct ch_jobs;
struct ch_sandbox_policy;
struct ch_journal;
struct ch_aws;
struct ch_child;
struct ch_companion;
struct ch_compaction;
struct ch_inflow;
struct ch_keep;
struct ch_meaning;
struct ch_outbox;
struct ch_prompts;
struct ch_seeking;
struct ch_role;
struct ch_scripted;
struct ch_tool_settings;
struct ch_window;

enum ch_mode { CH_MODE_REACT, CH_MODE_PLAN, CH_MODE_ROUTE, CH_MODE_HEARTBEAT };

/* Prompts of chela's own that a run makes calls with. */
enum ch_role_kind {
    CH_ROLE_ROUTER,
    CH_ROLE_PLANNER,
    CH_ROLE_EXECUTOR,
    CH_ROLE_REFLECTOR,
    CH_ROLE_LISTENER,
    CH_ROLES
};

/* What is judged by a model call of its own. */
struct ch_reflecting {
    bool answers;      /* what a run would end with */
    bool errors;       /* results of which one is an error */
    const char *tools; /* in the arena: results of these, names and globs; NULL: none */
    bool never;        /* not even a plan */
};

/* How an agent's prompts are made (context.h). */
struct ch_context_conf { /* texts in the agent's arena, may be NULL */
    const char *instructions, *reminder, *docs;
    const char *added; /* to the system prompt, for one conversation */
    const char *const *files, *const *rules; /* NULL-terminated; files may be NULL */
    size_t nrules, file_max, files_max;
    unsigned system_share, output_share; /* per cent of the context */
    enum ch_style style;
    struct ch_bm25 index; /* of the rules beyond the first few */
    char *printed, *fingerprint; /* owned: the system prompt seen last, and its mark */
    uint64_t counted; /* a hash of the head of a request whose tokens were counted last */
    size_t tokens;    /* ... and how many those were */
};

/* And those of one session: what its requests begin with. */
struct ch_context {
    struct ch_project project;
    bool loaded;
    char *system; /* owned; NULL: it has made no request yet */
    uint64_t key; /* what it was made from */
    unsigned flags;
    uint64_t registry_revision; /* ...and the tools they were found in */
    struct ch_buf changed;  /* what is not as it was then */
    struct ch_buf warnings; /* about it that are still to be told, each with a NUL */
    char *fingerprint;      /* owned: of the text; NULL: not made yet */
};

/* Texts waiting to be delivered, in order. */
struct ch_queue {
    struct ch_list list;
    size_t n, bytes;
};

/* A server as configured: overrides of a built-in one, or a new one. */
struct ch_provider_conf {
    struct ch_provider_conf *next;
    char *name, *api, *base_url, *api_key, *api_key_env; /* owned, may be NULL */
    struct ch_header *headers;                           /* owned texts */
    size_t nheaders;
    char *extra_body; /* members without the braces */
    unsigned quirks_on, quirks_off;
};

/* What a model costs, as configured. */
struct ch_price_conf {
    struct ch_price_conf *next;
    char *provider, *model; /* owned */
    struct ch_price price;
};

/* How large a model's context is, as configured. */
struct ch_window_conf {
    struct ch_window_conf *next;
    char *provider, *model; /* owned */
    int64_t tokens;
};

/* "provider/model" made concrete: where to send, how to encode. */
struct ch_target {
    char *spec; /* "anthropic/claude-sonnet-4-6" */
    char *model;
    char *provider, *base_url; /* owned; ep borrows them */
    char **keys;               /* owned; ep has the one that is in use */
    size_t nkeys;
    struct ch_endpoint ep;
    bool has_price; /* else the cost is unknown */
    struct ch_price price;
    int64_t window; /* as configured, in tokens; 0: as the built-in list says */
    int64_t listed; /* and what that says; 0: nothing */
    bool local;     /* its server is one that can be asked */
    struct ch_scripted *scripted; /* owned; NULL unless served in process */
    struct ch_aws *aws;           /* owned; NULL: nothing is signed */
    struct ch_transport *transport;
    struct ch_window *heard; /* what its server says of that; NULL: nobody asked */
};

/* How full the context of a session's model is. */
struct ch_fill {
    struct ch_meter meter; /* of the transcript */
    struct ch_gauge gauge; /* of the model that was asked last */
    const struct ch_target *gauged;
    uint64_t revision; /* of the request's head... */
    size_t fixed;      /* ...and the tokens of its system prompt and tools */
    size_t note;       /* of what it says at its end */
    size_t asked;      /* the limit of the reply that was asked for; 0: none was */
    size_t ceiling;    /* a request of so many tokens was too large; 0: none was */
    int64_t warm;      /* monotonic ms: when the model last read it; 0: never */
};

/* What is done when it is too full. */
enum ch_compact_mode {
    CH_COMPACT_SUMMARY, /* all there is, with a summary made by a model */
    CH_COMPACT_RETAIN,  /* all but that */
    CH_COMPACT_OFF      /* nothing */
};

struct chela_runtime {
    struct ch_loop *loop;
    struct ch_recall recall;    /* what is asked of it */
    struct ch_journal *journal; /* owned; NULL: sessions are not kept */
    struct ch_outbox *outbox;   /* owned; NULL: nothing was to be sent yet */
    struct ch_workers *workers;
    struct ch_http *http;
    struct ch_cassette *cassette;   /* NULL: none */
    struct ch_transport *transport; /* of model calls: the cassette's, or http's */
    unsigned workspaces;            /* named in the cassette */
    uint64_t companions;            /* made so far */
    bool own_loop;
    const char *(*env)(const char *name, void *user);
    void *user;
    struct ch_log_sink *sink; /* owned, with its areas; NULL: silent */
    chela_log_fn *log;
    char *module_path, *ca_file;
    struct ch_provider_conf *providers;
    struct ch_price_conf *prices;
    struct ch_window_conf *windows;
    struct ch_cooldowns cooldowns; /* what one run learns holds for all */
    struct ch_window *heard;       /* likewise: contexts of local servers; owned */
    struct ch_prompts *prompts;    /* owned; NULL: nobody asked for one yet */
    struct ch_list agents;
    struct { /* what ch_runtime_free_closed frees */
        struct ch_list runs, sessions, agents;
    } closed;
    struct ch_task free_closed;
    unsigned running; /* runs and whatever else is in progress */
    bool idle;        /* running == 0, for ch_loop_run */
    char *default_model;
    const char *default_model_why;
};

struct ch_bounds { /* of one run, within those of its agent; 0: no further */
    double cost_usd;
    int64_t turns, timeout_ms;
};

struct chela_agent {
    struct ch_link link; /* in the runtime's agents, then in its closed ones */
    chela_runtime *rt;
    chela_agent *base; /* it is that one with changes, and owns only those; NULL */
    char *id, *workspace, *tool_choice;
    struct ch_context_conf context;
    struct ch_target **targets; /* the model and its fallbacks */
    size_t ntargets;
    struct ch_target **patched; /* models that hooks asked for */
    size_t npatched;
    struct ch_registry registry;
    struct ch_tool_settings *settings; /* a reference */
    struct ch_ranking ranking; /* of the registry's tools */
    struct ch_meaning *meaning; /* owned; NULL: there is no embedding model */
    struct ch_skills skills;
    enum ch_select_mode selection;
    unsigned selection_size;
    struct ch_policy policy;
    struct ch_policies *policies; /* owned; of channels and senders; NULL: none */
    struct ch_approvals *approvals;
    enum ch_consent ask_means;
    struct ch_sandbox_policy *sandbox; /* in `arena` */
    struct ch_arena arena;
    struct chela_hooks *hooks;
    size_t nhooks;
    enum chela_reasoning reasoning;
    int64_t max_output_tokens;
    bool has_temperature;
    double temperature;
    bool has_top_p, has_seed;
    double top_p;
    int64_t top_k, seed;
    struct ch_sv *stop; /* owned, each owned */
    size_t nstop;
    enum ch_cache cache;
    struct ch_output *output; /* the form of the final answer; NULL: any */
    bool strict;
    unsigned parallel;
    bool no_stream;
    struct ch_http_timeouts timeouts;
    struct ch_run_limits limits;
    struct ch_bounds bounds; /* of the conversation it was made for */
    struct chela_loop_guard loop_guard;
    int64_t timeout_ms; /* of a run; negative: none */
    enum ch_compact_mode compact_mode;
    struct ch_target *summariser; /* owned; NULL: the model of the run */
    /* Make the history of a run shorter and drive it on with CH_IN_COMPACTED;
     * NULL: nobody can (limits.compacts is unset). */
    void (*compact)(chela_run *run);
    struct chela_queue_opts queue; /* of its sessions, until they say otherwise */
    struct ch_list sessions;
    chela_session *own; /* of chela_ask */
    enum ch_mode mode;
    bool can_plan; /* it has the tools of plans: its mode needs them, or a run did */
    unsigned max_depth, max_children;  /* of agents below it; resolved */
    bool chat_actions;                 /* in chats of channels: more than words */
    bool gateway_tool;                 /* and the gateway's settings, for owners */
    const char *send_to;               /* likewise: sessions it may write to; NULL: none */
    const char *description;           /* in the arena, for those who may call it; NULL */
    struct ch_reflecting reflection;
    const char *role_models[CH_ROLES]; /* in the arena; NULL: the agent's own */
    struct ch_role *roles;             /* owned: agents that were made for roles */
    struct ch_companion *companion;    /* in the arena: mode heartbeat; NULL */
};

struct chela_session {
    struct ch_link link; /* in the agent's sessions, then in the runtime's closed */
    chela_agent *agent;
    struct ch_bounds bounds;    /* that stay when it is handed over */
    char *key;
    char *system;               /* owned: in place of the agent's; NULL: that */
    struct ch_transcript transcript;
    struct ch_encoder encoder;
    struct ch_fill fill;
    uint64_t revision;          /* of the request's head and tail */
    uint64_t registry_revision; /* the tools it was made from */
    bool patched;               /* the last request was for its turn or run alone */
    struct ch_memory memory;    /* calls that a person allowed always */
    struct ch_jobs *jobs;       /* programs that run in the background */
    struct ch_queue events;     /* what happened, for the model to be told */
    chela_wake_fn *on_wake;     /* may be NULL */
    void *wake_user;
    bool closed;                /* it waits to be freed */
    struct ch_selection *selection; /* tools that its requests describe */
    uint64_t selection_revision;    /* ...when the last one was made */
    struct ch_session_state state;  /* what tools remember */
    struct chela_channel channel;   /* owned texts; no name: none */
    char *answers_to; /* owned: where the last answer through it went; NULL: nowhere yet */
    struct ch_context context;
    struct ch_keep *keep;       /* owned; NULL: it is not stored */
    struct ch_inflow *inflow;   /* owned; NULL: nothing was sent yet */
    chela_ready_fn *on_ready;   /* may be NULL */
    void *ready_user;
    chela_run *run;             /* the last one; a reference */
    bool handed;                /* to its agent, by another (handoff.h) */
    struct ch_child *child;     /* owned: whose call it is; NULL: nobody's (delegate.h) */
};

/* --- target.c */
int ch_target_new(chela_runtime *rt, const char *spec, const struct chela_agent_opts *opts,
                  struct ch_target **out, struct chela_error *err);
void ch_target_free(struct ch_target *t);
/* How long the key that rests least will: `key`, the first of those that do not
 * rest; NULL without any. */
struct ch_cooling ch_target_cooling(const struct ch_target *t, const struct ch_cooldowns *c,
                                    int64_t now, const char **key);
/* Where requests with this key go. */
struct ch_endpoint ch_target_with_key(const struct ch_target *t, const char *key);
/* One of a list of variables holds a key. */
bool ch_target_has_key(const chela_runtime *rt, const char *names);
int64_t ch_target_window(const struct ch_target *t); /* in tokens; 0: unknown */
CH_DEFINE_AUTO(ch_target)
void ch_provider_conf_free(struct ch_provider_conf *list);
void ch_price_conf_free(struct ch_price_conf *list);
void ch_window_conf_free(struct ch_window_conf *list);

/* --- aws.c */
bool ch_target_is_aws(const struct ch_target *t);
/* Find region and keys; CHELA_EAUTH or CHELA_ECONFIG if there are none. */
int ch_target_aws(struct ch_target *t, chela_runtime *rt, bool by_hand, struct chela_error *err);
void ch_target_aws_free(struct ch_aws *aws);
/* Sign a request that is complete, where that is needed. */
int ch_target_sign(const struct ch_target *t, int64_t now_ms, struct ch_arena *a,
                   struct ch_http_request *req, struct chela_error *err);

/* --- role_prompts.c */
/* Every prompt there is, for prompt/prompts.h; NULL and err: one is broken. */
const struct ch_prompts *ch_runtime_prompts(chela_runtime *rt, struct chela_error *err);
void ch_runtime_prompts_free(chela_runtime *rt);

/* --- discover.c */
char *ch_discover_model(chela_runtime *rt, const char **why); /* owned by the caller */

/* --- agent.c, session.c: freeing what the runtime owns */
/* Closes its sessions at once; the memory goes with ch_runtime_free_closed, after that
 * of agents closed before it. So an agent is closed after those derived from it. */
void ch_agent_close(chela_agent *agent);
void ch_agent_free(chela_agent *agent);     /* by ch_runtime_free_closed alone */
void ch_session_free(chela_session *s);     /* likewise */
chela_session *ch_session_find(const chela_runtime *rt, const char *key); /* open; NULL */
/* The run with this id, of any open session; NULL. */
chela_run *ch_run_find(const chela_runtime *rt, const char *id);
void ch_session_opened(chela_session *s); /* its journal was read, or could not be */
/* chela_session_new; kept: in the runtime's store, if it has one. */
int ch_session_open(chela_agent *agent, const char *key, bool kept, chela_session **out,
                    struct chela_error *err);
/* chela_run_start with a message of any kind that a model can be shown next,
 * results of tools included. Takes input, also on failure. */
int ch_run_start(chela_session *s, struct ch_msg *input, const struct chela_run_opts *opts,
                 chela_run **out, struct chela_error *err);

/* --- agent_override.c: an agent for one conversation */
/* Where a limit is further off, it is drawn in. */
void ch_bounds_apply(const struct ch_bounds *b, struct ch_run_limits *limits);
struct ch_agent_patch { /* NULL, 0: as the base has it */
    const char *system; /* added to the system prompt */
    const char *tool_choice;
    const double *temperature, *top_p;
    const int64_t *seed;
    int64_t max_output_tokens;
    enum chela_reasoning reasoning;
    const char *const *stop; /* NULL-terminated */
    const char *output_schema;
    const char *model; /* tried before the base's */
    struct ch_bounds bounds;
};
int ch_agent_derive(chela_agent *base, const struct ch_agent_patch *p, chela_agent **out,
                    struct chela_error *err);
/* The one that it was derived from in the end, which outlives it; or itself. */
chela_agent *ch_agent_root(chela_agent *a);
/* The newest of that id; NULL: none has it. */
chela_agent *ch_agent_find(const chela_runtime *rt, const char *id);
/* A tool that the other side of the conversation runs; it takes the place of
 * one of the same name. Only for a derived agent. */
int ch_agent_client_tool(chela_agent *a, const struct chela_tool_opts *tool,
                         struct chela_error *err);
int ch_agent_output(chela_agent *a, const char *schema, const char *by, struct chela_error *err);

/* --- input_queue.c: check them, and set what is left to us */
int ch_queue_opts_fill(struct chela_queue_opts *o, struct chela_error *err);

/* --- runtime.c */
/* Runs, sessions and agents may be closed inside callbacks of their own. Closing stops
 * them at once and puts them on a list. They are freed in one place: on the loop's next
 * turn, when no callback is on the stack. */
void ch_runtime_free_soon(chela_runtime *rt);
void ch_runtime_free_closed(chela_runtime *rt); /* now, unless a callback is on the stack */
/* chela_runtime_new with a clock of the caller's. */
int ch_runtime_open(const struct chela_runtime_opts *opts, const struct ch_clock *clock,
                    chela_runtime **out, struct chela_error *err);
/* One more thing, or one less, is in progress: the loop is held meanwhile. */
void ch_runtime_busy(chela_runtime *rt, bool busy);
const char *ch_runtime_env(const chela_runtime *rt, const char *name);

/* "run_3f9c..." from the system's random source; out holds 24 bytes. */
void ch_random_id(const char *prefix, char out[24]);

#endif
