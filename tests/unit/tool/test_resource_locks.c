/* test_resource_locks.c -- calls of one reply that work on the same thing run in order,
 * all others side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/call.h"
#include "tool/call/resource_locks.h"
#include "tool/call/function.h"
#include "json/writer.h"

/* --- the rule ------------------------------------------------------------ */

static const struct {
    const char *a, *b; /* keys, '!' before one: alone */
    bool collide;
} pairs[] = {
    {"", "", false},
    {"!x", "", false},
    {"x", "x", false},
    {"!x", "x", true},
    {"x", "!x", true},
    {"!x", "!x", true},
    {"!x", "!y", false},
    {"!x", "!xy", false},
    {"!x", "!x/y", true},
    {"x/y", "!x", true},
    {"!x/y", "!x/z", false},
    {"!x/y", "x", true},
    {"!x/y/z", "!x/y/zz", false},
    {"a b !c", "c d", true},
    {"a b !c", "a b", false},
    {"files", "!files/src/a.c", true},
};

static void read_keys(struct ch_arena *arena, const char *text, struct ch_uses *out) {
    struct ch_sv rest = ch_sv_str(text);

    *out = (struct ch_uses){0};
    while (rest.n) {
        struct ch_sv key = ch_sv_split(&rest, ' ');
        struct ch_use *u = CH_ARENA_NEW(arena, struct ch_use);
        bool alone = key.p[0] == '!';
        u->key = ch_arena_str(arena, ch_sv(key.p + alone, key.n - alone));
        u->use = alone ? CHELA_USE_ALONE : CHELA_USE_SHARED;
        u->next = out->list;
        out->list = u;
        out->n++;
    }
}

static void test_pairs(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(pairs); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_uses a, b;
        read_keys(&arena, pairs[i].a, &a);
        read_keys(&arena, pairs[i].b, &b);
        if (ch_uses_collide(&a, &b) != pairs[i].collide ||
            ch_uses_collide(&b, &a) != pairs[i].collide)
            fail_msg("%s with %s", pairs[i].a, pairs[i].b);
    }
}

/* --- in a batch ---------------------------------------------------------- */

static atomic_int running, most; /* of the tool below, at once */
static atomic_int awaited;        /* so many are waited for, however slow the machine */

