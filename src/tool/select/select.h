/* select.h -- which tools a session's requests describe, when there are many.
 *
 *   all        every tool that is allowed
 *   topk       those that suit the input best: by words (catalog.h) and, where
 *              there are vectors of it and of tools, by meaning as well
 *   two_stage  at first only summaries; the model says which tools it wants
 *   search     at first none; the model looks for what it wants
 *   auto       all up to 20 tools, topk up to 50, two_stage beyond (topk with vectors)
 *
 * In all but the first a tool of our own, find_tools, lets the model add more.
 * The set only grows and keeps its order: what a request describes is always a
 * prefix of what the next one does. So `auto` is decided once, by the first
 * input. Nothing is forbidden here: a tool that is allowed can be called
 * whether it was described or not. And nothing is allowed: a tool that the
 * policy keeps out is neither described, nor found, nor listed. */
#ifndef CH_TOOL_SELECT_H
#define CH_TOOL_SELECT_H
#include "tool/select/catalog.h"
#include "tool/registry/policy.h"
#include "tool/registry/registry.h"
#include "search/vectors.h"

enum ch_select_mode {
    CH_SELECT_AUTO,
    CH_SELECT_ALL,
    CH_SELECT_TOPK,
    CH_SELECT_TWO_STAGE,
    CH_SELECT_SEARCH
};

/* word NULL: auto. CHELA_EINVAL: there is no such mode. */
int ch_select_mode_read(const char *word, enum ch_select_mode *out, struct chela_error *err);

/* The tools of a registry, ranked; for all sessions of an agent. */
struct ch_ranking { /* zeroed: not made yet */
    struct ch_catalog catalog;
    uint64_t revision; /* of the registry, when it was made */
};
void ch_ranking_release(struct ch_ranking *r);

struct ch_selection_opts {
    const struct ch_registry *registry; /* borrowed */
    struct ch_ranking *ranking;         /* borrowed */
    enum ch_select_mode mode;
    size_t k; /* tools that one input adds; 0: CH_DEFAULT_TOP_K */
    const struct ch_vectors *vectors; /* borrowed; NULL: there is no embedding model */
};

struct ch_selection; /* of one session */
struct ch_selection *ch_selection_new(const struct ch_selection_opts *opts);
void ch_selection_free(struct ch_selection *s);

/* A new input: describe what suits it as well. policy (may be NULL) is borrowed
 * until the next call; it says what there is. */
void ch_selection_input(struct ch_selection *s, const struct ch_policy *policy, struct ch_sv text);
bool ch_selection_is_new(const struct ch_selection *s); /* it had no input yet */
/* Would an input be ranked? */
bool ch_selection_ranks(const struct ch_selection *s, const struct ch_policy *policy);
/* What an embedding model is told of a tool, and of an input. */
void ch_tool_meaning(const struct ch_tool *t, struct ch_buf *out);
/* Describe this tool from now on, if there is one of that name. */
void ch_selection_offer(struct ch_selection *s, struct ch_sv name);

/* What a request describes, in order: the definitions of what policy allows.
 * out has room for all tools of the registry and one more. */
size_t ch_selection_defs(const struct ch_selection *s, const struct ch_policy *policy,
                         struct ch_tool_def *out);
/* Raised whenever that changes by other means than registry and policy. */
uint64_t ch_selection_revision(const struct ch_selection *s);
/* The tool find_tools, borrowed; NULL: there is none. s may be NULL. */
struct ch_tool *ch_selection_finder(const struct ch_selection *s);

#endif
