/* test_protected.c -- what the file tools must not write although it is inside of
 * the workspace: by name, by a link, before it is there, and by replacing what
 * is above it. The sandbox protects the same against programs: test_sandbox.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/process/sandbox_policy.h"

static struct ch_sandbox_policy policy;

static void open_kit(struct kit *k) {
    kit_init(k);
    policy = (struct ch_sandbox_policy){0};
    k->opts.sandbox = &policy;
    k->opts.ask_means = CH_CONSENT_DENY; /* nobody is there to ask */
    assert_int_equal(ch_builtin_add_with(&k->registry, NULL, "group:files", NULL, NULL), 0);
}

static void expect(struct kit *k, const char *what, bool refused) {
    bool was = k->is_error && strcmp(k->error_type, "permission_denied") == 0 &&
               (strstr(k->content, "it is protected") || strstr(k->content, "it is hidden") ||
                strstr(k->content, "needs a person's consent"));

    if (was != refused || (!refused && k->is_error))
        fail_msg("%s: %s", what, k->content);
}

static void write_file(struct kit *k, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_addf(&arguments, "{\"file_path\":\"%s\",\"content\":\"evil\"}", path);
    kit_call(k, "write", ch_buf_str(&arguments));
}

static void edit_file(struct kit *k, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_addf(&arguments,
                "{\"file_path\":\"%s\",\"edits\":[{\"old_text\":\"mine\",\"new_text\":\"evil\"}]}",
                path);
    kit_call(k, "edit", ch_buf_str(&arguments));
}

static void patch(struct kit *k, const char *format, const char *path) {
    CH_BUF_AUTO arguments = {0};

    ch_buf_add_str(&arguments, "{\"input\":\"*** Begin Patch\\n");
    for (const char *p = format; *p; p++)
        if (*p == '%')
            ch_buf_add_str(&arguments, path);
        else
            ch_buf_addc(&arguments, *p);
    ch_buf_add_str(&arguments, "*** End Patch\\n\"}");
    kit_call(k, "apply_patch", ch_buf_str(&arguments));
}

static const struct {
    const char *path;
    bool refused;
} fresh[] = {
    {".git/hooks/pre-commit", true},
    {".git/hooks", true},
    {".git/config", true},
    {".git", true}, /* a file in place of what is above */
    {"./x/../.git//hooks/./y", true},
    {".env", true},
    {"chela.yaml", true},
    {".ssh/authorized_keys", true},
    {"to-git/config", true},
    {"to-git/hooks/deep/er", true},
    {"to-env", true},
    {"a/b/up/.env", true},
    {".git/HEAD", true},
    {".git/commondir", true},
    {".git/modules/lib/config", true},
    {"deep/er/.git/config", true},
    {"deep/.git", true}, /* as in a worktree or a submodule */
    {".GIT/config", true},
    {"sub/.Git/hooks/x", true},
    {".git./config", true},
    {".git /config", true},
    {"git~1/config", true},
    {".git::$INDEX_ALLOCATION/config", true},
    {".g\\u200cit/config", true},
    {".envrc", true},
    {"sub/.envrc", true},
    {".config/mise/config.toml", true},
    {"mise.local.toml", true},
    {"lefthook-local.yml", true},
    {".lefthook.toml", true},
    {"crush.json", true},
    {".amazonq/mcp.json", true},
    {".config/tmux/tmux.conf", true},
    {".config/emacs/init.el", true},
    {".sqliterc", true},
    {".ipython/profile_default/startup/a.py", true},
    {"doc/.latexmkrc", true},
    {".hgrc", true},
    {"lefthook.md", false},
    {".vscode/tasks.json", true},
    {"sub/.VSCODE/settings.json", true},
    {".bashrc", true},
    {".npmrc", true},
    {"AGENTS.md", true},
    {"sub/agents.md", true},
    {"skills/x/SKILL.md", true},
    {"skills/x/run.py", true},
    {"src/skills/run.py", false},
    {".vscode-notes", false},
    {".github/workflows/ci.yml", false},
    {"package.json", false},
    {"Makefile", false},
    {"HEAD", false},
    {"refs/heads/x", false},
    {".environment", false},
    {"sub/.env", false},
    {".gitignore", false},
    {"chela.yaml.example", false},
};

