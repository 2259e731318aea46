/* test_approval.c -- which calls are asked about, what an approval is bound to,
 * and what people are shown. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "support/toolkit.h"
#include "tool/builtin/shell/process.h"
#include "tool/call/call.h"
#include "tool/result/display.h"
#include "tool/call/retry.h"
#include "tool/call/function.h"
#include "json/writer.h"

/* --- a tool that runs commands, as far as rules can tell ------------------------ */

/* Arguments: command, cwd, env. It answers with the command instead. */
static int say_command(chela_call *call, void *user) {
    const char *command = "";

    (void)user;
    chela_arg_string_opt(call, "command", &command);
    chela_result_printf(call, "ran %s", command);
    return 0;
}

static void plan_command(chela_call *call, struct ch_plan *out) {
    const char *command = "", *cwd = NULL;

    chela_arg_string_opt(call, "command", &command);
    chela_arg_string_opt(call, "cwd", &cwd);
    out->command = ch_sv_str(command);
    out->cwd = cwd;
    out->path = chela_arg_json(call, "path") ? NULL : "/usr/bin:/bin";
    chela_arg_string_opt(call, "path", &out->path);
    out->plain = !chela_arg_json(call, "env");
}

static void add_tool(struct kit *k, const char *name, unsigned flags) {
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = name, .fn = say_command, .flags = flags | CHELA_TOOL_ON_LOOP);
    struct chela_error err = {0};

    if (ch_function_add(&k->registry, &opts, &err) < 0)
        fail_msg("%s", err.message);
}

static void add_exec(struct kit *k) {
    add_tool(k, "exec", CHELA_TOOL_RISKY);
    ch_registry_find(&k->registry, CH_SV("exec"))->plan = plan_command;
}

static struct ch_approvals *rules_of(const char *levels, const char *const *rules) {
    struct ch_approvals *a = NULL;
    struct chela_error err = {0};

    if (ch_approvals_new(levels, rules, &a, &err) < 0)
        fail_msg("%s", err.message);
    return a;
}

/* --- levels ---------------------------------------------------------------------- */

static void test_levels(void **state) {
    (void)state;
    static const struct {
        const char *levels, *tool;
        unsigned flags;
        enum ch_consent want;
    } cases[] = {
        {NULL, "read", 0, CH_CONSENT_AUTO},
        {NULL, "mine", 0, CH_CONSENT_AUTO},
        {NULL, "mine", CHELA_TOOL_RISKY, CH_CONSENT_ASK},
        {NULL, "mine", CHELA_TOOL_CONFIRM, CH_CONSENT_ASK},
        {NULL, "exec", 0, CH_CONSENT_ASK},
        {NULL, "send_email", 0, CH_CONSENT_ASK},
        {"exec=auto", "exec", CHELA_TOOL_RISKY, CH_CONSENT_AUTO},
        {"write=ask", "write", 0, CH_CONSENT_ASK},
        {"write=deny", "write", 0, CH_CONSENT_DENY},
        {" write = deny , ", "write", 0, CH_CONSENT_DENY},
        {"write=deny", "read", 0, CH_CONSENT_AUTO},
        {"group:files=ask", "edit", 0, CH_CONSENT_ASK},
        {"w*=ask", "write", 0, CH_CONSENT_ASK},
        {"*=deny,read=auto", "read", 0, CH_CONSENT_AUTO},
        {"*=deny,read=auto", "ls", 0, CH_CONSENT_DENY},
        {"*=auto,group:files=ask", "edit", 0, CH_CONSENT_ASK},
        {"group:files=ask,*=auto", "edit", 0, CH_CONSENT_ASK},
        {"read=auto,read=ask", "read", 0, CH_CONSENT_ASK},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_AUTO(ch_approvals) a = rules_of(cases[i].levels, NULL);
        struct ch_tool t = {.name = (char *)cases[i].tool, .flags = cases[i].flags};
        if (ch_approvals_level(a, &t) != cases[i].want)
            fail_msg("case %zu: %s, %s", i, cases[i].levels, cases[i].tool);
    }
}

static void test_bad_rules(void **state) {
    (void)state;
    static const struct {
        const char *levels, *rule, *want;
    } cases[] = {
        {"exec", NULL, "expected TOOL=ask, sandbox, auto or deny, not 'exec'"},
        {"exec=maybe", NULL, "expected TOOL=ask, sandbox, auto or deny, not 'exec=maybe'"},
        {"=ask", NULL, "expected TOOL=ask, sandbox, auto or deny, not '=ask'"},
        {"group:nope=ask", NULL, "there is no group:nope"},
        {NULL, "git status", "expected TOOL: PATTERN, not 'git status'"},
        {NULL, ": ls", "expected TOOL: PATTERN, not ': ls'"},
        {NULL, "e*: ls", "expected TOOL: PATTERN, not 'e*: ls'"},
        {NULL, "exec:", "rule 'exec:': the pattern holds no program"},
        {NULL, "exec: ls $HOME", "rule 'exec: ls $HOME': the pattern holds an expansion"},
        {NULL, "exec: sh -c id",
         "rule 'exec: sh -c id': this program runs others, so no rule can vouch for it"},
        {NULL, "exec: /usr/bin/env ls",
         "rule 'exec: /usr/bin/env ls': this program runs others, so no rule can vouch for it"},
        {NULL, "exec: find . -exec rm",
         "rule 'exec: find . -exec rm': this program runs others, so no rule can vouch for it"},
        {NULL, "exec: ?s", "rule 'exec: ?s': the program must be named"},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *const rules[] = {cases[i].rule, NULL};
        struct ch_approvals *a = NULL;
        struct chela_error err = {0};
        int rc = ch_approvals_new(cases[i].levels, rules, &a, &err);
        assert_int_equal(rc, CHELA_EINVAL);
        assert_string_equal(err.message, cases[i].want);
        assert_null(a);
    }
}

