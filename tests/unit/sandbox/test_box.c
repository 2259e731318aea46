/* test_box.c -- the parts of a box that need no namespace: the view as a list,
 * protected paths, scratch directories, the hunt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/closed.h"
#include "sandbox/options.h"
#include "sandbox/process_kill.h"
#include "sandbox/protect.h"
#include "sandbox/scratch.h"
#include "sandbox/unowned.h"

static char *dir; /* a fresh directory */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int setup(void **state) {
    const char *tmp = getenv("TMPDIR");

    (void)state;
    dir = ch_text("%s/chela-box-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static const char *in_dir(const char *name) {
    return ch_text("%s/%s", dir, name);
}

static void make_dir(const char *name) {
    assert_int_equal(mkdir(in_dir(name), 0755), 0);
}

static void make_file(const char *name) {
    int fd = open(in_dir(name), O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static bool exists(const char *name) {
    struct stat st;
    return lstat(in_dir(name), &st) == 0;
}

/* The steps of a view that lie below the directory: "RW a;RO a/b;". */
static const char *steps(const struct ch_box_view *v) {
    char *text = ch_text("%s", "");

    for (size_t i = 0; i < v->n; i++) {
        const struct ch_view_step *s = &v->steps[i];
        if (strncmp(s->dst, dir, strlen(dir)) == 0)
            text = ch_text("%s%s %s;", text,
                           s->kind == CH_STEP_RO          ? "RO"
                           : s->kind == CH_STEP_SYMLINK   ? "LINK"
                           : s->kind == CH_STEP_TEXT && !*s->src ? "EMPTY"
                           : s->kind == CH_STEP_HIDE_DIR  ? "HIDE"
                                                          : "RW",
                           s->dst + strlen(dir) + 1);
    }
    return text;
}

static const char *protect(const char *const *paths, size_t n, bool strict, const char **refused) {
    struct ch_box box = {.workspace = dir, .strict = strict};
    struct ch_box_view v = {0};

    box.protect = (struct ch_paths){.p = (const char **)paths, .n = n};
    *refused = ch_guard_set(&v, &box);
    const char *text = steps(&v);
    ch_free(v.steps);
    return text;
}

/* A path that does not exist has no step and stays absent. */
static void test_protected_paths(void **state) {
    static const struct {
        const char *what;
        const char *dirs[3], *files[3];
        const char *paths[4];
        const char *steps;
    } cases[] = {
        {"there",
         {".git", ".git/hooks"},
         {".git/config"},
         {".git/hooks", ".git/config"},
         "RW .git;RO .git/hooks;RO .git/config;"},
        {"absent", {NULL}, {NULL}, {".env"}, ""},
        {"absent below what is there", {".git"}, {NULL}, {".git/hooks"}, ""},
        {"absent with its parent", {NULL}, {NULL}, {".git/hooks", ".git/config"}, ""},
        {"a file in place of a directory", {NULL}, {".git"}, {".git/hooks"}, ""},
        {"the parent too",
         {".git", ".git/hooks"},
         {NULL},
         {".git/hooks", ".git"},
         "RO .git;RO .git/hooks;"},
        {"the parent first",
         {".git", ".git/hooks"},
         {NULL},
         {".git", ".git/hooks"},
         "RO .git;RO .git/hooks;"},
        {"only if there: not", {NULL}, {NULL}, {".bashrc?"}, ""},
        {"only if there: is", {NULL}, {".bashrc"}, {".bashrc?"}, "RO .bashrc;"},
        {"slashes",
         {".git", ".git/hooks"},
         {NULL},
         {".git//hooks/"},
         "RW .git;RO .git/hooks;"},
        {"elsewhere", {NULL}, {NULL}, {"/nonexistent/key"}, ""},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *refused;
        size_t n = 0;
        setup(state);
        for (size_t j = 0; j < 3 && cases[i].dirs[j]; j++)
            make_dir(cases[i].dirs[j]);
        for (size_t j = 0; j < 3 && cases[i].files[j]; j++)
            make_file(cases[i].files[j]);
        while (n < 4 && cases[i].paths[n])
            n++;
        const char *got = protect(cases[i].paths, n, true, &refused);
        if (strcmp(got, cases[i].steps) != 0 || refused)
            fail_msg("%s: %s", cases[i].what, got);
        assert_false(exists(".env"));
        teardown(state);
    }
}

static void test_absolute_protected_path(void **state) {
    const char *refused, *path = in_dir("keys");

    (void)state;
    assert_string_equal(protect(&path, 1, false, &refused), "");
    assert_false(exists("keys"));
    make_file("keys");
    assert_string_equal(protect(&path, 1, false, &refused), "RO keys;");
}

/* The parts of a repository that exist; nothing takes the place of the others. */
static void test_repository(void **state) {
    const char *git = in_dir(".git");
    struct ch_box box = {.workspace = dir, .repositories = {.p = &git, .n = 1}};
    struct ch_box_view v = {0};

    (void)state;
    make_dir(".git");
    make_file(".git/config");
    assert_null(ch_guard_set(&v, &box));
    assert_string_equal(steps(&v), "RW .git;RO .git/config;");
    assert_false(exists(".git/commondir") || exists(".git/hooks") ||
                 exists(".git/config.worktree"));
    ch_free(v.steps);
}

/* A link cannot be held in place. */
static void test_link(void **state) {
    const char *path = ".env", *refused;

    (void)state;
    make_file("real");
    assert_int_equal(symlink("real", in_dir(".env")), 0);
    assert_string_equal(protect(&path, 1, false, &refused), "RO real;");
    assert_null(refused);
    protect(&path, 1, true, &refused);
    assert_string_equal(refused, in_dir(".env"));
    assert_true(exists(".env"));
}

/* The target of a link stays out of the box, also if its path begins like the workspace's. */
static void test_link_to_neighbour(void **state) {
    const char *path = ".bashrc?", *refused, *other = ch_text("%s-other", dir);

    (void)state;
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(symlink(other, in_dir(".bashrc")), 0);
    const char *got = protect(&path, 1, false, &refused);
    assert_int_equal(rmdir(other), 0);
    assert_string_equal(got, "");
}

static void test_view(void **state) {
    const char *readable[] = {in_dir("a/b/c"), in_dir("a"), "/"}, *writable[] = {in_dir("a/b")};
    struct ch_box box = {
        .workspace = in_dir("a/b/c/ws"),
        .readable = {.p = readable, .n = 3},
        .writable = {.p = writable, .n = 1},
    };
    struct ch_box_view v = {0};

    (void)state;
    make_dir("a");
    make_dir("a/b");
    make_dir("a/b/c");
    make_dir("a/b/c/ws");
    ch_view_make(&v, &box);
    ch_view_seal(&v);
    /* From the outside in, whatever the order they were given in. */
    assert_string_equal(steps(&v), "RO a;RW a/b;RO a/b/c;RW a/b/c/ws;");
    bool usr = false, root = false;
    for (size_t i = 0; i < v.n; i++) {
        usr |= strcmp(v.steps[i].dst, "/usr") == 0 && v.steps[i].kind == CH_STEP_RO;
        root |= strcmp(v.steps[i].dst, "/") == 0 && v.steps[i].kind != CH_STEP_SEAL;
    }
    assert_true(usr);
    assert_false(root); /* the whole system is not to be had */
    assert_int_equal(v.steps[v.n - 1].kind, CH_STEP_SEAL);
    assert_null(ch_view_find(&v, "/home"));
    ch_free(v.steps);
}

/* Paths through links are mounted at their real place, where files of them are hidden. */
static void test_view_of_links(void **state) {
    const char *readable[] = {in_dir("to_a/b"), in_dir("to_a/b/c"), in_dir("none")};
    const char *writable[] = {in_dir("ws/to_w")}, *hide[] = {in_dir("w/secret")};
    struct ch_box box = {
        .workspace = in_dir("ws"),
        .readable = {.p = readable, .n = 3},
        .writable = {.p = writable, .n = 1},
        .hide = {.p = hide, .n = 1},
    };
    struct ch_box_view v = {0};

    (void)state;
    make_dir("a");
    make_dir("a/b");
    make_dir("a/b/c");
    make_dir("w");
    make_dir("ws");
    make_file("w/secret");
    assert_int_equal(symlink(in_dir("a"), in_dir("to_a")), 0);
    assert_int_equal(symlink("../w", in_dir("ws/to_w")), 0);
    ch_view_make(&v, &box);
    ch_guard_set(&v, &box);
    /* the link in the workspace is there with the workspace */
    assert_string_equal(steps(&v), "RW w;RW ws;RO a/b;RO a/b/c;LINK to_a;EMPTY w/secret;");
    ch_free(v.steps);
}

static bool is_closed(const struct ch_paths *closed, const char *name) {
    for (size_t i = 0; i < closed->n; i++)
        if (strcmp(closed->p[i], in_dir(name)) == 0)
            return true;
    return false;
}

/* As a command of root: without capabilities. */
static bool root_reads(int mount, const char *name) {
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};
        _exit(syscall(SYS_capset, &head, none) == 0 &&
              openat(mount, name, O_RDONLY | O_CLOEXEC) >= 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status);
}

/* Where nobody owns a file, the mode decides, and nothing is searched. */
static void test_unowned(void **state) {
    int owners = geteuid() == 0 ? ch_unowned_open() : -1;
    int mount = owners >= 0 ? ch_unowned_mount(owners, dir) : -1;

    (void)state;
    assert_int_equal(chmod(dir, 0755), 0);
    make_file("open");
    make_file("closed");
    assert_int_equal(chmod(in_dir("closed"), 0600), 0);
    if (mount >= 0) {
        assert_true(root_reads(mount, "open"));
        assert_false(root_reads(mount, "closed"));
        assert_int_equal(chmod(in_dir("open"), 0640), 0);
        assert_false(root_reads(mount, "open"));
        assert_int_equal(close(mount), 0);
    }
    assert_int_equal(ch_unowned_mount(owners, in_dir("open")), -1); /* no directory */
    struct ch_box box = {.workspace = dir};
    struct ch_closed found = ch_closed_find(&box, owners >= 0);
    for (size_t i = 0; i < CH_LEN(found.places); i++)
        for (size_t k = 0; found.places[i].mount >= 0 && k < found.paths.n; k++) {
            struct stat st;
            size_t n = strlen(found.places[i].path);
            assert_int_equal(lstat(found.paths.p[k], &st), 0);
            if (strncmp(found.paths.p[k], found.places[i].path, n) == 0)
                assert_true(st.st_mode & (S_IROTH | S_IXOTH)); /* only what the mode leaves open */
        }
    for (size_t i = 0; i < CH_LEN(found.places); i++)
        if (found.places[i].mount >= 0)
            assert_int_equal(close(found.places[i].mount), 0);
    ch_free(found.paths.p);
    const char *etc = "/etc/ssl";
    box.readable = (struct ch_paths){.p = &etc, .n = 1};
    found = ch_closed_find(&box, true); /* what the operator opened keeps its owners */
    assert_int_equal(found.places[0].mount, access(etc, F_OK) == 0 ? -1 : found.places[0].mount);
    for (size_t i = 0; i < CH_LEN(found.places); i++)
        if (found.places[i].mount >= 0)
            assert_int_equal(close(found.places[i].mount), 0);
    ch_free(found.paths.p);
    if (owners >= 0)
        close(owners);
}

/* What only its owner, or its group, may read, unless the operator opened it. */
static void test_closed(void **state) {
    static const struct {
        const char *name;
        mode_t mode;
        bool closed;
    } files[] = {
        {"public", 0644, false},    {"private", 0600, true},   {"of-group", 0640, true},
        {"d/program", 0755, false}, {"d/e/f/key", 0400, true}, {"opened/key", 0600, false},
        {"secret/public", 0644, false}, /* with its directory */
    };
    static const char *const dirs[] = {"d", "d/e", "d/e/f", "opened", "secret", "many"};
    const char *readable = in_dir("opened");
    struct ch_box box = {.readable = {.p = &readable, .n = 1}};
    struct ch_paths closed = {0};

    (void)state;
    for (size_t i = 0; i < CH_LEN(dirs); i++)
        make_dir(dirs[i]);
    for (size_t i = 0; i < CH_LEN(files); i++) {
        make_file(files[i].name);
        assert_int_equal(chmod(in_dir(files[i].name), files[i].mode), 0);
    }
    for (int i = 0; i < 100; i++) {
        make_file(ch_text("many/%d", i));
        assert_int_equal(chmod(in_dir(ch_text("many/%d", i)), 0600), 0);
    }
    assert_int_equal(symlink("private", in_dir("link")), 0);
    assert_int_equal(chmod(in_dir("secret"), 0700), 0);
    ch_closed_below(&closed, &box, dir, 64, true);
    for (size_t i = 0; i < CH_LEN(files); i++)
        if (is_closed(&closed, files[i].name) != files[i].closed)
            fail_msg("%s", files[i].name);
    assert_true(is_closed(&closed, "secret") && is_closed(&closed, "many"));
    assert_int_equal(closed.n, 5); /* neither the link nor each of many */
    ch_free(closed.p);
    closed = (struct ch_paths){0};
    box.workspace = in_dir("secret/app/ws"); /* in a closed directory */
    make_dir("secret/app");
    make_dir("secret/app/ws");
    make_file("secret/app/key");
    make_file("secret/app/ws/file");
    ch_closed_below(&closed, &box, dir, 64, true);
    assert_true(is_closed(&closed, "secret/public") && is_closed(&closed, "secret/app/key"));
    assert_false(is_closed(&closed, "secret") || is_closed(&closed, "secret/app") ||
                 is_closed(&closed, "secret/app/ws") || is_closed(&closed, "secret/app/ws/file"));
    ch_free(closed.p);
    closed = (struct ch_paths){0};
    ch_closed_below(&closed, &box, dir, 1, false); /* not as deep */
    assert_false(is_closed(&closed, "d/e/f/key"));
    ch_free(closed.p);
}

/* Deep, wide, unreadable, with links that lead out and names that the removal uses. Root may do
 * everything, so root becomes another user. */
static void test_scratch(void **state) {
    (void)state;
    make_file("outside");
    bool root = geteuid() == 0;
    assert_true(!root || seteuid(65534) == 0);
    const char *top = ch_scratch_make();
    struct stat st;

    assert_int_equal(stat(top, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    int fd = open(top, O_RDONLY | O_DIRECTORY);
    assert_int_equal(symlinkat(dir, fd, "link"), 0);
    assert_int_equal(symlinkat("/nonexistent", fd, "dangling"), 0);
    assert_int_equal(mkdirat(fd, "1", 0700), 0);
    assert_int_equal(mkdirat(fd, "1/in", 0700), 0);
    assert_int_equal(mkdirat(fd, "1/in/side", 0), 0);
    for (int i = 0; i < 3000; i++) { /* far beyond PATH_MAX */
        assert_int_equal(mkdirat(fd, "directory-with-a-name", 0700), 0);
        int file = openat(fd, "file", O_CREAT | O_WRONLY, 0);
        close(file);
        int next = openat(fd, "directory-with-a-name", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    assert_int_equal(mkdirat(fd, "closed", 0700), 0);
    assert_int_equal(mkdirat(fd, "closed/in", 0700), 0);
    assert_int_equal(fchmodat(fd, "closed", 0, 0), 0);
    close(fd);
    ch_scratch_remove(top);
    int gone = stat(top, &st);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(gone, -1);
    assert_true(exists("outside"));
}

/* Processes that leave their group, their session and their parent. */
static void test_hunt(void **state) {
    int status;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (fork() == 0) {
            for (int i = 0; i < 20; i++)
                if (fork() == 0) {
                    setsid();
                    signal(SIGTERM, SIG_IGN);
                    if (fork() == 0)
                        pause();
                    if (i % 2)
                        _exit(0);
                    pause();
                }
            _exit(0);
        }
        wait(NULL);
        usleep(50000);
        ch_descendants_signal(SIGTERM); /* they are deaf */
        ch_descendants_end();
        _exit(waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protected_paths),
        T(test_absolute_protected_path),
        T(test_repository),
        T(test_link),
        T(test_link_to_neighbour),
        T(test_view),
        T(test_view_of_links),
        T(test_closed),
        T(test_unowned),
        T(test_scratch),
        T(test_hunt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
