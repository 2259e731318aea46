/* test_path.c -- nothing outside of the workspace can be reached.
 *
 * Every attack is tried on the kernel's resolver and on ours, which must agree,
 * and again through the tools. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/process/path.h"
#include "json/writer.h"

static const struct {
    const char *given, *want; /* want NULL: see rc */
    int rc;
} names[] = {
    {"a", "a", 0},
    {"./a", "a", 0},
    {"a/./b//c", "a/b/c", 0},
    {"a/../b", "b", 0},
    {"a/b/../../c", "c", 0},
    {".", ".", 0},
    {"./", ".", 0},
    {"a/..", ".", 0},
    {"a/", "a/", 0},
    {"...", "...", 0},
    {"..a", "..a", 0},
    {"a..", "a..", 0},
    {"%2e%2e/x", "%2e%2e/x", 0},
    {"~x", "~x", 0},
    {"/ws", ".", 0},
    {"/ws/", ".", 0},
    {"/ws/a", "a", 0},
    {"//ws//a", "a", 0},
    {"/ws/../ws/a", "a", 0},
    {"/x/../ws/a/", "a/", 0},
    {"", NULL, -ENOENT},
    {"..", NULL, -EXDEV},
    {"../ws/a", NULL, -EXDEV},
    {"a/../../b", NULL, -EXDEV},
    {"/", NULL, -EXDEV},
    {"/..", NULL, -EXDEV},
    {"/etc/passwd", NULL, -EXDEV},
    {"/ws-evil/a", NULL, -EXDEV},
    {"/w", NULL, -EXDEV},
    {"/ws/../etc/passwd", NULL, -EXDEV},
    {"~", NULL, -EXDEV},
    {"~/x", NULL, -EXDEV},
};

static void test_names(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(names); i++) {
        CH_BUF_AUTO got = {0};
        int rc = ch_path_inside("/ws", names[i].given, &got);
        if (rc != names[i].rc || (names[i].want && strcmp(ch_buf_str(&got), names[i].want) != 0))
            fail_msg("%s: %d %s", names[i].given, rc, ch_buf_str(&got));
    }
}

static void test_long_names(void **state) {
    CH_AUTOFREE char *longest = ch_alloc(CH_LIMIT_PATH + 2);
    CH_BUF_AUTO got = {0};

    (void)state;
    memset(longest, 'a', CH_LIMIT_PATH + 1);
    assert_int_equal(ch_path_inside("/ws", longest, &got), -ENAMETOOLONG);
    assert_int_equal(ch_path_inside("/", "/etc/x", &got), 0);
    assert_string_equal(ch_buf_str(&got), "etc/x");
}

/* The workspace reached through a link is known by both of its names. */
static void test_workspace_is_a_link(void **state) {
    struct kit k;
    CH_BUF_AUTO rel = {0}, given = {0};

    (void)state;
    kit_init(&k);
    kit_link(&k, "ws", "../alias");
    CH_AUTOFREE char *alias = kit_path(&k, "../alias");
    CH_AUTOFREE char *real = realpath(k.workspace, NULL);
    ch_buf_addf(&given, "%s/x", real);
    assert_int_equal(ch_path_inside(alias, ch_buf_str(&given), &rel), 0);
    assert_string_equal(ch_buf_str(&rel), "x");
    kit_free(&k);
}

static void make_tree(struct kit *k) {
    kit_init(k);
    kit_put(k, "../secret", "SECRET");
    kit_mkdir(k, "../out");
    kit_put(k, "../out/file", "SECRET");
    kit_mkdir(k, "../ws-evil");
    kit_put(k, "../ws-evil/x", "SECRET");
    kit_put(k, "file", "inside");
    kit_mkdir(k, "dir");
    kit_mkdir(k, "dir/sub");
    kit_put(k, "dir/sub/deep", "inside");
    kit_link(k, "file", "link");
    kit_link(k, "dir", "dirlink");
    kit_link(k, "dir/sub/../../file", "winding");
    kit_link(k, "sub/../../file", "dir/up");
    kit_link(k, "../secret", "escape");
    kit_link(k, "/etc/passwd", "absolute");
    kit_link(k, "..", "parent");
    kit_link(k, "../out", "outdir");
    kit_link(k, "/", "root");
    kit_link(k, "/proc/self/root", "magic");
    kit_link(k, "/proc/self/cwd", "cwd");
    kit_link(k, "loop2", "loop1");
    kit_link(k, "loop1", "loop2");
    kit_link(k, "self/self", "self");
    kit_link(k, "nowhere", "dangling");
    kit_link(k, "../nowhere", "dangling_out");
    kit_link(k, "../../../../../../../../../../etc/passwd", "deep_escape");
}