/* Before anything is there: nothing is made, not even a directory. */
static void test_absent(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(fresh); i++)
        for (int by_patch = 0; by_patch < 2; by_patch++) {
            struct kit k;
            open_kit(&k);
            kit_link(&k, ".git", "to-git");
            kit_link(&k, ".env", "to-env");
            kit_mkdir(&k, "a");
            kit_mkdir(&k, "a/b");
            kit_link(&k, "../..", "a/b/up");
            int before = kit_entries(&k, ".");
            if (by_patch)
                patch(&k, "*** Add File: %\\n+evil\\n", fresh[i].path);
            else
                write_file(&k, fresh[i].path);
            bool dangling = strncmp(fresh[i].path, "to-git/", 7) == 0;
            if (dangling && by_patch) /* a link to nothing is no directory, which comes first */
                assert_true(k.is_error);
            else
                expect(&k, fresh[i].path, fresh[i].refused);
            if (fresh[i].refused)
                assert_int_equal(kit_entries(&k, "."), before);
            CH_AUTOFREE char *hooks = kit_path(&k, ".git/hooks");
            assert_int_equal(access(hooks, F_OK), -1);
            kit_free(&k);
        }
}

static const char *const there[] = {
    ".git/config",   ".git/hooks/pre-commit", ".env",   "chela.yaml",   ".npmrc",
    "to-git/config", "to-hooks/pre-commit",   "to-env", "deep/up/.env",
};

static void check_all(struct kit *k, const char *what) {
    static const char *const files[] = {".git/config", ".git/hooks/pre-commit", ".env",
                                        "chela.yaml", ".npmrc"};

    for (size_t i = 0; i < CH_LEN(files); i++) {
        CH_AUTOFREE char *got = kit_get(k, files[i]);
        if (!got || strcmp(got, "mine\n") != 0)
            fail_msg("%s: %s is %s", what, files[i], got ? got : "gone");
    }
}

static void test_present(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    kit_mkdir(&k, ".git");
    kit_mkdir(&k, ".git/hooks");
    kit_mkdir(&k, "deep");
    kit_put(&k, ".git/config", "mine\n");
    kit_put(&k, ".git/hooks/pre-commit", "mine\n");
    kit_put(&k, ".env", "mine\n");
    kit_put(&k, "chela.yaml", "mine\n");
    kit_put(&k, ".npmrc", "mine\n");
    kit_put(&k, "other", "mine\n");
    kit_link(&k, ".git", "to-git");
    kit_link(&k, "to-git/hooks", "to-hooks");
    kit_link(&k, ".env", "to-env");
    kit_link(&k, "..", "deep/up");
    for (size_t i = 0; i < CH_LEN(there); i++) {
        const char *path = there[i];
        write_file(&k, path);
        expect(&k, path, true);
        edit_file(&k, path);
        expect(&k, path, true);
        patch(&k, "*** Update File: %\\n@@\\n-mine\\n+evil\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Delete File: %\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Update File: %\\n*** Move to: elsewhere\\n@@\\n-mine\\n+evil\\n", path);
        expect(&k, path, true);
        patch(&k, "*** Update File: other\\n*** Move to: %\\n@@\\n-mine\\n+evil\\n", path);
        assert_true(k.is_error);
        check_all(&k, path);
        CH_AUTOFREE char *other = kit_get(&k, "other"), *elsewhere = kit_get(&k, "elsewhere");
        assert_string_equal(other, "mine\n"); /* all or nothing */
        assert_null(elsewhere);
        CH_BUF_AUTO arguments = {0}; /* looking is fine */
        ch_buf_addf(&arguments, "{\"file_path\":\"%s\"}", path);
        kit_call(&k, "read", ch_buf_str(&arguments));
        assert_false(k.is_error);
    }
    kit_free(&k);
}

