/* test_gate.c -- commands that pretend to be harmless. The operator vouches for a
 * dozen commands; everything else has to be asked about, and here nobody agrees.
 * There is no sandbox around them, so that nothing but the gate is tested.
 *
 * Each attack makes the file C. It is first made with everything allowed, where
 * it must succeed: otherwise a typing error would look like a defence. Then with
 * the rules, where a person is asked, says no, and C must be absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/call/approval.h"
#include "tool/builtin/builtin.h"
#include "tool/process/sandbox_policy.h"
#include "json/writer.h"

static const char *const rules[] = {
    "exec: echo **",
    "exec: ls *",
    "exec: cat *",
    "exec: sort *",
    "exec: uniq *",
    "exec: git status",
    "exec: git diff",
    "exec: git grep *",
    "exec: printf **",
    "exec: head -n 1 *",
    "exec: date",
    "exec: git log --oneline **",
    NULL,
};

static struct gate {
    struct kit k;
    struct ch_approvals *approvals;
    struct ch_memory memory;
    struct ch_sandbox_policy policy;
    enum chela_decision decision;
    void (*meanwhile)(void); /* after the person saw it */
    unsigned asked;
    bool can_remember;
    char summary[4096];
} g;

static enum chela_decision on_ask(const struct ch_block *call, const struct ch_ask *ask,
                                  char **reason, void *user) {
    (void)call, (void)reason, (void)user;
    g.asked++;
    g.can_remember = !ask->obstacle;
    snprintf(g.summary, sizeof(g.summary), "%.*s", CH_SV_FMT(ask->summary));
    if (g.meanwhile)
        g.meanwhile();
    return g.decision;
}

static void open_gate(void) {
    struct chela_error err = {0};

    memset(&g, 0, sizeof(g));
    kit_init(&g.k);
    g.decision = CHELA_DENY;
    g.policy.mode = CH_SANDBOX_OFF;
    g.k.opts.sandbox = &g.policy;
    g.k.ops.ask = on_ask;
    g.k.opts.memory = &g.memory;
    if (ch_builtin_add_with(&g.k.registry, NULL, "exec", NULL, &err) < 0 ||
        ch_approvals_new(NULL, rules, &g.approvals, &err) < 0)
        fail_msg("%s", err.message);
    g.k.opts.approvals = g.approvals;
    kit_put(&g.k, "in", "b\na\n");
    kit_put(&g.k, "evil.sh", "#!/bin/sh\ntouch C\ncat\n");
    CH_AUTOFREE char *evil = kit_path(&g.k, "evil.sh");
    assert_int_equal(chmod(evil, 0755), 0);
}

static void close_gate(void) {
    ch_memory_release(&g.memory);
    ch_approvals_free(g.approvals);
    kit_free(&g.k);
}

static bool take_canary(void) {
    CH_AUTOFREE char *path = kit_path(&g.k, "C");

    return unlink(path) == 0;
}

/* more: members after the command, or NULL. */
static void run(const char *command, const char *more) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "command", command);
    ch_jw_end(&w, '}');
    if (more) {
        json.n--;
        ch_buf_addf(&json, ",%s}", more);
    }
    kit_call(&g.k, "exec", ch_buf_str(&json));
}

/* --- attacks on the rules --------------------------------------------------------- */