static const struct {
    const char *path;
    int rc; /* 0: it is "inside" */
} opens[] = {
    {"file", 0},
    {"./file", 0},
    {"dir/sub/deep", 0},
    {"link", 0},
    {"dirlink/sub/deep", 0},
    {"winding", 0},
    {"dir/up", 0},
    {"dirlink/up", 0},
    {"dir/../file", 0},
    {"dirlink/../file", 0},
    {"missing", -ENOENT},
    {"missing/file", -ENOENT},
    {"file/x", -ENOTDIR},
    {"file/", -ENOTDIR},
    {"link/", -ENOTDIR},
    {"dangling", -ENOENT},
    {"..", -EXDEV},
    {"../secret", -EXDEV},
    {"dir/../../secret", -EXDEV},
    {"/etc/passwd", -EXDEV},
    {"escape", -EXDEV},
    {"absolute", -EXDEV},
    {"parent/secret", -EXDEV},
    {"parent", -EXDEV},
    {"outdir/file", -EXDEV},
    {"outdir", -EXDEV},
    {"root/etc/passwd", -EXDEV},
    {"magic/etc/passwd", -EXDEV},
    {"cwd/x", -EXDEV},
    {"dangling_out", -EXDEV},
    {"deep_escape", -EXDEV},
    {"loop1", -ELOOP},
    {"self/x", -ELOOP},
};

static void test_beneath(void **state) {
    static int (*const resolvers[])(int, const char *, int) = {ch_beneath_open, ch_beneath_walk};
    struct kit k;

    (void)state;
    make_tree(&k);
    int root = open(k.workspace, O_PATH | O_DIRECTORY);
    for (size_t i = 0; i < CH_LEN(opens) * 2; i++) {
        char text[16] = "";
        int fd = resolvers[i % 2](root, opens[i / 2].path, O_RDONLY);
        if (fd >= 0) {
            assert_true(read(fd, text, sizeof(text) - 1) >= 0);
            close(fd);
        }
        if ((fd >= 0 ? 0 : fd) != opens[i / 2].rc ||
            (opens[i / 2].rc == 0 && strcmp(text, "inside") != 0))
            fail_msg("%s (resolver %zu): %d %s", opens[i / 2].path, i % 2, fd, text);
    }
    close(root);
    kit_free(&k);
}

static void test_no_descriptor_leaks(void **state) {
    struct kit k;

    (void)state;
    make_tree(&k);
    int root = open(k.workspace, O_PATH | O_DIRECTORY);
    int before = open("/dev/null", O_RDONLY);
    close(before);
    for (size_t i = 0; i < CH_LEN(opens); i++) {
        struct ch_place place;
        int fd = ch_beneath_walk(root, opens[i].path, O_RDONLY);
        if (fd >= 0)
            close(fd);
        ch_path_place(k.workspace, NULL, opens[i].path, false, &place);
        ch_place_release(&place);
    }
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(before, after);
    close(root);
    kit_free(&k);
}

static const struct {
    const char *path, *file; /* where it ends up, NULL: refused with rc */
    int rc;
} places[] = {
    {"new", "new", 0},
    {"file", "file", 0},
    {"a/b/c/new", "a/b/c/new", 0},
    {"dirlink/new2", "dir/new2", 0},
    {"dirlink/fresh/new3", "dir/fresh/new3", 0},
    {"link", "file", 0},
    {"dir/up", "file", 0},
    {"dangling", "nowhere", 0},
    {".", NULL, -EISDIR},
    {"dir/", NULL, -EISDIR},
    {"newdir/", NULL, -EISDIR},
    {"..", NULL, -EXDEV},
    {"../x", NULL, -EXDEV},
    {"escape", NULL, -EXDEV},
    {"absolute", NULL, -EXDEV},
    {"outdir/new", NULL, -EXDEV},
    {"outdir/a/b", NULL, -EXDEV},
    {"parent/new", NULL, -EXDEV},
    {"root/tmp/new", NULL, -EXDEV},
    {"dangling_out", NULL, -EXDEV},
    {"file/new", NULL, -ENOTDIR},
    {"loop1", NULL, -ELOOP},
    {"self/new", NULL, -ELOOP},
};

static void test_places(void **state) {
    struct kit k;

    (void)state;
    make_tree(&k);
    for (size_t i = 0; i < CH_LEN(places); i++) {
        struct ch_place place;
        int rc = ch_path_place(k.workspace, NULL, places[i].path, true, &place);
        if (rc != places[i].rc)
            fail_msg("%s: %d", places[i].path, rc);
        if (rc < 0)
            continue;
        int fd = openat(place.dir, place.leaf, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, places[i].path, strlen(places[i].path)), strlen(places[i].path));
        close(fd);
        ch_place_release(&place);
        CH_AUTOFREE char *got = kit_get(&k, places[i].file);
        if (!got || strcmp(got, places[i].path) != 0)
            fail_msg("%s: not in %s", places[i].path, places[i].file);
    }
    CH_AUTOFREE char *secret = kit_get(&k, "../secret");
    assert_string_equal(secret, "SECRET");
    assert_int_equal(kit_entries(&k, "../out"), 1);
    kit_free(&k);
}

