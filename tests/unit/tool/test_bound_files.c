/* test_bound_files.c -- which files of a workspace a command may execute or read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/call/bound_files.h"

static char top[64];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state) {
    char path[256];
    (void)state;
    snprintf(top, sizeof(top), "/tmp/chela-bound-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof(path), "%s/sub", top);
    assert_int_equal(mkdir(path, 0700), 0);
    put("s.sh", "#!/bin/sh\n. ./lib.sh\n");
    put("lib.sh", "exec sub/deep.sh\n");
    put("sub/deep.sh", "cat near.txt\n");
    put("sub/near.txt", "x");
    put("data.txt", "x");
    return 0;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", top);
    return system(command);
}

static bool binds(const char *command, const char *name) {
    CH_ARENA_AUTO arena = {0};
    struct ch_bound_files files;
    bool found = false;
    ch_bound_files_find(&arena, ch_sv_str(command), top, top, &files);
    for (size_t i = 0; i < files.n; i++) {
        char *real = realpath(files.v[i], NULL);
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", top, name);
        found |= strcmp(real, path) == 0;
        free(real);
    }
    return found;
}

static void test_every_way_to_run_a_script_binds_the_script(void **state) {
    static const char *const commands[] = {
        ". ./s.sh",       "cat s.sh | sh",      "sh < s.sh",     "echo && ./s.sh",
        "sh s.sh",        "sh -c '. ./s.sh'",   "x=$(./s.sh)",   "`./s.sh`",
        "env A=1 ./s.sh", "bash -c \"./s.sh\"", "find -exec ./s.sh {} \\;",
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(commands); i++)
        if (!binds(commands[i], "s.sh"))
            fail_msg("%s", commands[i]);
}

static void test_files_that_a_file_names_are_bound_too(void **state) {
    (void)state;
    assert_true(binds("./s.sh", "lib.sh"));
    assert_true(binds("./s.sh", "sub/deep.sh"));
    assert_true(binds("./s.sh", "sub/near.txt")); /* beside the file that names it */
    assert_false(binds("./s.sh", "data.txt"));
    assert_false(binds("true", "s.sh"));
}

static void test_a_build_tool_reads_its_files_without_being_told(void **state) {
    (void)state;
    put("Makefile", "t:\n\t./s.sh\n");
    put("sub/package.json", "{\"scripts\":{\"test\":\"node run.js\"}}");
    put("sub/run.js", "1");
    assert_true(binds("make t", "Makefile"));
    assert_true(binds("make t", "lib.sh"));
    assert_true(binds("npm --prefix sub test", "sub/package.json"));
    assert_true(binds("npm --prefix sub test", "sub/run.js"));
}

static void test_files_outside_are_not_bound_and_the_list_is_bounded(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct ch_bound_files files;
    CH_BUF_AUTO many = {0};
    (void)state;
    for (int i = 0; i < CH_LIMIT_BOUND_FILES + 50; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%d", i);
        put(name, "");
        ch_buf_addf(&many, "%s ", name);
    }
    ch_bound_files_find(&arena, ch_buf_sv(&many), top, top, &files);
    assert_int_equal(files.n, CH_LIMIT_BOUND_FILES);
    ch_bound_files_find(&arena, CH_SV("cat /etc/passwd ../../etc/passwd"), top, top, &files);
    for (size_t i = 0; i < files.n; i++)
        assert_null(strstr(files.v[i], "passwd"));
    ch_bound_files_find(&arena, CH_SV("./s.sh"), "/", top, &files);
    assert_int_equal(files.n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_to_run_a_script_binds_the_script),
        cmocka_unit_test(test_files_that_a_file_names_are_bound_too),
        cmocka_unit_test(test_a_build_tool_reads_its_files_without_being_told),
        cmocka_unit_test(test_files_outside_are_not_bound_and_the_list_is_bounded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
