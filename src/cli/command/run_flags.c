/* run_flags.c -- see run_flags.h. */
#include "cli/command/run_flags.h"

#include "cli/setup/run_opts.h"

#define FLAGS struct ch_run_flags

#define AT(field) offsetof(FLAGS, field)

const struct ch_opt ch_run_opts[] = {
    CH_SETUP_OPTS_CONFIG(FLAGS),
    CH_SETUP_OPTS_STORE(FLAGS),
    CH_RUN_OPTS_SESSION(FLAGS),
    CH_RUN_OPTS_SERVICE(FLAGS),
    CH_RUN_OPTS_WIRE(FLAGS),
    {"image", 0, CH_OPT_TEXTS, AT(images), "FILE|URL", 0, 0, "Model",
     "image or PDF to add to the prompt; can be repeated"},
    CH_RUN_OPT_SYSTEM(FLAGS),
    CH_RUN_OPT_REASONING(FLAGS),
    {"temperature", 0, CH_OPT_REAL, AT(temperature), "X", 0, 2, "Model",
     "sampling temperature, 0 to 2; default: the model's"},
    {"top-p", 0, CH_OPT_REAL, AT(top_p), "X", 0, 1, "Model",
     "nucleus sampling, 0 to 1; default: the model's"},
    {"stop", 0, CH_OPT_TEXTS, AT(stop), "TEXT", 0, 0, "Model",
     "text that ends a reply; can be repeated"},
    {"max-output-tokens", 0, CH_OPT_INT, AT(max_output_tokens), "N", 1, CH_MANY, "Model",
     "tokens of one reply, at most"},
    {"schema", 0, CH_OPT_TEXT, AT(schema), "FILE", 0, 0, "Model",
     "JSON Schema of the final answer, which is then JSON and validated"},
    {"schema-by", 0, CH_OPT_CHOICE, AT(output_by), "auto|native|tool|prompt", 0, 0, "Model",
     "how the model receives the schema (auto: the best way it supports)"},
    CH_RUN_OPT_NO_STREAM(FLAGS),
    CH_RUN_OPT_MODE(FLAGS),
    {"review-plan", 0, CH_OPT_SWITCH, AT(review_plan), NULL, 0, 0, "Model",
     "require approval before a plan is carried out; --approve decides how"},
    CH_SETUP_OPTS_TOOLS(FLAGS),
    {"tool-choice", 0, CH_OPT_TEXT, AT(tool_choice), "auto|any|none|NAME", 0, 0, "Tools",
     "whether the model may (auto), must (any) or must not (none) call tools, or the tool that it "
     "must call"},
    CH_RUN_OPT_APPLY(FLAGS),
    CH_RUN_OPT_APPROVE(FLAGS,
                       "calls that need approval: ask, and ask about changes of files, too (ask), "
                       "change files unasked and ask about the rest (edits, the default on a "
                       "terminal), only read and answer with a plan (plan), run commands in the "
                       "full sandbox without a network and ask about the rest (sandbox), run them "
                       "(auto), or refuse them (deny, the default elsewhere); without a person, a "
                       "run that asks pauses"),
    CH_RUN_OPTS_CALLS(FLAGS, "model calls of the run, at most (25; 0: no limit)",
                      "tool calls of the run, at most (200; 0: no limit)"),
    CH_RUN_OPT_ERRORS(FLAGS),
    CH_RUN_OPTS_BUDGETS(FLAGS, "tokens of the run, input and output together (no limit)",
                        "cost of the run in US dollars, where prices are known (no limit)"),
    CH_RUN_OPT_TIMEOUT(FLAGS, "time of the whole run in seconds, without the time that it "
                                     "waits for people (1800; 0: no limit)"),
    {"sum-up", 0, CH_OPT_SWITCH, AT(sum_up), NULL, 0, 0, "Limits",
     "at a limit of turns, calls or errors, let the model write a summary with one more call, "
     "without tools (the default; overrides limits.sumUp)"},
    {"no-sum-up", 0, CH_OPT_SWITCH, AT(no_sum_up), NULL, 0, 0, "Limits",
     "at a limit, end without this summary"},
    CH_RUN_OPTS_OUTPUT(FLAGS),
    {"input", 0, CH_OPT_CHOICE, AT(input), "text|stream-json", 0, 0, "Output",
     "stream-json: each line of standard input is a message as JSON, and a run; with --approve "
     "ask, questions about calls are lines of standard output, and answers lines of input"},
    {"replay-user-messages", 0, CH_OPT_SWITCH, AT(echo), NULL, 0, 0, "Output",
     "with --input stream-json: print each message again when its run begins"},
    {"background", 0, CH_OPT_SWITCH, AT(background), NULL, 0, 0, "Output",
     "print the session's key and go on without the terminal; 'chela attach' follows the run"},
    CH_SETUP_OPTS_OUTPUT(FLAGS),
    {.name = NULL},
};

