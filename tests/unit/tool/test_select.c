/* test_select.c -- which tools a request describes, and whether they are the
 * right ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/json.h"
#include "chela/select.h"
#include "support/toolkit.h"
#include "tool/select/select.h"
#include "tool/call/function.h"
#include "search/stem.h"
#include "search/tokenize.h"

/* --- words ------------------------------------------------------------------- */

static void test_stems(void **state) {
    static const struct {
        const char *word, *stem;
    } cases[] = {
        {"caresses", "caress"},
        {"ponies", "poni"},
        {"cats", "cat"},
        {"feed", "feed"},
        {"agreed", "agre"},
        {"plastered", "plaster"},
        {"motoring", "motor"},
        {"sing", "sing"},
        {"conflated", "conflat"},
        {"sized", "size"},
        {"hopping", "hop"},
        {"falling", "fall"},
        {"happy", "happi"},
        {"sky", "sky"},
        {"relational", "relat"},
        {"rational", "ration"},
        {"digitizer", "digit"},
        {"operator", "oper"},
        {"hopefulness", "hope"},
        {"triplicate", "triplic"},
        {"electrical", "electr"},
        {"goodness", "good"},
        {"revival", "reviv"},
        {"adjustment", "adjust"},
        {"adoption", "adopt"},
        {"probate", "probat"},
        {"rate", "rate"},
        {"controlling", "control"},
        {"calculating", "calcul"},
        {"calculation", "calcul"},
        {"is", "is"},
        {"a", "a"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char word[32];
        size_t n = strlen(cases[i].word);
        memcpy(word, cases[i].word, n);
        n = ch_stem(word, n);
        if (n != strlen(cases[i].stem) || memcmp(word, cases[i].stem, n) != 0)
            fail_msg("%s: %.*s, not %s", cases[i].word, (int)n, word, cases[i].stem);
    }
}

/* How many of the words of a are in b too. */
static size_t shared(const char *a, const char *b) {
    struct ch_terms x = {0}, y = {0};
    size_t n = 0;

    ch_terms_read(&x, ch_sv_str(a), SIZE_MAX);
    ch_terms_read(&y, ch_sv_str(b), SIZE_MAX);
    for (size_t i = 0; i < x.n; i++)
        for (size_t k = 0; k < y.n; k++)
            if (x.list[i].id == y.list[k].id && x.list[i].kind != CH_TERM_JOINED) {
                n++;
                break;
            }
    ch_terms_release(&x);
    ch_terms_release(&y);
    return n;
}

static void test_words(void **state) {
    static const struct {
        const char *a, *b;
        size_t shared;
    } cases[] = {
        {"getHTTPHeaders", "get_http_headers", 3},
        {"get-http-headers", "Get HTTP headers.", 3},
        {"GitHub", "github", 1},
        {"the and please", "the and please", 0},
        {"Café Zürich", "cafe zurich", 2},
        {"ＡＢＣ１２", "abc 12", 3},
        {"analyse", "analyze", 1},
        {"what's don't we'll", "s t ll", 0},
        {"os.path", "path", 1},
        {"天气预报", "查询天气", 3}, /* 天气, and both characters alone */
        {"天气", "气天", 2},
        {"東京タワー", "タワー", 2},
        {"", "x", 0},
        {"\xff\xfe weather \x80", "weather", 1},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (shared(cases[i].a, cases[i].b) != cases[i].shared)
            fail_msg("%s / %s: %zu", cases[i].a, cases[i].b, shared(cases[i].a, cases[i].b));
}

/* --- the right ones ------------------------------------------------------------- */

/* The place of a name in an answer, from 0; -1: it is not there. */
static int place_of(const char *json, struct ch_sv name) {
    for (int i = 0;; i++) {
        char pointer[32];
        snprintf(pointer, sizeof(pointer), "/%d/name", i);
        char *at = chela_json_get(json, strlen(json), pointer, NULL);
        bool found = at && ch_sv_is(name, at), end = !at;
        ch_free(at);
        if (found || end)
            return found ? i : -1;
    }
}

#define SET "tests/data/select/"

static chela_tool_index *open_set(struct ch_buf *questions) {
    CH_BUF_AUTO tools = {0};
    chela_tool_index *ix;
    struct chela_error err = {0};

    assert_int_equal(ch_file_load(SET "tools.jsonl", CH_MB, &tools, &err), 0);
    assert_int_equal(ch_file_load(SET "questions.tsv", CH_MB, questions, &err), 0);
    if (chela_tool_index_new(tools.p, tools.n, &ix, &err) < 0)
        fail_msg("%s", err.message);
    return ix;
}

static void test_recall(void **state) {
    CH_BUF_AUTO questions = {0};
    chela_tool_index *ix = open_set(&questions);
    size_t n = 0, at_5 = 0, at_10 = 0;
    struct ch_sv rest = ch_buf_sv(&questions);

    (void)state;
    while (rest.n) {
        struct ch_sv question = ch_sv_split(&rest, '\n');
        struct ch_sv name = ch_sv_split(&question, '\t');
        char *json = chela_tool_index_select(ix, question.p, question.n, 10);
        int place = place_of(json, name);
        n++;
        at_5 += place >= 0 && place < 5;
        at_10 += place >= 0;
        ch_free(json);
    }
    print_message("recall@5 %.1f %%, recall@10 %.1f %% of %zu questions, %zu tools\n",
                  100.0 * (double)at_5 / (double)n, 100.0 * (double)at_10 / (double)n, n,
                  chela_tool_index_size(ix));
    assert_true(chela_tool_index_size(ix) >= 200 && n >= 300);
    assert_true(at_5 * 100 >= n * 85);
    assert_true(at_10 * 100 >= n * 92);
    chela_tool_index_free(ix);
}

static void test_spellings(void **state) {
    static const char *const texts[] = {
        "[{\"name\":\"alpha\",\"description\":\"Paint a picture.\"},"
        "{\"name\":\"beta\",\"description\":\"Count sheep.\"}]",
        "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"alpha\",\"description\":"
        "\"Paint a picture.\"}},{\"type\":\"function\",\"function\":{\"name\":\"beta\","
        "\"description\":\"Count sheep.\"}}]}",
        "{\"tools\":[{\"functionDeclarations\":[{\"name\":\"alpha\",\"description\":"
        "\"Paint a picture.\"},{\"name\":\"beta\",\"description\":\"Count sheep.\"}]}]}",
        "{\"name\":\"alpha\",\"description\":\"Paint a picture.\"}\n\n"
        "{\"name\":\"beta\",\"input_schema\":{\"properties\":{\"sheep\":{}}}}\n",
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        chela_tool_index *ix;
        assert_int_equal(chela_tool_index_new(texts[i], strlen(texts[i]), &ix, NULL), 0);
        assert_int_equal(chela_tool_index_size(ix), 2);
        char *json = chela_tool_index_select(ix, "sheep", 5, 10);
        assert_int_equal(place_of(json, CH_SV("beta")), 0);
        assert_int_equal(place_of(json, CH_SV("alpha")), -1); /* nothing in common */
        ch_free(json);
        chela_tool_index_free(ix);
    }
}

static void test_bad_files(void **state) {
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", CHELA_EPARSE},
        {"[{\"name\":", CHELA_EPARSE},
        {"[]", CHELA_EINVAL},
        {"{\"a\":1}", CHELA_EINVAL},
        {"[{\"name\":7}]", CHELA_EINVAL},
        {"17", CHELA_EINVAL},
        {"{\"name\":\"a\"}\nx", CHELA_EPARSE},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_tool_index *ix = NULL;
        struct chela_error err = {0};
        int rc = chela_tool_index_new(cases[i].text, strlen(cases[i].text), &ix, &err);
        if (i == 0 && rc == CHELA_EINVAL)
            rc = CHELA_EPARSE; /* nothing at all: either will do */
        if (rc != cases[i].code)
            fail_msg("%s: %d %s", cases[i].text, rc, err.message);
        assert_true(err.message[0]);
        assert_null(ix);
    }
}

/* --- sessions -------------------------------------------------------------------- */

struct world {
    struct kit kit;
    struct ch_ranking ranking;
    struct ch_policy policy;
    struct ch_selection *s;
};

static int say_hello(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "hello", 5);
    return 0;
}