static const struct {
    const char *command;
    const char *needs; /* a program that may be absent */
} attacks[] = {
    /* one command that is several */
    {"echo a && touch C", NULL},
    {"echo a; touch C", NULL},
    {"echo a & touch C", NULL},
    {"false || touch C", NULL},
    {"echo a\ntouch C", NULL},
    {"echo 'touch C' | sh", NULL},
    {"bash -c 'echo a |& touch C'", "bash"},
    {"(touch C)", NULL},
    {"{ touch C; }", NULL},
    {"! touch C", NULL},
    {"if touch C; then :; fi", NULL},
    {"for i in C; do touch $i; done", NULL},
    {"f() { touch C; }; f", NULL},
    /* words that are commands */
    {"echo $(touch C)", NULL},
    {"echo `touch C`", NULL},
    {"echo \"$(touch C)\"", NULL},
    {"echo \"`touch C`\"", NULL},
    {"echo ${x:-$(touch C)}", NULL},
    {"echo $((a[$(touch C)]))", "bash"},
    {"echo $\\\n(touch C)", NULL},
    {"bash -c 'cat <(touch C)'", "bash"},
    {"bash -c '{touch,C}'", "bash"},
    {"bash -c \"printf -v 'a[\\$(touch C)]' x\"", "bash"},
    {"bash -c \"test -v 'a[\\$(touch C)]'\"", "bash"},
    {"bash -c 'x=\"\\$(touch C)\"; echo ${x@P}'", "bash"},
    {"touch${IFS}C", NULL},
    {"cat << X\n$(touch C)\nX", NULL},
    {"bash -c 'cat <<< $(touch C)'", "bash"},
    {"eval 'touch C'", NULL},
    {". ./evil.sh < /dev/null", NULL},
    {"x=touch; $x C", NULL},
    {"to\"\"uch C", NULL},
    {"to'u'ch C", NULL},
    {"\\touch C", NULL},
    {"/usr/bin/tou?h C", NULL},
    {"$'touch' C || bash -c \"\\$'touch' C\"", "bash"},
    /* redirections */
    {"echo x > C", NULL},
    {"echo x >> C", NULL},
    {"echo x >| C", NULL},
    {"cat in <> C", NULL},
    {"ls 2> C", NULL},
    {"> C", NULL},
    {"echo x | tee C", NULL},
    /* options of what looks harmless */
    {"sort -o C in", NULL},
    {"sort --output=C in", NULL},
    {"sort --outp C in", NULL},
    {"sort --compress-prog=./evil.sh -S 1k in in in; touch C", NULL},
    {"uniq in C", NULL},
    {"sed -i 's/a/b/;w C' in", NULL},
    {"sed 'w C' in", NULL},
    {"sed '1e touch C' in", NULL},
    {"sed -n '1w C' in", NULL},
    {"git diff --output=C --no-index in evil.sh; true", "git"},
    {"git grep -O./evil.sh --no-index b; true", "git"},
    {"git -c alias.x='!touch C' x", "git"},
    {"find . -name in -exec touch C \\;", NULL},
    {"find . -name in -fprint C", NULL},
    {"tar cf /dev/null in --checkpoint=1 --checkpoint-action=exec='touch C'", NULL},
    {"awk 'BEGIN {system(\"touch C\")}'", "awk"},
    {"date -f in; touch C", NULL},
    /* programs that run others */
    {"env touch C", NULL},
    {"env -S 'touch C'", NULL},
    {"nice touch C", NULL},
    {"timeout 5 touch C", NULL},
    {"nohup touch C", NULL},
    {"setsid -w touch C", NULL},
    {"stdbuf -o0 touch C", NULL},
    {"echo C | xargs touch", NULL},
    {"sh -c 'touch C'", NULL},
    {"sh -c '$0 \"$@\"' touch C", NULL},
    {"sh -c \"sh -c 'touch C'\"", NULL},
    {"command touch C", NULL},
    {"exec touch C", NULL},
    {"python3 -c 'open(\"C\", \"w\")'", "python3"},
    {"perl -e 'open(F, \">C\")'", "perl"},
    {"busybox touch C", "busybox"},
    /* the environment of one command */
    {"PATH=.:$PATH evil.sh < /dev/null", NULL},
    {"BASH_ENV=./evil.sh bash -c : < /dev/null", "bash"},
    {"GIT_EXTERNAL_DIFF=./evil.sh git diff --no-index in evil.sh; true", "git"},
    {"LESSOPEN='|touch C; cat %s' less in; true", "less"},
    /* a program of the workspace that is called like a harmless one */
    {"./evil.sh < /dev/null", NULL},
};

static bool is_installed(const char *program) {
    static const char *const places[] = {"/usr/bin", "/bin", "/usr/local/bin"};

    for (size_t i = 0; program && i < CH_LEN(places); i++) {
        CH_BUF_AUTO path = {0};
        ch_buf_addf(&path, "%s/%s", places[i], program);
        if (access(ch_buf_str(&path), X_OK) == 0)
            return true;
    }
    return !program;
}