/* --- rules against calls ----------------------------------------------------------- */

/* Ask about nothing: what is not vouched for is denied. Did it run? */
static bool runs(struct kit *k, const char *tool, const char *arguments) {
    k->opts.ask_means = CH_CONSENT_DENY;
    kit_call(k, tool, arguments);
    return !k->is_error;
}

static void write_call(struct ch_buf *out, const char *command, const char *path) {
    struct ch_jw w = ch_jw(out);

    ch_buf_clear(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "command", command);
    ch_jw_kcstr(&w, "path", path);
    ch_jw_end(&w, '}');
}

/* An executable file. */
static void put_program(struct kit *k, const char *path) {
    CH_AUTOFREE char *file = kit_path(k, path);

    kit_put(k, path, "#!/bin/sh\n");
    assert_int_equal(chmod(file, 0755), 0);
}

static void test_command_rules(void **state) {
    (void)state;
    static const char *const rules[] = {"exec: git status",
                                        "exec: git log --oneline **",
                                        "exec: ls *",
                                        "exec: /bin/cat 'a b'",
                                        "exec: wc -l *.txt",
                                        "other: a=1",
                                        NULL};
    static const struct {
        const char *command;
        bool runs;
    } cases[] = {
        {"git status", true},
        {"  git   'status'", true},
        {"git status -s", false},
        {"git", false},
        {"git log --oneline", true},
        {"git log --oneline a b c", true},
        {"git log --oneline --output=x", false},
        {"git log --oneline -- x", false},
        {"git log --oneline ''", true},
        {"ls sub", true},
        {"ls", false},
        {"ls -l", false},
        {"ls a b", false},
        {"cat 'a b'", true},
        {"cat a b", false},
        {"wc -l notes.txt", true},
        {"wc -l notes.c", false},
        {"wc -c notes.txt", false},
        /* 2.1: none of these may pass for one of the above */
        {"git status && touch C", false},
        {"git status; touch C", false},
        {"git status\ntouch C", false},
        {"git status | sh", false},
        {"git status & touch C", false},
        {"git status $(touch C)", false},
        {"git log --oneline `touch C`", false},
        {"git log --oneline \"$(touch C)\"", false},
        {"ls $(touch C)", false},
        {"ls {a,b}", false},
        {"ls > C", false},
        {"ls *", false},
        {"GIT_EXTERNAL_DIFF=x git status", false},
        {"env git status", false},
        {"sudo git status", false},
        {"sh -c 'git status'", false},
        {"command git status", false},
        {"./git status", false},
        {"sub/git status", false},
        {"git -c alias.status='!touch C' status", false},
        {"rm -rf x", false},
    };
    CH_AUTO(ch_approvals) a = rules_of(NULL, rules);
    struct kit k;

    kit_init(&k);
    add_exec(&k);
    kit_mkdir(&k, "sub");
    kit_mkdir(&k, "../bin");
    put_program(&k, "git");
    put_program(&k, "sub/git");
    put_program(&k, "../bin/git");
    CH_AUTOFREE char *bin = kit_path(&k, "../bin");
    CH_BUF_AUTO path = {0}, json = {0}, other = {0};
    ch_buf_addf(&path, "%s:/usr/bin:/bin", bin);
    k.opts.approvals = a;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        write_call(&json, cases[i].command, ch_buf_str(&path));
        if (runs(&k, "exec", ch_buf_str(&json)) != cases[i].runs)
            fail_msg("%s: %s", cases[i].command, k.content);
    }
    ch_buf_addf(&other, "%s/git status", bin);
    write_call(&json, ch_buf_str(&other), ch_buf_str(&path));
    assert_true(runs(&k, "exec", ch_buf_str(&json)));

    /* what else the call says must be harmless too */
    assert_false(runs(&k, "exec", "{\"command\":\"ls sub\",\"env\":{\"X\":\"1\"}}"));
    assert_false(runs(&k, "exec", "{\"command\":\"ls sub\",\"cwd\":\"/\"}"));
    ch_buf_clear(&json);
    ch_buf_addf(&json, "{\"command\":\"ls sub\",\"cwd\":\"%s/sub\"}", k.workspace);
    assert_true(runs(&k, "exec", ch_buf_str(&json)));
    write_call(&json, "git status", k.workspace); /* a git of the workspace's own */
    assert_false(runs(&k, "exec", ch_buf_str(&json)));
    kit_free(&k);
}

