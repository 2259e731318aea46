/* run_flags.h -- the flags of `run` and of the commands that continue a run. */
#ifndef CH_CLI_RUN_FLAGS_H
#define CH_CLI_RUN_FLAGS_H
#include "cli/command/run_decisions.h"
#include "cli/setup/setup.h"

struct ch_run_flags {
    struct ch_setup_flags setup;
    const char *model, *base_url, *api_key_env, *ca_file, *record, *replay;
    const char *session, *system, *mode, *tool_choice, *reasoning, *approve, *output;
    int64_t max_turns, max_tool_calls, max_errors, max_output_tokens, token_budget;
    struct ch_real temperature, top_p, timeout, cost_budget;
    struct ch_texts stop, images;
    const char *schema, *output_by, *input;
    struct ch_run_decisions decisions;
    const char *take_over;
    int64_t from_turn;
    bool no_stream, sum_up, no_sum_up, review_plan, no_session, resume_last, force, background;
    bool partial, echo;
    const char *focus;
};

/* The options of run, sessions resume, sessions compact and replay. */
extern const struct ch_opt ch_run_opts[], ch_resume_opts[], ch_compact_opts[], ch_replay_opts[];

#endif
