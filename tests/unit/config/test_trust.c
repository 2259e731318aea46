/* test_trust.c -- which options decide, what remains of a file that is not
 * trusted, and the record of those that are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela/trust.h"
#include "config/conf.h"
#include "config/option.h"
#include "config/programs.h"
#include "config/trust.h"

static chela_config *parse_in(const char *dir, const char *yaml) {
    struct chela_error err = {0};
    chela_config *cfg = NULL;
    if (ch_config_parse(ch_sv_str(yaml), "chela.yaml", dir, NULL, NULL, &cfg, &err) < 0)
        fail_msg("%s\n%s", err.message, yaml);
    return cfg;
}

static chela_config *parse(const char *yaml) {
    return parse_in("/conf", yaml);
}

/* --- the digest */

static bool same_digest(const char *a, const char *b) {
    unsigned char one[CH_SHA256_SIZE], other[CH_SHA256_SIZE];
    chela_config *x = parse(a), *y = parse(b);
    ch_conf_digest(&x->conf, one);
    ch_conf_digest(&y->conf, other);
    chela_config_free(x);
    chela_config_free(y);
    return ch_sha256_equal(one, other);
}

#define PROVIDER "providers: { p: { api: openai, baseUrl: \"http://a/v1\" } }\n"
#define TOOL(command) "tools: { custom: [{ name: t, description: d, command: " command " }] }"

