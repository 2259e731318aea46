/* test_resolve.c -- one lookup for all who ask, remembered for a while. The
 * only name asked for is an address, which needs no network and no hosts file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "net/resolve.h"

struct asker {
    struct ch_name_lookup lookup;
    int answers, error;
    size_t n;
    bool done, *done_too;  /* another flag to set, optional */
    struct asker *cancels; /* when answered */
    struct ch_resolver *frees;
};

struct env {
    int64_t time;
    struct ch_clock clock;
    struct ch_loop *loop;
    struct ch_resolver *resolver;
};

static int64_t held(void *user) {
    return ((struct env *)user)->time;
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    e->time = 1000;
    e->clock = (struct ch_clock){held, held, e};
    *state = e;
    int rc = ch_loop_new(NULL, &e->clock, &e->loop, NULL);
    e->resolver = ch_resolver_new(e->loop);
    return rc;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_resolver_free(e->resolver);
    ch_loop_close(e->loop, NULL, NULL);
    ch_free(e);
    return 0;
}

static void on_answer(struct ch_name_lookup *l, const struct ch_addresses *list, int error) {
    struct asker *a = CH_CONTAINER(l, struct asker, lookup);
    a->answers++;
    a->done = true;
    if (a->done_too)
        *a->done_too = true;
    a->error = error;
    a->n = list ? list->n : 0;
    if (a->cancels)
        ch_lookup_cancel(&a->cancels->lookup);
    ch_resolver_free(a->frees);
}

/* True when the answer was known at once. */
static bool ask(struct env *e, struct asker *a) {
    const struct ch_addresses *list;
    a->lookup.fn = on_answer;
    assert_int_equal(ch_resolver_ask(e->resolver, "::ffff:7f00:1", &a->lookup, &list), 0);
    return list != NULL;
}

static void wait_for(struct env *e, struct asker *a) {
    assert_int_equal(ch_loop_run(e->loop, &a->done), 0);
    assert_int_equal(a->answers, 1);
    assert_int_equal(a->error, 0);
    assert_true(a->n > 0);
}

static void test_shared_and_remembered(void **state) {
    struct env *e = *state;
    struct asker a = {0}, b = {0}, c = {0}, d = {0};

    assert_false(ask(e, &a));
    assert_false(ask(e, &b));
    wait_for(e, &a);
    assert_int_equal(b.answers, 1); /* in the same breath: one lookup */
    e->time += CH_DEFAULT_DNS_MS - 1;
    assert_true(ask(e, &c));
    e->time += 1;
    assert_false(ask(e, &c));
    wait_for(e, &c);
    assert_true(ask(e, &d));
    ch_resolver_forget(e->resolver, "::FFFF:7F00:1");
    assert_false(ask(e, &d));
    ch_resolver_forget(e->resolver, "::ffff:7f00:1"); /* under way: stays */
    wait_for(e, &d);
}

static void test_cancel(void **state) {
    struct env *e = *state;
    bool one = false;
    struct asker a = {.done_too = &one}, b = {0}, c = {.done_too = &one};

    ask(e, &a);
    ask(e, &b);
    ask(e, &c);
    ch_lookup_cancel(&b.lookup);
    ch_lookup_cancel(&b.lookup);
    c.cancels = &a; /* whichever is told first */
    a.cancels = &c;
    assert_int_equal(ch_loop_run(e->loop, &one), 0);
    assert_int_equal(a.answers + c.answers, 1);
    assert_int_equal(b.answers, 0);
}

static void test_free_while_busy(void **state) {
    struct env *e = *state;
    struct asker a = {0};

    ask(e, &a);
    ch_lookup_cancel(&a.lookup);
    ch_resolver_free(e->resolver);
    e->resolver = ch_resolver_new(e->loop);
    a.frees = e->resolver; /* and from inside the answer */
    ask(e, &a);
    wait_for(e, &a);
    e->resolver = NULL;
}

static void test_bad_name(void **state) {
    struct env *e = *state;
    struct asker a = {0};
    const struct ch_addresses *list;
    char name[400];

    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_true(ch_resolver_ask(e->resolver, name, &a.lookup, &list) < 0);
    assert_null(list);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* No thread can be started: an error, although libuv would abort. The test must come first: libuv
 * starts its threads once. */
static void test_no_threads(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct ch_loop *loop;
        struct asker a = {.lookup.fn = on_answer};
        const struct ch_addresses *list;
        setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1});
        if ((getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) ||
            ch_loop_new(NULL, NULL, &loop, NULL) < 0)
            _exit(1);
        struct ch_resolver *r = ch_resolver_new(loop);
        int rc = ch_resolver_ask(r, "::ffff:7f00:1", &a.lookup, &list);
        ch_resolver_free(r);
        ch_loop_close(loop, NULL, NULL);
        _exit(rc == UV_EAGAIN ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_threads),
        CASE(test_shared_and_remembered),
        CASE(test_cancel),
        CASE(test_free_while_busy),
        CASE(test_bad_name),
    };
    return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