/* Commands that a grant lets run outside of the full sandbox, and commands that no grant covers. */
static void test_grants(void **state) {
    (void)state;
    static const char *const patterns[] = {"git:*", "ls sub", "wc -l *", "cat not*", NULL};
    static const struct {
        const char *command;
        bool runs;
    } cases[] = {
        {"git", true},
        {"git log --oneline -3", true},
        {"git 'commit' -m 'a b'", true},
        {"ls sub", true},
        {"ls", false},
        {"ls sub -l", false},
        {"wc -l notes.txt -c", true},
        {"wc -c notes.txt", false},
        {"cat notes.txt -n", true},
        {"cat sub/notes.txt", false},
        {"gitk", false},
        {"git log; touch C", false},
        {"git log | sh", false},
        {"git log > C", false},
        {"git log $(touch C)", false},
        {"X=1 git log", false},
        {"env git log", false},
        {"sub/git log", false},
        {"rm -rf x", false},
    };
    CH_AUTO(ch_approvals) a = rules_of(NULL, NULL);
    struct kit k;

    for (const char *const *p = patterns; *p; p++)
        assert_int_equal(ch_approvals_grant(a, CH_SV("exec"), ch_sv_str(*p)), 0);
    assert_int_equal(ch_approvals_grant(a, CH_SV("exec"), CH_SV("a | b")), CHELA_EINVAL);
    assert_int_equal(ch_approvals_grant(a, CH_SV("exec"), CH_SV("g*t x")), CHELA_EINVAL);
    assert_int_equal(ch_approvals_grant(a, CH_SV("write"), CH_SV("a:*")), CHELA_EINVAL);
    kit_init(&k);
    add_exec(&k);
    add_tool(&k, "mail", CHELA_TOOL_CONFIRM);
    kit_mkdir(&k, "sub");
    kit_mkdir(&k, "../bin");
    put_program(&k, "sub/git");
    put_program(&k, "../bin/git");
    CH_AUTOFREE char *bin = kit_path(&k, "../bin");
    CH_BUF_AUTO path = {0}, json = {0};
    ch_buf_addf(&path, "%s:/usr/bin:/bin", bin);
    k.opts.granted = a;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        write_call(&json, cases[i].command, ch_buf_str(&path));
        if (runs(&k, "exec", ch_buf_str(&json)) != cases[i].runs)
            fail_msg("%s: %s", cases[i].command, k.content);
    }
    assert_false(runs(&k, "exec", "{\"command\":\"ls sub\",\"env\":{\"X\":\"1\"}}"));
    assert_false(runs(&k, "exec", "{\"command\":\"ls sub\",\"cwd\":\"/\"}"));

    /* other tools, and levels above a grant */
    assert_false(runs(&k, "mail", "{}"));
    assert_int_equal(ch_approvals_grant(a, CH_SV("mail"), CH_SV("")), 0);
    assert_true(runs(&k, "mail", "{}"));
    CH_AUTO(ch_approvals) denied = rules_of("mail=deny", NULL);
    k.opts.approvals = denied;
    assert_false(runs(&k, "mail", "{}"));
    k.opts.approvals = NULL;
    ch_approvals_revoke(a);
    assert_false(runs(&k, "mail", "{}"));
    kit_free(&k);
}

/* A rule does not cover the commands that a repository's configuration names. */
static void test_git_config(void **state) {
    (void)state;
    static const char *const rules[] = {"exec: git diff", NULL};
    static const struct {
        const char *file, *text;
        bool runs;
    } cases[] = {
        {"config", "", true},
        {"config", "[remote \"o\"]\n\turl = https://x/alias-filter\n", true},
        {"config", "[remote \"o\"]\n\tgh-resolved = base\n", true},
        {"config", "[core]\n\thooksPath = .husky\n", true},
        {"config", "[diff \"x\"] command = touch C\n", false},
        {"config", "[diff \"x\"]\n\ttextconv = touch C\n", false},
        {"config", "[diff]\n\texternal = touch C\n", false},
        {"config", "[filter \"x\"]\n\tclean = touch C\n", false},
        {"config", "[gpg]\n\tProgram = touch C\n", false},
        {"config", "[merge \"x\"]\n\tdriver = touch C\n", false},
        {"config", "[include]\n\tpath = ../x\n", false},
        {"config", "[alias]\n\tdiff = !touch C\n", false},
        {"config.worktree", "[diff \"x\"]\n\tcommand = touch C\n", false},
        {"commondir", "../elsewhere\n", false},
    };
    CH_AUTO(ch_approvals) a = rules_of(NULL, rules);

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct kit k;
        CH_BUF_AUTO path = {0}, json = {0}, file = {0};
        kit_init(&k);
        add_exec(&k);
        kit_mkdir(&k, "../bin");
        put_program(&k, "../bin/git");
        kit_mkdir(&k, ".git");
        ch_buf_addf(&file, ".git/%s", cases[i].file);
        kit_put(&k, ch_buf_str(&file), cases[i].text);
        CH_AUTOFREE char *bin = kit_path(&k, "../bin");
        ch_buf_addf(&path, "%s:/usr/bin:/bin", bin);
        write_call(&json, "git diff", ch_buf_str(&path));
        k.opts.approvals = a;
        if (runs(&k, "exec", ch_buf_str(&json)) != cases[i].runs)
            fail_msg("%s: %s: %s", cases[i].file, cases[i].text, k.content);
        kit_free(&k);
    }
}