static void test_harmless_edits(void **state) {
    static const char *const cases[][2] = {
        {PROVIDER, "# a comment\n" PROVIDER},
        {PROVIDER, "providers:\n  p:\n    baseUrl: http://a/v1\n    api: openai\n"},
        {"agents: { list: [{ id: a, name: x }] }", "agents: { list: [{ id: a, name: y }] }"},
        {"agents: { list: [{ id: a }] }", "agents: { list: [{ id: a, description: y }] }"},
        {"", "sandbox: {}"},
        {"tools: { custom: [] }", ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (!same_digest(cases[i][0], cases[i][1]))
            fail_msg("differs: %s | %s", cases[i][0], cases[i][1]);
}

static void test_deciding_edits(void **state) {
    static const char *const cases[][2] = {
        {PROVIDER, "providers: { p: { api: openai, baseUrl: \"http://b/v1\" } }"},
        {PROVIDER, "providers: { q: { api: openai, baseUrl: \"http://a/v1\" } }"},
        {PROVIDER, PROVIDER "sandbox: { mode: off }"},
        {"agents: { defaults: { systemPrompt: a } }", "agents: { defaults: { systemPrompt: b } }"},
        {"", "agents: { defaults: { context: { rules: [be kind] } } }"},
        {"", "agents: { defaults: { context: { reminder: be kind } } }"},
        {"", "sandbox: { protect: [] }"},
        {"sandbox: { writable: [/a, /b] }", "sandbox: { writable: [\"/a, /b\"] }"},
        {TOOL("[a, \"b, c\"]"), TOOL("[a, b, c]")},
        {TOOL("[a, \"b\"]"), TOOL("[a, \"b\", \"\"]")},
        {TOOL("[./a]"), TOOL("[./b]")},
        {"approvals: { exec: ask }", "approvals: { exec: auto }"},
        {"approvals: { exec: ask }", "approvals: { exec: ask, allow: [\"exec: ls\"] }"},
        {"agents: { defaults: { model: a/b } }", "agents: { defaults: { model: a/c } }"},
        {"agents: { defaults: { model: [a/b, a/c] } }", "agents: { defaults: { model: a/b } }"},
        {"agents: { list: [{ id: a }, { id: b }] }", "agents: { list: [{ id: b }, { id: a }] }"},
        {"agents: { list: [{ id: a }] }", "agents: { list: [{ id: a }, { id: b }] }"},
        {"agents: { defaults: { limits: { maxTurns: 5 } } }",
         "agents: { defaults: { limits: { maxTurns: 0 } } }"},
        {"agents: { defaults: { workspaceDir: . } }", "agents: { defaults: { workspaceDir: / } }"},
        {"store: \"postgres://u:one@h/d\"", "store: \"postgres://u:two@h/d\""},
        {"databases: { a: \"postgres://u:${ONE}@h/d\" }",
         "databases: { a: \"postgres://u:${TWO}@h/d\" }"},
        {"providers: { p: { headers: { A: one } } }", "providers: { p: { headers: { A: two } } }"},
        {"webFetch: { allowHosts: [] }", ""},
        {"agents: { defaults: { tools: { allow: [] } } }", ""},
        {"agents: { defaults: { context: { files: [] } } }", ""},
        {"channels: { feishu: { requireMention: false } }", ""},
        {"memory: { sessions: all }", "memory: { sessions: own }"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (same_digest(cases[i][0], cases[i][1]))
            fail_msg("same: %s | %s", cases[i][0], cases[i][1]);
}

static void test_rights(void **state) {
    static const struct {
        const char *a, *b;
        int same;
    } cases[] = {
        {"agents: { defaults: { model: a/b } }", "agents: { defaults: { model: a/c } }", 1},
        {"gateway: { drainSec: 5 }", "gateway: { drainSec: 50 }", 1},
        {"sandbox: { mode: off }", "sandbox: { mode: auto }", 0},
        {"agents: { list: [{ id: a }] }", "agents: { list: [{ id: a, sendTo: [\"*\"] }] }", 0},
        {PROVIDER, "providers: { p: { api: openai, baseUrl: \"http://b/v1\" } }", 0},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *a = parse(cases[i].a), *b = parse(cases[i].b);
        if (chela_config_same_rights(a, b) != cases[i].same)
            fail_msg("%s | %s", cases[i].a, cases[i].b);
        chela_config_free(a);
        chela_config_free(b);
    }
}

/* --- claims */

static void keep_claim(const char *kind, const char *key, const char *value, void *user) {
    ch_buf_addf(user, "%s %s: %s\n", kind, key, value);
}

static void test_claims(void **state) {
    chela_config *cfg = parse("agents: { defaults: { systemPrompt: p, model: a/b, limits: "
                              "{ maxTurns: 5 } } }\n"
                              "providers: { p: { baseUrl: \"http://a\", apiKeyFile: /k, headers: "
                              "{ A: secret } } }\n"
                              "sandbox: { mode: off, protect: [] }\n"
                              "store: \"postgres://u:secret@h/d\"\n" TOOL("[./x, \"a, b\"]"));
    CH_BUF_AUTO got = {0};
    (void)state;
    chela_config_claims(cfg, keep_claim, &got);
    assert_null(strstr(ch_buf_str(&got), "secret"));
    const char *last = ch_buf_str(&got);
    static const char *const lines[] = {
        "prompt agents.defaults.systemPrompt: p\n",
        "limit agents.defaults.limits.maxTurns: 5\n",
        "model agents.defaults.model: a/b\n",
        "file store: postgres://u:***@h/d (sha256 ",
        "endpoint providers[p].baseUrl: http://a\n",
        "sandbox sandbox.mode: off\n",
        "sandbox sandbox.protect: []\n",
        "key providers[p].apiKeyFile: /k\n",
        "key providers[p].headers: (not shown, sha256 ",
        "command tools.custom[t].command: [\"/conf/x\",\"a, b\"]\n",
    };
    for (size_t i = 0; i < CH_LEN(lines); i++) {
        const char *at = strstr(last, lines[i]);
        if (!at)
            fail_msg("%s is not there, or not in order:\n%s", lines[i], ch_buf_str(&got));
        last = at;
    }
    chela_config_free(cfg);
}

static void test_long_values_are_cut(void **state) {
    CH_BUF_AUTO yaml = {0}, one = {0}, other = {0};
    (void)state;
    ch_buf_add_str(&yaml, "tools: { custom: [{ name: t, description: d, command: [x, \"");
    for (int i = 0; i < 1000; i++)
        ch_buf_add_str(&yaml, "\u00e9");
    size_t at = yaml.n;
    ch_buf_add_str(&yaml, "1\"] }] }");
    chela_config *a = parse(ch_buf_str(&yaml));
    yaml.p[at] = '2';
    chela_config *b = parse(ch_buf_str(&yaml));
    chela_config_claims(a, keep_claim, &one);
    chela_config_claims(b, keep_claim, &other);
    assert_true(one.n < 600);
    assert_string_not_equal(ch_buf_str(&one), ch_buf_str(&other));
    chela_config_free(a);
    chela_config_free(b);
}

/* Set the option's member to some value. */
static void set_member(const struct ch_option *o, void *at) {
    static const char *const list[] = {"x", NULL};
    static const double number = 1;
    static struct ch_conf_prompt_rule rule = {{.name = "x"}, "1", 1};
    switch (o->type) {
    case CH_CFG_BOOL:
    case CH_CFG_UNLESS:
        *(bool *)at = true;
        break;
    case CH_CFG_FLAG:
        *(signed char *)at = 1;
        break;
    case CH_CFG_INT:
    case CH_CFG_LIMIT:
    case CH_CFG_COUNT:
    case CH_CFG_SECONDS:
        *(int64_t *)at = 1;
        break;
    case CH_CFG_BUDGET:
        *(double *)at = 1;
        break;
    case CH_CFG_NUMBER:
        *(const double **)at = &number;
        break;
    case CH_CFG_PATHS:
    case CH_CFG_PLACES:
    case CH_CFG_INSIDE:
    case CH_CFG_MODELS:
    case CH_CFG_COMMAND:
    case CH_CFG_TEXTS:
    case CH_CFG_HEADERS:
    case CH_CFG_DATABASES:
        *(const char *const **)at = list;
        break;
    case CH_CFG_APPROVALS:
        ((struct ch_conf_approvals *)at)->rules = list;
        break;
    case CH_CFG_FOLDER:
        ((struct ch_conf_item *)at)->name = "x";
        break;
    case CH_CFG_PINS:
    case CH_CFG_ROLLOUT:
        *(struct ch_conf_list *)at = (struct ch_conf_list){&rule, 1};
        break;
    default:
        *(const char **)at = "x";
    }
}

/* One entry of each list. */
struct world {
    struct ch_conf conf;
    struct ch_conf_agent agent;
    struct ch_conf_provider provider;
    struct ch_conf_model model;
    struct ch_conf_tool tool;
    struct ch_conf_policy policy;
    struct ch_conf_hook hook;
    struct ch_conf_hook_program program;
    struct ch_conf_schedule schedule;
    struct ch_conf_budget budget;
    struct ch_conf_secret_source secret;
    struct ch_conf_mcp mcp;
    struct ch_conf_channel channel;
};

static void *member_base(struct world *w, enum ch_scope scope) {
    struct ch_conf_item *items[] = {
        [CH_SCOPE_AGENT] = &w->agent.item,       [CH_SCOPE_PROVIDER] = &w->provider.item,
        [CH_SCOPE_MODEL] = &w->model.item,       [CH_SCOPE_TOOL] = &w->tool.item,
        [CH_SCOPE_POLICY] = &w->policy.item,     [CH_SCOPE_HOOK] = &w->hook.item,
        [CH_SCOPE_SCHEDULE] = &w->schedule.item, [CH_SCOPE_MCP] = &w->mcp.item,
        [CH_SCOPE_HOOK_PROGRAM] = &w->program.item, [CH_SCOPE_SECRET] = &w->secret.item,
        [CH_SCOPE_BUDGET] = &w->budget.item,     [CH_SCOPE_CHANNEL] = &w->channel.item};
    *w = (struct world){0};
    for (size_t i = CH_SCOPE_AGENT; i < CH_LEN(items); i++)
        items[i]->name = "n";
    w->conf.agents = (struct ch_conf_list){&w->agent, 1};
    w->conf.providers = (struct ch_conf_list){&w->provider, 1};
    w->provider.models = (struct ch_conf_list){&w->model, 1};
    w->conf.tools = (struct ch_conf_list){&w->tool, 1};
    w->conf.policies = (struct ch_conf_list){&w->policy, 1};
    w->conf.gateway.hooks = (struct ch_conf_list){&w->hook, 1};
    w->conf.hooks[0] = (struct ch_conf_list){&w->program, 1};
    w->conf.schedules = (struct ch_conf_list){&w->schedule, 1};
    w->conf.budgets = (struct ch_conf_list){&w->budget, 1};
    w->conf.secrets = (struct ch_conf_list){&w->secret, 1};
    w->conf.mcp = (struct ch_conf_list){&w->mcp, 1};
    w->conf.channels = (struct ch_conf_list){&w->channel, 1};
    return scope == CH_SCOPE_FILE ? (void *)&w->conf : items[scope];
}

/* Every option decides but those that do no harm: a new one, too. */
static void test_the_table(void **state) {
    static const char *const harmless[] = {"name", "description", "prompts.pin",
                                           "prompts.rollout", "language"};
    unsigned char empty[CH_SHA256_SIZE], set[CH_SHA256_SIZE];
    struct world w;
    (void)state;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        bool is_harmless = false;
        for (size_t i = 0; i < CH_LEN(harmless); i++)
            if ((o->scope == CH_SCOPE_AGENT || o->scope == CH_SCOPE_FILE) &&
                strcmp(o->key, harmless[i]) == 0)
                is_harmless = true;
        if (o->type >= CH_CFG_REFUSED || (o->flags & CH_CFG_UNUSED))
            continue;
        char *base = member_base(&w, o->scope);
        ch_conf_digest(&w.conf, empty);
        set_member(o, base + o->offset);
        ch_conf_digest(&w.conf, set);
        if (ch_sha256_equal(empty, set) != is_harmless)
            fail_msg("%s %s", o->key, is_harmless ? "decides" : "does not decide");
    }
}

/* --- a file that is not trusted */

static void keep_option(const char *key, const char *value, int from_file, void *user) {
    if (from_file && !strstr(key, "skills"))
        ch_buf_addf(user, "%s=%s\n", key, value);
}

static void test_restricted(void **state) {
    static const struct {
        const char *file, *own, *want;
    } cases[] = {
        {PROVIDER "sandbox: { mode: off }\napprovals: { exec: auto }\nstore: \"sqlite:x\"\n" TOOL(
             "[./x]"),
         NULL, ""},
        {"agents: { defaults: { systemPrompt: p, model: evil/x, workspaceDir: / } }", NULL,
         "agents.defaults.systemPrompt=p\n"},
        {"sandbox: { mode: off }", "sandbox: { mode: required }", "sandbox.mode=required\n"},
        {"", "approvals: { exec: deny }", "approvals=exec=deny\n"},
        /* limits: only downward, from the defaults, from the user's */
        {"agents: { defaults: { limits: { maxTurns: 24, maxToolCalls: 201, timeoutSec: 0, "
         "tokenBudget: 5 } } }",
         NULL, "agents.defaults.limits.maxTurns=24\nagents.defaults.limits.tokenBudget=5\n"},
        {"agents: { defaults: { limits: { maxTurns: 24, costBudgetUsd: 9 } } }",
         "agents: { defaults: { limits: { maxTurns: 10, costBudgetUsd: 10 } } }",
         "agents.defaults.limits.maxTurns=10\nagents.defaults.limits.costBudgetUsd=9\n"},
        {"agents: { defaults: { limits: { maxTurns: 24 } } }",
         "agents: { defaults: { limits: { maxTurns: 0 } } }",
         "agents.defaults.limits.maxTurns=24\n"},
        /* an agent of the file has the rights of the user's first */
        {"agents: { list: [{ id: x, name: X, tools: { allow: [exec] }, limits: "
         "{ maxTurns: 3 } }] }",
         "agents: { list: [{ id: mine, model: a/b, tools: { deny: [exec] } }] }",
         "agents.list[x].id=x\nagents.list[x].name=X\nagents.list[x].model=a/b\n"
         "agents.list[x].tools.deny=exec\nagents.list[x].limits.maxTurns=3\n"
         "agents.list[mine].id=mine\nagents.list[mine].model=a/b\n"
         "agents.list[mine].tools.deny=exec\n"},
        /* and of that with its id */
        {"agents: { list: [{ id: two, systemPrompt: p }] }",
         "agents: { list: [{ id: one }, { id: two, tools: { deny: [exec] } }] }",
         "agents.list[two].id=two\nagents.list[two].systemPrompt=p\n"
         "agents.list[two].tools.deny=exec\nagents.list[one].id=one\n"},
        {"agents: { defaults: { systemPrompt: p } }",
         "agents: { list: [{ id: one, systemPrompt: q, limits: { maxTurns: 2 } }] }",
         "agents.defaults.systemPrompt=p\nagents.list[one].id=one\n"
         "agents.list[one].systemPrompt=p\nagents.list[one].limits.maxTurns=2\n"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = parse(cases[i].file);
        CH_BUF_AUTO got = {0};
        chela_config_restrict(cfg, cases[i].own ? parse_in("/own", cases[i].own) : NULL);
        chela_config_show(cfg, keep_option, &got);
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s over %s:\n%s", cases[i].file, cases[i].own, ch_buf_str(&got));
        assert_string_equal(cfg->conf.defaults.skills, "user:*"); /* none of the directory */
        chela_config_free(cfg);
    }
}

/* The user's own list of skills still counts; none of the skills is the directory's. */
static void test_restricted_skills(void **state) {
    static const struct {
        const char *allow, *want;
    } cases[] = {{"[]", ""}, {"[deploy, 'py-*', 'user:x']", "user:deploy,user:py-*,user:x"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO own = {0};
        ch_buf_addf(&own, "agents: { defaults: { skills: { allow: %s } }, list: [{ id: one }] }",
                    cases[i].allow);
        chela_config *cfg = parse("agents: { list: [{ id: x, skills: { allow: ['*'] } }] }");
        chela_config_restrict(cfg, parse_in("/own", ch_buf_str(&own)));
        const struct ch_conf_agent *agents = cfg->conf.agents.items;
        for (size_t k = 0; k < cfg->conf.agents.n; k++)
            assert_string_equal(agents[k].skills, cases[i].want);
        assert_string_equal(cfg->conf.defaults.skills, cases[i].want);
        chela_config_free(cfg);
    }
}

/* Relative paths are those of the user's file. */
static void test_restricted_paths(void **state) {
    chela_config *cfg = parse_in("/repo", "store: sqlite:x");
    (void)state;
    chela_config_restrict(cfg, parse_in("/own", "store: sqlite:y"));
    assert_string_equal(chela_config_store(cfg), "sqlite:/own/y");
    chela_config_free(cfg);
}

/* --- the record */

static char *directory(void **state) {
    return *state;
}

static int make_directory(void **state) {
    char path[] = "/tmp/chela-trust.XXXXXX";
    *state = mkdtemp(path) ? strdup(path) : NULL;
    return *state ? 0 : -1;
}

static int remove_directory(void **state) {
    CH_BUF_AUTO command = {0};
    ch_buf_addf(&command, "rm -rf '%s'", directory(state));
    free(*state);
    return system(ch_buf_str(&command));
}

static int keep_path(const struct chela_trusted *t, void *user) {
    ch_buf_addf(user, "%s %zu\n", t->path, strlen(t->digest));
    return 0;
}

static void keep_change(int change, const char *kind, const char *key, const char *value,
                        void *user) {
    (void)kind;
    ch_buf_addf(user, "%c%s=%s\n", change < 0 ? '-' : '+', key, value);
}

static void test_record(void **state) {
    char *record = NULL;
    struct chela_error err = {0};
    struct stat st;
    CH_BUF_AUTO list = {0}, changes = {0};
    chela_config *cfg = parse("sandbox: { mode: off }"),
                 *other = parse("sandbox: { mode: auto, network: host }"),
                 *elsewhere = parse_in("/conf2", "sandbox: { mode: off }");
    assert_true(asprintf(&record, "%s/trust", directory(state)) > 0);
    assert_int_equal(chela_trust_check(record, cfg, &err), CHELA_ENOENT);
    assert_int_equal(chela_trust_list(record, keep_path, &list, &err), 0);
    assert_int_equal(chela_trust_remove(record, "/conf/chela.yaml", &err), CHELA_ENOENT);
    assert_int_equal(chela_trust_add(record, cfg, &err), 0);
    assert_int_equal(stat(record, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(chela_trust_check(record, cfg, &err), 0);
    assert_int_equal(chela_trust_check(record, other, &err), CHELA_ESTATE);
    assert_int_equal(chela_trust_check(record, elsewhere, &err), CHELA_ENOENT);
    assert_int_equal(chela_trust_compare(record, other, keep_change, &changes, &err), 0);
    assert_string_equal(ch_buf_str(&changes),
                        "-sandbox.mode=off\n+sandbox.mode=auto\n+sandbox.network=host\n");
    assert_int_equal(chela_trust_add(record, other, &err), 0);
    assert_int_equal(chela_trust_add(record, elsewhere, &err), 0);
    assert_int_equal(chela_trust_check(record, other, &err), 0);
    assert_int_equal(chela_trust_list(record, keep_path, &list, &err), 0);
    assert_non_null(strstr(ch_buf_str(&list), "/conf/chela.yaml 64\n"));
    assert_non_null(strstr(ch_buf_str(&list), "/conf2/chela.yaml 64\n"));
    assert_int_equal(chela_trust_remove(record, "/conf/chela.yaml", &err), 0);
    assert_int_equal(chela_trust_check(record, other, &err), CHELA_ENOENT);
    assert_int_equal(chela_trust_check(record, elsewhere, &err), 0);
    chela_config_free(cfg);
    chela_config_free(other);
    chela_config_free(elsewhere);
    free(record);
}

/* A record that another could have written is not believed. */
static void test_bad_records(void **state) {
    static const char *const cases[] = {
        "chmod 770 D",
        "chmod 707 D",
        "chmod 620 D/*",
        "mv D E; ln -s E D",
        "mv D E; echo >D",
        "f=$(ls D); mv D/$f E; ln -s ../E D/$f",
        "f=$(ls D); rm D/$f; mkfifo D/$f",
        "f=$(ls D); rm D/$f; mkdir D/$f",
        "f=$(ls D); echo '{' >D/$f",
        "f=$(ls D); echo '[]' >D/$f",
        "f=$(ls D); sed -i s,/conf/,/conx/, D/$f",
        "f=$(ls D); sed -i s/digest/diggest/ D/$f",
        "f=$(ls D); head -c 20000000 /dev/zero >D/$f",
    };
    chela_config *cfg = parse("sandbox: { mode: off }");
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        CH_BUF_AUTO command = {0};
        char *record = NULL;
        assert_true(asprintf(&record, "%s/D", directory(state)) > 0);
        assert_int_equal(chela_trust_add(record, cfg, &err), 0);
        assert_int_equal(chela_trust_check(record, cfg, &err), 0);
        ch_buf_addf(&command, "cd '%s' && { %s; }", directory(state), cases[i]);
        assert_int_equal(system(ch_buf_str(&command)), 0);
        if (chela_trust_check(record, cfg, &err) == 0)
            fail_msg("believed after: %s", cases[i]);
        ch_buf_clear(&command);
        ch_buf_addf(&command, "cd '%s' && rm -rf D E", directory(state));
        assert_int_equal(system(ch_buf_str(&command)), 0);
        free(record);
    }
    chela_config_free(cfg);
}

/* --- programs of the project */

static void run_in(const char *dir, const char *commands) {
    CH_BUF_AUTO line = {0};
    ch_buf_addf(&line, "cd '%s' && { %s; }", dir, commands);
    assert_int_equal(system(ch_buf_str(&line)), 0);
}

/* True if the trust ends when `edit` runs in the directory of the file. */
static bool ends_trust(void **state, const char *yaml, const char *edit) {
    static const char files[] = "rm -rf P D; mkdir -p P/sub; printf '#!/bin/sh\n' >P/tool; "
                                "chmod +x P/tool; echo 1 >P/sub/x.py; echo 2 >P/plain; "
                                "echo 3 >P/data; ln -s sub/x.py P/link; printf '\\0\\1' >P/db";
    struct chela_error err = {0};
    char *record = NULL, *project = NULL;
    assert_true(asprintf(&record, "%s/D", directory(state)) > 0);
    assert_true(asprintf(&project, "%s/P", directory(state)) > 0);
    run_in(directory(state), files);
    chela_config *cfg = parse_in(project, yaml);
    assert_int_equal(chela_trust_add(record, cfg, &err), 0);
    chela_config_free(cfg);
    cfg = parse_in(project, yaml);
    assert_int_equal(chela_trust_check(record, cfg, &err), 0);
    chela_config_free(cfg);
    run_in(project, edit);
    cfg = parse_in(project, yaml);
    int rc = chela_trust_check(record, cfg, &err);
    assert_true(rc == 0 || rc == CHELA_ESTATE);
    if (ch_conf_tools_are_doubted(cfg) != (rc != 0))
        fail_msg("%s: %s", edit, rc ? "calls need no consent" : "calls need consent");
    if (cfg->conf.mcp.n && rc != 0)
        assert_true(ch_conf_server_pins(cfg, 0)->refused);
    chela_config_free(cfg);
    free(record);
    free(project);
    return rc != 0;
}

#define SERVER(command) "mcp: { servers: { s: { command: " command " } } }"

static void test_changed_programs_end_the_trust(void **state) {
    static const char *const cases[][2] = {
        {TOOL("[./tool]"), "echo ls >>tool"},
        {TOOL("[./tool]"), "rm tool"},
        {TOOL("[./tool]"), "printf '#!/bin/sx\n' >new; chmod +x new; mv new tool"},
        {TOOL("[./absent]"), "cp tool absent"},
        {TOOL("[python3, sub/x.py]"), "echo 2 >sub/x.py"},
        {TOOL("[python3, -u, link]"), "echo 2 >sub/x.py"},
        {TOOL("[python3, link]"), "ln -sf ../plain link"},
        {TOOL("[sh, -e, plain]"), "echo 4 >plain"},
        {TOOL("[sh, plain, tool]"), "echo 4 >>tool"},
        {TOOL("[sh, plain, sub/x.py]"), "echo 4 >sub/x.py"},
        {"agents: { defaults: { workspaceDir: sub } }\n" TOOL("[sh, x.py]"), "echo 2 >sub/x.py"},
        {"agents: { list: [{ id: a }, { id: b, workspaceDir: sub }] }\n" TOOL("[python3, x.py]"),
         "echo 2 >sub/x.py"},
        {"tools: { custom: [{ name: t, description: d, command: [sh, x.py], cwd: sub }] }",
         "echo 2 >sub/x.py"},
        {SERVER("[./tool]"), "echo ls >>tool"},
        {SERVER("[node, sub/x.py]"), "echo 2 >sub/x.py"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (!ends_trust(state, cases[i][0], cases[i][1]))
            fail_msg("still trusted: %s | %s", cases[i][0], cases[i][1]);
}

static void test_changed_data_does_not_end_the_trust(void **state) {
    static const char *const cases[][2] = {
        {TOOL("[./tool]"), "touch tool; cp -p tool new; mv new tool"},
        {TOOL("[./tool]"), "echo 2 >sub/x.py"},
        {TOOL("[./tool, data]"), "echo 4 >data"},
        {TOOL("[sh, plain, data]"), "echo 4 >data"},
        {TOOL("[sqlite3, db]"), "printf '\\0\\2' >db"},
        {TOOL("[sh, -c, \"echo data\"]"), "echo 4 >data"},
        {TOOL("[ls, /bin/sh]"), ":"},
        {SERVER("[./tool, --db, db]"), "printf '\\0\\2' >db"},
        {"", "echo ls >>tool"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ends_trust(state, cases[i][0], cases[i][1]))
            fail_msg("no longer trusted: %s | %s", cases[i][0], cases[i][1]);
}

static void keep_program(const char *kind, const char *key, const char *value, void *user) {
    if (strcmp(kind, "program") == 0)
        ch_buf_addf(user, "%s=%s\n", key, value);
}

static void test_programs_are_shown(void **state) {
    CH_BUF_AUTO text = {0};
    run_in(directory(state), "printf '#!/bin/sh\n' >tool; echo 1 >x.py");
    chela_config *cfg = parse_in(directory(state), TOOL("[./tool, x.py, /bin/sh]"));
    chela_config_claims(cfg, keep_program, &text);
    assert_string_equal(ch_buf_str(&text),
                        "tools.custom[t].command=tool (sha256 a8076d3d28d21e02)\n"
                        "tools.custom[t].command=x.py (sha256 4355a46b19d348dc)\n");
    chela_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harmless_edits),
        cmocka_unit_test(test_deciding_edits),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_restricted),
        cmocka_unit_test(test_restricted_skills),
        cmocka_unit_test(test_restricted_paths),
        cmocka_unit_test_setup_teardown(test_record, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_changed_programs_end_the_trust, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_changed_data_does_not_end_the_trust, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_programs_are_shown, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_bad_records, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