static void test_names_too_long(void **state) {
    CH_AUTOFREE char *leaf = ch_alloc(300);
    struct ch_place place;
    struct kit k;

    (void)state;
    kit_init(&k);
    memset(leaf, 'n', 256);
    assert_int_equal(ch_path_place(k.workspace, NULL, leaf, true, &place), -ENAMETOOLONG);
    assert_int_equal(ch_path_open(k.workspace, leaf, 0), -ENAMETOOLONG);
    kit_free(&k);
}

/* A thread swaps a directory against a link that leads out, as fast as it can,
 * while the tools write and read: never a byte outside. */
struct swapper {
    atomic_bool stop;
    char *a, *b;
};

static void *swap(void *arg) {
    struct swapper *s = arg;

    while (!atomic_load(&s->stop))
        renameat2(AT_FDCWD, s->a, AT_FDCWD, s->b, RENAME_EXCHANGE);
    return NULL;
}

static void test_race(void **state) {
    struct swapper s = {0};
    pthread_t thread;
    struct kit k;

    (void)state;
    make_tree(&k);
    kit_mkdir(&k, "game");
    kit_put(&k, "game/file", "inside");
    s.a = kit_path(&k, "game");
    s.b = kit_path(&k, "outdir");
    if (renameat2(AT_FDCWD, s.a, AT_FDCWD, s.b, RENAME_EXCHANGE) < 0) {
        kit_free(&k);
        ch_free(s.a);
        ch_free(s.b);
        skip(); /* the file system cannot exchange */
    }
    assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
    int root = open(k.workspace, O_PATH | O_DIRECTORY);
    for (int i = 0; i < 4000; i++) {
        struct ch_place place;
        char text[16] = "";
        int fd = i % 2 ? ch_beneath_open(root, "game/file", O_RDONLY)
                       : ch_beneath_walk(root, "game/file", O_RDONLY);
        if (fd >= 0) {
            assert_true(read(fd, text, sizeof(text) - 1) > 0);
            assert_string_equal(text, "inside");
            close(fd);
        }
        if (ch_path_place(k.workspace, NULL, "game/w", true, &place) == 0) {
            fd = openat(place.dir, place.leaf, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);
            if (fd >= 0)
                close(fd);
            ch_place_release(&place);
        }
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    close(root);
    assert_int_equal(kit_entries(&k, "../out"), 1);
    kit_free(&k);
    ch_free(s.a);
    ch_free(s.b);
}

/* The same through the tools: the model is told, with the name it used. */
static void test_through_the_tools(void **state) {
    static const char *const paths[] = {
        "../secret",          "/etc/passwd",     "escape",          "absolute",
        "parent/secret",      "outdir/file",     "root/etc/passwd", "magic/etc/passwd",
        "/proc/self/environ", "/proc/self/fd/0", "/dev/fd/0",       "~/.ssh/id_rsa",
        "deep_escape",        "a/../../secret",  "../ws-evil/x",
    };
    static const struct {
        const char *name, *rest;
    } tools[] = {
        {"read", ""},
        {"write", ",\"content\":\"PWNED\""},
        {"edit", ",\"old_text\":\"SECRET\",\"new_text\":\"PWNED\""},
        {"ls", ""},
        {"find", ",\"pattern\":\"S*\""},
        {"grep", ",\"pattern\":\"S*\""},
    };
    struct kit k;

    (void)state;
    make_tree(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(paths) * CH_LEN(tools); i++) {
        CH_BUF_AUTO args = {0};
        const char *path = paths[i / CH_LEN(tools)], *name = tools[i % CH_LEN(tools)].name;
        ch_buf_addf(&args, "{\"path\":\"%s\"%s}", path, tools[i % CH_LEN(tools)].rest);
        kit_call(&k, name, ch_buf_str(&args));
        if (!k.is_error || strcmp(k.error_type, "permission_denied") != 0 ||
            !strstr(k.content, path) || strstr(k.content, "SECRET"))
            fail_msg("%s %s: %s", name, path, k.content);
    }
    CH_AUTOFREE char *secret = kit_get(&k, "../secret");
    assert_string_equal(secret, "SECRET");
    kit_free(&k);
}

static void test_special_files(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    CH_AUTOFREE char *fifo = kit_path(&k, "fifo");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    kit_call(&k, "read", "{\"file_path\":\"fifo\"}"); /* does not wait for a writer */
    assert_true(k.is_error);
    assert_non_null(strstr(k.content, "not a regular file"));
    kit_call(&k, "write", "{\"file_path\":\"fifo\",\"content\":\"x\"}");
    assert_true(k.is_error);
    kit_call(&k, "edit", "{\"file_path\":\"fifo\",\"old_text\":\"x\",\"new_text\":\"y\"}");
    assert_true(k.is_error);
    kit_call(&k, "read", "{\"file_path\":\"a\\u0000b\"}");
    assert_string_equal(k.error_type, "invalid_arguments");
    assert_non_null(strstr(k.content, "NUL"));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_workspace_is_a_link),
        cmocka_unit_test(test_beneath),
        cmocka_unit_test(test_no_descriptor_leaks),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_names_too_long),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_through_the_tools),
        cmocka_unit_test(test_special_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
