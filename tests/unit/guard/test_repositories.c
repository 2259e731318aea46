/* test_repositories.c -- what a command made is set aside: at protected and hidden paths that
 * did not exist, in repositories, by the thousand; and on file systems that lack something: types
 * of directory entries, and renaming without replacing.
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

/* For thousands of files: in memory, if possible. */
static int set_up_fast(void **state) {
    snprintf(dir, sizeof(dir), "/dev/shm/chela-guard-XXXXXX");
    return mkdtemp(dir) ? chdir(dir) : set_up(state);
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

/* Look before and after a command, which is made of system calls here. */
struct look {
    struct ch_arena arena;
    struct ch_repositories before;
    struct ch_held_list held;
    const char *tops[2];
};

static const char *const names[] = {".env", ".ssh", ".kube?", "deep/er/key", NULL};

static void look_before(struct look *l, const char *hidden) {
    static const char *list[2];

    *l = (struct look){.tops = {dir, NULL}};
    list[0] = hidden;
    ch_repositories_find(&l->arena, l->tops, CH_KIND_EXECUTED, &l->before);
    l->before.absent = ch_repositories_absent(&l->arena, dir, names);
    l->before.absent_hidden = ch_repositories_absent(&l->arena, dir, list);
    l->before.hidden = list;
}

/* The names that were set aside, each with a blank. */
static const char *look_after(struct look *l) {
    static char text[300];
    const struct timespec start = {0};
    size_t n = 0;

    ch_repositories_hold(&l->arena, l->tops, CH_KIND_EXECUTED, &l->before, &start, &l->held);
    text[0] = '\0';
    for (size_t i = 0; i < l->held.n && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s ", l->held.v[i].name);
    return text;
}

static void run(const char *command) {
    assert_int_equal(system(command), 0);
}

/* What a command makes at a protected path is set aside, whatever form it has. */
static void test_absent(void **state) {
    static const struct {
        const char *command, *held;
    } cases[] = {
        {"echo x > .env", ".env "},
        {"mkdir .ssh; echo x > .ssh/authorized_keys; ln -s .ssh .kube", ".ssh .kube "},
        {"mkdir -p deep/er; echo x > deep/er/key; echo x > deep/er/other", "key "},
        {"mkdir -p a/er; echo x > a/er/key; ln -s a deep", "deep "},
        {"mkdir -p deep a; echo x > a/key; ln -s ../a deep/er", "er "},
        {"mkdir deep; echo x > deep/er", ""},
        {"echo x > .environment", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct look l;
        look_before(&l, NULL);
        run(cases[i].command);
        assert_string_equal(look_after(&l), cases[i].held);
        assert_string_equal(look_after(&l), ""); /* once */
        run("rm -rf deep a .env* .ssh* .kube*");
        ch_arena_release(&l.arena);
    }
    /* what was there before is not */
    struct look l;
    put(".env", "mine");
    look_before(&l, NULL);
    put(".env", "written by an editor");
    assert_string_equal(look_after(&l), "");
    ch_arena_release(&l.arena);
}

/* A file that chela hides is set aside, unless a program has opened it meanwhile. */
static void test_absent_hidden(void **state) {
    struct look l;

    (void)state;
    look_before(&l, at("store.db-journal"));
    put("store.db-journal", "forged");
    assert_string_equal(look_after(&l), "store.db-journal ");
    ch_arena_release(&l.arena);

    look_before(&l, at("store.db-wal"));
    put("store.db-wal", "of another program");
    int fd = open("store.db-wal", O_RDONLY | O_CLOEXEC);
    assert_string_equal(look_after(&l), "");
    close(fd);
    /* SQLite locks the file beside it */
    put("store.db-shm", "");
    fd = open("store.db-shm", O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_RDLCK, .l_start = 128, .l_len = 1};
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    assert_string_equal(look_after(&l), "");
    close(fd);
    unlink("store.db-shm");
    assert_string_equal(look_after(&l), "store.db-wal ");
    ch_arena_release(&l.arena);
}

/* The files of a known repository that did not exist. */
static void test_parts(void **state) {
    static const struct {
        const char *command, *held;
    } cases[] = {
        {"mkdir r/hooks; cp /bin/true r/hooks/post-checkout", "hooks "},
        {"ln -s ../x r/hooks", "hooks "},
        {"mkdir r/hooks; echo x > r/hooks/pre-push.sample", ""},
        {"echo ../x > r/commondir", "commondir "},
        {"mkdir -p o/objects o/refs; cp r/HEAD o; echo ../o > r/commondir", "commondir "},
        {"printf '[core]\\n fsmonitor=x\\n' > r/config.worktree", "config.worktree "},
        {"printf '[user]\\n name=x\\n' > r/config.worktree", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct look l;
        run("mkdir -p r/objects r/refs; echo 'ref: refs/heads/x' > r/HEAD; "
            "printf '[core]\\n pager=mine\\n' > r/config");
        look_before(&l, NULL);
        run(cases[i].command);
        assert_string_equal(look_after(&l), cases[i].held);
        assert_string_equal(got("r/config"), "[core]\n pager=mine\n"); /* as a person wrote it */
        run("rm -rf r o");
        ch_arena_release(&l.arena);
    }
}

/* A command that found a file there, which was set aside while it ran, has made the next one. */
static void test_together(void **state) {
    struct look first, second;

    (void)state;
    ch_holds_begin();
    ch_holds_begin();
    look_before(&first, NULL);
    put(".env", "of the first");
    put(".envrc", "of the first");
    look_before(&second, NULL); /* both are there, and read-only for the second */
    assert_string_equal(look_after(&first), ".envrc .env ");
    put(".env", "of the second");
    put(".envrc", "of the second");
    assert_string_equal(look_after(&second), ".envrc .env ");
    unlink(".env");
    unlink(".envrc");
    assert_int_equal(ch_held_restore(&first.held.v[1]), 0);
    assert_string_equal(look_after(&second), ""); /* a person put it back */
    ch_holds_end();
    ch_holds_end();
    ch_arena_release(&first.arena);
    ch_arena_release(&second.arena);
}

/* Ten thousand files: all are set aside, and all can be put back. */
static void test_many(void **state) {
    enum { MANY = 10000 };
    struct look l;

    (void)state;
    look_before(&l, NULL);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mkdir(name, 0755), 0);
        snprintf(name, sizeof(name), "%d/.envrc", i);
        put(name, "x");
    }
    look_after(&l);
    assert_int_equal(l.held.n, MANY);
    assert_int_equal(l.held.more, 0);
    assert_int_equal(access("0/.envrc", F_OK), -1);
    assert_int_equal(access("9999/.envrc.held", F_OK), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(ch_held_restore(&l.held.v[i]), 0);
    ch_arena_release(&l.arena);
}

static void make_many(const char *above, int n) {
    char name[64];

    assert_int_equal(mkdir(above, 0755), 0);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%d", above, i);
        assert_int_equal(mkdir(name, 0755), 0);
    }
}

/* The search after a command has no size at which it gives up. */
static void test_large(void **state) {
    struct look l;

    (void)state;
    look_before(&l, NULL);
    for (int i = 0; i < 201; i++) {
        char name[8];
        snprintf(name, sizeof(name), "d%d", i);
        make_many(name, 1000);
    }
    run("for d in d0 d100 d200; do mkdir -p $d/5/a/b && echo x > $d/5/a/b/.envrc; done");
    assert_string_equal(look_after(&l), ".envrc .envrc .envrc ");
    assert_null(l.held.unsearched);
    ch_arena_release(&l.arena);
}

/* A directory whose path no system call takes. */
static void test_unsearchable(void **state) {
    static const char name[] = "a-directory-with-a-long-name";
    struct look l;

    (void)state;
    look_before(&l, NULL);
    for (int i = 0; i < 200; i++)
        assert_true(mkdir(name, 0755) == 0 && chdir(name) == 0);
    assert_int_equal(chdir(dir), 0);
    put(".envrc", "x");
    assert_string_equal(look_after(&l), ".envrc ");
    assert_non_null(l.held.unsearched);
    assert_int_equal(l.held.unsearched_error, ENAMETOOLONG);
    run("rm -rf a-*");
    look_after(&l);
    assert_null(l.held.unsearched);
    ch_arena_release(&l.arena);
}

/* A directory of another user that is closed to this one is out of the command's reach, too. */
static void test_out_of_reach(void **state) {
    struct look l;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(dir, 0777), 0);
    look_before(&l, NULL);
    assert_int_equal(mkdir("closed", 0700), 0);
    assert_int_equal(mkdir("half", 0711), 0); /* what lies below may be known by name */
    assert_int_equal(seteuid(65534), 0);
    look_after(&l);
    const char *unsearched = l.held.unsearched;
    assert_int_equal(seteuid(0), 0);
    assert_non_null(unsearched);
    assert_string_equal(unsearched, at("half"));
    ch_arena_release(&l.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sockets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restore, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_hidden, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large, set_up_fast, tear_down),
        cmocka_unit_test_setup_teardown(test_unsearchable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_reach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up_fast, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