/* A file with the directories above it. */
static void put_below(struct kit *k, const char *dir, const char *name, const char *text) {
    CH_BUF_AUTO path = {0};
    const char *leaf;
    int at = open(k->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ch_buf_addf(&path, "%s/%s", dir, name);
    int parent = ch_file_open_parent(at, ch_buf_str(&path), 0755, &leaf);
    assert_true(parent >= 0);
    close(parent);
    close(at);
    kit_put(k, ch_buf_str(&path), text);
}

/* Git runs itself in submodules, which have configurations of their own. */
static void test_git_submodules(void **state) {
    (void)state;
    static const char *const rules[] = {"exec: git status", NULL};
    static const char index[] = "DIRC\0\0\0\2 an entry \0\0\xe0\0 of a submodule";
    static const char names[] = "[core]\n\tworktree = x\n[filter \"x\"]\n\tclean = touch C\n";
    static const char plain[] = "[core]\n\tworktree = x\n";
    static const struct {
        bool in_index;
        const char *dir, *config;
        bool runs;
    } cases[] = {
        {true, "sub/.git", names, false},
        {true, "sub/.git", plain, true},
        {false, "sub/.git", names, true}, /* a repository of its own */
        {true, ".git/modules/sub", names, false},
        {false, ".git/modules/sub", names, false}, /* "git checkout" makes it a submodule */
        {true, ".git/modules/sub", plain, true},
        {false, ".git/modules/objects", names, false},
        {false, ".git/modules/x/info", names, false},
    };
    CH_AUTO(ch_approvals) a = rules_of(NULL, rules);

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        static const char *const parts[] = {"HEAD", "objects/x", "refs/x"};
        struct kit k;
        CH_BUF_AUTO path = {0}, json = {0};
        kit_init(&k);
        add_exec(&k);
        kit_mkdir(&k, "../bin");
        put_program(&k, "../bin/git");
        put_below(&k, ".git", "config", plain);
        kit_put_bytes(&k, ".git/index", index, cases[i].in_index ? sizeof(index) : 18);
        for (size_t n = 0; n < CH_LEN(parts); n++)
            put_below(&k, cases[i].dir, parts[n], "");
        put_below(&k, cases[i].dir, "config", cases[i].config);
        CH_AUTOFREE char *bin = kit_path(&k, "../bin");
        ch_buf_addf(&path, "%s:/usr/bin:/bin", bin);
        write_call(&json, "git status", ch_buf_str(&path));
        k.opts.approvals = a;
        if (runs(&k, "exec", ch_buf_str(&json)) != cases[i].runs)
            fail_msg("%zu: %s: %s", i, cases[i].dir, k.content);
        kit_free(&k);
    }
}

static void test_argument_rules(void **state) {
    (void)state;
    static const char *const rules[] = {"fetch: url=https://docs.example.com/*",
                                        "fetch: url=https://a.example/ n=5", "fetch: x=-1", NULL};
    static const struct {
        const char *arguments;
        bool runs;
    } cases[] = {
        {"{\"url\":\"https://docs.example.com/a/b\"}", true},
        {"{ \"url\" : \"https:\\/\\/docs.example.com/\" }", true},
        {"{\"url\":\"https://docs.example.com.evil/\"}", false},
        {"{\"url\":\"https://evil/?https://docs.example.com/\"}", false},
        {"{\"url\":\"https://docs.example.com/\",\"method\":\"POST\"}", false},
        {"{\"url\":\"https://a.example/\",\"n\":5}", true},
        {"{\"n\":5,\"url\":\"https://a.example/\"}", true},
        {"{\"url\":\"https://a.example/\",\"n\":6}", false},
        {"{\"url\":\"https://a.example/\"}", false},
        {"{\"url\":\"https://docs.example.com/\",\"url\":\"https://evil/\"}", false},
        {"{\"url\":[\"https://docs.example.com/\"]}", false},
        {"{\"url\":\"https://docs.example.com/\\u0000\"}", false},
        {"{}", false},
    };
    CH_AUTO(ch_approvals) a = rules_of("fetch=ask", rules);
    struct kit k;

    kit_init(&k);
    add_tool(&k, "fetch", 0);
    k.opts.approvals = a;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (runs(&k, "fetch", cases[i].arguments) != cases[i].runs)
            fail_msg("%s: %s", cases[i].arguments, k.content);
    kit_free(&k);
}

/* Looking at what runs needs no asking; typing into it does. */
static void test_process(void **state) {
    (void)state;
    CH_AUTO(ch_approvals) none = rules_of(NULL, NULL);
    CH_AUTO(ch_approvals) strict = rules_of("group:runtime=ask", NULL);
    struct kit k;

    kit_init(&k);
    add_tool(&k, "process", 0);
    k.opts.approvals = none;
    assert_false(runs(&k, "process", "{\"action\":\"list\"}")); /* a host's own */
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(.name = "process");
    struct ch_registry real = {0};
    assert_int_equal(ch_process_add(&real, &opts, NULL), 0);
    ch_registry_find(&k.registry, CH_SV("process"))->only_looks = real.tools[0]->only_looks;
    assert_true(runs(&k, "process", "{\"action\":\"list\"}"));
    assert_true(runs(&k, "process", "{\"action\":\"poll\",\"id\":\"p1\"}"));
    assert_true(runs(&k, "process", "{\"action\":\"kill\",\"id\":\"p1\"}"));
    assert_false(runs(&k, "process", "{\"action\":\"write\",\"data\":\"rm x\"}"));
    assert_false(runs(&k, "process", "{\"action\":[\"list\"]}"));
    assert_false(runs(&k, "process", "{}"));
    k.opts.approvals = strict;
    assert_false(runs(&k, "process", "{\"action\":\"list\"}"));
    ch_registry_release(&real);
    kit_free(&k);
}

/* --- bound to what was shown --------------------------------------------------------- */

struct desk {
    struct kit kit;
    struct ch_memory memory;
    enum chela_decision decision; /* what a person says */
    const char *reason;
    void (*meanwhile)(struct desk *d); /* happens after they saw it */
    unsigned asked;
    char approval_id[64];
    char *summary; /* owned */
    const char *obstacle;
};

