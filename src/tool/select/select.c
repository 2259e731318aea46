/* select.c -- see select.h. */
#include "tool/select/select.h"
#include "base/grow.h"
#include "tool/call/function.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "model/wire/embed.h"

enum { ALL_UP_TO = 20, TOPK_UP_TO = 50, SUMMARY_BYTES = 160 };

struct ch_selection {
    const struct ch_registry *registry;
    struct ch_ranking *ranking;
    const struct ch_policy *policy; /* policy of the current run */
    enum ch_select_mode mode;
    bool begun;
    size_t k;
    const struct ch_vectors *vectors; /* NULL: none */
    char **offered; /* owned names, in the order they were described */
    size_t n, cap;
    uint64_t revision;
    struct ch_registry *own; /* owned: find_tools; NULL: the mode has none */
    ch_tool_cost_fn *cost;  /* NULL: no limit */
    unsigned how;
    size_t most, needed; /* tokens: limit of descriptions; of all tools, set by the first input */
};

/* --- modes -------------------------------------------------------------------------- */

int ch_select_mode_read(enum chela_selection choice, enum ch_select_mode *out,
                        struct chela_error *err) {
    static const enum ch_select_mode modes[] = {
        [CHELA_SELECTION_DEFAULT] = CH_SELECT_AUTO,      [CHELA_SELECTION_AUTO] = CH_SELECT_AUTO,
        [CHELA_SELECTION_ALL] = CH_SELECT_ALL,           [CHELA_SELECTION_TOPK] = CH_SELECT_TOPK,
        [CHELA_SELECTION_TWO_STAGE] = CH_SELECT_TWO_STAGE,
        [CHELA_SELECTION_SEARCH] = CH_SELECT_SEARCH};
    int rc = ch_choice_check(CHELA_CHOICE_SELECTION, choice, err);
    *out = rc < 0 ? CH_SELECT_AUTO : modes[choice];
    return rc;
}

static bool is_of_client(const struct ch_tool *t) {
    return t->flags & CH_TOOL_OF_CLIENT;
}

/* True for the tools that are selected from. */
static bool is_allowed(const struct ch_selection *s, const struct ch_tool *t) {
    const struct ch_policy *p = s->policy;
    struct ch_sv name = ch_sv_str(t->name);

    if (is_of_client(t)) /* always described */
        return false;
    if (p && p->always && ch_sv_is(name, p->always)) /* described separately */
        return false;
    if (p && p->own && ch_policy_listed(ch_sv_str(p->own), name))
        return false;
    return ch_policy_permits(p, t);
}

static size_t count_allowed(const struct ch_selection *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++)
        n += is_allowed(s, s->registry->tools[i]);
    return n;
}

static size_t count_of_client(const struct ch_selection *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++)
        n += is_of_client(s->registry->tools[i]);
    return n;
}

/* Tokens of the client's tools, and with `all` of the allowed ones. */
static size_t select_cost(const struct ch_selection *s, bool all) {
    size_t tokens = 0;

    for (size_t i = 0; s->cost && i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        if (is_of_client(t) || (all && is_allowed(s, t)))
            tokens += s->cost(t, s->how);
    }
    return tokens;
}

static enum ch_select_mode select_decide(const struct ch_selection *s, bool can_search) {
    size_t n = count_allowed(s);
    enum ch_select_mode mode = s->mode, many = s->vectors ? CH_SELECT_TOPK : CH_SELECT_TWO_STAGE;
    bool large = mode == CH_SELECT_AUTO && n > 1 && s->most && select_cost(s, true) > s->most;

    if (mode == CH_SELECT_AUTO)
        mode = n <= ALL_UP_TO && !large ? CH_SELECT_ALL
               : n <= TOPK_UP_TO        ? CH_SELECT_TOPK
                                        : many;
    if (n == 0 || (mode == CH_SELECT_TOPK && n <= s->k && !large))
        return CH_SELECT_ALL; /* too few tools to choose from */
    return mode > CH_SELECT_TOPK && !can_search ? CH_SELECT_TOPK : mode;
}

/* --- ranking -------------------------------------------------------------------------- */

void ch_ranking_release(struct ch_ranking *r) {
    ch_catalog_release(&r->catalog);
    *r = (struct ch_ranking){.revision = 0};
}

static struct ch_catalog *catalog_of(struct ch_selection *s) {
    struct ch_ranking *r = s->ranking;
    CH_ARENA_AUTO arena = {0};

    if (r->catalog.index.ndocs == s->registry->n && r->revision == s->registry->revision)
        return &r->catalog;
    ch_ranking_release(r);
    for (size_t i = 0; i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        const struct ch_json *schema = NULL;
        ch_arena_clear(&arena);
        ch_json_parse(&arena, ch_sv_str(t->schema), CH_JSON_REPLACE, &schema, NULL, NULL);
        ch_catalog_add(&r->catalog, ch_sv_str(t->name), ch_sv_str(t->description), schema);
    }
    r->revision = s->registry->revision;
    return &r->catalog;
}