static void test_attacks(void **state) {
    unsigned made = 0, absent = 0, failed = 0;

    (void)state;
    open_gate();
    for (size_t i = 0; i < CH_LEN(attacks); i++) {
        const char *command = attacks[i].command;
        if (!is_installed(attacks[i].needs)) {
            absent++;
            continue;
        }
        kit_put(&g.k, "in", "b\na\n");
        g.k.opts.ask_means = CH_CONSENT_AUTO;
        run(command, NULL);
        if (!take_canary()) {
            print_error("%s: no attack even without a gate: %s\n", command, g.k.content);
            failed++;
        }
        g.k.opts.ask_means = CH_CONSENT_ASK;
        g.asked = 0;
        run(command, NULL);
        if (take_canary() || g.asked != 1 || !g.k.is_error ||
            strcmp(g.k.error_type, "permission_denied") != 0) {
            print_error("%s: asked %u times: %s\n", command, g.asked, g.k.content);
            failed++;
        }
        made++;
    }
    printf("# %u attacks made, %u need what is not installed\n", made, absent);
    assert_int_equal(failed, 0);
    assert_true(made > 60);
    close_gate();
}

/* What the rules are there for goes through, unasked. */
static void test_harmless(void **state) {
    static const char *const commands[] = {"echo a 'b;c' \"d && e\"",
                                           "ls in",
                                           "cat in",
                                           "sort in",
                                           "echo '$(x)'",
                                           "head -n 1 in",
                                           "date"};

    (void)state;
    open_gate();
    g.k.opts.ask_means = CH_CONSENT_ASK;
    for (size_t i = 0; i < CH_LEN(commands); i++) {
        run(commands[i], NULL);
        if (g.asked || g.k.is_error)
            fail_msg("%s: asked %u times: %s", commands[i], g.asked, g.k.content);
    }
    close_gate();
}

/* Arguments beside the command change what it does. */
static void test_other_arguments(void **state) {
    (void)state;
    open_gate();
    g.k.opts.ask_means = CH_CONSENT_ASK;
    kit_mkdir(&g.k, "sub");
    run("ls in", "\"env\":{\"X\":\"y\"}");
    assert_int_equal(g.asked, 1);
    run("date", "\"cwd\":\"sub\"");
    assert_int_equal(g.asked, 1); /* inside the workspace it is the same command */
    run("date", "\"cwd\":\"/\"");
    assert_true(g.k.is_error);
    close_gate();
}

/* The environment of the runtime does not choose what a command runs either. */
static void test_environment(void **state) {
    static const char *const names[] = {"BASH_ENV",
                                        "ENV",
                                        "PYTHONPATH",
                                        "PYTHONSTARTUP",
                                        "NODE_OPTIONS",
                                        "LESSOPEN",
                                        "GIT_EXTERNAL_DIFF",
                                        "PERL5OPT",
                                        "SHELLOPTS",
                                        "PS4",
                                        "LD_LIBRARY_PATH",
                                        "LD_AUDIT",
                                        "BASH_FUNC_ls%%",
                                        "GIT_SSH_COMMAND",
                                        "IFS"};
    (void)state;
    open_gate();
    CH_AUTOFREE char *evil = kit_path(&g.k, "evil.sh");
    for (size_t i = 0; i < CH_LEN(names); i++)
        setenv(names[i], evil, 1);
    g.k.opts.ask_means = CH_CONSENT_AUTO;
    run("bash -c : </dev/null; sh -c : </dev/null; env", NULL);
    for (size_t i = 0; i < CH_LEN(names); i++)
        unsetenv(names[i]);
    assert_false(g.k.is_error);
    assert_null(strstr(g.k.content, "evil.sh"));
    assert_false(take_canary());
    close_gate();
}

/* --- what was agreed to is what runs, with the real tool --------------------------- */

static void put_program(const char *name, const char *text) {
    CH_AUTOFREE char *path = kit_path(&g.k, name);

    kit_put(&g.k, name, text);
    assert_int_equal(chmod(path, 0755), 0);
}

static void edit(void) {
    put_program("prog", "#!/bin/sh\ntouch C\n");
}

