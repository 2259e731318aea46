/* test_guarded_files.c -- files that the tools of agents must not touch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/handle/guarded_files.h"
#include "base/buf.h"
#include "support/textfile.h"
#include "tool/process/sandbox_policy.h"

/* The files of the test's directory, which is the current directory. */
static const char *const files[] = {"tool.py",    "data.txt",   "sh",
                                    "sub/run.sh", "ws/tool.py", "ws/own.py"};

static int setup(void **state) {
    char path[] = "/tmp/chela-guarded-XXXXXX";
    char *dir = mkdtemp(path) ? realpath(path, NULL) : NULL;
    *state = dir;
    if (!dir || chdir(dir) < 0 || mkdir("sub", 0700) < 0 || mkdir("ws", 0700) < 0 ||
        symlink("sub/run.sh", "link") < 0 || symlink("sub", "linked") < 0)
        return -1;
    for (size_t i = 0; i < CH_LEN(files); i++)
        put(files[i], "x");
    return 0;
}

static int teardown(void **state) {
    for (size_t i = 0; i < CH_LEN(files); i++)
        unlink(files[i]);
    int rc = unlink("link") < 0 || unlink("linked") < 0 || rmdir("sub") < 0 || rmdir("ws") < 0 ||
             chdir("/") < 0 || rmdir(*state) < 0;
    free(*state);
    return rc;
}

/* Compares a list with names below dir, separated by spaces. */
static void lists(const char *what, const char *const *list, const char *dir, const char *want) {
    CH_BUF_AUTO got = {0};
    size_t n = strlen(dir);
    for (; list && *list; list++)
        ch_buf_addf(&got, "%s%s", got.n ? " " : "",
                    strncmp(*list, dir, n) == 0 && (*list)[n] == '/' ? *list + n + 1 : *list);
    if (strcmp(ch_buf_str(&got), want) != 0)
        fail_msg("%s: '%s', not '%s'", what, ch_buf_str(&got), want);
}

static void agent_open(chela_agent *a, chela_runtime *rt, char *workspace) {
    *a = (chela_agent){.rt = rt, .workspace = workspace};
    a->sandbox = ch_sandbox_copy(&a->arena, NULL);
}

static void test_hidden_files(void **state) {
    static const struct {
        const char *path, *hidden;
        bool below; /* the path is below the directory; false: relative */
    } cases[] = {
        {"tool.py", "tool.py", false},
        {"tool.py", "tool.py", true},
        {"not/there/yet", "not/there/yet", false},
        {"absent.db", "absent.db", true},
        {"./sub/../data.txt", "data.txt", false},
        {"link", "sub/run.sh", false}, /* links are resolved */
        {"link", "sub/run.sh", true},
        {"linked/absent", "sub/absent", false},
    };
    const char *dir = *state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_runtime rt = {0};
        CH_BUF_AUTO path = {0};
        ch_list_init(&rt.agents);
        if (cases[i].below)
            ch_buf_addf(&path, "%s/", dir);
        ch_buf_add_str(&path, cases[i].path);
        ch_runtime_hide_file(&rt, ch_buf_str(&path));
        ch_buf_clear(&path); /* the path was copied */
        lists(cases[i].path, (const char *const *)rt.hidden, dir, cases[i].hidden);
        ch_runtime_release_hidden(&rt);
        assert_null(rt.hidden);
        ch_runtime_release_hidden(&rt);
    }
}

/* SQLite follows a link, and writes its other files beside the file that it finds. */
static void test_hidden_database(void **state) {
    chela_runtime rt = {0};
    ch_list_init(&rt.agents);
    ch_runtime_hide_database(&rt, "link");
    lists("link", (const char *const *)rt.hidden, *state,
          "sub/run.sh sub/run.sh-wal sub/run.sh-shm sub/run.sh-journal");
    ch_runtime_release_hidden(&rt);
}