void ch_tool_meaning(const struct ch_tool *t, struct ch_buf *out) {
    ch_buf_addf(out, "%s: %s", t->name, t->description);
}

static int select_by_score(const void *a, const void *b) {
    const struct ch_catalog_hit *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->tool < y->tool ? -1 : x->tool > y->tool;
}

/* Rank the tools that have vectors, most similar first. */
static size_t select_rank_by_meaning(const struct ch_selection *s, const float *query,
                                     const bool *allowed, struct ch_catalog_hit *out) {
    CH_BUF_AUTO text = {0};
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++) {
        if (!allowed[i])
            continue;
        ch_buf_clear(&text);
        ch_tool_meaning(s->registry->tools[i], &text);
        const float *row = ch_vectors_find(s->vectors, ch_buf_sv(&text));
        if (row)
            out[n++] = (struct ch_catalog_hit){i, ch_embed_product(query, row, s->vectors->dim)};
    }
    qsort(out, n, sizeof(*out), select_by_score);
    return n;
}

/* Reciprocal rank fusion: the scores of the two rankings are not comparable, their ranks
 * are. The usual constant keeps one first place from deciding alone. */
static void select_add_ranks(float *sums, const struct ch_catalog_hit *ranked, size_t n) {
    for (size_t i = 0; i < n; i++)
        sums[ranked[i].tool] += 1.0f / (float)(60 + i + 1);
}

static size_t pick_by_both(struct ch_selection *s, struct ch_sv query, const float *meaning,
                           const bool *allowed, size_t k, struct ch_catalog_hit *picks) {
    size_t all = s->registry->n, n = 0;
    CH_AUTOFREE struct ch_catalog_hit *ranked = ch_malloc((all + 1) * sizeof(*ranked));
    CH_AUTOFREE float *sums = ch_alloc((all + 1) * sizeof(*sums));

    select_add_ranks(sums, ranked, ch_catalog_pick(catalog_of(s), query, allowed, all, ranked));
    select_add_ranks(sums, ranked, select_rank_by_meaning(s, meaning, allowed, ranked));
    for (size_t i = 0; i < all; i++)
        if (sums[i] > 0)
            ranked[n++] = (struct ch_catalog_hit){i, sums[i]};
    qsort(ranked, n, sizeof(*ranked), select_by_score);
    n = CH_MIN(n, k);
    memcpy(picks, ranked, n * sizeof(*picks));
    return n;
}

/* The best k allowed tools; picks has room for k. */
static size_t select_pick(struct ch_selection *s, struct ch_sv query, size_t k,
                          struct ch_catalog_hit *picks) {
    CH_AUTOFREE bool *allowed = ch_malloc(s->registry->n + 1);

    for (size_t i = 0; i < s->registry->n; i++)
        allowed[i] = is_allowed(s, s->registry->tools[i]);
    const float *meaning = s->vectors ? ch_vectors_question(s->vectors, query) : NULL;
    if (meaning)
        return pick_by_both(s, query, meaning, allowed, k, picks);
    return ch_catalog_pick(catalog_of(s), query, allowed, k, picks);
}

/* --- described tools -------------------------------------------------------------------- */

static bool is_offered(const struct ch_selection *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->offered[i], name) == 0)
            return true;
    return false;
}

static void select_offer(struct ch_selection *s, const struct ch_tool *t) {
    if (is_of_client(t) || is_offered(s, t->name))
        return;
    CH_GROW(s->offered, s->n, s->cap, 16);
    s->offered[s->n++] = ch_strdup(t->name);
    s->revision++;
}

void ch_selection_offer(struct ch_selection *s, struct ch_sv name) {
    const struct ch_tool *t = ch_registry_find(s->registry, name);

    if (t && s->mode != CH_SELECT_ALL)
        select_offer(s, t);
}

/* Added in registry order, so that the same set of tools gives the same bytes independent
 * of the ranking. */
static void offer_picks(struct ch_selection *s, const struct ch_catalog_hit *picks, size_t n) {
    for (size_t i = 0; i < s->registry->n; i++)
        for (size_t k = 0; k < n; k++)
            if (picks[k].tool == i)
                select_offer(s, s->registry->tools[i]);
}

/* How many of the picks, best first, fit the limit beside the tools that are described
 * already; at least one. */