static enum chela_decision on_ask(const struct ch_block *call, const struct ch_ask *ask,
                                  char **reason, void *user) {
    struct desk *d = CH_CONTAINER((struct kit *)user, struct desk, kit);

    (void)call;
    d->asked++;
    snprintf(d->approval_id, sizeof(d->approval_id), "%s", ask->approval_id);
    ch_free(d->summary);
    d->summary = ch_strndup(ask->summary.p, ask->summary.n);
    d->obstacle = ask->obstacle;
    if (d->meanwhile)
        d->meanwhile(d);
    *reason = d->reason ? ch_strdup(d->reason) : NULL;
    return d->decision;
}

/* A workspace with a program in bin/ that PATH leads to, and room before it. */
static void open_desk(struct desk *d) {
    *d = (struct desk){.decision = CHELA_ALLOW_ONCE};
    kit_init(&d->kit);
    add_exec(&d->kit);
    add_tool(&d->kit, "mail", CHELA_TOOL_CONFIRM);
    d->kit.ops.ask = on_ask;
    d->kit.opts.ask_means = CH_CONSENT_ASK;
    d->kit.opts.memory = &d->memory;
    kit_mkdir(&d->kit, "../first");
    kit_mkdir(&d->kit, "../bin");
    kit_mkdir(&d->kit, "here");
    kit_mkdir(&d->kit, "there");
    kit_link(&d->kit, "here", "cwd");
    kit_put(&d->kit, "../bin/prog", "#!/bin/sh\necho one\n");
    kit_put(&d->kit, "here/script", "echo one\n");
    kit_put(&d->kit, "there/script", "echo one\n");
    CH_AUTOFREE char *prog = kit_path(&d->kit, "../bin/prog");
    assert_int_equal(chmod(prog, 0755), 0);
}

static void close_desk(struct desk *d) {
    ch_memory_release(&d->memory);
    ch_free(d->summary);
    kit_free(&d->kit);
}

/* Call exec; true when the command was reached. */
static bool exec(struct desk *d, const char *command) {
    CH_BUF_AUTO json = {0};
    CH_AUTOFREE char *first = kit_path(&d->kit, "../first"), *bin = kit_path(&d->kit, "../bin");

    ch_buf_addf(&json, "{\"command\":\"%s\",\"cwd\":\"%s/cwd\",\"path\":\"%s:%s:/usr/bin:/bin\"}",
                command, d->kit.workspace, first, bin);
    kit_call(&d->kit, "exec", ch_buf_str(&json));
    return !d->kit.is_error;
}

static void edit_program(struct desk *d) {
    kit_put(&d->kit, "../bin/prog", "#!/bin/sh\necho two\n");
}

static void edit_program_in_place(struct desk *d) {
    CH_AUTOFREE char *path = kit_path(&d->kit, "../bin/prog");
    struct stat st;
    int fd = open(path, O_WRONLY);

    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, "evil", 4, 15), 4);
    struct timespec times[2] = {st.st_atim, st.st_mtim}; /* and cover the tracks */
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void swap_program(struct desk *d) {
    CH_AUTOFREE char *old = kit_path(&d->kit, "../bin/prog"),
                     *new = kit_path(&d->kit, "../bin/new");

    kit_put(&d->kit, "../bin/new", "#!/bin/sh\necho two\n");
    assert_int_equal(chmod(new, 0755), 0);
    assert_int_equal(rename(new, old), 0);
}

static void shadow_program(struct desk *d) {
    CH_AUTOFREE char *path = kit_path(&d->kit, "../first/prog");

    kit_put(&d->kit, "../first/prog", "#!/bin/sh\necho two\n");
    assert_int_equal(chmod(path, 0755), 0);
}

static void swap_cwd(struct desk *d) {
    CH_AUTOFREE char *path = kit_path(&d->kit, "cwd");

    assert_int_equal(unlink(path), 0);
    kit_link(&d->kit, "there", "cwd");
}

static void edit_script(struct desk *d) {
    kit_put(&d->kit, "here/script", "touch C\n");
}

static void touch_other(struct desk *d) {
    kit_put(&d->kit, "here/other", "not part of it\n");
}

static void remove_program(struct desk *d) {
    CH_AUTOFREE char *path = kit_path(&d->kit, "../bin/prog");

    assert_int_equal(unlink(path), 0);
}

static void test_what_is_approved_is_what_runs(void **state) {
    (void)state;
    static const struct {
        const char *name, *command;
        void (*meanwhile)(struct desk *d);
        bool runs;
    } cases[] = {
        {"nothing happens", "prog a", NULL, true},
        {"something else", "prog a", touch_other, true},
        {"program edited", "prog a", edit_program, false},
        {"program edited in place", "prog a", edit_program_in_place, false},
        {"program replaced", "prog a", swap_program, false},
        {"another before it in PATH", "prog a", shadow_program, false},
        {"directory swapped", "prog a", swap_cwd, false},
        {"script edited", "sh script", edit_script, false},
        {"program gone", "prog a", remove_program, false},
        {"directory swapped, no plain command", "prog a | prog b", swap_cwd, false},
        {"no plain command", "prog a | prog b", NULL, true},
        {"a script that a shell sources", ". ./script", edit_script, false},
        {"a script in a pipe", "cat script | sh", edit_script, false},
        {"a script as the input", "sh < script", edit_script, false},
        {"a script after another command", "true && sh script", edit_script, false},
        {"a file that no word names", "true && true", edit_script, true},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct desk d;
        open_desk(&d);
        d.meanwhile = cases[i].meanwhile;
        if (exec(&d, cases[i].command) != cases[i].runs)
            fail_msg("%s: %s", cases[i].name, d.kit.content);
        assert_int_equal(d.asked, 1);
        if (!cases[i].runs) {
            assert_string_equal(d.kit.error_type, "permission_denied");
            assert_non_null(strstr(d.kit.content, "was changed after it was agreed to"));
            assert_int_equal(ch_batch_totals(d.kit.batch).ran, 0);
            assert_int_equal(ch_batch_totals(d.kit.batch).denied, 1);
        }
        close_desk(&d);
    }
}

