/* test_principal.c -- on whose behalf a run works, through a journal record and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/principal.h"
#include "base/arena.h"
#include "base/mem.h"

static struct ch_principal read_json(const char *text) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_principal_read(v);
}

static void write_json(const struct ch_principal *p, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_principal_write(p, &w);
    ch_jw_end(&w, '}');
}

static void test_round_trip(void **state) {
    (void)state;
    static const struct chela_run_opts cases[] = {
        {.channel = "feishu", .sender = "ou_1"},
        {.allow = "read,grep", .deny = "exec", .permission = CHELA_PERM_READ},
        {.approve = CHELA_APPROVE_DENY, .permission = CHELA_PERM_WRITE},
        {.sender = "\"quoted\"\n", .allow = ""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_principal p = ch_principal_of(&cases[i]);
        CH_BUF_AUTO json = {0};
        write_json(&p, &json);
        struct ch_principal back = read_json(ch_buf_str(&json));
        assert_true(ch_principal_same(&p, &back, NULL));
        struct chela_run_opts o = {0};
        ch_principal_apply(&back, &o);
        assert_int_equal(o.permission, cases[i].permission);
        assert_int_equal(o.approve, cases[i].approve);
        if (cases[i].sender)
            assert_string_equal(o.sender, cases[i].sender);
        else
            assert_null(o.sender);
        ch_principal_release(&back);
        ch_principal_release(&p);
    }
}

static void test_nothing(void **state) {
    (void)state;
    struct ch_principal none = {0};
    CH_BUF_AUTO json = {0};
    write_json(&none, &json);
    assert_string_equal(ch_buf_str(&json), "{}");
    struct ch_principal back = read_json("{}");
    assert_true(ch_principal_same(&none, &back, NULL));
    assert_null(back.channel);
    assert_int_equal(back.permission, CHELA_PERM_ADMIN);
}

/* A record of a later version must not give more rights than were meant. */
static void test_unknown_words(void **state) {
    (void)state;
    struct ch_principal p = read_json("{\"for\":{\"approve\":\"by committee\",\"sender\":7}}");
    assert_int_equal(p.approve, CHELA_APPROVE_DENY);
    assert_null(p.sender); /* no text */
    ch_principal_release(&p);
}

static void test_same(void **state) {
    (void)state;
    static const struct {
        struct chela_run_opts a, b;
        bool same;
    } cases[] = {
        {{.sender = "ann"}, {.sender = "bob"}, true}, /* no policy tells them apart */
        {{.allow = "read"}, {.allow = "read"}, true},
        {{.allow = "read"}, {.allow = NULL}, false},
        {{.allow = ""}, {.allow = NULL}, false},
        {{.deny = "exec"}, {.deny = "write"}, false},
        {{.permission = CHELA_PERM_READ}, {.permission = CHELA_PERM_WRITE}, false},
        {{.approve = CHELA_APPROVE_DENY}, {.approve = CHELA_APPROVE_DEFAULT}, false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_principal a = ch_principal_of(&cases[i].a), b = ch_principal_of(&cases[i].b);
        assert_int_equal(ch_principal_same(&a, &b, NULL), cases[i].same);
        assert_int_equal(ch_principal_same(&b, &a, NULL), cases[i].same);
        ch_principal_release(&a);
        ch_principal_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_unknown_words),
        cmocka_unit_test(test_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