static void replace(void) {
    CH_AUTOFREE char *old = kit_path(&g.k, "prog"), *new = kit_path(&g.k, "new");

    put_program("new", "#!/bin/sh\ntouch C\n");
    assert_int_equal(rename(new, old), 0);
}

static void link_elsewhere(void) {
    CH_AUTOFREE char *path = kit_path(&g.k, "prog");

    assert_int_equal(unlink(path), 0);
    kit_link(&g.k, "evil.sh", "prog");
}

static void swap_directory(void) {
    CH_AUTOFREE char *dir = kit_path(&g.k, "dir"), *old = kit_path(&g.k, "old");

    assert_int_equal(rename(dir, old), 0);
    kit_mkdir(&g.k, "dir");
    put_program("dir/prog", "#!/bin/sh\ntouch ../C\n");
}

static void edit_script(void) {
    kit_put(&g.k, "script", "touch C\n");
}

static void test_swapped(void **state) {
    static const struct {
        const char *what, *command, *more;
        void (*meanwhile)(void);
        bool runs;
    } cases[] = {
        {"nothing happens", "./prog", NULL, NULL, true},
        {"edited", "./prog", NULL, edit, false},
        {"replaced", "./prog", NULL, replace, false},
        {"a link now", "./prog", NULL, link_elsewhere, false},
        {"its directory", "./prog", "\"cwd\":\"dir\"", swap_directory, false},
        {"its script", "sh script", NULL, edit_script, false},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        open_gate();
        g.k.opts.ask_means = CH_CONSENT_ASK;
        g.decision = CHELA_ALLOW_ONCE;
        put_program("prog", "#!/bin/sh\necho fine\n");
        kit_mkdir(&g.k, "dir");
        put_program("dir/prog", "#!/bin/sh\necho fine\n");
        kit_put(&g.k, "script", "echo fine\n");
        g.meanwhile = cases[i].meanwhile;
        run(cases[i].command, cases[i].more);
        assert_int_equal(g.asked, 1);
        if (take_canary() || g.k.is_error == cases[i].runs)
            fail_msg("%s: %s", cases[i].what, g.k.content);
        if (!cases[i].runs)
            assert_non_null(strstr(g.k.content, "changed after it was agreed to"));
        close_gate();
    }
}

/* Always: for exactly this, and never for what runs others. */
static void test_always(void **state) {
    (void)state;
    open_gate();
    g.k.opts.ask_means = CH_CONSENT_ASK;
    g.decision = CHELA_ALLOW_ALWAYS;
    run("touch C", NULL);
    assert_true(take_canary());
    assert_true(g.can_remember);
    run("touch C", NULL);
    assert_int_equal(g.asked, 1);
    assert_true(take_canary());
    g.decision = CHELA_DENY;
    run("touch D", NULL);
    assert_int_equal(g.asked, 2);
    run("touch C", "\"cwd\":\".\",\"pty\":true");
    assert_int_equal(g.asked, 3);
    assert_false(take_canary());

    run("sh -c 'id'", NULL); /* cannot even be offered */
    assert_int_equal(g.asked, 4);
    assert_false(g.can_remember);
    run("sh -c 'touch C'", NULL);
    assert_int_equal(g.asked, 5);
    assert_false(take_canary());
    close_gate();
}

/* Nobody is there, and lists that are empty: nothing runs. */
static void test_nobody(void **state) {
    static const char *const none[] = {NULL};
    struct chela_error err = {0};

    (void)state;
    open_gate();
    g.k.opts.ask_means = CH_CONSENT_DENY;
    run("touch C", NULL);
    assert_true(g.k.is_error);
    ch_approvals_free(g.approvals);
    assert_int_equal(ch_approvals_new("", none, &g.approvals, &err), 0);
    g.k.opts.approvals = g.approvals;
    run("echo a", NULL);
    assert_true(g.k.is_error);
    run("/approve ap_1 allow-always", NULL);
    assert_string_equal(g.k.error_type, "permission_denied");
    assert_int_equal(g.asked, 0);
    assert_false(take_canary());
    close_gate();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks),         cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_other_arguments), cmocka_unit_test(test_environment),
        cmocka_unit_test(test_swapped),         cmocka_unit_test(test_always),
        cmocka_unit_test(test_nobody),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
