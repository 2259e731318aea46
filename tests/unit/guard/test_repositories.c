/* test_repositories.c -- file systems that lack something: types of directory entries, and
 * renaming without replacing.
 *
 * The program's own readdir() and renameat2() take the place of such a file system. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/repositories.h"
#include "support/textfile.h"

static bool poor; /* the file system lacks both */

struct dirent *readdir(DIR *d) {
    struct dirent *(*real)(DIR *);
    *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    struct dirent *e = real(d);
    if (e && poor)
        e->d_type = DT_UNKNOWN;
    return e;
}

int renameat2(int from, const char *name, int to, const char *other, unsigned flags) {
    int (*real)(int, const char *, int, const char *, unsigned);
    *(void **)&real = dlsym(RTLD_NEXT, "renameat2");
    if (!poor || !flags)
        return real(from, name, to, other, flags);
    errno = EINVAL;
    return -1;
}

static char dir[64], path[128];

static int set_up(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/chela-guard-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return chdir(dir);
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return chdir("/") || system(command);
}

static const char *at(const char *name) {
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void test_sockets(void **state) {
    (void)state;
    struct sockaddr_un where = {.sun_family = AF_UNIX, .sun_path = "sub/socket"};
    const char *tops[] = {dir, NULL};
    mkdir("sub", 0755);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&where, sizeof(where)), 0);
    for (poor = false;; poor = true) {
        CH_ARENA_AUTO arena = {0};
        struct ch_repositories found;
        ch_repositories_find(&arena, tops, CH_KIND_EXECUTED, &found);
        assert_int_equal(found.nsockets, 1);
        assert_string_equal(found.sockets[0], at("sub/socket"));
        if (poor)
            break;
    }
    close(fd);
}

static void test_restore(void **state) {
    (void)state;
    const char *tops[] = {dir, NULL};
    for (poor = false;; poor = true) {
        CH_ARENA_AUTO arena = {0};
        struct ch_repositories before;
        struct ch_held_list held;
        const struct timespec start = {0};
        unlink(".bashrc");
        ch_repositories_find(&arena, tops, CH_KIND_EXECUTED, &before);
        put(".bashrc", "new");
        ch_repositories_hold(&arena, tops, CH_KIND_EXECUTED, &before, &start, &held);
        assert_int_equal(held.n, 1);
        assert_int_equal(access(".bashrc", F_OK), -1);
        put(".bashrc", "another");
        assert_int_equal(ch_held_restore(&held.v[0]), -EEXIST);
        unlink(".bashrc");
        assert_int_equal(ch_held_restore(&held.v[0]), 0);
        assert_string_equal(got(".bashrc"), "new");
        if (poor)
            break;
    }
}

/* A command that could not write a file did not change it: another program did, and may have the
 * file open. */
static void test_kept(void **state) {
    (void)state;
    const char *tops[] = {dir, NULL};
    char database[100];
    snprintf(database, sizeof(database), "%s/home/.local/state/chela/chela.db", dir);
    const char *hidden[] = {database, NULL};
    static const char *const names[] = {".local/state/chela?", "linked/chela?", "absent?", NULL};
    CH_ARENA_AUTO arena = {0};
    struct ch_repositories before;
    struct ch_held_list held;
    const struct timespec start = {0};
    mkdir(".local", 0755);
    mkdir(".local/state", 0755);
    mkdir(".local/state/chela", 0755);
    assert_int_equal(symlink(".local/state", "linked"), 0);
    ch_repositories_find(&arena, tops, CH_KIND_EXECUTED, &before);
    before.kept = ch_repositories_kept(&arena, dir, names);
    before.hidden = hidden;
    assert_string_equal(before.kept[0], at(".local/state/chela"));
    assert_null(before.kept[1]); /* a link leads to it, and a command can replace a link */
    put(".local/state/chela/history", "typed meanwhile");
    mkdir("home", 0755);
    mkdir("home/.local", 0755);
    mkdir("home/.local/state", 0755);
    mkdir("home/.local/state/chela", 0755);
    put("home/.local/state/chela/chela.db", "written meanwhile");
    put("home/.local/state/chela/trust", "written by the command");
    ch_repositories_hold(&arena, tops, CH_KIND_EXECUTED, &before, &start, &held);
    assert_int_equal(held.n, 1);
    assert_string_equal(held.v[0].name, "trust");
    before.loose = true; /* nothing was read-only */
    ch_repositories_hold(&arena, tops, CH_KIND_EXECUTED, &before, &start, &held);
    assert_int_equal(held.n, 2);
    assert_string_equal(held.v[0].name, "history");
    assert_string_equal(got("home/.local/state/chela/chela.db"), "written meanwhile");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sockets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restore, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