/* Takes a moment: {"keys": "!a b", "ms": 30}. */
static int work(chela_call *call, void *user) {
    int64_t ms = 30;
    int now = atomic_fetch_add(&running, 1) + 1;

    (void)user;
    for (int seen = atomic_load(&most);
         now > seen && !atomic_compare_exchange_weak(&most, &seen, now);)
        ;
    for (int i = 0; i < 10000 && atomic_load(&most) < atomic_load(&awaited); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    chela_arg_int_opt(call, "ms", &ms);
    nanosleep(&(struct timespec){0, (long)ms * 1000000}, NULL);
    atomic_fetch_sub(&running, 1);
    return 0;
}

static void name_keys(chela_call *call, void *user) {
    struct ch_sv rest = ch_json_str(ch_json_get(call->args, "keys"));

    (void)user;
    while (rest.n) {
        struct ch_sv key = ch_sv_split(&rest, ' ');
        bool alone = key.p[0] == '!';
        CH_AUTOFREE char *text = ch_strndup(key.p + alone, key.n - alone);
        chela_call_uses(call, text, alone ? CHELA_USE_ALONE : CHELA_USE_SHARED);
    }
}

/* "started a;started c;finished a;started b;...": is one before the other? */
static bool is_before(const struct kit *k, const char *first, const char *second) {
    const char *a = strstr(ch_buf_str(&k->log), first), *b = strstr(ch_buf_str(&k->log), second);

    return a && b && a < b;
}

static const struct {
    const char *what;
    const char *keys[5];
    int most;              /* at once */
    const char *order[12]; /* pairs: this before that */
} batches[] = {
    {"independent", {"!a", "!b", "!c", "!d"}, 4, {"started d", "finished a"}},
    {"none named", {"", "", ""}, 3, {"started c", "finished a"}},
    {"the same", {"!a", "!a", "!a"}, 1, {"finished a", "started b", "finished b", "started c"}},
    {"overtaking",
     {"!a", "!a", "!x", ""},
     3,
     {"started d", "finished a", "finished a", "started b", "started c", "started b"}},
    {"readers side by side", {"a", "a", "a"}, 3, {"started c", "finished a"}},
    {"readers, then a writer",
     {"a", "a", "!a", "a"},
     2,
     {"started b", "finished a", "finished a", "started c", "finished b", "started c", "finished c",
      "started d"}},
    {"one that waits keeps its place",
     {"!a", "!a !b", "!b"},
     1,
     {"finished a", "started b", "finished b", "started c"}},
    {"below",
     {"!files/x", "files", "!files/y"},
     1,
     {"finished a", "started b", "finished b", "started c"}},
};

static void test_batches(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(batches); i++) {
        struct kit k;
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = "work", .fn = work, .resources = name_keys);
        struct kit_call calls[5];
        char arguments[5][64];
        size_t n = 0;
        kit_init(&k);
        assert_int_equal(ch_function_add(&k.registry, &opts, NULL), 0);
        for (; n < 5 && batches[i].keys[n]; n++) {
            static const char *const ids[] = {"a", "b", "c", "d", "e"};
            snprintf(arguments[n], sizeof(arguments[n]), "{\"keys\":\"%s\"}", batches[i].keys[n]);
            calls[n] = (struct kit_call){ids[n], "work", arguments[n], 0};
        }
        atomic_store(&most, 0);
        atomic_store(&awaited, batches[i].most);
        kit_start(&k, calls, n);
        kit_wait(&k);
        for (size_t p = 0; batches[i].order[p]; p += 2)
            if (!is_before(&k, batches[i].order[p], batches[i].order[p + 1]))
                fail_msg("%s: %s", batches[i].what, ch_buf_str(&k.log));
        if (atomic_load(&most) != batches[i].most)
            fail_msg("%s: %d at once", batches[i].what, atomic_load(&most));
        kit_free(&k);
    }
    atomic_store(&awaited, 0);
}

/* Whatever was named, at most `parallel` run, and one marked sequential runs
 * alone. */
static void test_with_other_rules(void **state) {
    struct kit k;
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "work", .fn = work, .resources = name_keys);
    struct chela_tool_opts alone =
        CHELA_TOOL_OPTS(.name = "alone", .fn = work, .flags = CHELA_TOOL_SEQUENTIAL);
    static const struct kit_call calls[] = {
        {"a", "work", "{\"keys\":\"!a\"}", 0},
        {"b", "work", "{\"keys\":\"!a\"}", 0},
        {"c", "alone", "{}", 0},
        {"d", "work", "{\"keys\":\"!d\"}", 0},
        {"e", "work", "{\"keys\":\"!e\"}", 0},
        {"f", "work", "{\"keys\":\"!f\"}", 0},
    };

    (void)state;
    kit_init(&k);
    ch_function_add(&k.registry, &opts, NULL);
    ch_function_add(&k.registry, &alone, NULL);
    k.opts.parallel = 2;
    atomic_store(&most, 0);
    kit_start(&k, calls, CH_LEN(calls));
    kit_wait(&k);
    assert_int_equal(atomic_load(&most), 2);
    assert_true(is_before(&k, "finished a", "started b"));
    assert_true(is_before(&k, "finished b", "started c"));
    assert_true(is_before(&k, "finished c", "started d"));
    kit_free(&k);
}

static void skip_rest(const struct ch_block *call, void *user) {
    struct kit *k = user;

    ch_buf_addf(&k->log, "started %.*s;", CH_SV_FMT(call->id));
    if (ch_sv_is(call->id, "d"))
        ch_batch_skip(k->batch, "no more");
}

