/* test_learning.c -- the memory of what services refuse: targets, a day, the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "model/provider/target.h"

#define NOW 1700000000000LL
#define DAY (24 * 3600000LL)

static char folder[] = "/tmp/chela-learning-XXXXXX", path[100];

static const char *env(const char *name, void *user) {
    (void)user;
    return strcmp(name, "XDG_CACHE_HOME") == 0 ? folder : NULL;
}

struct process {
    struct ch_providers ps;
    struct ch_target *t;
};

/* A process with a model; base NULL: OpenAI's own. */
static struct process process(const char *spec, const char *base) {
    struct process p = {.ps = {.env = env}};
    struct ch_target_opts opts = {.base_url = base, .api_key = "k"};
    struct chela_error err = {0};
    if (ch_target_new(&p.ps, spec, &opts, &p.t, &err) < 0)
        fail_msg("%s", err.message);
    return p;
}

static void end(struct process *p) {
    ch_target_free(p->t);
    ch_learning_release(&p->ps.learning);
    ch_providers_release(&p->ps);
}

static void hear(struct process *p, const char *message, int64_t now) {
    struct ch_refusal r;
    if (!ch_refusal_read(ch_sv_str(message), &p->t->ep, ch_sv_str(p->t->model), 0xffffffffu, &r))
        fail_msg("%s", message);
    assert_true(ch_learning_add(&p->ps, p->t, &r, now));
}

#define NO_TEMPERATURE "Unsupported parameter: 'temperature' is not supported with this model."
#define GO_TO_RESPONSES "To use function tools, use /v1/responses"
#define NO_DEVELOPER "developer is not one of ['system', 'user']"

static int begin(void **state) {
    (void)state;
    snprintf(path, sizeof(path), "%s/chela/refusals.json", folder);
    unlink(path);
    return 0;
}

/* A lesson counts for a deployment: provider, URL and model. */
static void test_deployment(void **state) {
    (void)state;
    struct process a = process("openai/gpt-6-sol", "http://127.0.0.1:1/v1");
    struct ch_target *same = NULL, *other = NULL;
    struct ch_target_opts there = {.base_url = "http://127.0.0.1:2/v1", .api_key = "k"};
    struct ch_target_opts here = {.base_url = "http://127.0.0.1:1/v1", .api_key = "other"};
    assert_int_equal(ch_target_new(&a.ps, "openai/gpt-6-sol", &here, &same, NULL), 0);
    assert_int_equal(ch_target_new(&a.ps, "openai/gpt-6-sol", &there, &other, NULL), 0);
    hear(&a, NO_TEMPERATURE, NOW);
    ch_learning_apply(&a.ps, same, NOW);
    ch_learning_apply(&a.ps, other, NOW);
    assert_int_equal(same->ep.learnt.omit, CH_PART_TEMPERATURE);
    assert_int_equal(other->ep.learnt.omit, 0);
    assert_int_not_equal(access(path, F_OK), 0); /* not yet proved right */
    ch_target_free(same);
    ch_target_free(other);
    end(&a);
}

/* A protocol of another endpoint brings its own quirks, and both go when they did not help. */
static void test_endpoint(void **state) {
    (void)state;
    struct process p = process("openai/my-deployment", "http://127.0.0.1:1/v1");
    unsigned quirks = p.t->ep.quirks;
    hear(&p, NO_DEVELOPER, NOW);
    struct ch_learnt before = p.t->ep.learnt;
    hear(&p, GO_TO_RESPONSES, NOW);
    assert_ptr_equal(p.t->ep.codec, &ch_codec_responses);
    assert_string_equal(p.t->ep.base_url, "http://127.0.0.1:1/v1");
    ch_learning_forget(&p.ps, p.t, &before, NOW);
    assert_ptr_equal(p.t->ep.codec, &ch_codec_openai);
    assert_int_equal(p.t->ep.quirks, quirks | CH_Q_NO_DEVELOPER);
    before = (struct ch_learnt){0};
    ch_learning_forget(&p.ps, p.t, &before, NOW);
    assert_int_equal(p.t->ep.quirks, quirks);
    end(&p);

    p = process("prompted+openai/m", "http://127.0.0.1:1/v1");
    hear(&p, GO_TO_RESPONSES, NOW);
    assert_ptr_equal(p.t->ep.codec->inner, &ch_codec_responses);
    end(&p);
}