/* Options of commands that continue a run. */
/* clang-format off */
#define GO_ON_OPTS                                                                                 \
    CH_RUN_OPTS_SERVICE(FLAGS),                                                                    \
    CH_RUN_OPT_SYSTEM(FLAGS),                                                                      \
    CH_RUN_OPT_MODE(FLAGS),                                                                        \
    CH_RUN_OPT_NO_STREAM(FLAGS),                                                                   \
    CH_SETUP_OPTS_TOOLS(FLAGS),                                                                    \
    CH_RUN_OPT_APPLY(FLAGS),                                                                       \
    CH_RUN_OPT_APPROVE(FLAGS,                                                                      \
     "calls that need approval from now on: ask, also about changes of files (ask), ask about "    \
     "the rest (edits), only read (plan), run commands in the full sandbox and ask about the "     \
     "rest (sandbox), run them (auto), or refuse them (deny)"),                                    \
    CH_RUN_OPTS_CALLS(FLAGS,                                                                       \
     "model calls of the run, including earlier ones (25)",                                        \
     "tool calls of the run, including earlier ones (200)"),                                       \
    CH_RUN_OPT_TIMEOUT(FLAGS,                                                                      \
     "time of the rest of the run in seconds (1800)"),                                             \
    CH_RUN_OPTS_OUTPUT(FLAGS),                                                                     \
    CH_SETUP_OPTS_OUTPUT(FLAGS),                                                                   \
    {.name = NULL}
/* clang-format on */

const struct ch_opt ch_resume_opts[] = {
    CH_SETUP_OPTS_CONFIG(FLAGS),
    CH_SETUP_OPTS_STORE(FLAGS),
    {"allow", 0, CH_OPT_TEXTS, AT(decisions.allow), "ID|all", 0, 0, "Decisions",
     "approve this waiting call; can be repeated"},
    {"refuse", 0, CH_OPT_TEXTS, AT(decisions.refuse), "ID|all", 0, 0, "Decisions",
     "refuse this waiting call; the model is told"},
    {"edit", 0, CH_OPT_TEXTS, AT(decisions.edit), "ID=JSON", 0, 0, "Decisions",
     "run this waiting call with other arguments; the model is told"},
    {"answer", 0, CH_OPT_TEXTS, AT(decisions.answer), "ID=TEXT", 0, 0, "Decisions",
     "use TEXT as the result of this call; ID can also be a question of the model or a call that "
     "the client carries out"},
    {"take-over", 0, CH_OPT_TEXT, AT(take_over), "TEXT", 0, 0, "Decisions",
     "end the run with this text as its answer"},
    {"force", 0, CH_OPT_SWITCH, AT(force), NULL, 0, 0, "Decisions",
     "resume a parked run, which was interrupted again and again"},
    {"background", 0, CH_OPT_SWITCH, AT(background), NULL, 0, 0, "Output",
     "print the session's key and go on without the terminal; 'chela attach' follows the run"},
    GO_ON_OPTS,
};

const struct ch_opt ch_compact_opts[] = {
    CH_SETUP_OPTS_CONFIG(FLAGS),
    CH_SETUP_OPTS_STORE(FLAGS),
    {"focus", 0, CH_OPT_TEXT, AT(focus), "TEXT", 0, 0, "Summary", "what the summary must keep"},
    GO_ON_OPTS,
};

const struct ch_opt ch_replay_opts[] = {
    CH_SETUP_OPTS_CONFIG(FLAGS),
    CH_SETUP_OPTS_STORE(FLAGS),
    {"from-turn", 0, CH_OPT_INT, AT(from_turn), "N", 1, 1e9, "Replay",
     "copy the session up to the model call of this turn, counted over the session, and continue "
     "from there with a real model"},
    GO_ON_OPTS,
};
