/* select.h -- selects the tools that a session's requests describe.
 *
 *     all        every allowed tool
 *     topk       the tools that match the input best: by words (catalog.h) and, where
 *                input and tools have embedding vectors, by similarity as well
 *     two_stage  at first only summaries; the model names the tools it wants
 *     search     at first none; the model searches for tools
 *     auto       all up to 20 tools, topk up to 50, two_stage beyond (topk with vectors);
 *                topk also if the descriptions of all would exceed the budget
 *
 * Tools of the conversation's client (CH_TOOL_OF_CLIENT) are always described and do not count.
 * In all modes but the first, the runtime's tool find_tools lets the model add tools. The
 * set only grows and keeps its order, so the definitions of a request are always a prefix
 * of the next request's definitions. Therefore `auto` is resolved once, by the first input.
 * Selection does not restrict calls: an allowed tool can be called whether it was described
 * or not. Selection does not extend permissions: a tool that the policy forbids is neither
 * described, nor found, nor listed. */
#ifndef CH_TOOL_SELECT_H
#define CH_TOOL_SELECT_H
#include "chela/choice.h"
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

/* By default: auto. CHELA_EINVAL: no such value. */
int ch_select_mode_read(enum chela_selection choice, enum ch_select_mode *out,
                        struct chela_error *err);

/* The ranking of a registry's tools, shared by all sessions of an agent. */
struct ch_ranking { /* zeroed: not made yet */
    struct ch_catalog catalog;
    uint64_t revision; /* revision of the registry when the ranking was made */
};
void ch_ranking_release(struct ch_ranking *r);

struct ch_selection_opts {
    const struct ch_registry *registry; /* borrowed */
    struct ch_ranking *ranking;         /* borrowed */
    enum ch_select_mode mode;
    size_t k; /* tools that one input adds; 0: CH_DEFAULT_TOP_K */
    const struct ch_vectors *vectors; /* borrowed; NULL: no embedding model */
};

/* The tokens of a description, as the model will count them. */
typedef size_t ch_tool_cost_fn(const struct ch_tool *t, unsigned how);

struct ch_selection; /* the selection of one session */
struct ch_selection *ch_selection_new(const struct ch_selection_opts *opts);
void ch_selection_free(struct ch_selection *s);

/* A new input: add the tools that match it. policy (may be NULL) is borrowed until the next
 * call and limits the tools. */
void ch_selection_input(struct ch_selection *s, const struct ch_policy *policy, struct ch_sv text);
/* Before the first input: limits the descriptions to `most` tokens; how is passed to cost. */
void ch_selection_limit(struct ch_selection *s, size_t most, ch_tool_cost_fn *cost, unsigned how);
/* Tokens of all allowed tools' descriptions, if they exceed the limit; otherwise 0. *offered:
 * number of the tools that are described; *all: number of the allowed tools. */
size_t ch_selection_excess(const struct ch_selection *s, size_t *offered, size_t *all);
/* True if the selection has had no input yet. */
bool ch_selection_is_new(const struct ch_selection *s);
/* True if the tools would be ranked for an input. */
bool ch_selection_ranks(const struct ch_selection *s, const struct ch_policy *policy);
/* Append the text of a tool, or of an input, for the embedding model. */
void ch_tool_meaning(const struct ch_tool *t, struct ch_buf *out);
/* Describe this tool from now on; no-op for an unknown name. */
void ch_selection_offer(struct ch_selection *s, struct ch_sv name);

/* The definitions for a request, in order, limited to the tools that policy allows. out has
 * room for all tools of the registry and one more. */
size_t ch_selection_defs(const struct ch_selection *s, const struct ch_policy *policy,
                         struct ch_tool_def *out);
/* Incremented whenever the definitions change for other reasons than registry and policy. */
uint64_t ch_selection_revision(const struct ch_selection *s);
/* The tool find_tools, borrowed; NULL if the mode has none. s may be NULL. */
struct ch_tool *ch_selection_finder(const struct ch_selection *s);

#endif