/* A call that was put aside can be skipped like any other. */
static void test_skipped(void **state) {
    struct kit k;
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "work", .fn = work, .resources = name_keys);
    static const struct kit_call calls[] = {
        {"a", "work", "{\"keys\":\"!a\",\"ms\":100}", 0},
        {"b", "work", "{\"keys\":\"!a\"}", 0},
        {"c", "work", "{\"keys\":\"!a\"}", 0},
        {"d", "work", "{\"keys\":\"!d\"}", 0},
    };

    (void)state;
    kit_init(&k);
    ch_function_add(&k.registry, &opts, NULL);
    k.ops.started = skip_rest;
    kit_start(&k, calls, 4);
    kit_wait(&k);
    assert_null(strstr(ch_buf_str(&k.log), "started b"));
    assert_non_null(strstr(ch_buf_str(&k.log), "finished a"));
    assert_non_null(strstr(ch_buf_str(&k.log), "failed c;"));
    kit_free(&k);
}

static void name_many(chela_call *call, void *user) {
    char key[16];

    (void)user;
    for (int i = 0; i < CH_LIMIT_USES + 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        chela_call_uses(call, key, CHELA_USE_SHARED);
    }
}

static void test_too_many(void **state) {
    struct kit k;
    struct chela_tool_opts many =
        CHELA_TOOL_OPTS(.name = "many", .fn = work, .resources = name_many);
    static const struct kit_call calls[] = {{"a", "many", "{}", 0}, {"b", "many", "{}", 0}};

    (void)state;
    kit_init(&k);
    ch_function_add(&k.registry, &many, NULL);
    kit_start(&k, calls, 2);
    kit_wait(&k);
    assert_true(is_before(&k, "finished a", "started b"));
    kit_free(&k);
}

/* --- the file tools ------------------------------------------------------ */

static void test_files(void **state) {
    struct kit k;
    static const struct kit_call calls[] = {
        {"a", "write", "{\"file_path\":\"f\",\"content\":\"one\\n\"}", 0},
        {"b", "edit", "{\"path\":\"./f\",\"old_text\":\"one\",\"new_text\":\"two\"}", 0},
        {"c", "edit", "{\"file_path\":\"x/../f\",\"old_text\":\"two\",\"new_text\":\"three\"}", 0},
        {"d", "apply_patch",
         "{\"input\":\"*** Begin Patch\\n*** Update File: f\\n*** Move to: sub/g\\n-three\\n+four"
         "\\n*** End Patch\\n\"}",
         0},
        {"e", "read", "{\"file_path\":\"sub/g\"}", 0},
        {"f", "ls", "{\"path\":\"sub\"}", 0},
        {"g", "grep", "{\"pattern\":\"four\"}", 0},
        {"h", "find", "{\"pattern\":\"g\"}", 0},
        {"i", "write", "{\"file_path\":\"sub/g\",\"content\":\"five\"}", 0},
    };

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (int round = 0; round < 20; round++) {
        kit_start(&k, calls, CH_LEN(calls));
        kit_wait(&k);
        k.results = ch_batch_message(k.batch, 0);
        static const char *const want[] = {"Wrote f",        "Edited ./f", "Edited x/../f",
                                           "Applied",        "four\n",     "g\n",
                                           "sub/g:1:four\n", "sub/g\n",    "Wrote sub/g"};
        for (size_t i = 0; i < CH_LEN(want); i++) {
            struct ch_sv got = k.results->blocks[i].text;
            if (!ch_sv_starts(got, want[i]))
                fail_msg("%s: %.*s", calls[i].id, CH_SV_FMT(got));
        }
        CH_AUTOFREE char *left = kit_get(&k, "f");
        assert_null(left);
        CH_AUTOFREE char *g = kit_path(&k, "sub/g");
        assert_int_equal(remove(g), 0);
    }
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_with_other_rules),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