static size_t fitting_picks(const struct ch_selection *s, const struct ch_catalog_hit *picks,
                            size_t n) {
    size_t spent = select_cost(s, false), i = 0;

    if (!s->most)
        return n;
    for (size_t k = 0; k < s->n; k++) {
        const struct ch_tool *t = ch_registry_find(s->registry, ch_sv_str(s->offered[k]));
        spent += t ? s->cost(t, s->how) : 0;
    }
    for (; i < n; i++) {
        const struct ch_tool *t = s->registry->tools[picks[i].tool];
        spent += is_offered(s, t->name) ? 0 : s->cost(t, s->how);
        if (spent > s->most && i > 0)
            break;
    }
    return i;
}

void ch_selection_limit(struct ch_selection *s, size_t most, ch_tool_cost_fn *cost, unsigned how) {
    s->most = most;
    s->cost = cost;
    s->how = how;
}

size_t ch_selection_excess(const struct ch_selection *s, size_t *offered, size_t *all) {
    size_t own = count_of_client(s);

    *all = own + count_allowed(s);
    *offered = s->mode == CH_SELECT_ALL ? *all : own + s->n;
    return s->most && s->needed > s->most ? s->needed : 0;
}

size_t ch_selection_defs(const struct ch_selection *s, const struct ch_policy *policy,
                         struct ch_tool_def *out) {
    size_t n = 0;

    if (s->own)
        ch_registry_defs(s->own, out + n++);
    if (s->mode == CH_SELECT_ALL) {
        for (size_t i = 0; i < s->registry->n; i++) {
            const struct ch_tool *t = s->registry->tools[i];
            if (ch_policy_permits(policy, t))
                out[n++] = ch_tool_def(t);
        }
        return n;
    }
    for (size_t i = 0; i < s->registry->n; i++)
        if (is_of_client(s->registry->tools[i]))
            out[n++] = ch_tool_def(s->registry->tools[i]);
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_tool *t = ch_registry_find(s->registry, ch_sv_str(s->offered[i]));
        if (t && ch_policy_permits(policy, t))
            out[n++] = ch_tool_def(t);
    }
    return n;
}

uint64_t ch_selection_revision(const struct ch_selection *s) {
    return s->revision;
}

struct ch_tool *ch_selection_finder(const struct ch_selection *s) {
    return s && s->own ? s->own->tools[0] : NULL;
}

/* --- find_tools --------------------------------------------------------------------------- */

static void select_tell(chela_call *call, const struct ch_tool *t) {
    struct ch_sv summary = ch_tool_summary(t);

    chela_result_printf(call, "- %s: %.*s\n", t->name, CH_SV_FMT(summary));
}

static void select_load(struct ch_selection *s, chela_call *call, const struct ch_tool *t,
                        size_t *loaded) {
    if (++*loaded == 1)
        chela_result_printf(call, "You can call these tools now:\n");
    select_offer(s, t);
    select_tell(call, t);
}

static void select_load_named(struct ch_selection *s, chela_call *call, const char *json,
                              size_t *loaded) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO missing = {0};
    const struct ch_json *names = NULL;

    ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &names, NULL, NULL);
    for (CH_JSON_EACH(v, names)) {
        const struct ch_tool *t = ch_registry_find(s->registry, ch_json_str(v));
        CH_BUF_AUTO similar = {0};
        if (t && (is_of_client(t) || is_allowed(s, t))) {
            select_load(s, call, t, loaded);
            continue;
        }
        ch_registry_similar(s->registry, s->policy, ch_json_str(v), &similar);
        ch_buf_addf(&missing, "There is no tool \"%.*s\".", CH_SV_FMT(ch_json_str(v)));
        if (similar.n)
            ch_buf_addf(&missing, " Similar: %s.", ch_buf_str(&similar));
        ch_buf_addc(&missing, '\n');
    }
    chela_result_text(call, ch_buf_str(&missing), missing.n);
}

static void load_found(struct ch_selection *s, chela_call *call, const char *query,
                       size_t *loaded) {
    struct ch_catalog_hit picks[CH_LIMIT_SELECT_LOAD];
    size_t n = select_pick(s, ch_sv_str(query), CH_MIN(s->k, CH_LEN(picks)), picks);

    for (size_t i = 0; i < n; i++)
        select_load(s, call, s->registry->tools[picks[i].tool], loaded);
    if (n == 0)
        chela_result_printf(call,
                            "No tool matches \"%s\". Try other words for what you want to "
                            "do, or go on without.\n",
                            query);
}

static int find_run(chela_call *call, void *user) {
    struct ch_selection *s = user;
    const char *query = NULL, *names = chela_arg_json(call, "names");
    size_t loaded = 0;

    if (chela_arg_string_opt(call, "query", &query) < 0)
        return CHELA_EINVAL;
    if (!names && !query)
        return chela_result_error(call, "invalid_arguments",
                                  "find_tools: give `query`, what you want to do in a few words, "
                                  "or `names` of tools.");
    if (names)
        select_load_named(s, call, names, &loaded);
    if (query)
        load_found(s, call, query, &loaded);
    return 0;
}

