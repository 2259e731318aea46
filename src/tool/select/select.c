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
enum { FIND, CALL }; /* positions of the selection's own tools */

struct ch_selection {
    const struct ch_registry *registry;
    struct ch_ranking *ranking;
    const struct ch_policy *policy; /* policy of the current run */
    /* owned: for each tool of the registry, whether a policy of the session allowed it */
    bool *scope;
    size_t nscope;
    uint64_t scope_revision; /* revision of the registry that scope describes */
    enum ch_select_mode mode;
    bool begun;
    bool tight; /* CH_TOOL_LISTED alone exceeds the limit, and therefore does not count */
    size_t k;
    const struct ch_vectors *vectors; /* NULL: none */
    char **offered; /* owned names, in the order they were described */
    size_t n, cap;
    uint64_t revision;
    struct ch_registry *own; /* owned: find_tools, call_tool; NULL: the mode has none */
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

static bool is_listed(const struct ch_selection *s, const struct ch_tool *t) {
    return t->flags & (CH_TOOL_OF_CLIENT | CHELA_TOOL_CLIENT | (s->tight ? 0 : CH_TOOL_LISTED));
}

/* True for the tools that are selected from. */
static bool is_allowed(const struct ch_selection *s, const struct ch_tool *t) {
    const struct ch_policy *p = s->policy;
    struct ch_sv name = ch_sv_str(t->name);

    if (is_listed(s, t))
        return false;
    if (p && p->always && ch_sv_is(name, p->always)) /* described separately */
        return false;
    if (p && p->own && ch_policy_listed(ch_sv_str(p->own), name))
        return false;
    return ch_policy_permits(p, t);
}

/* Adds what the policy allows to the scope. Positions are valid for one revision of the
 * registry, so another revision starts again. */
static void select_widen(struct ch_selection *s) {
    const struct ch_registry *r = s->registry;

    if (s->scope_revision != r->revision || s->nscope != r->n) {
        s->scope = ch_realloc(s->scope, r->n + 1);
        memset(s->scope, 0, r->n + 1);
        s->scope_revision = r->revision;
        s->nscope = r->n;
    }
    for (size_t i = 0; i < r->n; i++) {
        bool more = !s->scope[i] && ch_policy_permits(s->policy, r->tools[i]);
        s->scope[i] |= more;
        s->revision += more;
    }
}

static size_t count_allowed(const struct ch_selection *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++)
        n += is_allowed(s, s->registry->tools[i]);
    return n;
}

static size_t count_listed(const struct ch_selection *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        n += is_listed(s, t) && ch_policy_permits(s->policy, t);
    }
    return n;
}

