/* test_role_prompts.c -- the prompts of a runtime: loading, versions, JSON, rendering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/role_prompts.h"
#include "base/mem.h"
#include "chela/prompt.h"
#include "json/json.h"
#include "prompt/prompts.h"
#include "support/stage.h"

/* Prompts of the program. */
static const struct {
    const char *file, *text;
} files[] = {
    {"good/note/v1.0.txt", "Note {what}."},
    {"good/note/v2.0.txt", "Be brief.\n=== user ===\nNote {what} for {who}."},
    {"good/planner/v9.0.txt", "{tools} {user_request} {tool_descriptions} {weather}"},
    {"bad/note/v1.0.txt", "Note {what."},
};
static char dir[] = "/tmp/chela-role-prompts-XXXXXX";

static void open_stage(struct stage *st) {
    struct chela_error err = {0};
    stage_open(st, NULL, NULL, 0);
    if (chela_prompts_load(st->rt, "good", &err) < 0)
        fail_msg("%s", err.message);
}

static const struct ch_json *parse(struct ch_arena *a, const char *json) {
    const struct ch_json *root;
    assert_non_null(json);
    assert_int_equal(ch_json_parse(a, ch_sv_str(json), CH_JSON_STRICT, &root, NULL, NULL), 0);
    return root;
}

/* The entry of chela_prompts_json. */
static const struct ch_json *entry(struct ch_arena *a, struct stage *st, const char *name,
                                   const char *version) {
    char *json = chela_prompts_json(st->rt, NULL);
    const struct ch_json *found = NULL;
    assert_non_null(json);
    char *copy = ch_arena_str(a, ch_sv_str(json));
    chela_free(json);
    for (CH_JSON_EACH(e, parse(a, copy)))
        if (ch_sv_is(ch_json_get_str(e, "name"), name) &&
            ch_sv_is(ch_json_get_str(e, "version"), version) && !ch_json_get_str(e, "variant").n)
            found = e;
    assert_non_null(found);
    return found;
}

static bool says_true(const struct ch_json *e, const char *member) {
    const struct ch_json *v = ch_json_get(e, member);
    assert_true(v && (v->type == CH_JSON_TRUE || v->type == CH_JSON_FALSE));
    return v->type == CH_JSON_TRUE;
}

static bool is_used(struct stage *st, const char *name, const char *version) {
    CH_ARENA_AUTO a = {0};
    return says_true(entry(&a, st, name, version), "used");
}

/* --- loading */

static void test_on_first_use(void **state) {
    struct stage st;
    (void)state;
    stage_open(&st, NULL, NULL, 0);
    assert_null(st.rt->prompts);
    const struct ch_prompts *c = ch_role_prompts(st.rt, NULL);
    assert_non_null(c);
    assert_true(c->n > 0);
    assert_ptr_equal(ch_role_prompts(st.rt, NULL), c);
    ch_role_prompts_free(st.rt);
    assert_null(st.rt->prompts);
    ch_role_prompts_free(st.rt);
    assert_non_null(ch_role_prompts(st.rt, NULL));
    stage_close(&st);
}

/* A second name is another name of a value that a built-in prompt has. */
static void test_aliases(void **state) {
    struct stage st;
    (void)state;
    stage_open(&st, NULL, NULL, 0);
    const struct ch_prompts *c = ch_role_prompts(st.rt, NULL);
    for (size_t i = 0; i < ch_prompt_naliases; i++) {
        size_t with = 0;
        for (size_t k = 0; k < c->n; k++)
            with += ch_prompt_has(&c->list[k].prompt, ch_sv_str(ch_prompt_aliases[i].name));
        if (!with)
            fail_msg("no prompt has %s", ch_prompt_aliases[i].name);
    }
    stage_close(&st);
}

static void test_load_fails(void **state) {
    static const struct {
        const char *dir, *message;
        int code;
    } rows[] = {
        {"none", "none", CHELA_ENOENT},
        {"bad", "bad/note/v1.0.txt", CHELA_EPARSE},
    };
    struct stage st;
    (void)state;
    stage_open(&st, NULL, NULL, 0);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_error err = {0};
        int rc = chela_prompts_load(st.rt, rows[i].dir, &err);
        if (rc != rows[i].code || !strstr(err.message, rows[i].message))
            fail_msg("%s: %d, %s", rows[i].dir, rc, err.message);
    }
    stage_close(&st);
}