/* A list of the operator's takes the place of the usual one. */
static void test_own_list(void **state) {
    struct kit k;

    (void)state;
    open_kit(&k);
    CH_AUTOFREE char *absolute = kit_path(&k, "locked");
    const char *const list[] = {"vault/keys", absolute, "maybe?", "/nonexistent", NULL};
    policy.protect = list;
    write_file(&k, "vault/keys/a");
    expect(&k, "vault/keys/a", true);
    write_file(&k, "vault/other");
    expect(&k, "vault/other", false);
    write_file(&k, "locked/file");
    expect(&k, "absolute", true);
    write_file(&k, ".env");
    expect(&k, ".env", false);
    write_file(&k, "maybe");
    expect(&k, "not there", false);
    write_file(&k, "maybe");
    expect(&k, "there", true);
    kit_free(&k);
}

/* A directory that Git would take for a repository cannot be completed file by file, in any
 * order, nor be changed once it is there. */
static void test_bare_repository(void **state) {
    static const char *const whole[][4] = {
        {"b/objects/x", "b/refs/x", "b/config", "b/HEAD"},
        {"b/HEAD", "b/config", "b/objects/x", "b/refs/x"},
        {"b/refs/x", "b/HEAD", "b/config", "b/objects/x"},
        {"b/HEAD", "b/config", "b/x", "b/commondir"},
        {"b/commondir", "b/x", "b/config", "b/head"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(whole); i++) {
        struct kit k;
        open_kit(&k);
        for (size_t j = 0; j < CH_LEN(whole[i]); j++) {
            write_file(&k, whole[i][j]);
            expect(&k, whole[i][j], j == CH_LEN(whole[i]) - 1);
        }
        kit_free(&k);
    }
    struct kit k;
    open_kit(&k);
    kit_mkdir(&k, "r.git");
    kit_mkdir(&k, "r.git/objects");
    kit_mkdir(&k, "r.git/refs");
    kit_put(&k, "r.git/HEAD", "ref: refs/heads/main\n");
    kit_link(&k, "r.git", "to-r");
    write_file(&k, "r.git/config");
    expect(&k, "config", true);
    write_file(&k, "r.git/hooks/post-checkout");
    expect(&k, "hooks", true);
    write_file(&k, "to-r/refs/heads/evil");
    expect(&k, "through a link", true);
    kit_free(&k);
}

/* --- files that are hidden */

static void test_hidden(void **state) {
    struct kit k;
    static const struct {
        const char *tool, *arguments;
    } calls[] = {
        {"read", "{\"file_path\":\"chela.db\"}"},
        {"read", "{\"file_path\":\"to-db\"}"},
        {"read", "{\"file_path\":\"hard\"}"},
        {"read", "{\"file_path\":\"keys/api\"}"},
        {"grep", "{\"pattern\":\"s3cret\",\"path\":\"chela.db\"}"},
        {"ls", "{\"path\":\"keys\"}"},
        {"find", "{\"pattern\":\"*\",\"path\":\"keys\"}"},
        {"grep", "{\"pattern\":\"s3cret\",\"path\":\"keys\"}"},
        {"write", "{\"file_path\":\"chela.db\",\"content\":\"\"}"},
        {"write", "{\"file_path\":\"chela.db-wal\",\"content\":\"\"}"},
        {"write", "{\"file_path\":\"to-db\",\"content\":\"\"}"},
        {"write", "{\"file_path\":\"keys/new\",\"content\":\"\"}"},
        {"edit", "{\"file_path\":\"chela.db\","
                 "\"edits\":[{\"old_text\":\"s3cret\",\"new_text\":\"x\"}]}"},
        {"apply_patch", "{\"input\":\"*** Begin Patch\\n*** Delete File: chela.db\\n"
                        "*** End Patch\"}"},
        {"apply_patch", "{\"input\":\"*** Begin Patch\\n*** Update File: chela.db\\n"
                        "*** Move to: y\\n@@\\n-s3cret\\n+x\\n*** End Patch\"}"},
    };

    (void)state;
    open_kit(&k);
    kit_put(&k, "chela.db", "s3cret\n");
    kit_mkdir(&k, "keys");
    kit_put(&k, "keys/api", "s3cret\n");
    kit_put(&k, "other", "nothing\n");
    kit_link(&k, "chela.db", "to-db");
    CH_AUTOFREE char *db = kit_path(&k, "chela.db"), *wal = kit_path(&k, "chela.db-wal"),
                     *keys = kit_path(&k, "keys"), *hard = kit_path(&k, "hard");
    const char *const list[] = {db, wal, keys, NULL};
    policy.hide = list;
    assert_int_equal(link(db, hard), 0);
    for (size_t i = 0; i < CH_LEN(calls); i++) {
        kit_call(&k, calls[i].tool, calls[i].arguments);
        expect(&k, calls[i].arguments, true);
        CH_AUTOFREE char *now = kit_get(&k, "chela.db");
        assert_string_equal(now, "s3cret\n");
    }
    kit_call(&k, "grep", "{\"pattern\":\"s3cret\"}");
    assert_null(strstr(k.content, "chela.db:"));
    assert_null(strstr(k.content, "keys/api:"));
    kit_call(&k, "find", "{\"pattern\":\"**\"}");
    assert_null(strstr(k.content, "keys/api"));
    assert_non_null(strstr(k.content, "other"));
    kit_call(&k, "read", "{\"file_path\":\"keys/ap\"}");
    assert_null(strstr(k.content, "Similar names"));
    kit_call(&k, "read", "{\"file_path\":\"other\"}");
    assert_false(k.is_error);
    kit_free(&k);
}

/* --- files that need a question */

static int asked;
static enum chela_decision answer;
static char summary[4000];
static const char *obstacle;

static enum chela_decision on_ask(const struct ch_block *call, const struct ch_ask *ask,
                                  char **reason, void *user) {
    (void)call, (void)reason, (void)user;
    asked++;
    snprintf(summary, sizeof(summary), "%.*s", (int)ask->summary.n, ask->summary.p);
    obstacle = ask->obstacle;
    return answer;
}

static void open_asking(struct kit *k, enum ch_consent means, struct ch_memory *memory) {
    open_kit(k);
    k->ops.ask = on_ask;
    k->opts.ask_means = means;
    k->opts.memory = memory;
    asked = 0;
    answer = CHELA_DENY;
}

static void test_asked(void **state) {
    struct ch_memory memory = {0};
    struct kit k;

    (void)state;
    open_asking(&k, CH_CONSENT_ASK, &memory);
    write_file(&k, "plain");
    assert_int_equal(asked, 0);
    write_file(&k, "sub/.envrc");
    assert_int_equal(asked, 1);
    assert_true(k.is_error);
    assert_non_null(strstr(summary, "writes sub/.envrc: direnv"));
    assert_non_null(obstacle);
    assert_null(kit_get(&k, "sub/.envrc"));
    answer = CHELA_ALLOW_ONCE;
    kit_link(&k, "deep/.bashrc", "notes"); /* the question shows where the link leads */
    kit_mkdir(&k, "deep");
    write_file(&k, "notes");
    assert_int_equal(asked, 2);
    assert_false(k.is_error);
    assert_non_null(strstr(summary, "writes deep/.bashrc: a shell"));
    answer = CHELA_ALLOW_ALWAYS; /* such a file is asked about each time */
    write_file(&k, ".envrc");
    write_file(&k, ".envrc");
    assert_int_equal(asked, 4);
    write_file(&k, "AGENTS.md"); /* instructions can be remembered */
    write_file(&k, "AGENTS.md");
    assert_int_equal(asked, 5);
    assert_false(k.is_error);
    kit_free(&k);
    ch_memory_release(&memory);
}

/* Who lets everything run has allowed new instructions, but not what others execute. */
static void test_asked_in_auto(void **state) {
    struct kit k;

    (void)state;
    open_asking(&k, CH_CONSENT_AUTO, NULL);
    write_file(&k, "AGENTS.md");
    assert_false(k.is_error);
    assert_int_equal(asked, 0);
    write_file(&k, ".vscode/tasks.json");
    assert_int_equal(asked, 1);
    assert_true(k.is_error);
    patch(&k, "*** Add File: %\\n+evil\\n*** Add File: x\\n+y\\n", ".idea/workspace.xml");
    assert_int_equal(asked, 2);
    assert_true(k.is_error);
    kit_free(&k);
}

/* A rule of the user allows instructions; no rule allows what others execute. */
static void test_asked_and_rules(void **state) {
    static const char *const rules[] = {"write: file_path=AGENTS.md content=*",
                                        "write: file_path=.envrc content=*", NULL};
    struct ch_approvals *approvals;
    struct kit k;

    (void)state;
    open_asking(&k, CH_CONSENT_ASK, NULL);
    assert_int_equal(ch_approvals_new(NULL, rules, &approvals, NULL), 0);
    k.opts.approvals = approvals;
    write_file(&k, "AGENTS.md");
    assert_int_equal(asked, 0);
    assert_false(k.is_error);
    write_file(&k, ".envrc");
    assert_int_equal(asked, 1);
    assert_true(k.is_error);
    kit_free(&k);
    ch_approvals_free(approvals);
}

/* The configuration and programs of tools, wherever they are and whatever they are called. */
static void test_asked_about_own_files(void **state) {
    struct kit k;

    (void)state;
    open_asking(&k, CH_CONSENT_AUTO, NULL);
    kit_put(&k, "agent.conf", "mine\n");
    CH_AUTOFREE char *own = kit_path(&k, "agent.conf"), *program = kit_path(&k, "bin/weather"),
                     *hard = kit_path(&k, "hard");
    const char *const list[] = {own, program, NULL};
    policy.ask = list;
    write_file(&k, "agent.conf");
    assert_int_equal(asked, 1);
    write_file(&k, "bin/weather");
    assert_int_equal(asked, 2);
    assert_int_equal(link(own, hard), 0);
    edit_file(&k, "hard");
    assert_int_equal(asked, 3);
    assert_true(k.is_error);
    kit_free(&k);
}

/* Files and links that a command leaves, by name. A link may replace the directory of any
 * pattern, also of one whose other files are data. */
static void test_left_by_commands(void **state) {
    (void)state;
    static const struct {
        const char *dir, *name;
        enum ch_left_form form;
        enum ch_file_kind want;
    } cases[] = {
        {"", ".cargo", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"", ".yarn", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"", ".bundle", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"", ".hg", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"sub/deep", ".jj", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {".jj", "repo", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"", ".vscode", CH_LEFT_LINK, CH_KIND_EXECUTED},
        {"", ".hg", CH_LEFT_DIRECTORY, CH_KIND_PLAIN},
        {".hg", "hgrc", CH_LEFT_FILE, CH_KIND_EXECUTED},
        {".hg", "store", CH_LEFT_DIRECTORY, CH_KIND_PLAIN},
        {".cargo", "config.toml", CH_LEFT_FILE, CH_KIND_EXECUTED},
        {"sub", "config.toml", CH_LEFT_FILE, CH_KIND_PLAIN},
        {"", "skills", CH_LEFT_LINK, CH_KIND_INSTRUCTIONS},
        {"", "build", CH_LEFT_LINK, CH_KIND_PLAIN},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *why = NULL;
        enum ch_file_kind got =
            ch_file_kind_left(cases[i].dir, cases[i].name, cases[i].form, &why);
        if (got != cases[i].want || (got != CH_KIND_PLAIN) != (why != NULL))
            fail_msg("%s/%s: %d", cases[i].dir, cases[i].name, (int)got);
    }
}

/* Between the question and the write a link may come to lead elsewhere. */
static enum chela_decision redirect(const struct ch_block *call, const struct ch_ask *ask,
                                    char **reason, void *user) {
    struct kit *k = user;
    CH_AUTOFREE char *link = kit_path(k, "notes");

    (void)call, (void)ask, (void)reason;
    asked++;
    unlink(link);
    kit_link(k, ".bashrc", "notes");
    return CHELA_ALLOW_ONCE;
}

static void test_redirected(void **state) {
    struct kit k;

    (void)state;
    open_asking(&k, CH_CONSENT_ASK, NULL);
    k.ops.ask = redirect;
    kit_link(&k, ".envrc", "notes");
    write_file(&k, "notes");
    assert_int_equal(asked, 1);
    assert_true(k.is_error);
    assert_null(kit_get(&k, ".bashrc"));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_present),
        cmocka_unit_test(test_own_list),
        cmocka_unit_test(test_bare_repository),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_asked_in_auto),
        cmocka_unit_test(test_asked_and_rules),
        cmocka_unit_test(test_asked_about_own_files),
        cmocka_unit_test(test_redirected),
        cmocka_unit_test(test_left_by_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
