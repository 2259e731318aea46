/* test_schema_suite.c -- the official JSON Schema test suite.
 *
 *     test_schema_suite [DIRECTORY]
 *
 * The directory holds tests/ and remotes/, which is what
 * http://localhost:1234/ stands for. It is not part of the source: where it
 * is missing, the run says so and is skipped; tests/unit/json has cases of
 * our own. Drafts are chosen by $schema, which is put in where a draft's tests
 * leave it out. Every value is checked twice, for a verdict and for a report,
 * which must agree. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "support/replay.h"
#include "schema/schema.h"
#include "json/writer.h"

#define DEFAULT_DIR "../shared/data/json-schema-test-suite"
#define REMOTE "http://localhost:1234/"

static const struct {
    const char *folder, *schema;
    bool formats; /* are checked, not only noted */
} suites[] = {
    {"draft2020-12", "https://json-schema.org/draft/2020-12/schema", false},
    {"draft2020-12/optional", "https://json-schema.org/draft/2020-12/schema", false},
    {"draft2020-12/optional/format", "https://json-schema.org/draft/2020-12/schema", true},
    {"draft2019-09", "https://json-schema.org/draft/2019-09/schema", false},
    {"draft2019-09/optional", "https://json-schema.org/draft/2019-09/schema", false},
    {"draft2019-09/optional/format", "https://json-schema.org/draft/2019-09/schema", true},
    {"draft7", "http://json-schema.org/draft-07/schema#", false},
    {"draft7/optional", "http://json-schema.org/draft-07/schema#", false},
    {"draft7/optional/format", "http://json-schema.org/draft-07/schema#", true},
};

/* In draft 7 contents are annotations here, as all later drafts have them. */
static const char *const known_differences[] = {
    "draft7/optional/content",
};

struct counts {
    size_t n, right;
};

static int load_remote(void *user, struct ch_sv uri, struct ch_buf *text, struct chela_error *err) {
    CH_BUF_AUTO path = {0};
    if (!ch_sv_starts(uri, REMOTE))
        return CHELA_ENOENT;
    ch_buf_addf(&path, "%s/remotes/%.*s", (const char *)user, (int)(uri.n - strlen(REMOTE)),
                uri.p + strlen(REMOTE));
    return ch_file_load(ch_buf_str(&path), CH_LIMIT_SCHEMA_TEXT, text, err);
}

/* The schema as text, with $schema if it had none. */
static void write_schema(struct ch_buf *out, const struct ch_json *schema, const char *dialect) {
    struct ch_jw w = ch_jw(out);
    if (schema->type != CH_JSON_OBJECT || ch_json_get(schema, "$schema")) {
        ch_jw_value(&w, schema);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "$schema", dialect);
    for (CH_JSON_MEMBERS(name, v, schema)) {
        ch_jw_key_sv(&w, ch_json_str(name));
        ch_jw_value(&w, v);
    }
    ch_jw_end(&w, '}');
}

/* Verdict and report on one value; differences from `want` go to why. */
static bool judge(struct ch_schema *s, const struct ch_json *test, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    struct ch_violations list;
    const struct ch_json *data = ch_json_get(test, "data");
    struct ch_sv name = ch_json_get_str(test, "description");
    bool want = ch_json_bool(ch_json_get(test, "valid"), false);
    bool verdict = ch_schema_valid(s, data);
    int rc = ch_schema_check(s, data, &arena, &list);
    if (verdict != (rc == 0) || verdict != (list.n == 0))
        ch_buf_addf(why, "    %.*s: verdict and report differ\n", CH_SV_FMT(name));
    else if (verdict != want)
        ch_buf_addf(why, "    %.*s: should be %s\n", CH_SV_FMT(name), want ? "valid" : "invalid");
    else
        return true;
    if (list.n)
        ch_buf_addf(why, "      %.*s\n", CH_SV_FMT(list.list[0].message));
    return false;
}

static void run_group(const char *dir, size_t suite, const struct ch_json *group,
                      struct counts *counts, struct ch_buf *why) {
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    struct ch_schema_opts opts = {
        .assert_format = suites[suite].formats, .load = load_remote, .user = (void *)dir};
    const struct ch_json *tests = ch_json_get(group, "tests");
    size_t right = 0;
    write_schema(&text, ch_json_get(group, "schema"), suites[suite].schema);
    int rc = ch_schema_parse(ch_buf_sv(&text), &opts, &s, &err);
    counts->n += tests->n;
    size_t before = why->n;
    if (rc < 0)
        ch_buf_addf(why, "    does not compile: %s\n", err.message);
    for (CH_JSON_EACH(t, tests))
        right += rc == 0 && judge(s, t, why);
    counts->right += right;
    if (why->n > before)
        ch_buf_addf(why, "  in: %.*s\n", CH_SV_FMT(ch_json_get_str(group, "description")));
    ch_schema_free(s);
}

static bool is_known_difference(const char *name) {
    for (size_t i = 0; i < CH_LEN(known_differences); i++)
        if (strcmp(name, known_differences[i]) == 0)
            return true;
    return false;
}

static void run_file(const char *dir, size_t suite, const char *file, struct counts *total) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO why = {0};
    struct counts counts = {0};
    const char *name = ch_arena_printf(&arena, "%s/%s", suites[suite].folder, file);
    const struct ch_json *groups =
        replay_json(&arena, ch_arena_printf(&arena, "%s/tests/%s.json", dir, name));
    for (CH_JSON_EACH(g, groups))
        run_group(dir, suite, g, &counts, &why);
    bool as_known = is_known_difference(name) && counts.right < counts.n;
    tap_ok(counts.n > 0 && (counts.right == counts.n || as_known), "%s: %zu of %zu", name,
           counts.right, counts.n);
    if (why.n)
        tap_note("%s", ch_buf_str(&why));
    total->n += counts.n;
    total->right += counts.right;
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : DEFAULT_DIR;
    struct counts all = {0};
    for (size_t i = 0; i < CH_LEN(suites); i++) {
        CH_ARENA_AUTO arena = {0};
        struct counts total = {0};
        size_t n;
        char **names = replay_names(ch_arena_printf(&arena, "%s/tests/%s", dir, suites[i].folder),
                                    ".json", &n);
        for (size_t k = 0; k < n; k++)
            run_file(dir, i, names[k], &total);
        if (total.n)
            tap_note("%s: %zu of %zu tests", suites[i].folder, total.right, total.n);
        all.n += total.n;
        replay_free_names(names, n);
    }
    if (!all.n)
        printf(
            "ok 1 # SKIP no JSON Schema test suite in %s; unit/json has cases of its own\n1..1\n",
            dir);
    return all.n ? tap_end() : 0;
}
