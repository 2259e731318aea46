/* test_git_identity.c -- the user's name and e-mail address, from the user's own files alone,
 * and the repository of a worktree or a submodule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/textfile.h"
#include "tool/process/git_identity.h"
#include "tool/process/git_outside.h"

static char home[64];

static int set_up(void **state) {
    (void)state;
    snprintf(home, sizeof(home), "/tmp/chela-identity-XXXXXX");
    unsetenv("GIT_CONFIG_GLOBAL");
    unsetenv("XDG_CONFIG_HOME");
    return mkdtemp(home) ? chdir(home) : -1;
}

static int tear_down(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", home);
    return chdir("/") || system(command);
}

/* "NAME|EMAIL" */
static const char *identity(const char *workspace) {
    static char text[300];
    CH_ARENA_AUTO arena = {0};
    struct ch_git_identity id;

    ch_git_identity(&arena, home, workspace, &id);
    snprintf(text, sizeof(text), "%s|%s", id.name ? id.name : "", id.email ? id.email : "");
    return text;
}

static void test_values(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[user]\nname = Ada\nemail=a@b\n", "Ada|a@b"},
        {"[USER]\n\tName = Ada Lovelace  ; countess\n", "Ada Lovelace|"},
        {"[user]\nname = \"Ada #1\" # comment\nemail = \"a\\\"@b\"", "Ada #1|a\"@b"},
        {"[user \"other\"]\nname = Ada\n[core]\nname = x\n", "|"},
        {"[user]\nname = Ada\n[alias]\nemail = !evil\n[user]\nname = Bea\n", "Bea|"},
        {"name = Ada\n[user\nemail = x\n", "|"},
        {"[user]\nname\nemail =\n", "|"},
        {"", "|"},
    };

    (void)state;
    assert_string_equal(identity("/w"), "|");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(".gitconfig", cases[i].text);
        assert_string_equal(identity("/w"), cases[i].want);
    }
}

static void test_files(void **state) {
    char path[100];

    (void)state;
    mkdir(".config", 0700);
    mkdir(".config/git", 0700);
    put(".config/git/config", "[user]\nname = Xdg\nemail = x@x\n");
    assert_string_equal(identity("/w"), "Xdg|x@x");
    put(".gitconfig", "[user]\nname = Home\n[include]\npath = more\n");
    put("more", "[user]\nemail = included\n[include]\npath = ~/more\n"); /* includes itself */
    assert_string_equal(identity("/w"), "Home|included");
    put(".gitconfig", "[user]\nname = Home\n[includeIf \"gitdir:~/work/\"]\npath = ~/more\n"
                      "[includeIf \"gitdir:/srv/\"]\npath = ~/srv\n"
                      "[includeIf \"onbranch:x\"]\npath = ~/srv\n");
    put("srv", "[user]\nname = Srv\n");
    snprintf(path, sizeof(path), "%s/work/project", home);
    assert_string_equal(identity(path), "Home|included");
    assert_string_equal(identity("/srv/a/b"), "Srv|x@x");
    assert_string_equal(identity("/elsewhere"), "Home|x@x");
    snprintf(path, sizeof(path), "%s/srv", home);
    setenv("GIT_CONFIG_GLOBAL", path, 1);
    assert_string_equal(identity("/w"), "Srv|");
    unsetenv("GIT_CONFIG_GLOBAL");
    setenv("XDG_CONFIG_HOME", home, 1);
    assert_string_equal(identity("/w"), "Home|");
    unsetenv("XDG_CONFIG_HOME");
}

/* --- a repository elsewhere */

static void shell(const char *command) {
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void check_outside(const char *workspace, const char *want) {
    CH_ARENA_AUTO arena = {0};
    char path[200], full[200];

    snprintf(path, sizeof(path), "%s/%s", home, workspace);
    snprintf(full, sizeof(full), "%s/%s", home, want ? want : "");
    const char *found = ch_git_outside(&arena, path);
    if (want ? !found || strcmp(found, full) != 0 : found != NULL)
        fail_msg("%s: %s", workspace, found ? found : "none");
}

#define REPOSITORY(dir) "mkdir -p " dir "/objects " dir "/refs && echo x >" dir "/HEAD\n"

static void test_outside(void **state) {
    (void)state;
    shell("set -e\n" REPOSITORY("main/.git") REPOSITORY("main/.git/modules/m")
          "mkdir -p main/.git/worktrees/w main/m main/sub w other\n"
          "echo \"gitdir: $PWD/main/.git/worktrees/w\" >w/.git\n"
          "echo \"$PWD/w/.git\" >main/.git/worktrees/w/gitdir\n"
          "echo ../.. >main/.git/worktrees/w/commondir\n"
          "echo 'gitdir: ../.git/modules/m' >main/m/.git\n"
          "printf '[core]\\n\\tbare = false\\n\\tworktree = ../../../m\\n' "
          ">main/.git/modules/m/config\n"
          "cp w/.git other/.git\n");
    check_outside("w", "main/.git");
    check_outside("main/m", "main/.git/modules/m");
    check_outside("main", NULL);     /* a directory .git */
    check_outside("main/sub", NULL); /* none */
    check_outside("other", NULL);    /* the repository names another one */
    check_outside("absent", NULL);
    shell("echo 'gitdir: ../main/.git/modules/m' >other/.git");
    check_outside("other", NULL);
    shell("rm other/.git && mkfifo other/.git");
    check_outside("other", NULL);
    shell("cd w && mv .git .git.bak && ln -s .git.bak .git && "
          "echo '../../../../w/.git' >../main/.git/worktrees/w/gitdir");
    check_outside("w", NULL); /* a link in place of the file */
    shell("cd w && rm .git && mv .git.bak .git");
    check_outside("w", "main/.git"); /* relative paths, as newer versions of Git write them */
    shell("rm -r main/.git/refs");
    check_outside("w", NULL); /* no repository */
}

/* What a command can write does not lead to a directory that it cannot read. */
static void test_outside_made_up(void **state) {
    (void)state;
    shell("set -e\n" REPOSITORY("secret") "mkdir -p secret/worktrees/w/in secret/worktrees/v\n"
          "cd secret/worktrees/w\n"
          "echo 'gitdir: in' >.git; echo \"$PWD/.git\" >in/gitdir; echo ../../.. >in/commondir\n"
          "echo \"gitdir: $PWD/../v\" >.git.v; echo \"$PWD/.git\" >../v/gitdir\n"
          "echo / >../v/commondir\n");
    check_outside("secret/worktrees/w", NULL);
    shell("cd secret/worktrees/w && mv .git.v .git");
    check_outside("secret/worktrees/w", NULL);
    shell("cd secret/worktrees/w && printf '[core]\\nworktree = .\\n' >in/config && "
          "mkdir in/objects in/refs && touch in/HEAD && rm in/gitdir && echo 'gitdir: in' >.git");
    check_outside("secret/worktrees/w", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_made_up, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
