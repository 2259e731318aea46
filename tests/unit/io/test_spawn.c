/* test_spawn.c -- a program that cannot get its files is not started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <unistd.h>

#include "io/child.h"
#include "io/spawn.h"

static bool no_memory;

/* Takes the place of the function of libc, which needs memory. */
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int to) {
    int (*real)(posix_spawn_file_actions_t *, int, int);
    *(void **)&real = dlsym(RTLD_NEXT, "posix_spawn_file_actions_adddup2");
    return no_memory ? ENOMEM : real(actions, fd, to);
}

static void test_without_memory(void **state) {
    const char *const argv[] = {"true", NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct ch_child_opts opts = {.argv = argv, .env = env, .cwd = "/", .merge = true};
    struct chela_error err = {0};
    struct ch_spawn_fds io;
    pid_t pid = 0;

    (void)state;
    assert_int_equal(ch_spawn_fds_open(&io, &opts, &err), 0);
    no_memory = true;
    int rc = ch_spawn(&opts, &io, &pid, &err);
    no_memory = false;
    ch_spawn_fds_close_theirs(&io);
    close(io.ours[1]);
    assert_int_equal(rc, CHELA_ELIMIT);
    assert_string_equal(err.message, "cannot run true: not enough memory");
    assert_int_equal(pid, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
