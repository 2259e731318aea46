/* agent.h -- the structs behind the public handles: an agent. */
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
struct ch_tool_embedding;
struct ch_sandbox_policy;
struct ch_tool_settings;

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

/* What is done when it is too full. */
enum ch_compaction_mode {
    CH_COMPACTION_SUMMARY, /* all there is, with a summary made by a model */
    CH_COMPACTION_RETAIN,  /* all but that */
    CH_COMPACTION_OFF      /* nothing */
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
    struct ch_tool_embedding *embedding; /* owned; NULL: there is no embedding model */
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
    enum ch_compaction_mode compact_mode;
    struct ch_target *summariser; /* owned; NULL: the model of the run */
    struct chela_queue_opts queue; /* of its sessions, until they say otherwise */
    struct ch_list sessions;
    chela_session *own; /* of chela_ask */
    bool closed;        /* chela_agent_close was called: it is freed once nothing uses it */
    unsigned holds;     /* gateways that serve it, and calls that use it at this moment */
    struct chela_error failed; /* why chela_agent_tool last failed; code 0: it did not */
    bool untold;               /* ...and chela_ask has not reported it yet */
    unsigned max_depth, max_children;  /* of agents below it; resolved */
    bool chat_actions;                 /* in chats of channels: more than words */
    bool gateway_tool;                 /* and the gateway's settings, for owners */
    const char *send_to;               /* likewise: sessions it may write to; NULL: none */
    const char *description;           /* in the arena, for those who may call it; NULL */
    struct ch_agent_features *features; /* owned; NULL: none (run/feature.h) */
};

#endif