/* Tokens of the tools that are always described, and with `all` of the allowed ones. */
static size_t select_cost(const struct ch_selection *s, bool all) {
    size_t tokens = 0;

    for (size_t i = 0; s->cost && i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        if ((is_listed(s, t) && ch_policy_permits(s->policy, t)) || (all && is_allowed(s, t)))
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
    if (is_listed(s, t) || is_offered(s, t->name))
        return;
    CH_GROW(s->offered, s->n, s->cap, 16);
    s->offered[s->n++] = ch_strdup(t->name);
    s->revision++;
}

void ch_selection_offer(struct ch_selection *s, struct ch_sv name) {
    const struct ch_tool *t = ch_registry_find(s->registry, name);

    if (t && s->mode != CH_SELECT_ALL && ch_policy_permits(s->policy, t))
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
    size_t own = count_listed(s);

    *all = own + count_allowed(s);
    *offered = s->mode == CH_SELECT_ALL ? *all : own + s->n;
    return s->most && s->needed > s->most ? s->needed : 0;
}

/* The tools that wait, in registry order. */
static size_t deferred_defs(const struct ch_selection *s, struct ch_tool_def *out) {
    size_t n = 0;

    for (size_t i = 0; i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        if (!s->scope[i] || is_listed(s, t) || is_offered(s, t->name))
            continue;
        out[n] = ch_tool_def(t);
        out[n++].deferred = true;
    }
    return n;
}

size_t ch_selection_defs(struct ch_selection *s, bool searched, struct ch_tool_def *out) {
    size_t n = 0;

    select_widen(s);
    if (s->own && !searched) {
        ch_registry_defs(s->own, out);
        n = s->own->n;
    }
    for (size_t i = 0; i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        if (s->scope[i] && (s->mode == CH_SELECT_ALL || is_listed(s, t)))
            out[n++] = ch_tool_def(t);
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_tool *t = ch_registry_find(s->registry, ch_sv_str(s->offered[i]));
        if (t && s->mode != CH_SELECT_ALL)
            out[n++] = ch_tool_def(t);
    }
    return s->own && searched ? n + deferred_defs(s, out + n) : n;
}

uint64_t ch_selection_revision(const struct ch_selection *s) {
    return s->revision;
}

const struct ch_registry *ch_selection_own(const struct ch_selection *s) {
    return s ? s->own : NULL;
}

/* --- find_tools --------------------------------------------------------------------------- */

/* The definition of a tool as a line of JSON. */
static void select_load(struct ch_selection *s, chela_call *call, const struct ch_tool *t,
                        size_t *loaded) {
    CH_BUF_AUTO line = {0};
    struct ch_jw w = ch_jw(&line);

    if (++*loaded == 1)
        chela_result_printf(call, "Call these with %s, or by their names where they are listed:\n",
                            s->own->tools[CALL]->name);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", t->name);
    ch_jw_kcstr(&w, "description", t->description);
    ch_jw_kraw(&w, "arguments", ch_sv_str(t->schema));
    ch_jw_end(&w, '}');
    ch_buf_addc(&line, '\n');
    chela_result_text(call, ch_buf_str(&line), line.n);
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
        if (t && (is_allowed(s, t) || (is_listed(s, t) && ch_policy_permits(s->policy, t)))) {
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

static struct ch_sv summary_of(const struct ch_tool *t) {
    return ch_utf8_cut(ch_tool_summary(t), SUMMARY_BYTES);
}

/* Chooses tools, the best matches first, whose summaries have room; returns their number. */
static size_t choose_summaries(struct ch_selection *s, struct ch_sv input, bool *chosen) {
    size_t all = s->registry->n, n = 0, bytes = 0;
    CH_AUTOFREE struct ch_catalog_hit *picks = ch_malloc((all + 1) * sizeof(*picks));
    size_t best = select_pick(s, input, all, picks);

    for (size_t i = 0; i < best + all; i++) {
        size_t at = i < best ? picks[i].tool : i - best;
        const struct ch_tool *t = s->registry->tools[at];
        if (chosen[at] || !is_allowed(s, t))
            continue;
        bytes += strlen(t->name) + summary_of(t).n + sizeof("\n- : ") - 1;
        if (bytes > CH_LIMIT_SELECT_SUMMARY)
            break;
        chosen[at] = true;
        n++;
    }
    return n;
}

/* Lists the summaries in registry order. */
static void list_summaries(struct ch_selection *s, struct ch_sv input, struct ch_buf *out) {
    CH_AUTOFREE bool *chosen = ch_alloc(s->registry->n + 1);
    size_t all = count_allowed(s), n = choose_summaries(s, input, chosen);

    if (n == all)
        ch_buf_add_str(out, " The tools are:");
    else
        ch_buf_addf(out, " Of %zu tools, these may matter most:", all);
    for (size_t i = 0; i < s->registry->n; i++) {
        const struct ch_tool *t = s->registry->tools[i];
        if (chosen[i])
            ch_buf_addf(out, "\n- %s: %.*s", t->name, CH_SV_FMT(summary_of(t)));
    }
}

/* A tool of the host may already use a name. */
static const char *own_name(const struct ch_selection *s, int which) {
    static const char *const names[][2] = {{"find_tools", "chela_find_tools"},
                                           {"call_tool", "chela_call_tool"}};
    bool taken = ch_registry_find(s->registry, ch_sv_str(names[which][0])) != NULL;

    return names[which][taken];
}

/* Only a call that names no tool, or has other members, arrives here (call_by_name.h). */
static int call_run(chela_call *call, void *user) {
    (void)user;
    return chela_result_error(call, "invalid_arguments",
                              "%s: give `name`, the name of a tool, and `arguments`, an object as "
                              "the schema of this tool says, and nothing else.",
                              chela_call_name(call));
}

static void add_own(struct ch_selection *s, struct ch_sv input) {
    CH_BUF_AUTO text = {0};
    static const char find_schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"query\":{\"type\":\"string\",\"description\":"
        "\"What you want to do, in a few words, e.g. convert currency\"},"
        "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":20,"
        "\"description\":\"Names of tools that you know of\"}},"
        "\"additionalProperties\":false}";
    static const char call_schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"name\":{\"type\":\"string\",\"description\":\"Name of the tool\"},"
        "\"arguments\":{\"type\":\"object\",\"description\":"
        "\"Its arguments, as its schema says\"}},\"required\":[\"name\"],"
        "\"additionalProperties\":false}";

    ch_buf_addf(&text,
                "Get the schemas of tools that are not described to you, by what you want to do or "
                "by their names; %s calls them. Use it before you say that you cannot do "
                "something. When nothing matches, the result says so.",
                own_name(s, CALL));
    if (s->mode == CH_SELECT_TWO_STAGE)
        list_summaries(s, input, &text);
    struct chela_tool_opts find = CHELA_TOOL_OPTS(
        .name = own_name(s, FIND), .description = ch_buf_str(&text), .schema = find_schema,
        .fn = find_run, .user = s, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
        .flags = CHELA_TOOL_ON_LOOP);
    CH_BUF_AUTO how = {0};
    ch_buf_addf(&how, "Call a tool that is not described to you. %s returns its schema.",
                find.name);
    struct chela_tool_opts call = CHELA_TOOL_OPTS(
        .name = own_name(s, CALL), .description = ch_buf_str(&how), .schema = call_schema,
        .fn = call_run, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
        .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_FORGIVING | CH_TOOL_BY_NAME);
    s->own = ch_alloc(sizeof(*s->own));
    ch_function_add(s->own, &find, NULL);
    ch_function_add(s->own, &call, NULL);
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
    ch_free(s->scope);
    ch_free(s);
}

static bool may_search(const struct ch_selection *s) {
    struct ch_sv name = ch_sv_str(own_name(s, FIND));

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
    return !s.begun && select_decide(&s, may_search(&s)) == CH_SELECT_TOPK;
}

static void select_begin(struct ch_selection *s, struct ch_sv input) {
    bool can_search = may_search(s);

    s->begun = true;
    s->needed = select_cost(s, true);
    s->tight = s->mode == CH_SELECT_AUTO && s->most && select_cost(s, false) > s->most;
    s->mode = select_decide(s, can_search);
    if (s->mode != CH_SELECT_ALL && can_search)
        add_own(s, input);
}

void ch_selection_input(struct ch_selection *s, const struct ch_policy *policy, struct ch_sv text) {
    bool begins = !s->begun;

    s->policy = policy;
    if (begins)
        select_begin(s, text);
    select_widen(s);
    if (!begins || s->mode != CH_SELECT_TOPK)
        return;
    size_t k = CH_MIN(s->k, s->registry->n);
    CH_AUTOFREE struct ch_catalog_hit *picks = ch_malloc((k + 1) * sizeof(*picks));
    size_t n = select_pick(s, text, k, picks);
    offer_picks(s, picks, fitting_picks(s, picks, n));
}
