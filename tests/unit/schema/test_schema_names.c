/* test_schema_names.c -- sets of names: every name is found, no other one is, and names of a
 * stranger cannot make the search long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "schema/schema_names.h"

enum { MANY = 2000, LONGEST = 24 };

/* The same first and last eight bytes. */
static size_t alike_at_both_ends(char *out, unsigned i) {
    return (size_t)snprintf(out, LONGEST + 1, "aaaaaaaa%07ubbbbbbbb", i);
}

/* Sixteen bytes whose ends, one of them rotated, have the same exclusive or. */
static size_t alike_together(char *out, unsigned i) {
    uint64_t tail = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
    ch_word_store(out, UINT64_C(0x1234567890abcdef) ^ (tail << 23 | tail >> 41));
    ch_word_store(out + 8, tail);
    return 16;
}

static size_t plain(char *out, unsigned i) {
    return (size_t)snprintf(out, LONGEST + 1, "name%u", i);
}

/* The most slots that a search may look at. */
static size_t longest_run(const struct ch_names *set) {
    size_t slots = ((size_t)1 << (64 - set->shift)) + MANY + 1, run = 0, longest = 0;

    for (size_t i = 0; i < slots; i++) {
        run = set->slots[i].s ? run + 1 : 0;
        longest = CH_MAX(longest, run);
    }
    return longest;
}

static void test_many(void **state) {
    (void)state;
    static size_t (*const makers[])(char *out, unsigned i) = {plain, alike_at_both_ends,
                                                              alike_together};

    for (size_t k = 0; k < CH_LEN(makers); k++) {
        CH_ARENA_AUTO arena = {0};
        static char texts[MANY + 1][LONGEST + 1];
        static struct ch_sv names[MANY + 1];
        for (unsigned i = 0; i <= MANY; i++)
            names[i] = ch_sv(texts[i], makers[k](texts[i], i));
        const struct ch_names *set = ch_names_new(&arena, names, MANY);
        assert_int_equal(set->n, MANY);
        for (unsigned i = 0; i < MANY; i++) {
            const struct ch_name *found = ch_names_find(set, NULL, names[i].p, names[i].n);
            assert_non_null(found);
            assert_int_equal(found->index, i);
        }
        assert_null(ch_names_find(set, NULL, names[MANY].p, names[MANY].n));
        assert_true(longest_run(set) < MANY / 10);
    }
}

/* Of equal names the last one counts. */
static void test_equal(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};
    const struct ch_sv names[] = {CH_SV("a"), CH_SV("b"), CH_SV("a"), CH_SV("")};
    const struct ch_names *set = ch_names_new(&arena, names, CH_LEN(names));

    assert_int_equal(set->n, 3);
    assert_int_equal(ch_names_find(set, NULL, "a", 1)->index, 2);
    assert_int_equal(ch_names_find(set, NULL, "", 0)->index, 3);
    assert_null(ch_names_find(set, NULL, "c", 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