static int say_path(chela_call *call, void *user) {
    const char *path = "";

    (void)user;
    chela_arg_string_opt(call, "path", &path);
    chela_result_printf(call, "wrote %s", path);
    return 0;
}

static void use_path(chela_call *call, void *user) {
    const char *path = "";

    (void)user;
    chela_arg_string_opt(call, "path", &path);
    ch_use_path(call, path, CHELA_USE_ALONE);
}

/* A person is asked because of a file, and names another one that needs no question. */
static void test_edited_to_need_no_approval(void **state) {
    (void)state;
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(
        .name = "put", .fn = say_path, .flags = CHELA_TOOL_ON_LOOP, .resources = use_path);
    struct desk d;

    open_desk(&d);
    assert_int_equal(ch_function_add(&d.kit.registry, &opts, NULL), 0);
    d.decision = CHELA_EDIT;
    d.reason = "{\"path\":\"notes.txt\"}";
    kit_call(&d.kit, "put", "{\"path\":\".bashrc\"}");
    assert_int_equal(d.asked, 1);
    assert_false(d.kit.is_error);
    assert_non_null(strstr(d.kit.content, "wrote notes.txt"));
    close_desk(&d);
}

static void test_always_for_exactly_this(void **state) {
    (void)state;
    struct desk d;

    open_desk(&d);
    d.decision = CHELA_ALLOW_ALWAYS;
    assert_true(exec(&d, "prog a"));
    assert_int_equal(d.asked, 1);
    assert_true(exec(&d, "prog a"));
    assert_int_equal(d.asked, 1);
    assert_true(exec(&d, "prog b"));
    assert_int_equal(d.asked, 2);
    edit_program(&d); /* not the same any more */
    assert_true(exec(&d, "prog a"));
    assert_int_equal(d.asked, 3);

    kit_call(&d.kit, "mail", "{\"to\":\"a\",\"n\":1}");
    assert_int_equal(d.asked, 4);
    kit_call(&d.kit, "mail", "{ \"n\": 1, \"to\": \"a\" }");
    assert_int_equal(d.asked, 4);
    kit_call(&d.kit, "mail", "{\"to\":\"b\",\"n\":1}");
    assert_int_equal(d.asked, 5);
    kit_call(&d.kit, "mail", "{\"to\":\"a\",\"n\":1,\"cc\":null}");
    assert_int_equal(d.asked, 6);
    close_desk(&d);
}

/* What they would run is not in the command, so nothing is remembered. */
static void test_never_remembered(void **state) {
    (void)state;
    static const char *const commands[] = {
        "sh -c id",     "bash script",     "python3 x.py", "env prog a",
        "prog a; id",   "prog a && id",    "prog $(id)",   "prog a > x",
        "find . -exec", "no-such-program", "xargs prog",   "sudo prog a",
    };
    struct desk d;
    struct chela_error err = {0};

    open_desk(&d);
    d.decision = CHELA_ALLOW_ALWAYS;
    for (unsigned i = 0; i < CH_LEN(commands); i++) {
        assert_true(exec(&d, commands[i]));
        assert_non_null(d.obstacle);
        assert_true(exec(&d, commands[i]));
        assert_int_equal(d.asked, 2 * (i + 1));
    }
    assert_int_equal(d.memory.n, 0);

    static const struct kit_call call = {"c", "exec", "{\"command\":\"sh -c id\"}", 0};
    d.decision = CHELA_UNDECIDED;
    kit_start(&d.kit, &call, 1);
    kit_wait(&d.kit);
    assert_int_equal(d.kit.waiting, 1);
    assert_int_equal(
        ch_batch_approve(d.kit.batch, ch_sv_str(d.approval_id), CHELA_ALLOW_ALWAYS, NULL, &err),
        CHELA_EPERM);
    assert_string_equal(err.message,
                        "this call cannot be allowed always: it uses a program that runs others");
    close_desk(&d);
}

static void test_memory_is_bounded(void **state) {
    (void)state;
    struct ch_memory m = {0};
    unsigned char digest[CH_SHA256_SIZE] = {0}, first[CH_SHA256_SIZE] = {0};

    assert_false(ch_memory_has(&m, digest));
    assert_false(ch_memory_has(NULL, digest));
    for (unsigned i = 0; i < CH_LIMIT_REMEMBERED; i++) {
        memcpy(digest, &i, sizeof(i));
        ch_memory_add(&m, digest);
    }
    assert_true(ch_memory_has(&m, first) && ch_memory_has(&m, digest));
    digest[31] = 1;
    ch_memory_add(&m, digest);
    assert_false(ch_memory_has(&m, first));
    assert_true(ch_memory_has(&m, digest));
    ch_memory_release(&m);
}