/* n tools: tool_0 "Number of kind zero" ..., and one that bakes bread. */
static void open_world(struct world *w, size_t n, enum ch_select_mode mode, const char *deny) {
    *w = (struct world){.ranking = {.revision = 0}};
    kit_init(&w->kit);
    for (size_t i = 0; i < n; i++) {
        char name[32], text[64];
        bool last = i == n - 1;
        snprintf(name, sizeof(name), last ? "bake_bread" : "tool_%zu", i);
        snprintf(text, sizeof(text), last ? "Bake bread in an oven." : "Move a lever of kind k%zu.",
                 i);
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = name, .description = text, .schema = "{}", .fn = say_hello,
                            .permission = CHELA_PERM_READ);
        assert_int_equal(ch_function_add(&w->kit.registry, &opts, NULL), 0);
    }
    assert_int_equal(ch_policy_init(&w->policy, NULL, deny, CHELA_PERM_ADMIN, NULL), 0);
    w->s = ch_selection_new(&(struct ch_selection_opts){
        .registry = &w->kit.registry, .ranking = &w->ranking, .mode = mode});
}

static void close_world(struct world *w) {
    ch_selection_free(w->s);
    ch_ranking_release(&w->ranking);
    ch_policy_release(&w->policy);
    kit_free(&w->kit);
}

