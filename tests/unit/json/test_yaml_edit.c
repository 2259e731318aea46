/* test_yaml_edit.c -- one value of a YAML text is set, the rest stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "json/yaml_edit.h"

#define AGENTS                                \
    "# ours\n"                                \
    "agents:\n"                               \
    "  list:\n"                               \
    "    - id: coder # the first\n"           \
    "      model: a/b\n"                      \
    "      limits: { maxTurns: 5 } # few\n"   \
    "    - { id: painter, model: 'c/d' }\n"   \
    "gateway:\n"                              \
    "  # how long\n"                          \
    "  drainSec: 10 # seconds\n"

static const struct {
    const char *name, *text, *path, *value, *want; /* path: steps, spaces between them */
} good[] = {
    {"a scalar", "a: 1 # one\nb: 2\n", "a", "7", "a: 7 # one\nb: 2\n"},
    {"a quoted one", "a: 'x y' # q\n", "a", "\"z\"", "a: \"z\" # q\n"},
    {"a list in brackets", "a: [1,\n  2] # l\n", "a", "[3]", "a: [3] # l\n"},
    {"a key without a value", "a:\nb: 2\n", "a", "1", "a: 1\nb: 2\n"},
    {"below a key without a value", "a:\nb: 2\n", "a x", "1", "a: { x: 1 }\nb: 2\n"},
    {"not there yet", "b: 2 # two\n", "a", "1", "b: 2 # two\na: 1\n"},
    {"without a line feed at its end", "b: 2", "a", "1", "b: 2\na: 1\n"},
    {"nothing of the way there", "b: 2\n", "a x y", "1", "b: 2\na: { x: { y: 1 } }\n"},
    {"before a block", "a:\n  # it\n  b:\n    - 1\n", "a d", "1",
     "a:\n  # it\n  d: 1\n  b:\n    - 1\n"},
    {"an empty text", "", "a", "1", "a: 1\n"},
    {"comments alone", "# hi\n", "a", "1", "# hi\na: 1\n"},
    {"in braces", "{a: 1}\n", "b", "2", "{a: 1, b: 2}\n"},
    {"before a comment in braces", "x: { a: 1, # one\n}\n", "x b", "2",
     "x: { a: 1, b: 2, # one\n}\n"},
    {"before a comment in empty braces", "x: { # none\n}\n", "x b", "2",
     "x: { b: 2 # none\n}\n"},
    {"in empty braces", "x: {}\n", "x b", "2", "x: { b: 2}\n"},
    {"behind umlauts", "\"\xc3\xa4\": \"\xe4\xb8\xad\" # \xc3\xb6\na: 1\n", "a", "2",
     "\"\xc3\xa4\": \"\xe4\xb8\xad\" # \xc3\xb6\na: 2\n"},
    {"behind a byte order mark", "\xef\xbb\xbf" "a: 1\nb: 2\n", "b", "3",
     "\xef\xbb\xbf" "a: 1\nb: 3\n"},
    {"an entry behind a byte order mark", "\xef\xbb\xbf" "a: 1\nb: 2\n", "c", "3",
     "\xef\xbb\xbf" "a: 1\nb: 2\nc: 3\n"},
    {"comments behind a byte order mark", "\xef\xbb\xbf# hi", "c", "3",
     "\xef\xbb\xbf# hi\nc: 3\n"},
    {"CR LF", "a: 1\r\nb:\r\n  c: 2\r\n", "b d", "3", "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\n"},
    {"an item, by its id", AGENTS, "agents list [painter] model", "e/f",
     "# ours\nagents:\n  list:\n    - id: coder # the first\n      model: a/b\n"
     "      limits: { maxTurns: 5 } # few\n    - { id: painter, model: e/f }\n"
     "gateway:\n  # how long\n  drainSec: 10 # seconds\n"},
    {"into an item", AGENTS, "agents list [coder] seed", "3",
     "# ours\nagents:\n  list:\n    - id: coder # the first\n      seed: 3\n      model: a/b\n"
     "      limits: { maxTurns: 5 } # few\n    - { id: painter, model: 'c/d' }\n"
     "gateway:\n  # how long\n  drainSec: 10 # seconds\n"},
    {"into braces in a block", AGENTS, "agents list [coder] limits maxToolCalls", "9",
     "# ours\nagents:\n  list:\n    - id: coder # the first\n      model: a/b\n"
     "      limits: { maxTurns: 5, maxToolCalls: 9 } # few\n"
     "    - { id: painter, model: 'c/d' }\n"
     "gateway:\n  # how long\n  drainSec: 10 # seconds\n"},
    {"into a block", AGENTS, "gateway retentionDays", "9",
     "# ours\nagents:\n  list:\n    - id: coder # the first\n      model: a/b\n"
     "      limits: { maxTurns: 5 } # few\n    - { id: painter, model: 'c/d' }\n"
     "gateway:\n  # how long\n  drainSec: 10 # seconds\n  retentionDays: 9\n"},
};

static const struct {
    const char *name, *text, *path;
    int code;
} bad[] = {
    {"no YAML", "a: [\n", "a", CHELA_EPARSE},
    {"no such item", AGENTS, "agents list [nobody] model", CHELA_ENOENT},
    {"a list in lines", "a:\n  - 1\n  - 2\n", "a", CHELA_EINVAL},
    {"a mapping in lines", "a:\n  b: 1\n", "a", CHELA_EINVAL},
    {"a text in lines", "a: |\n  one\n  two\n", "a", CHELA_EINVAL},
    {"an anchor", "a: &x 1\nb: *x\n", "a", CHELA_EINVAL},
    {"an alias", "a: &x { c: 1 }\nb: *x\n", "b c", CHELA_EINVAL},
    {"below a scalar", "a: 1\n", "a b", CHELA_EINVAL},
    {"no line of its own", "a:\n  - b:\n      - 1\n    id: |\n      x\n", "a [x\n] d",
     CHELA_EINVAL},
};

static size_t split(const char *path, struct ch_sv *steps) {
    struct ch_sv rest = ch_sv_str(path);
    size_t n = 0;
    while (rest.p)
        steps[n++] = ch_sv_split(&rest, ' ');
    return n;
}

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(good); i++) {
        struct ch_sv steps[8];
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        int rc = ch_yaml_set(ch_sv_str(good[i].text), "c.yaml", steps, split(good[i].path, steps),
                             ch_sv_str(good[i].value), &out, &err);
        if (rc < 0 || strcmp(ch_buf_str(&out), good[i].want) != 0)
            fail_msg("%s: %s\n%s", good[i].name, rc < 0 ? err.message : "wrong", ch_buf_str(&out));
    }
}

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_sv steps[8];
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        int rc = ch_yaml_set(ch_sv_str(bad[i].text), "c.yaml", steps, split(bad[i].path, steps),
                             CH_SV("1"), &out, &err);
        if (rc != bad[i].code || out.n || strncmp(err.message, "c.yaml:", 7) != 0)
            fail_msg("%s: %d %s\n%s", bad[i].name, rc, err.message, ch_buf_str(&out));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