static void test_denied(void **state) {
    (void)state;
    struct desk d;

    open_desk(&d);
    d.decision = CHELA_DENY;
    d.reason = "wrong branch";
    assert_false(exec(&d, "prog a"));
    assert_string_equal(d.kit.error_type, "permission_denied");
    assert_non_null(strstr(d.kit.content, "so it was not made: wrong branch. Do not make"));
    d.reason = NULL;
    assert_false(exec(&d, "prog a"));
    assert_non_null(strstr(d.kit.content, "so it was not made. Do not make"));
    d.kit.opts.ask_means = CH_CONSENT_DENY;
    assert_false(exec(&d, "prog a"));
    assert_non_null(strstr(d.kit.content, "nobody can be asked here"));
    assert_int_equal(d.asked, 2);
    struct ch_batch_totals t = ch_batch_totals(d.kit.batch);
    assert_true(t.denied == 1 && t.errors == 0 && t.ran == 0 && t.trailing_errors == 0);
    assert_int_equal(d.kit.results->blocks[0].flags, CH_F_ERROR | CH_F_DENIED);
    d.kit.opts.ask_means = CH_CONSENT_AUTO;
    assert_true(exec(&d, "prog a"));
    CH_AUTO(ch_approvals) a = rules_of("exec=deny", NULL);
    d.kit.opts.approvals = a;
    assert_false(exec(&d, "prog a"));
    assert_non_null(strstr(d.kit.content, "The rules here deny this tool"));
    close_desk(&d);
}

/* --- what people see ---------------------------------------------------------------- */

static void test_display(void **state) {
    (void)state;
    static const struct {
        const char *text, *line, *lines;
    } cases[] = {
        {"plain 文件 é", "plain 文件 é", "plain 文件 é"},
        {"\x1b[2Kx", "<U+001B>[2Kx", "<U+001B>[2Kx"},
        {"a\tb\r", "a<U+0009>b<U+000D>", "a<U+0009>b<U+000D>"},
        {"a\nb", "a<U+000A>b", "a\n    b"},
        {"\xc2\x9b"
         "31m",
         "<U+009B>31m", "<U+009B>31m"},
        {"rm \xe2\x80\xae"
         "txt",
         "rm <U+202E>txt", "rm <U+202E>txt"},
        {"a\xe2\x80\x8b"
         "b",
         "a<U+200B>b", "a<U+200B>b"},
        {"a\xc2\xa0"
         "b",
         "a<U+00A0>b", "a<U+00A0>b"},
        {"\xf3\xa0\x81\x81", "<U+E0041>", "<U+E0041>"},
        {"\xef\xbb\xbf", "<U+FEFF>", "<U+FEFF>"},
        {"\xff\xc0", "<0xFF><0xC0>", "<0xFF><0xC0>"},
        {"<U+202E>", "<U+003C>U+202E>", "<U+003C>U+202E>"},
        {"<0xFF>", "<U+003C>0xFF>", "<U+003C>0xFF>"},
        {"a < b", "a < b", "a < b"},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO line = {0}, lines = {0};
        ch_display_add(&line, ch_sv_str(cases[i].text), CH_DISPLAY_LINE);
        ch_display_add(&lines, ch_sv_str(cases[i].text), CH_DISPLAY_TEXT);
        assert_string_equal(ch_buf_str(&line), cases[i].line);
        assert_string_equal(ch_buf_str(&lines), cases[i].lines);
    }
}

static void test_summary(void **state) {
    (void)state;
    CH_BUF_AUTO command = {0}, want = {0};
    struct desk d;

    open_desk(&d);
    exec(&d, "prog a\\u001b[2K");
    CH_AUTOFREE char *prog = kit_path(&d.kit, "../bin/prog"), *here = kit_path(&d.kit, "here");
    ch_buf_addf(&want, "exec: prog a<U+001B>[2K\n  directory: %s", here);
    assert_string_equal(d.summary, ch_buf_str(&want)); /* no plain command: no program */

    exec(&d, "prog a");
    ch_buf_clear(&want);
    ch_buf_addf(
        &want,
        "exec: prog a\n  program: %s\n  directory: %s\n  always: this program, unchanged, "
        "with these arguments in this directory; it reads the files that its arguments name",
        prog, here);
    assert_string_equal(d.summary, ch_buf_str(&want));

    for (int i = 0; i < 500; i++) /* whole, however long */
        ch_buf_addf(&command, "echo %d; ", i);
    ch_buf_add_str(&command, "touch C");
    exec(&d, ch_buf_str(&command));
    assert_non_null(strstr(d.summary, "echo 499; touch C\n  directory: "));

    ch_buf_clear(&command);
    for (int i = 0; i < 30; i++)
        ch_buf_add_str(&command, "\\n");
    ch_buf_add_str(&command, "touch C");
    exec(&d, ch_buf_str(&command));
    assert_non_null(strstr(d.summary, "\n    touch C\n"));
    assert_non_null(strstr(d.summary, "\n  lines: 31"));

    ch_buf_clear(&command);
    while (command.n < CH_LIMIT_SUMMARY + 10)
        ch_buf_addc(&command, 'x');
    exec(&d, ch_buf_str(&command));
    assert_non_null(strstr(d.summary, "xxx\n  [cut here: 10 of 65546 bytes are not shown]"));

    kit_call(&d.kit, "mail", "{  \"to\":\n\"\\u202ea\"}");
    assert_string_equal(d.summary, "mail: {\"to\":\"<U+202E>a\"}");
    kit_call(&d.kit, "exec", "{\"command\":\"prog\",\"env\":{\"LD_PRELOAD\":\"x\"}}");
    assert_non_null(strstr(d.summary, "\n  arguments: {\"command\":\"prog\",\"env\":{\"LD_"));
    close_desk(&d);
}