static void list_tool(struct ch_buf *out, const struct ch_tool *t) {
    struct ch_sv summary = ch_utf8_cut(ch_tool_summary(t), SUMMARY_BYTES);

    ch_buf_addf(out, "\n- %s: %.*s", t->name, CH_SV_FMT(summary));
}

/* List all summaries, or only those of the best matches. */
static void list_summaries(struct ch_selection *s, struct ch_sv input, struct ch_buf *out) {
    struct ch_catalog_hit picks[CH_LIMIT_SELECT_LISTED];
    size_t all = count_allowed(s), n = 0;
    bool whole = all <= CH_LIMIT_SELECT_LISTED;

    if (!whole)
        n = select_pick(s, input, CH_LEN(picks), picks);
    ch_buf_addf(out, whole ? " The tools are:" : " Of %zu tools, these may matter most:", all);
    for (size_t i = 0; i < s->registry->n; i++) {
        bool listed = whole && is_allowed(s, s->registry->tools[i]);
        for (size_t k = 0; k < n; k++)
            listed |= picks[k].tool == i;
        if (listed)
            list_tool(out, s->registry->tools[i]);
    }
}

/* A tool of the host may already use the first name. */
static const char *finder_name(const struct ch_selection *s) {
    bool taken = ch_registry_find(s->registry, CH_SV("find_tools")) != NULL;

    return taken ? "chela_find_tools" : "find_tools";
}

static void add_finder(struct ch_selection *s, struct ch_sv input) {
    CH_BUF_AUTO text = {0};
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"query\":{\"type\":\"string\",\"description\":"
        "\"What you want to do, in a few words, e.g. convert currency\"},"
        "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":20,"
        "\"description\":\"Names of tools that you know of\"}}}";

    ch_buf_add_str(&text,
                   "Get tools that were not described to you yet, by what you want to do or by "
                   "their names; you can call them in your next turn. Use it before you say that "
                   "you cannot do something. When nothing matches, the result says so.");
    if (s->mode == CH_SELECT_TWO_STAGE)
        list_summaries(s, input, &text);
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = finder_name(s), .description = ch_buf_str(&text), .schema = schema,
                        .fn = find_run, .user = s, .effect = CHELA_EFFECT_READ,
                        .permission = CHELA_PERM_READ, .flags = CHELA_TOOL_ON_LOOP);
    s->own = ch_alloc(sizeof(*s->own));
    ch_function_add(s->own, &opts, NULL);
}

/* --- sessions ------------------------------------------------------------------------------- */

struct ch_selection *ch_selection_new(const struct ch_selection_opts *opts) {
    struct ch_selection *s = ch_alloc(sizeof(*s));

    s->registry = opts->registry;
    s->ranking = opts->ranking;
    s->mode = opts->mode;
    s->k = opts->k ? opts->k : CH_DEFAULT_TOP_K;
    s->vectors = opts->vectors;
    return s;
}

void ch_selection_free(struct ch_selection *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        ch_free(s->offered[i]);
    ch_free(s->offered);
    if (s->own)
        ch_registry_release(s->own);
    ch_free(s->own);
    ch_free(s);
}

static bool may_search(const struct ch_selection *s) {
    struct ch_sv name = ch_sv_str(finder_name(s));

    for (const struct ch_policy *p = s->policy; p; p = p->within)
        if (p->deny && ch_policy_listed(ch_sv_str(p->deny), name))
            return false;
    return true;
}

bool ch_selection_is_new(const struct ch_selection *s) {
    return !s->begun;
}

bool ch_selection_ranks(const struct ch_selection *given, const struct ch_policy *policy) {
    struct ch_selection s = *given;

    s.policy = policy;
    return (s.begun ? s.mode : select_decide(&s, may_search(&s))) == CH_SELECT_TOPK;
}

static void select_begin(struct ch_selection *s, struct ch_sv input) {
    bool can_search = may_search(s);

    s->begun = true;
    s->needed = select_cost(s, true);
    s->mode = select_decide(s, can_search);
    if (s->mode != CH_SELECT_ALL && can_search)
        add_finder(s, input);
}

void ch_selection_input(struct ch_selection *s, const struct ch_policy *policy, struct ch_sv text) {
    s->policy = policy;
    if (!s->begun)
        select_begin(s, text);
    if (s->mode != CH_SELECT_TOPK)
        return;
    size_t k = CH_MIN(s->k, s->registry->n);
    CH_AUTOFREE struct ch_catalog_hit *picks = ch_malloc((k + 1) * sizeof(*picks));
    size_t n = select_pick(s, text, k, picks);
    offer_picks(s, picks, fitting_picks(s, picks, n));
}