static size_t defs(struct world *w, struct ch_tool_def *out) {
    return ch_selection_defs(w->s, false, out);
}

static bool describes(struct world *w, const char *name) {
    struct ch_tool_def list[128];
    size_t n = defs(w, list);
    for (size_t i = 0; i < n; i++)
        if (ch_sv_is(list[i].name, name))
            return true;
    return false;
}

static void test_modes(void **state) {
    static const struct {
        enum ch_select_mode mode;
        const char *deny;
        size_t tools, described;
        bool finder, bread; /* described for an input about it */
    } cases[] = {
        {CH_SELECT_AUTO, NULL, 20, 20, false, true},
        {CH_SELECT_AUTO, NULL, 21, 3, true, true},
        {CH_SELECT_AUTO, NULL, 50, 3, true, true},
        {CH_SELECT_AUTO, NULL, 51, 2, true, false},
        {CH_SELECT_ALL, NULL, 100, 100, false, true},
        {CH_SELECT_TOPK, NULL, 10, 10, false, true},
        {CH_SELECT_TOPK, NULL, 100, 3, true, true},
        {CH_SELECT_SEARCH, NULL, 5, 2, true, false},
        {CH_SELECT_TWO_STAGE, NULL, 5, 2, true, false},
        {CH_SELECT_AUTO, "tool_?", 30, 20, false, true}, /* 20 are left */
        {CH_SELECT_AUTO, "find_tools", 60, 1, false, true},
        {CH_SELECT_SEARCH, "*", 5, 0, false, false},
        {CH_SELECT_TOPK, "bake_bread", 30, 2, true, false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct world w;
        struct ch_tool_def list[128];
        open_world(&w, cases[i].tools, cases[i].mode, cases[i].deny);
        ch_selection_input(w.s, &w.policy, CH_SV("Please bake bread"));
        size_t n = defs(&w, list);
        if (n != cases[i].described || describes(&w, "find_tools") != cases[i].finder ||
            describes(&w, "bake_bread") != cases[i].bread)
            fail_msg("case %zu: %zu described", i, n);
        assert_int_equal(ch_selection_own(w.s) != NULL, cases[i].finder);
        assert_int_equal(describes(&w, "call_tool"), cases[i].finder);
        close_world(&w);
    }
}

/* Where the service searches tools, those that wait are set aside in place of find_tools and
 * call_tool, and no tool is sent twice. */
static void test_a_service_that_searches_gets_all_tools(void **state) {
    static const struct {
        enum ch_select_mode mode;
        const char *deny;
        size_t tools, described, deferred;
    } cases[] = {
        {CH_SELECT_AUTO, NULL, 20, 20, 0},  {CH_SELECT_AUTO, NULL, 21, 1, 20},
        {CH_SELECT_AUTO, NULL, 60, 0, 60},  {CH_SELECT_ALL, NULL, 60, 60, 0},
        {CH_SELECT_TOPK, NULL, 60, 1, 59},  {CH_SELECT_SEARCH, "tool_?", 60, 0, 50},
        {CH_SELECT_AUTO, "find_tools", 60, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct world w;
        struct ch_tool_def list[128];
        open_world(&w, cases[i].tools, cases[i].mode, cases[i].deny);
        ch_selection_input(w.s, &w.policy, CH_SV("Please bake bread"));
        size_t n = ch_selection_defs(w.s, true, list), deferred = 0;
        for (size_t k = 0; k < n; k++) {
            assert_true(k == 0 || list[k].deferred >= list[k - 1].deferred);
            assert_false(ch_sv_is(list[k].name, "find_tools"));
            deferred += list[k].deferred;
            for (size_t m = 0; m < k; m++)
                assert_false(ch_sv_eq(list[k].name, list[m].name));
        }
        if (n - deferred != cases[i].described || deferred != cases[i].deferred)
            fail_msg("case %zu: %zu described, %zu deferred", i, n - deferred, deferred);
        close_world(&w);
    }
}

static size_t ten_each(const struct ch_tool *t, unsigned how) {
    (void)t;
    return 10 * how;
}

/* Descriptions have a budget: above it the best are described that fit. */
static void test_budget(void **state) {
    static const struct {
        enum ch_select_mode mode;
        size_t tools, most, described, excess;
    } cases[] = {
        {CH_SELECT_AUTO, 8, 80, 8, 0},    {CH_SELECT_AUTO, 8, 79, 9, 80},
        {CH_SELECT_AUTO, 8, 0, 8, 0},     {CH_SELECT_AUTO, 8, 35, 5, 80},
        {CH_SELECT_AUTO, 8, 20, 4, 80},   {CH_SELECT_AUTO, 8, 5, 3, 80}, /* at least one */
        {CH_SELECT_AUTO, 1, 5, 1, 10},    {CH_SELECT_ALL, 8, 20, 8, 80},
        {CH_SELECT_TOPK, 30, 20, 4, 300},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct world w;
        struct ch_tool_def list[128];
        size_t offered, all;
        open_world(&w, cases[i].tools, cases[i].mode, NULL);
        ch_selection_limit(w.s, cases[i].most, ten_each, 1);
        ch_selection_input(w.s, &w.policy, CH_SV("Bake bread, then move lever k1 and lever k2"));
        size_t n = defs(&w, list), excess = ch_selection_excess(w.s, &offered, &all);
        if (n != cases[i].described || excess != cases[i].excess || !describes(&w, "bake_bread"))
            fail_msg("case %zu: %zu described, %zu too many", i, n, excess);
        assert_int_equal(all, cases[i].tools);
        assert_int_equal(offered, n - (ch_selection_own(w.s) ? CH_SELECTION_OWN : 0));
        close_world(&w);
    }
}

/* The first input decides; the definitions are the same bytes afterwards. */
static void test_later_inputs_change_no_definition(void **state) {
    static const char *const inputs[] = {"bake bread", "move lever k7 and k3", "bake bread",
                                         "lever k25", "hello"};
    struct world w;
    struct ch_tool_def before[128], now[128];
    size_t n_before = 0;
    uint64_t revision = 0;

    (void)state;
    open_world(&w, 40, CH_SELECT_TOPK, NULL);
    for (size_t i = 0; i < CH_LEN(inputs); i++) {
        ch_selection_input(w.s, &w.policy, ch_sv_str(inputs[i]));
        size_t n = defs(&w, now);
        for (size_t k = 0; k < n_before; k++) {
            assert_ptr_equal(before[k].name.p, now[k].name.p);
            assert_ptr_equal(before[k].description.p, now[k].description.p);
        }
        if (i > 0) {
            assert_int_equal(n, n_before);
            assert_int_equal(ch_selection_revision(w.s), revision);
        }
        memcpy(before, now, sizeof(now));
        n_before = n;
        revision = ch_selection_revision(w.s);
    }
    assert_true(describes(&w, "bake_bread"));
    assert_false(describes(&w, "tool_25"));
    close_world(&w);
}

/* A sender with fewer rights changes no definition; one with more adds tools once. */
static void test_narrower_rights_keep_the_definitions(void **state) {
    struct world w;
    struct ch_policy narrow, wide;
    struct ch_tool_def list[128];

    (void)state;
    open_world(&w, 10, CH_SELECT_AUTO, "tool_1");
    assert_int_equal(ch_policy_init(&narrow, "bake_bread", NULL, CHELA_PERM_ADMIN, NULL), 0);
    assert_int_equal(ch_policy_init(&wide, NULL, NULL, CHELA_PERM_ADMIN, NULL), 0);
    ch_selection_input(w.s, &w.policy, CH_SV("hello"));
    assert_int_equal(defs(&w, list), 9);
    uint64_t revision = ch_selection_revision(w.s);
    ch_selection_input(w.s, &narrow, CH_SV("hello"));
    assert_int_equal(defs(&w, list), 9);
    assert_int_equal(ch_selection_revision(w.s), revision);
    ch_selection_input(w.s, &wide, CH_SV("hello"));
    assert_int_equal(defs(&w, list), 10);
    assert_int_not_equal(ch_selection_revision(w.s), revision);
    ch_selection_input(w.s, &narrow, CH_SV("hello"));
    assert_int_equal(defs(&w, list), 10);
    ch_policy_release(&narrow);
    ch_policy_release(&wide);
    close_world(&w);
}

static void test_listed_tools_are_always_described(void **state) {
    struct world w;
    struct chela_tool_opts core =
        CHELA_TOOL_OPTS(.name = "core", .description = "Core.", .schema = "{}", .fn = say_hello,
                        .flags = CH_TOOL_LISTED);
    (void)state;
    open_world(&w, 60, CH_SELECT_SEARCH, NULL);
    assert_int_equal(ch_function_add(&w.kit.registry, &core, NULL), 0);
    ch_selection_input(w.s, &w.policy, CH_SV("hello"));
    struct ch_tool_def list[128];
    assert_int_equal(defs(&w, list), 3);
    assert_true(describes(&w, "core"));
    close_world(&w);
}

static void use_own(struct world *w) {
    w->kit.opts.own = ch_selection_own(w->s);
    w->kit.opts.policy = &w->policy;
}

static void test_a_call_by_name_is_a_call_of_the_tool(void **state) {
    static const struct {
        const char *arguments, *says;
        bool is_error;
    } cases[] = {
        {"{\"name\":\"bake_bread\",\"arguments\":{}}", "hello", false},
        {"{\"name\":\"bake_bread\"}", "hello", false},
        {"{\"name\":\"bake_bread\",\"arguments\":\"{}\"}", "hello", false},
        {"{\"name\":\"strict\",\"arguments\":{\"n\":1}}", "hello", false},
        {"{\"name\":\"strict\",\"arguments\":{}}", "strict", true},
        {"{\"name\":\"secret\",\"arguments\":{}}", "There is no tool named", true},
        {"{\"name\":\"bake_braed\"}", "Similar tools: bake_bread", true},
        {"{\"name\":\"call_tool\",\"arguments\":{\"name\":\"bake_bread\"}}", "give `name`", true},
        {"{\"name\":\"bake_bread\",\"arguments\":[1]}", "give `name`", true},
        {"{\"name\":\"bake_bread\",\"arguments\":\"{\"}", "give `name`", true},
        {"{}", "give `name`", true},
    };
    struct world w;

    (void)state;
    open_world(&w, 60, CH_SELECT_SEARCH, "secret");
    struct chela_tool_opts strict = CHELA_TOOL_OPTS(
        .name = "strict", .description = "Strict.", .fn = say_hello, .permission = CHELA_PERM_READ,
        .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                  "\"required\":[\"n\"]}");
    struct chela_tool_opts secret =
        CHELA_TOOL_OPTS(.name = "secret", .description = "S.", .schema = "{}", .fn = say_hello);
    assert_int_equal(ch_function_add(&w.kit.registry, &strict, NULL), 0);
    assert_int_equal(ch_function_add(&w.kit.registry, &secret, NULL), 0);
    ch_selection_input(w.s, &w.policy, CH_SV("hello"));
    use_own(&w);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *content = kit_call(&w.kit, "call_tool", cases[i].arguments);
        if (!strstr(content, cases[i].says) || w.kit.is_error != cases[i].is_error)
            fail_msg("%s: %s", cases[i].arguments, content);
    }
    close_world(&w);
}

static void test_finding(void **state) {
    static const struct {
        const char *arguments, *says; /* says: part of the result */
        bool is_error;
    } cases[] = {
        {"{\"query\":\"an oven for bread\"}",
         "{\"name\":\"bake_bread\",\"description\":\"Bake bread in an oven.\",\"arguments\":{",
         false},
        {"{\"names\":[\"bake_bread\"]}", "{\"name\":\"bake_bread\"", false},
        {"{\"names\":[\"bake_braed\"]}", "no tool \"bake_braed\". Similar: bake_bread", false},
        {"{\"names\":[\"tool_3\",\"bake_bread\"]}", "{\"name\":\"tool_3\"", false},
        {"{\"query\":\"quantum\"}", "No tool matches \"quantum\"", false},
        {"{}", "give `query`", true},
        {"{\"query\":7}", "{\"name\":\"tool_7\"", false}, /* a number is taken for a text */
        {"{\"names\":\"[\\\"bake_bread\\\"]\"}", "{\"name\":\"bake_bread\"", false},
        {"{\"names\":{}}", "names", true},
        {"{\"names\":[\"secret\"]}", "There is no tool \"secret\".\n", false},
        {"{\"query\":\"lever of kind secret\"}", "tool_", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct world w;
        struct ch_tool_def list[128];
        open_world(&w, 60, CH_SELECT_AUTO, "secret");
        struct chela_tool_opts secret =
            CHELA_TOOL_OPTS(.name = "secret", .description = "Move the secret lever.",
                            .schema = "{}", .fn = say_hello);
        assert_int_equal(ch_function_add(&w.kit.registry, &secret, NULL), 0);
        ch_selection_input(w.s, &w.policy, CH_SV("hello"));
        const char *text = ch_selection_own(w.s)->tools[0]->description;
        assert_null(strstr(text, "secret"));
        assert_non_null(strstr(text, "\n- tool_0: Move"));
        use_own(&w);
        const char *content = kit_call(&w.kit, "find_tools", cases[i].arguments);
        if (!strstr(content, cases[i].says) || w.kit.is_error != cases[i].is_error ||
            strstr(content, "\"secret\",") || describes(&w, "secret"))
            fail_msg("%s: %s", cases[i].arguments, content);
        assert_int_equal(defs(&w, list), CH_SELECTION_OWN);
        close_world(&w);
    }
}

/* Summaries have a limit in bytes; the best matches come first into it. */
static void test_many_summaries(void **state) {
    struct world w;

    (void)state;
    open_world(&w, 1000, CH_SELECT_AUTO, NULL);
    ch_selection_input(w.s, &w.policy, CH_SV("bake bread, then move the lever"));
    const char *text = ch_selection_own(w.s)->tools[0]->description;
    assert_in_range(strlen(text), CH_LIMIT_SELECT_SUMMARY / 2, CH_LIMIT_SELECT_SUMMARY + 500);
    assert_non_null(strstr(text, "Of 1000 tools"));
    assert_non_null(strstr(text, "\n- bake_bread: "));
    close_world(&w);
}

/* A host's own tool of that name is not hidden by ours. */
static void test_name_taken(void **state) {
    struct world w;
    struct chela_tool_opts mine = CHELA_TOOL_OPTS(.name = "find_tools", .description = "Mine.",
                                                  .schema = "{}", .fn = say_hello);
    (void)state;
    open_world(&w, 60, CH_SELECT_SEARCH, NULL);
    assert_int_equal(ch_function_add(&w.kit.registry, &mine, NULL), 0);
    ch_selection_input(w.s, &w.policy, CH_SV("hello"));
    assert_string_equal(ch_selection_own(w.s)->tools[0]->name, "chela_find_tools");
    assert_string_equal(ch_selection_own(w.s)->tools[1]->name, "call_tool");
    close_world(&w);
}

/* Tools that come and go while a session lasts. */
static void test_changes(void **state) {
    struct world w;
    struct chela_tool_opts late = CHELA_TOOL_OPTS(.name = "brew_tea", .description = "Brew tea.",
                                                  .schema = "{}", .fn = say_hello);
    (void)state;
    open_world(&w, 40, CH_SELECT_TOPK, NULL);
    ch_selection_input(w.s, &w.policy, CH_SV("bake bread"));
    assert_int_equal(ch_registry_remove(&w.kit.registry, "bake_bread"), 0);
    assert_false(describes(&w, "bake_bread"));
    assert_int_equal(ch_function_add(&w.kit.registry, &late, NULL), 0);
    ch_selection_input(w.s, &w.policy, CH_SV("brew some tea"));
    assert_false(describes(&w, "brew_tea"));
    use_own(&w);
    assert_non_null(strstr(kit_call(&w.kit, "find_tools", "{\"query\":\"tea\"}"), "brew_tea"));
    assert_string_equal(kit_call(&w.kit, "call_tool", "{\"name\":\"brew_tea\"}"), "hello");
    close_world(&w);
}

/* Adds client_9, client_8, ...; their order is the client's. */
static void add_client_tools(struct world *w, unsigned n) {
    while (n--) {
        char name[32];
        snprintf(name, sizeof(name), "client_%u", n);
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = name, .description = "Of the client.", .schema = "{}",
                            .flags = CHELA_TOOL_CLIENT | CH_TOOL_OF_CLIENT);
        assert_int_equal(ch_function_add(&w->kit.registry, &opts, NULL), 0);
    }
}

static void test_every_mode_describes_the_clients_tools_in_order(void **state) {
    static const enum ch_select_mode modes[] = {CH_SELECT_AUTO, CH_SELECT_ALL, CH_SELECT_TOPK,
                                                CH_SELECT_TWO_STAGE, CH_SELECT_SEARCH};
    (void)state;
    for (size_t i = 0; i < 2 * CH_LEN(modes); i++) {
        struct world w;
        struct ch_tool_def list[128];
        unsigned next = 40;
        open_world(&w, i % 2 ? 60 : 3, modes[i / 2], "client_*,calculate");
        add_client_tools(&w, next);
        ch_selection_input(w.s, &w.policy, CH_SV("bake bread"));
        ch_selection_offer(w.s, CH_SV("client_7"));
        for (size_t k = 0, n = defs(&w, list); k < n; k++) {
            char name[32];
            if (!ch_sv_starts(list[k].name, "client_"))
                continue;
            snprintf(name, sizeof(name), "client_%u", --next);
            if (!ch_sv_is(list[k].name, name))
                fail_msg("mode %zu: %.*s, not %s", i, CH_SV_FMT(list[k].name), name);
        }
        assert_int_equal(next, 0);
        close_world(&w);
    }
}

static void test_the_clients_tools_do_not_count(void **state) {
    struct world w;
    struct ch_tool_def list[128];
    (void)state;
    open_world(&w, 20, CH_SELECT_AUTO, NULL);
    add_client_tools(&w, 60);
    ch_selection_input(w.s, &w.policy, CH_SV("bake bread"));
    assert_int_equal(defs(&w, list), 80);
    assert_null(ch_selection_own(w.s));
    close_world(&w);
}

static void test_mode_names(void **state) {
    enum ch_select_mode mode;
    struct chela_error err = {0};

    (void)state;
    assert_int_equal(ch_select_mode_read(CHELA_SELECTION_DEFAULT, &mode, NULL), 0);
    assert_int_equal(mode, CH_SELECT_AUTO);
    assert_int_equal(ch_select_mode_read(CHELA_SELECTION_TWO_STAGE, &mode, NULL), 0);
    assert_int_equal(mode, CH_SELECT_TWO_STAGE);
    assert_int_equal(ch_select_mode_read((enum chela_selection)9, &mode, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "there is no selection 9"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stems),          cmocka_unit_test(test_words),
        cmocka_unit_test(test_recall),         cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_bad_files),      cmocka_unit_test(test_modes),
        cmocka_unit_test(test_a_service_that_searches_gets_all_tools),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_later_inputs_change_no_definition),
        cmocka_unit_test(test_narrower_rights_keep_the_definitions),
        cmocka_unit_test(test_listed_tools_are_always_described),
        cmocka_unit_test(test_a_call_by_name_is_a_call_of_the_tool),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_many_summaries), cmocka_unit_test(test_name_taken),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_every_mode_describes_the_clients_tools_in_order),
        cmocka_unit_test(test_the_clients_tools_do_not_count),
        cmocka_unit_test(test_mode_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