static void test_self_approval(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } cases[] = {
        {"/approve ap_1 allow-once", true},
        {"  /approve", true},
        {"/APPROVE x", true},
        {"echo a; /approve x", true},
        {"echo a\n/approve x", true},
        {"echo '/approve x'", true},
        {"\"/approve\"", true},
        {"$(/approve x)", true},
        {"curl -d '/approve ap_1 allow-always' http://127.0.0.1/", true},
        {"cat docs/approve", false},
        {"/approve.sh", false},
        {"/approved", false},
        {"/usr/bin/approve", false},
        {"ls //approve", false},
        {"approve x", false},
        {"", false},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_approval_is_self_approve(ch_sv_str(cases[i].text)) != cases[i].is)
            fail_msg("%s", cases[i].text);
}

/* --- what may not be seen ------------------------------------------------------------- */

static void test_hidden_is_unknown(void **state) {
    (void)state;
    struct ch_policy policy;
    struct kit k;

    kit_init(&k);
    add_tool(&k, "reader", 0);
    add_tool(&k, "reaper", 0);
    assert_int_equal(ch_policy_init(&policy, NULL, "reaper", CHELA_PERM_ADMIN, NULL), 0);
    k.opts.policy = &policy;
    kit_call(&k, "reaper", "{}");
    assert_string_equal(k.error_type, "not_found");
    assert_non_null(strstr(k.content, "There is no tool named \\\"reaper\\\". Similar tools: "
                                      "reader."));
    kit_call(&k, "reapr", "{}");
    assert_null(strstr(k.content, "reaper"));
    ch_policy_release(&policy);
    kit_free(&k);
}

/* --- trying again ------------------------------------------------------------------------ */

static void test_retry_delay(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        enum chela_effect effect;
        unsigned retries, attempts;
        int64_t after, timeout, elapsed;
        int64_t least, most; /* -1: not again */
    } cases[] = {
        {"read", "network", CHELA_EFFECT_READ, 2, 1, 0, 30000, 0, 375, 500},
        {"second", "unavailable", CHELA_EFFECT_READ, 2, 2, 0, 30000, 0, 750, 1000},
        {"keyed", "rate_limited", CHELA_EFFECT_KEYED, 2, 1, 0, 30000, 0, 375, 500},
        {"tool's own timeout", "timeout", CHELA_EFFECT_READ, 2, 1, 0, 30000, 0, 375, 500},
        {"once", "network", CHELA_EFFECT_ONCE, 2, 1, 0, 30000, 0, -1, -1},
        {"used up", "network", CHELA_EFFECT_READ, 2, 3, 0, 30000, 0, -1, -1},
        {"never", "network", CHELA_EFFECT_READ, 0, 1, 0, 30000, 0, -1, -1},
        {"longest", "network", CHELA_EFFECT_READ, 20, 12, 0, 0, 0, 6000, 8000},
        {"asked for", "rate_limited", CHELA_EFFECT_READ, 2, 1, 3000, 30000, 0, 3000, 3000},
        {"asked for too much", "rate_limited", CHELA_EFFECT_READ, 2, 1, 3600000, 0, 0, -1, -1},
        {"no time for as much again", "timeout", CHELA_EFFECT_READ, 2, 1, 0, 45000, 30000, -1, -1},
        {"time for as much again", "timeout", CHELA_EFFECT_READ, 2, 1, 0, 45000, 20000, 375, 500},
        {"no time for a third", "network", CHELA_EFFECT_READ, 3, 2, 0, 30000, 20000, -1, -1},
        {"no time left", "network", CHELA_EFFECT_READ, 2, 1, 0, 1000, 700, -1, -1},
        {"no time to wait", "rate_limited", CHELA_EFFECT_READ, 2, 1, 2000, 1500, 0, -1, -1},
        {"no limit", "network", CHELA_EFFECT_READ, 2, 1, 0, 0, 1000000, 375, 500},
        {"bad arguments", "invalid_arguments", CHELA_EFFECT_READ, 2, 1, 0, 0, 0, -1, -1},
        {"internal", "internal", CHELA_EFFECT_READ, 2, 1, 0, 0, 0, -1, -1},
        {"cancelled", "cancelled", CHELA_EFFECT_READ, 2, 1, 0, 0, 0, -1, -1},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_tool t = {.effect = cases[i].effect,
                            .max_retries = cases[i].retries,
                            .timeout_ms = cases[i].timeout};
        struct ch_outcome o = {0};
        ch_outcome_error(&o, cases[i].type, "x");
        o.retry_after_ms = cases[i].after;
        int64_t delay = ch_retry_delay(&t, &o, cases[i].attempts, cases[i].elapsed);
        if (delay < cases[i].least || delay > cases[i].most)
            fail_msg("%s: %lld", cases[i].name, (long long)delay);
        ch_outcome_release(&o);
    }
    struct ch_tool t = {.effect = CHELA_EFFECT_READ, .max_retries = 2};
    assert_int_equal(ch_retry_delay(&t, &(struct ch_outcome){0}, 1, 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_command_rules),
        cmocka_unit_test(test_grants),
        cmocka_unit_test(test_git_config),
        cmocka_unit_test(test_git_submodules),
        cmocka_unit_test(test_argument_rules),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_what_is_approved_is_what_runs),
        cmocka_unit_test(test_edited_to_need_no_approval),
        cmocka_unit_test(test_always_for_exactly_this),
        cmocka_unit_test(test_never_remembered),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_display),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_self_approval),
        cmocka_unit_test(test_hidden_is_unknown),
        cmocka_unit_test(test_retry_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