static void test_hidden_from_agents(void **state) {
    const char *dir = *state;
    chela_runtime rt = {0};
    chela_agent present, future, early, override = {.rt = &rt};
    ch_list_init(&rt.agents);
    agent_open(&present, &rt, *state);
    agent_open(&future, &rt, *state);
    agent_open(&early, &rt, *state);
    ch_agent_hide_files(&early); /* the list is empty */
    assert_null(early.sandbox->hide);
    ch_list_add(&rt.agents, &override.link); /* uses the sandbox of another agent */
    ch_list_add(&rt.agents, &present.link);
    ch_runtime_hide_file(&rt, "tool.py");
    lists("present", present.sandbox->hide, dir, "tool.py");
    ch_runtime_hide_database(&rt, "store.db");
    ch_agent_hide_files(&future);
    static const char all[] = "tool.py store.db store.db-wal store.db-shm store.db-journal";
    lists("runtime", (const char *const *)rt.hidden, dir, all);
    lists("present", present.sandbox->hide, dir, all);
    lists("future", future.sandbox->hide, dir, all);
    assert_null(early.sandbox->hide); /* not in the runtime's list of agents */
    assert_null(override.sandbox);
    ch_runtime_release_hidden(&rt);
    lists("released", present.sandbox->hide, dir, all); /* agents have copies */
    ch_arena_release(&present.arena);
    ch_arena_release(&future.arena);
    ch_arena_release(&early.arena);
}

static void test_guarded_programs(void **state) {
    static const struct {
        const char *argv[5];
        const char *cwd; /* "": the directory; NULL: the workspace, "ws" */
        const char *asks;
    } cases[] = {
        {{"./tool.py"}, "", "tool.py"},
        {{"./tool.py"}, NULL, "ws/tool.py"},
        {{"sub/absent"}, "", "sub/absent"}, /* a path counts even if there is no file */
        {{"tool.py"}, "", ""},              /* a program of PATH, not the file beside it */
        {{"python3", "tool.py"}, "", "tool.py"},
        {{"python3", "own.py"}, NULL, "ws/own.py"},
        {{"python3", "own.py"}, "", ""},
        {{"python3", "-u", "tool.py", "data.txt"}, "", "tool.py data.txt"},
        {{"python3", "absent.py"}, "", ""},
        {{"python3", "sub/absent.py"}, "", "sub/absent.py"},
        {{"sh", "link"}, "", "sub/run.sh"}, /* sh is a program of PATH here too */
        {{"/bin/cat", "tool.py"}, "", NULL}, /* only the program */
        {{"cat", "tool.py"}, "", ""},        /* cat runs no file */
        {{"cat", "sub/run.sh"}, "", "sub/run.sh"},
        {{"cat", "linked/run.sh", "sub/../tool.py"}, "", "sub/run.sh tool.py"},
        {{"python3", "", ".", ".."}, NULL, ""}, /* folders that hold the workspace */
        {{"python3", "./", "../ws", "/"}, NULL, ""},
        {{"python3", ".", "ws", "sub"}, "", "sub"},
        {{"python3", "absent/../own.py"}, NULL, "ws/own.py"},
        {{"python3", "/absent-root/./x//y"}, NULL, "/absent-root/x/y"},
        {{"//absent-root/x/../y/"}, NULL, "/absent-root/y"},
        {{"/../absent-root"}, NULL, "/absent-root"},
    };
    const char *dir = *state;
    CH_BUF_AUTO workspace = {0};
    ch_buf_addf(&workspace, "%s/ws", dir);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char *cat = realpath("/bin/cat", NULL);
        chela_agent a;
        agent_open(&a, NULL, workspace.p);
        ch_agent_guard_program(&a, cases[i].argv, cases[i].cwd ? dir : NULL);
        lists(cases[i].argv[0], a.sandbox->ask, dir, cases[i].asks ? cases[i].asks : cat);
        assert_null(a.sandbox->hide);
        ch_arena_release(&a.arena);
        free(cat);
    }
}

/* The programs of all tools of an agent are guarded. */
static void test_guards_add_up(void **state) {
    static const char *const first[] = {"./tool.py", NULL}, *const second[] = {"sh", "link", NULL};
    chela_agent a;
    agent_open(&a, NULL, *state);
    ch_agent_guard_program(&a, first, NULL);
    ch_agent_guard_program(&a, second, NULL);
    lists("both", a.sandbox->ask, *state, "tool.py sub/run.sh");
    ch_arena_release(&a.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_files),
        cmocka_unit_test(test_hidden_database),
        cmocka_unit_test(test_hidden_from_agents),
        cmocka_unit_test(test_guarded_programs),
        cmocka_unit_test(test_guards_add_up),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