/* --- as JSON */

static void test_list(void **state) {
    CH_ARENA_AUTO a = {0};
    struct stage st;
    (void)state;
    open_stage(&st);
    const struct ch_json *planner = entry(&a, &st, "planner", "9.0");
    const struct ch_json *unknown = ch_json_get(planner, "unknown");
    assert_int_equal(unknown->n, 1); /* the others have their own or their second name */
    for (CH_JSON_EACH(v, unknown))
        assert_true(ch_sv_is(ch_json_str(v), "weather"));
    assert_int_equal(ch_json_get(planner, "variables")->n, 4);
    assert_true(says_true(planner, "cases")); /* those of chela */
    const struct ch_json *note = entry(&a, &st, "note", "2.0");
    assert_int_equal(ch_json_get(note, "unknown")->n, 0); /* no role uses the prompt */
    assert_false(says_true(note, "cases"));
    assert_true(ch_sv_is(ch_json_get_str(note, "where"), "good/note/v2.0.txt"));
    assert_int_equal(ch_json_get(entry(&a, &st, "planner", "1.0"), "unknown")->n, 0);
    stage_close(&st);
}

static void test_versions(void **state) {
    struct stage st;
    (void)state;
    open_stage(&st);
    assert_false(is_used(&st, "note", "1.0"));
    assert_true(is_used(&st, "note", "2.0"));
    assert_int_equal(chela_prompts_pin(st.rt, "note", "1.0", NULL), 0);
    assert_true(is_used(&st, "note", "1.0"));
    assert_false(is_used(&st, "note", "2.0"));
    assert_true(is_used(&st, "planner", "9.0"));
    assert_int_equal(chela_prompts_rollout(st.rt, "planner", "9.0", 10, NULL), 0);
    assert_false(is_used(&st, "planner", "9.0"));
    assert_true(is_used(&st, "planner", "1.0"));
    stage_close(&st);
}

static void test_bad_versions(void **state) {
    static const struct {
        const char *name, *version;
        unsigned percent; /* 0: pinned */
        int code;
    } rows[] = {
        {"none", "1.0", 0, CHELA_ENOENT},  {"note", "3.0", 0, CHELA_ENOENT},
        {"note", "new", 0, CHELA_ENOENT},  {"note", "", 0, CHELA_ENOENT},
        {"note", "new", 9, CHELA_ENOENT},
        {"none", "1.0", 10, CHELA_ENOENT}, {"note", "3.0", 10, CHELA_ENOENT},
        {"note", "2.0", 60, 0},            {"note", "1.0", 101, CHELA_EINVAL},
        {"note", "1.0", 41, CHELA_EINVAL}, {"note", "1.0", 40, 0},
    };
    struct stage st;
    (void)state;
    open_stage(&st);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_error err = {0};
        int rc = rows[i].percent ? chela_prompts_rollout(st.rt, rows[i].name, rows[i].version,
                                                         rows[i].percent, &err)
                                 : chela_prompts_pin(st.rt, rows[i].name, rows[i].version, &err);
        if (rc != rows[i].code || !err.message[0] != !rc)
            fail_msg("row %zu: %d, %s", i, rc, err.message);
    }
    stage_close(&st);
}

static void test_one(void **state) {
    CH_ARENA_AUTO a = {0};
    struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = "note", .version = "1.0");
    struct chela_error err = {0};
    struct stage st;
    (void)state;
    open_stage(&st);
    char *json = chela_prompt_json(st.rt, &q, NULL);
    const struct ch_json *root = parse(&a, json);
    assert_true(ch_sv_is(ch_json_get_str(root, "version"), "1.0"));
    assert_true(ch_sv_is(ch_sv_trim(ch_json_get_str(root, "text")), "Note {what}."));
    chela_free(json);
    q.version = "3.0";
    assert_null(chela_prompt_json(st.rt, &q, &err));
    assert_int_equal(err.code, CHELA_ENOENT);
    q.size = 1;
    assert_null(chela_prompt_json(st.rt, &q, &err));
    assert_int_equal(err.code, CHELA_EINVAL);
    stage_close(&st);
}