/* Another process takes a lesson over, for a day. */
static void test_file(void **state) {
    (void)state;
    struct process a = process("openai/gpt-6-sol", NULL), b = process("openai/m", NULL);
    ch_learning_apply(&a.ps, a.t, NOW);
    ch_learning_apply(&b.ps, b.t, NOW);
    hear(&a, NO_TEMPERATURE, NOW);
    ch_learning_keep(&a.ps, a.t, NOW);
    hear(&b, NO_DEVELOPER, NOW + 5); /* at the same time, in a process that read no file */
    ch_learning_keep(&b.ps, b.t, NOW + 5);
    end(&a);
    end(&b);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    a = process("openai/gpt-6-sol", NULL);
    b = process("openai/m", NULL);
    ch_learning_apply(&a.ps, a.t, NOW + DAY - 1);
    ch_learning_apply(&b.ps, b.t, NOW + DAY - 1);
    assert_int_equal(a.t->ep.learnt.omit, CH_PART_TEMPERATURE);
    assert_true(b.t->ep.quirks & CH_Q_NO_DEVELOPER);
    ch_learning_apply(&a.ps, a.t, NOW + DAY);
    assert_int_equal(a.t->ep.learnt.rules, 0);
    end(&a);
    end(&b);
    a = process("openai/gpt-6-sol", NULL);
    ch_learning_apply(&a.ps, a.t, NOW + DAY);
    assert_int_equal(a.t->ep.learnt.rules, 0);
    end(&a);
}

/* A file that is none is left alone until something is learnt. */
static void test_bad_file(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "{", "[]", "{\"deployments\":7}", "{\"deployments\":[7,{\"id\":\"x\"},{}]}",
        "{\"deployments\":[{\"id\":\"0123456789abcdef\",\"until\":1e300,\"rules\":[\"no_seed\"]}]}",
        "{\"deployments\":[{\"id\":\"0123456789abcdef\",\"until\":1700000000001}]}"};
    struct chela_error err = {0};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct process p = process("openai/gpt-6-sol", NULL);
        assert_int_equal(ch_file_save(path, ch_sv_str(bad[i]), &err), 0);
        ch_learning_apply(&p.ps, p.t, NOW);
        assert_int_equal(p.ps.learning.n, 0);
        hear(&p, NO_TEMPERATURE, NOW);
        ch_learning_keep(&p.ps, p.t, NOW);
        end(&p);
        p = process("openai/gpt-6-sol", NULL);
        ch_learning_apply(&p.ps, p.t, NOW);
        assert_int_equal(p.t->ep.learnt.omit, CH_PART_TEMPERATURE);
        end(&p);
    }
}

/* The memory has a bound; the oldest lessons make room when their day is over. */
static void test_bound(void **state) {
    (void)state;
    struct process p = process("openai/m", NULL);
    struct ch_refusal r = {.rule = (unsigned)ch_refusal_find(CH_SV("no_seed"))};
    for (int i = 0; i <= CH_LIMIT_LEARNT; i++) {
        char spec[40];
        struct ch_target *t = NULL;
        struct ch_target_opts opts = {.api_key = "k"};
        snprintf(spec, sizeof(spec), "openai/m%d", i);
        assert_int_equal(ch_target_new(&p.ps, spec, &opts, &t, NULL), 0);
        assert_int_equal(ch_learning_add(&p.ps, t, &r, NOW), i < CH_LIMIT_LEARNT);
        ch_target_free(t);
    }
    assert_true(ch_learning_add(&p.ps, p.t, &r, NOW + DAY));
    assert_int_equal(p.ps.learning.n, 1);
    end(&p);
}

static int clean(void **state) {
    (void)state;
    unlink(path);
    path[strlen(folder) + strlen("/chela")] = '\0';
    rmdir(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_deployment, begin),
        cmocka_unit_test_setup(test_endpoint, begin),
        cmocka_unit_test_setup(test_file, begin),
        cmocka_unit_test_setup(test_bad_file, begin),
        cmocka_unit_test_setup(test_bound, begin),
    };
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, NULL, clean);
}
