/* select.h -- chooses the tools that a session's requests describe: once, so that all requests
 * hold the same bytes and the service's cache and its bound reasoning stay valid.
 *
 *     all        every allowed tool
 *     topk       the tools that match the first input best: by words (catalog.h) and, where
 *                input and tools have embedding vectors, by similarity as well
 *     two_stage  none; summaries name the tools
 *     search     none
 *     auto       all up to 20 tools, topk up to 50, two_stage beyond (topk with vectors);
 *                topk also if the descriptions of all would exceed the budget
 *
 * Tools that are always described (those that a client or the host runs, CH_TOOL_LISTED) do not
 * count. In all modes but the first, two tools of the runtime reach the others: find_tools
 * returns their schemas, call_tool calls one (call_by_name.h). Where the model's service searches
 * tools by itself, the others are sent to be set aside, in place of these two.
 *
 * A policy that allows less than an earlier one of the session changes no description: a call of
 * a forbidden tool is refused. A policy that allows more adds its tools in mode all. Selection
 * does not restrict calls: an allowed tool can be called whether it was described or not.
 * Selection does not extend permissions: a tool that no policy of the session allowed is neither
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
    size_t k; /* tools that topk describes; 0: CH_DEFAULT_TOP_K */
    const struct ch_vectors *vectors; /* borrowed; NULL: no embedding model */
};

/* The tokens of a description, as the model will count them. */
typedef size_t ch_tool_cost_fn(const struct ch_tool *t, unsigned how);

struct ch_selection; /* the selection of one session */
struct ch_selection *ch_selection_new(const struct ch_selection_opts *opts);
void ch_selection_free(struct ch_selection *s);

/* The input of a run. The first one decides; later ones change the policy. policy (may be NULL)
 * is borrowed until the next call. */
void ch_selection_input(struct ch_selection *s, const struct ch_policy *policy, struct ch_sv text);
/* Before the first input: limits the descriptions to `most` tokens; how is passed to cost. */
void ch_selection_limit(struct ch_selection *s, size_t most, ch_tool_cost_fn *cost, unsigned how);
/* Tokens of all allowed tools' descriptions, if they exceed the limit; otherwise 0. *offered:
 * number of the tools that are described; *all: number of the allowed tools. */
size_t ch_selection_excess(const struct ch_selection *s, size_t *offered, size_t *all);
/* True if the selection has had no input yet. */
bool ch_selection_is_new(const struct ch_selection *s);
/* True if the next input decides, and the tools are ranked for it. */
bool ch_selection_ranks(const struct ch_selection *s, const struct ch_policy *policy);
/* Append the text of a tool, or of an input, for the embedding model. */
void ch_tool_meaning(const struct ch_tool *t, struct ch_buf *out);
/* Describe this tool from now on, which changes the requests; no-op for an unknown name. */
void ch_selection_offer(struct ch_selection *s, struct ch_sv name);

/* The definitions for a request, in order; deferred ones last. searched: the service searches
 * tools. out has room for all tools of the registry and CH_SELECTION_OWN more. */
#define CH_SELECTION_OWN 2
size_t ch_selection_defs(struct ch_selection *s, bool searched, struct ch_tool_def *out);
/* Incremented whenever the definitions change for other reasons than registry and policy. */
uint64_t ch_selection_revision(const struct ch_selection *s);
/* find_tools and call_tool, borrowed; NULL if the mode has none. s may be NULL. */
const struct ch_registry *ch_selection_own(const struct ch_selection *s);

#endif
