/* agent.h -- the struct behind the public handle chela_agent. */
#ifndef CH_HANDLE_AGENT_H
#define CH_HANDLE_AGENT_H
#include "agent/handle/agent_options.h"
#include "agent/handle/runtime.h"
#include "agent/machine/run.h"
#include "agent/machine/output.h"
#include "chela/hooks.h"
#include "prompt/skills.h"
#include "prompt/system.h"
#include "search/bm25.h"
#include "tool/call/batch.h"
#include "tool/registry/policies.h"
#include "tool/registry/policy.h"
#include "tool/select/select.h"

struct ch_agent_features;
struct ch_buffers;
struct ch_request_digests;
struct ch_tool_embedding;
struct ch_sandbox_policy;
struct ch_tool_settings;

/* Settings of an agent's system prompt (context.h). */
struct ch_context_conf { /* texts live in the agent's arena and may be NULL */
    const char *instructions, *reminder, *docs;
    const char *prompt, *vars; /* the prompt that gives each session its instructions, and its
                                * values as JSON; NULL: none */
    bool replaces; /* the instructions replace the generated ones */
    const char *added;                       /* appended to the system prompt of one conversation */
    const char *const *files, *const *rules; /* NULL-terminated; files may be NULL */
    const char *const *soft_rules;           /* NULL-terminated; may be NULL */
    size_t nrules, file_max, files_max;
    unsigned system_share, output_share, tools_share; /* per cent of the context */
    enum chela_prompt_style style;
    struct ch_bm25 index;        /* ranks the rules that not every prompt holds */
    /* shared_text.h: texts of the session that made its system prompt, or the head and the tail
     * of its request, last. Most sessions of an agent have the same; NULL: none yet. */
    const char *system, *sections, *head, *tail;
    uint64_t key;                /* inputs of `system`, as in struct ch_context; 0: the prompt has
                                  * other inputs, too, and must be made anew */
    size_t budget;               /* tokens that `system` could have */
    const char *printed, *fingerprint; /* shared_text.h: a system prompt and its fingerprint */
    uint64_t counted;            /* hash of the request head that was counted last */
    size_t tokens;               /* tokens of that head */
};

/* How a history that does not fit the model is made shorter. */
enum ch_compaction_mode {
    CH_COMPACTION_SUMMARY, /* every stage, including a summary written by a model */
    CH_COMPACTION_RETAIN,  /* every stage except the summary */
    CH_COMPACTION_OFF      /* the history is never rewritten */
};

struct chela_agent {
    struct ch_link link; /* in rt->agents, later in rt->closed.agents */
    chela_runtime *rt;
    chela_agent *base; /* the agent that this one overrides; it owns all that was not overridden;
                          NULL: none */
    char *id, *workspace, *tool_choice;
    struct ch_context_conf context;
    struct ch_request_digests *requests; /* owned, for the records of requests; NULL: none */
    struct ch_target **targets; /* the chain: the agent's model, then its fallbacks */
    size_t ntargets;
    struct ch_target **patched; /* targets of models that hooks named */
    size_t npatched;
    struct ch_registry registry;
    struct ch_tool_settings *settings;   /* a counted reference */
    struct ch_ranking ranking;           /* word index of the registry's tools */
    struct ch_tool_embedding *embedding; /* owned; NULL: no embedding model is configured */
    struct ch_skills skills;
    enum ch_select_mode selection;
    unsigned selection_size;
    struct ch_policy policy;
    struct ch_policies *policies; /* owned: policies per channel and sender; NULL: none */
    struct ch_approvals *approvals;
    enum ch_consent ask_means;
    enum chela_apply apply;
    struct ch_sandbox_policy *sandbox; /* in `arena` */
    struct ch_buffers *buffers; /* a counted reference: files of an editor; NULL: none */
    struct ch_arena arena;
    struct chela_hooks *hooks;
    size_t nhooks;
    enum chela_reasoning reasoning;
    int64_t max_output_tokens;
    bool has_temperature;
    double temperature;
    bool has_top_p, has_seed;
    double top_p;
    int64_t top_k, seed, logprobs;
    const char *passed, *passed_api; /* see ch_agent_passed; NULL: none */
    struct ch_sv *stop; /* owned, with its texts */
    size_t nstop;
    enum ch_cache cache;
    const struct ch_json *server_tools; /* in `arena`; NULL: none */
    struct ch_output *output; /* owned: schema of the final answer; NULL: free text */
    bool strict;
    unsigned parallel;
    bool no_stream;
    struct ch_http_timeouts timeouts;
    struct ch_run_limits limits;
    struct ch_bounds bounds; /* bounds of the conversation that an override was made for */
    struct chela_loop_guard loop_guard;
    int64_t timeout_ms; /* time limit of a run; negative: none */
    enum ch_compaction_mode compact_mode;
    int64_t history_turns; /* messages of people that stay in the history; 0: all */
    bool service_compacts;         /* the model's service does it, where it can */
    struct ch_target *summariser;  /* owned: model that writes summaries; NULL: the run's model */
    struct chela_queue_opts queue; /* default queue settings of its sessions */
    struct ch_list sessions;
    struct ch_list extensions; /* struct ch_extension */
    chela_session *own;        /* the session of chela_ask; NULL: not used yet */
    bool closed;               /* chela_agent_close was called; freed once nothing uses the agent */
    unsigned holds;            /* gateways and calls that use the agent */
    struct chela_error failed; /* last error of chela_agent_tool; code 0: none */
    bool untold;               /* chela_ask has not reported `failed` yet */
    unsigned max_depth, max_children;   /* limits of delegation, defaults applied */
    bool starts_background; /* may call agents in the background (feature/team/background.h) */
    bool chat_actions;                  /* may react, edit and recall messages in chats */
    bool gateway_tool;                  /* owners may change the gateway's settings through it */
    char *memo;                         /* owned: JSON of the host for STATE records; NULL: none */
    const char *send_to;                /* sessions that it may write to (glob list); NULL: none */
    const char *description;            /* in the arena: for agents that may call it; NULL: none */
    struct ch_agent_features *features; /* owned; NULL: none (run/feature.h) */
};

/* Members of a client's request for a model whose service speaks this protocol; may be empty. */
static inline struct ch_sv ch_agent_passed(const chela_agent *a, const char *api) {
    return a->passed && strcmp(api, a->passed_api) == 0 ? ch_sv_str(a->passed) : CH_SV("");
}

#endif
