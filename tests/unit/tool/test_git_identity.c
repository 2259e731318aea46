/* test_git_identity.c -- the user's name and e-mail address, from the user's own files alone. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