/* --- rendering of note 2.0 */

static const struct {
    const char *values, *want; /* want: the user's message; NULL: the code */
    int code;
} rendered[] = {
    {"{\"what\":\"milk\",\"who\":\"Ann\"}", "Note milk for Ann.", 0},
    {"{\"what\":true,\"who\":7}", "Note true for 7.", 0},
    {"{\"what\":[],\"who\":null}", "Note [] for null.", 0},
    {"{\"what\":\"{who}\",\"who\":\"\"}", "Note {who} for .", 0},
    {"{\"what\":\"a\",\"who\":\"b\",\"what\":\"c\"}", "Note c for b.", 0},
    {"{\"what\":\"milk\"}", NULL, CHELA_EINVAL},
    {"{\"what\":\"milk\",\"who\":\"Ann\",\"when\":\"\"}", NULL, CHELA_EINVAL},
    {"[]", NULL, CHELA_EINVAL},
    {"\"milk\"", NULL, CHELA_EINVAL},
    {"{\"what\":", NULL, CHELA_EPARSE},
    {"", NULL, CHELA_EPARSE},
};

static void test_rendered(void **state) {
    const struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = "note");
    struct stage st;
    (void)state;
    open_stage(&st);
    for (size_t i = 0; i < CH_LEN(rendered); i++) {
        CH_ARENA_AUTO a = {0};
        struct chela_error err = {0};
        const char *values = rendered[i].values;
        char *json = chela_prompt_render(st.rt, &q, values, strlen(values), &err);
        if ((json != NULL) != (rendered[i].want != NULL) || err.code != rendered[i].code)
            fail_msg("%s: %d, %s", values, err.code, err.message);
        if (!json)
            continue;
        const struct ch_json *root = parse(&a, json);
        struct ch_sv user = ch_sv_trim(ch_json_get_str(root, "user"));
        if (!ch_sv_is(user, rendered[i].want))
            fail_msg("%s: %.*s", values, CH_SV_FMT(user));
        assert_true(ch_sv_is(ch_sv_trim(ch_json_get_str(root, "system")), "Be brief."));
        assert_true(ch_json_get_str(root, "fingerprint").n > 0);
        chela_free(json);
    }
    stage_close(&st);
}

static void test_not_rendered(void **state) {
    struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = "none");
    struct chela_error err = {0};
    struct stage st;
    (void)state;
    open_stage(&st);
    assert_null(chela_prompt_render(st.rt, &q, "{}", 2, &err));
    assert_int_equal(err.code, CHELA_ENOENT);
    q.size = 1;
    assert_null(chela_prompt_render(st.rt, &q, "{}", 2, &err));
    assert_int_equal(err.code, CHELA_EINVAL);
    stage_close(&st);
}

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("good", 0700) < 0 || mkdir("bad", 0700) < 0 ||
        mkdir("good/note", 0700) < 0 || mkdir("good/planner", 0700) < 0 ||
        mkdir("bad/note", 0700) < 0)
        return -1;
    for (size_t i = 0; i < CH_LEN(files); i++) {
        FILE *f = fopen(files[i].file, "w");
        if (!f || fputs(files[i].text, f) < 0 || fclose(f) != 0)
            return -1;
    }
    return 0;
}

static int remove_files(void **state) {
    int rc = 0;
    (void)state;
    for (size_t i = 0; i < CH_LEN(files); i++)
        rc |= unlink(files[i].file);
    rc |= rmdir("good/note") | rmdir("good/planner") | rmdir("bad/note");
    return rc | rmdir("good") | rmdir("bad") | chdir("/") | rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_first_use), cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_load_fails),   cmocka_unit_test(test_list),
        cmocka_unit_test(test_versions),     cmocka_unit_test(test_bad_versions),
        cmocka_unit_test(test_one),          cmocka_unit_test(test_rendered),
        cmocka_unit_test(test_not_rendered),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
