/* test_config.c -- chela.yaml: what a file comes to, and what is said about
 * one that is wrong. Cases that the table of options can generate are
 * generated from it, so that a new option is tested by being there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "channel/channels.h"
#include "chela/config.h"
#include "chela/schema.h"
#include "config/conf.h"
#include "config/option.h"
#include "config/option_keys.h"
#include "model/catalog/provider.h"
#include "model/codec/codec.h"
#include "model/provider/target.h"
#include "json/json.h"
#include "support/textfile.h"

/* --- what a file comes to ------------------------------------------------------ */

static void keep_warning(const char *line, void *user) {
    ch_buf_addf(user, "%s\n", line);
}

static int parse(const char *yaml, struct ch_buf *warnings, chela_config **out,
                 struct chela_error *err) {
    return ch_config_parse(ch_sv_str(yaml), "c.yaml", "/conf", keep_warning, warnings, out, err);
}

static void tell_text(struct ch_buf *out, const char *name, const char *value) {
    if (value)
        ch_buf_addf(out, " %s=%s", name, value);
}

static void tell_int(struct ch_buf *out, const char *name, int64_t value) {
    if (value)
        ch_buf_addf(out, " %s=%lld", name, (long long)value);
}

static void tell_choice(struct ch_buf *out, const char *name, enum chela_choice set, int value) {
    tell_text(out, name, value ? chela_choice_name(set, value) : NULL);
}

/* The fields that are set, in one line. */
static void tell(struct ch_buf *out, const struct chela_agent_opts *o) {
    tell_text(out, "id", o->id);
    tell_text(out, "model", o->model);
    for (const char *const *f = o->fallbacks; f && *f; f++)
        tell_text(out, "or", *f);
    tell_text(out, "system", o->system);
    tell_choice(out, "prompt", CHELA_CHOICE_PROMPT_STYLE, o->prompt->style);
    for (const char *const *f = o->prompt->project_files; f && *f; f++)
        tell_text(out, "file", *f);
    for (const char *const *f = o->prompt->rules; f && *f; f++)
        tell_text(out, "rule", *f);
    tell_text(out, "reminder", o->prompt->reminder);
    tell_text(out, "docs", o->prompt->docs);
    tell_int(out, "fileMax", (int64_t)o->prompt->project_file_max);
    tell_int(out, "share", o->prompt->system_share);
    tell_text(out, "workspace", o->workspace);
    tell_text(out, "tools", o->tools);
    tell_text(out, "allow", o->allow);
    tell_text(out, "deny", o->deny);
    tell_text(out, "choice", o->tool_choice);
    tell_choice(out, "mode", CHELA_CHOICE_MODE, o->mode);
    tell_int(out, "permission", (int)o->permission);
    tell_text(out, "approvals", o->approvals->tools);
    for (const char *const *r = o->approvals->calls; r && *r; r++)
        tell_text(out, "approved", *r);
    for (const struct chela_policy *const *p = o->approvals->policies; p && *p; p++) {
        ch_buf_addf(out, " policy=%s@%s", (*p)->id, (*p)->channel);
        for (const char *const *s = (*p)->senders; s && *s; s++)
            ch_buf_addf(out, "+%s", *s);
        for (const char *const *s = (*p)->except; s && *s; s++)
            ch_buf_addf(out, "-%s", *s);
        tell_text(out, "  allow", (*p)->allow);
        tell_text(out, "  deny", (*p)->deny);
        tell_choice(out, "  approve", CHELA_CHOICE_APPROVE, (*p)->approve);
        tell_int(out, "  permission", (int)(*p)->permission);
    }
    tell_int(out, "reasoning", o->reasoning);
    tell_int(out, "output", o->max_output_tokens);
    if (o->temperature)
        ch_buf_addf(out, " temperature=%g", *o->temperature);
    tell_int(out, "parallel", o->toolset->parallel);
    tell_int(out, "turns", o->limits->max_turns);
    tell_int(out, "calls", o->limits->max_tool_calls);
    tell_int(out, "errors", o->limits->max_consecutive_errors);
    tell_int(out, "tokens", o->limits->token_budget);
    tell_int(out, "ms", o->limits->timeout_ms);
    if (o->limits->cost_budget_usd != 0)
        ch_buf_addf(out, " usd=%g", o->limits->cost_budget_usd);
    tell_int(out, "queue", o->queue->mode);
    tell_int(out, "cap", o->queue->cap);
    tell_int(out, "overflow", o->queue->overflow);
    tell_int(out, "debounce", o->queue->debounce_ms);
}

static const struct {
    const char *name, *yaml, *id, *want; /* want: after the leading space */
} good[] = {
    {"empty", "", NULL, "tools=*"},
    {"comments only", "# nothing\n", NULL, "tools=*"},
    {"an empty mapping", "{}", NULL, "tools=*"},
    {"keys without values", "agents:\n  defaults:\n    model:\n    limits:\n  list:\nproviders:\n",
     NULL, "tools=*"},
    {"defaults alone",
     "agents:\n  defaults:\n    model: a/b\n    systemPrompt: |\n      Be brief.\n", NULL,
     "model=a/b system=Be brief.\n tools=*"},
    {"first agent", "agents: {list: [{id: x, model: a/x}, {id: y, model: a/y}]}", NULL,
     "id=x model=a/x tools=*"},
    {"named agent", "agents: {list: [{id: x, model: a/x}, {id: y, model: a/y}]}", "y",
     "id=y model=a/y tools=*"},
    {"an agent over the defaults",
     "agents:\n"
     "  defaults: {model: [a/b, c/d], systemPrompt: S, limits: {maxTurns: 9, tokenBudget: 5},\n"
     "             tools: {allow: [ls], deny: [read], parallel: 2}, temperature: 1}\n"
     "  list: [{id: x, limits: {maxTurns: 3}, tools: {parallel: 4}, temperature: 0}]\n",
     NULL,
     "id=x model=a/b or=c/d system=S tools=* allow=ls deny=read temperature=0 parallel=4 turns=3 "
     "tokens=5"},
    {"what requests begin and end with",
     "agents: {defaults: {context: {prompt: minimal, files: [A.md, b/C.md], rules: [One.],\n"
     "  reminder: R, docs: ./d, fileBytes: 500, systemPercent: 30}},\n"
     "  list: [{id: x, context: {rules: [Three.]}}]}",
     NULL,
     "id=x prompt=minimal file=A.md file=b/C.md rule=Three. reminder=R docs=./d fileMax=500 "
     "share=30 tools=*"},
    {"a chain is replaced as a whole",
     "agents: {defaults: {model: [a/b, c/d]}, list: [{id: x, model: e/f}]}", NULL,
     "id=x model=e/f tools=*"},
    {"everything",
     "agents:\n"
     "  list:\n"
     "    - id: coder\n"
     "      name: 代码助手\n"
     "      model: [anthropic/claude-sonnet-4-6, openai/gpt-5, my-llm/org/model:1]\n"
     "      systemPrompt: 你好\n"
     "      workspaceDir: ./ws\n"
     "      tools: {allow: [read, 'l*'], deny: [ls], permission: admin, selection: all,\n"
     "              parallel: 3, choice: any}\n"
     "      skills: {allow: [create-python-script]}\n"
     "      mode: react\n"
     "      maxOutputTokens: 100\n"
     "      temperature: 0.5\n"
     "      reasoning: high\n"
     "      limits: {maxTurns: 1, maxToolCalls: 2, tokenBudget: 3, costBudgetUsd: 0.25,\n"
     "               timeoutSec: 1.5, maxConsecutiveErrors: 4}\n",
     "coder",
     "id=coder model=anthropic/claude-sonnet-4-6 or=openai/gpt-5 or=my-llm/org/model:1 "
     "system=你好 workspace=/conf/ws tools=* allow=read,l* deny=ls choice=any mode=react reasoning=4 "
     "output=100 temperature=0.5 parallel=3 turns=1 calls=2 errors=4 tokens=3 ms=1500 usd=0.25"},
    {"0 lifts a limit, also one of the defaults",
     "agents: {defaults: {limits: {tokenBudget: 5, costBudgetUsd: 2}}, list: [{id: x, limits: "
     "{maxTurns: 0, maxToolCalls: 0, tokenBudget: 0, costBudgetUsd: 0, timeoutSec: 0, "
     "maxConsecutiveErrors: 0}}]}",
     NULL, "id=x tools=* turns=-1 calls=-1 errors=-1 tokens=-1 ms=-1 usd=-1"},
    {"no tools", "agents: {defaults: {tools: {allow: []}}}", NULL, "tools=* allow="},
    {"an agent may have none though the defaults have some",
     "agents: {defaults: {tools: {allow: [ls]}}, list: [{id: x, tools: {allow: []}}]}", NULL,
     "id=x tools=* allow="},
    {"permission read", "agents: {defaults: {tools: {permission: read, deny: [calculate]}}}", NULL,
     "tools=* deny=calculate permission=2"},
    {"permission write", "agents: {defaults: {tools: {permission: write}}}", NULL,
     "tools=* permission=1"},
    {"groups", "agents: {defaults: {tools: {allow: [group:files], deny: [group:net]}}}", NULL,
     "tools=* allow=group:files deny=group:net"},
    {"approvals",
     "approvals:\n"
     "  exec: ask\n"
     "  'group:net': deny\n"
     "  'my_*': auto\n"
     "  send_email:\n"
     "  allow:\n"
     "    - exec: git log --oneline **\n"
     "    - 'exec: git status'\n"
     "    - web_fetch: url=https://docs.example.com/*\n",
     NULL,
     "tools=* approvals=exec=ask,group:net=deny,my_*=auto "
     "approved=exec: git log --oneline ** approved=exec: git status "
     "approved=web_fetch: url=https://docs.example.com/*"},
    {"absolute paths stay", "agents: {defaults: {workspaceDir: /ws}}", NULL,
     "workspace=/ws tools=*"},
    {"policies",
     "policies:\n"
     "  - {id: chat, channel: feishu, deny: [exec, 'web_*']}\n"
     "  - {id: some, channel: feishu, senders: [a, b], except: [c], allow: [],\n"
     "     permission: read, approve: ask}",
     NULL,
     "tools=* policy=chat@feishu   deny=exec,web_* policy=some@feishu+a+b-c   allow=   approve=ask"
     "   permission=2"},
    {"a queue",
     "agents: {defaults: {queue: {mode: interrupt, overflow: drop_oldest}}, list: [{id: x, queue: "
     "{mode: collect, cap: 3, debounceMs: 20}}]}",
     NULL, "id=x tools=* queue=2 cap=3 overflow=1 debounce=20"},
    {"a rule file is a path too", "agents: {defaults: {model: scripted/rules.yaml}}", NULL,
     "model=scripted//conf/rules.yaml tools=*"},
    {"the demo is none", "agents: {defaults: {model: scripted/demo}}", NULL,
     "model=scripted/demo tools=*"},
};

static void test_good_files(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(good); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0}, got = {0};
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = NULL);
        if (parse(good[i].yaml, &warnings, &cfg, &err) < 0 ||
            chela_config_agent(cfg, good[i].id, &opts, &err) < 0)
            fail_msg("%s: %s", good[i].name, err.message);
        tell(&got, &opts);
        if (strcmp(ch_buf_str(&got) + 1, good[i].want) != 0 || warnings.n)
            fail_msg("%s:\n got%s\nwant %s\n%s", good[i].name, ch_buf_str(&got), good[i].want,
                     ch_buf_str(&warnings));
        chela_config_free(cfg);
    }
}

/* What the caller set stays; what is forbidden adds up. */
static void test_flags_come_first(void **state) {
    (void)state;
    chela_config *cfg = NULL;
    CH_BUF_AUTO warnings = {0}, got = {0};
    double warm = 2;
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .id = "mine", .model = "f/m", .system = "F", .tools = "write", .deny = "edit",
            .temperature = &warm,
            .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(.parallel = 7),
            .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = -1));
    assert_int_equal(parse("agents: {defaults: {model: [a/b, c/d], systemPrompt: S, temperature: 0,"
                           "tools: {allow: [ls], deny: [read], parallel: 2},"
                           "limits: {maxTurns: 9, maxToolCalls: 8}}}",
                           &warnings, &cfg, NULL),
                     0);
    assert_int_equal(chela_config_agent(cfg, NULL, &opts, NULL), 0);
    tell(&got, &opts);
    assert_string_equal(ch_buf_str(&got),
                        " id=mine model=f/m system=F tools=write allow=ls deny=edit,read "
                        "temperature=2 parallel=7 turns=-1 calls=8");
    chela_config_free(cfg);
}

/* A caller that did not use the macro: refused, and nothing is written. */
static void test_short_struct(void **state) {
    (void)state;
    chela_config *cfg = NULL;
    CH_BUF_AUTO warnings = {0};
    assert_int_equal(
        parse("agents: {defaults: {model: a/b, limits: {maxTurns: 9}}}", &warnings, &cfg, NULL), 0);
    struct chela_agent_opts opts;
    memset(&opts, 0, sizeof(opts));
    opts.size = offsetof(struct chela_agent_opts, limits);
    struct chela_agent_opts before = opts;
    struct chela_error err = {0};
    assert_int_equal(chela_config_agent(cfg, NULL, &opts, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "CHELA_AGENT_OPTS(...)"));
    assert_memory_equal(&opts, &before, sizeof(before));
    chela_config_free(cfg);
}

static void test_unknown_agents(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *want;
    } cases[] = {
        {"agents: {list: [{id: x}, {id: y}]}", "c.yaml: there is no agent 'z' (known: x, y)"},
        {"{}", "c.yaml: there is no agent 'z' (it defines none)"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0};
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = NULL);
        assert_int_equal(parse(cases[i].yaml, &warnings, &cfg, NULL), 0);
        assert_int_equal(chela_config_agent(cfg, "z", &opts, &err), CHELA_ENOENT);
        assert_string_equal(err.message, cases[i].want);
        assert_int_equal(chela_config_tools(cfg, "z", NULL, &err), CHELA_ENOENT);
        chela_config_free(cfg);
    }
}

/* --- files that are wrong --------------------------------------------------------- */

#define GROUPS "group:files, group:runtime, group:net, group:data, group:memory, " \
               "group:messaging, group:basic"

static const struct {
    const char *yaml, *want; /* after "c.yaml:" */
} bad[] = {
    {"prompts: {pin: {router: new}}",
     "1:25: prompts.pin: expected a version such as \"2.0\""},
    {"prompts: {pin: {router: [1]}}",
     "1:25: prompts.pin: expected a version such as \"2.0\", not array"},
    {"prompts: {rollout: {router: 10}}",
     "1:29: prompts.rollout: expected { VERSION: PERCENT }, not number"},
    {"prompts: {rollout: {router: {'2.1': 101}}}",
     "1:37: prompts.rollout: expected a percentage from 0 to 100"},
    {"prompts: {rollout: {router: {x: 1}}}",
     "1:30: prompts.rollout: expected a version such as \"2.0\""},
    {"schedules: {s: {prompt: x, when: '0 24 * * *'}}",
     "1:34: schedules.s.when: column 3: '24' is no hour: 0 to 23"},
    {"schedules: {s: {prompt: x, when: '@daily', quietHours: night}}",
     "1:56: schedules.s.quietHours: expected hours such as 22:00-07:00"},
    {"agents: {list: [{id: a, wake: {every: soon}}]}",
     "1:39: agents.list[0].wake.every: expected a time span such as 30m, 6h or 1d"},
    {"databases: {default: 'mysql://x'}",
     "1:22: databases: expected sqlite:PATH or postgres://HOST/DATABASE"},
    {"databases: {default: 'sqlite:'}",
     "1:22: databases: expected sqlite:PATH or postgres://HOST/DATABASE"},
    {"databases: {default: 'postgres:x'}",
     "1:22: databases: expected sqlite:PATH or postgres://HOST/DATABASE"},
    {"databases: {default: 5}",
     "1:22: databases: expected sqlite:PATH or postgres://HOST/DATABASE, not number"},
    {"databases: {'a b': 'sqlite:x'}", "1:13: databases: expected 1 to 64 letters, digits, _ or -"},
    {"databases: {d: 'postgres://u:secret@h/x'}",
     "1:16: databases: a password must not be in this file: write "
     "postgres://USER:${VARIABLE}@HOST/DATABASE"},
    {"databases: {d: 'postgresql://u:${X}y@h/x'}",
     "1:16: databases: a password must not be in this file: write "
     "postgres://USER:${VARIABLE}@HOST/DATABASE"},
    {"databases: {d: 'postgres://u@h/x?password=secret'}",
     "1:16: databases: a password must not be in this file: write "
     "postgres://USER:${VARIABLE}@HOST/DATABASE"},
    {"store: chela.db",
     "1:8: store: expected sqlite:PATH, postgres://HOST/DATABASE, redis://HOST or memory:"},
    {"store: 'sqlite:'",
     "1:8: store: expected sqlite:PATH, postgres://HOST/DATABASE, redis://HOST or memory:"},
    {"gateway: {listen: '8787'}",
     "1:19: gateway.listen: '8787' is not a listen address: use HOST:PORT"},
    {"webFetch: {allowHosts: ['a b']}",
     "1:25: webFetch.allowHosts: expected a host or an address, in which * stands for anything"},
    {"webFetch: {denyHosts: ['a,b']}",
     "1:24: webFetch.denyHosts: expected a host or an address, in which * stands for anything"},
    {"webSearch: {provider: google}",
     "1:23: webSearch.provider: expected searxng or brave, not \"google\""},
    {"webSearch: {apiKey: abc}",
     "1:21: webSearch.apiKey: a key must not be in this file: use apiKeyEnv"},
    {"mail: {smtp: 'http://x'}",
     "1:14: mail.smtp: expected a URL that starts with smtp:// or smtps://"},
    {"mail: {smtp: 'smtp://u:p@x'}",
     "1:14: mail.smtp: a URL cannot hold a user name or password here"},
    {"mail: {password: abc}",
     "1:18: mail.password: a password must not be in this file: use passwordEnv"},
    {"[]", "1:1: expected a mapping, not an empty array"},
    {"hello", "1:1: expected a mapping, not string"},
    {"agents: 3", "1:9: agents: expected a mapping, not number"},
    {"agents:\n  defaults:\n    limits: 3",
     "3:13: agents.defaults.limits: expected a mapping, not number"},
    {"agents:\n  list:\n    - id: x\n      model: 7",
     "4:14: agents.list[0].model: expected PROVIDER/MODEL or a list of them, not number"},
    {"agents:\n  list:\n    - model: a/b", "3:7: agents.list[0].id: missing"},
    {"agents:\n  list:\n    - 7", "3:7: agents.list[0]: expected a mapping, not number"},
    {"agents:\n  list: {}", "2:9: agents.list: expected a list of mappings, not an empty object"},
    {"agents:\n  list:\n    - id: x\n    - id: y\n    - id: x",
     "5:7: agents.list[2]: x is there already, in line 3"},
    {"agents: {list: [{id: 'a b'}]}",
     "1:22: agents.list[0].id: expected 1 to 64 letters, digits, _ or -"},
    {"agents: {list: [{id: ''}]}",
     "1:22: agents.list[0].id: expected 1 to 64 letters, digits, _ or -"},
    {"agents: {defaults: {model: claude}}",
     "1:28: agents.defaults.model: expected PROVIDER/MODEL, for example openai/gpt-6-sol"},
    {"agents: {defaults: {model: [a/b, /x]}}",
     "1:34: agents.defaults.model: expected PROVIDER/MODEL, for example openai/gpt-6-sol"},
    {"agents: {defaults: {model: []}}",
     "1:28: agents.defaults.model: expected PROVIDER/MODEL or a list of them, not an empty array"},
    {"agents: {defaults: {mode: dream}}",
     "1:27: agents.defaults.mode: expected react, plan, route or heartbeat, not \"dream\""},
    {"agents: {defaults: {reasoning: loud}}",
     "1:32: agents.defaults.reasoning: expected off, minimal, low, medium, high, xhigh or "
     "max, not \"loud\""},
    {"agents: {defaults: {tools: {allow: read}}}",
     "1:36: agents.defaults.tools.allow: expected a list of names, not string"},
    {"agents: {defaults: {tools: {allow: [1]}}}",
     "1:37: agents.defaults.tools.allow: expected a name, not number"},
    {"agents: {defaults: {tools: {deny: ['a,b']}}}",
     "1:36: agents.defaults.tools.deny: expected the name of a tool, or a glob"},
    {"agents: {defaults: {tools: {deny: ['group:file']}}}",
     "1:36: agents.defaults.tools.deny: there is no such group (there are " GROUPS ")"},
    {"policies: [{id: a}]", "1:12: policies[0].channel: missing"},
    {"policies: [{id: a, channel: 'w*', senders: [x]}]",
     "1:12: policies[0]: with senders, channel must be one name: an id means nothing in another "
     "channel"},
    {"policies: [{id: a, channel: w, sender: [x], deny: [exec]}]",
     "1:32: policies[0].sender: unknown key, did you mean senders?"},
    {"policies: [{id: a, channel: w, zebra: 1}]", "1:32: policies[0].zebra: unknown key"},
    {"policies: [{id: a, channel: w, deny: ['group:x']}]",
     "1:39: policies[0].deny: there is no such group (there are " GROUPS ")"},
    {"policies: [{id: a, channel: w}, {id: a, channel: x}]",
     "1:33: policies[1]: a is there already, in line 1"},
    {"approvals: {exec: maybe}",
     "1:19: approvals: expected ask, sandbox, auto or deny, not \"maybe\""},
    {"approvals: {exec: true}",
     "1:19: approvals: expected ask, sandbox, auto or deny, not boolean"},
    {"approvals: {'group:nets': ask}",
     "1:13: approvals: there is no such group (there are " GROUPS ")"},
    {"approvals: {'a b': ask}", "1:13: approvals: expected the name of a tool, a glob or a group"},
    {"approvals: {allow: ls}", "1:20: approvals: expected a list of rules, not string"},
    {"approvals: {allow: [5]}", "1:21: approvals: expected TOOL: PATTERN, not number"},
    {"approvals: {allow: [git status]}",
     "1:21: approvals: expected TOOL: PATTERN, not 'git status'"},
    {"approvals: {allow: [{exec: ls, read: x}]}",
     "1:21: approvals: expected TOOL: PATTERN, not object"},
    {"approvals: {allow: ['exec: ls; rm x']}",
     "1:21: approvals: rule 'exec: ls; rm x': the pattern holds more than one command"},
    {"approvals: {allow: [{exec: python3 x.py}]}",
     "1:21: approvals: rule 'exec: python3 x.py': this program runs others, so no rule can vouch "
     "for it"},
    {"approvals: {allow: ['exec: ./run']}",
     "1:21: approvals: rule 'exec: ./run': a path must be absolute: what lies in the workspace may "
     "be the model's own"},
    {"approvals: {allow: ['exec: * x']}",
     "1:21: approvals: rule 'exec: * x': the program must be named"},
    {"approvals: {allow: ['web_fetch: *']}",
     "1:21: approvals: rule 'web_fetch: *': expected words such as NAME=VALUE"},
    {"agents: {defaults: {limits: {maxTurns: 2.5}}}",
     "1:40: agents.defaults.limits.maxTurns: expected a whole number"},
    {"agents: {defaults: {limits: {maxTurns: -1}}}",
     "1:40: agents.defaults.limits.maxTurns: expected a number from 0 to 1000000"},
    {"agents: {defaults: {limits: {maxTurns: 99999999999999999999}}}",
     "1:40: agents.defaults.limits.maxTurns: expected a whole number"},
    {"agents: {defaults: {limits: {timeoutSec: 1e999}}}",
     "1:42: agents.defaults.limits.timeoutSec: expected a number from 0 to 10000000"},
    {"agents: {defaults: {systemPrompt: \"a\\0b\"}}",
     "1:35: agents.defaults.systemPrompt: contains a NUL character"},
    {"agents: {defaults: {workspaceDir: ''}}",
     "1:35: agents.defaults.workspaceDir: expected a path, of at most 4096 bytes"},
    {"sandbox: { readable: [\"$HOME/x\"] }\n",
     "1:23: sandbox.readable: paths have no variables: write ~/ for the home directory, ./ for the "
     "directory of this file, or the whole path"},
    {"providers: [x]", "1:12: providers: expected a mapping by name, not array"},
    {"providers: {a b: {}}", "1:13: providers.a b: expected 1 to 64 letters, digits, _ or -"},
    {"providers: {p: 1}", "1:16: providers.p: expected a mapping, not number"},
    {"providers: {p: {api: grpc}}",
     "1:22: providers.p.api: expected anthropic, openai, openai-responses, gemini, "
     "interactions, bedrock, "
     "prompted or scripted, not \"grpc\""},
    {"providers: {p: {baseUrl: 'ftp://x'}}",
     "1:26: providers.p.baseUrl: expected a URL that starts with http:// or https://"},
    {"providers: {p: {baseUrl: 'https://u:hunter2hunter2@x'}}",
     "1:26: providers.p.baseUrl: a URL cannot hold a user name or password here"},
    {"channels: {telegram: {tokenEnv: T, domain: 'http://x.example'}}",
     "1:44: channels.telegram.domain: secrets would cross the network unencrypted: use https or "
     "wss (http and ws only to 127.0.0.1 or [::1], with a port)"},
    {"channels: {feishu: {appId: x, domain: 'http://127.0.0.1:80@x.example'}}",
     "1:39: channels.feishu.domain: secrets would cross the network unencrypted: use https or wss "
     "(http and ws only to 127.0.0.1 or [::1], with a port)"},
    {"providers: {p: {apiKeyEnv: 'MY KEY'}}",
     "1:28: providers.p.apiKeyEnv: expected the name of an environment variable"},
    {"providers: {p: {apiKeyEnv: [A, 'MY KEY']}}",
     "1:32: providers.p.apiKeyEnv: expected the name of an environment variable"},
    {"providers: {p: {apiKeyEnv: []}}",
     "1:28: providers.p.apiKeyEnv: expected 1 to 1024 names of environment variables"},
    {"providers: {p: {apiKeyEnv: sk-ant-0123456789}}",
     "1:28: providers.p.apiKeyEnv: expected the name of an environment variable"},
    {"providers: {anthropic: {serviceTier: turbo}}",
     "1:38: providers.anthropic.serviceTier: this service has no such tier (it has: auto "
     "standard_only)"},
    {"providers: {openai: {serviceTier: standard_only}}",
     "1:35: providers.openai.serviceTier: this service has no such tier (it has: auto default flex "
     "scale priority fast ultrafast)"},
    {"providers: {p: {api: openai, baseUrl: 'http://x', serviceTier: 'Two words'}}",
     "1:64: providers.p.serviceTier: a tier is a word in lower case"},
    {"providers: {vertex: {baseUrl: 'https://x', serviceTier: flex}}",
     "1:57: providers.vertex.serviceTier: this service has no tiers"},
    {"providers: {openai: {cacheTtl: 1h}}",
     "1:32: providers.openai.cacheTtl: the cache of this service has no lifetime that can be "
     "chosen"},
    {"providers: {anthropic: {cacheTtl: 30m}}",
     "1:35: providers.anthropic.cacheTtl: expected 5m or 1h, not \"30m\""},
    {"providers: {anthropic: {background: true}}",
     "1:37: providers.anthropic.background: this service makes no replies in the background (api: "
     "openai-responses and interactions do)"},
    {"providers: {openai-responses: {background: true, store: false}}",
     "1:57: providers.openai-responses.store: a reply that is made in the background is stored "
     "until it is fetched"},
    {"providers: {bedrock: {store: true}}",
     "1:30: providers.bedrock.store: this service stores nothing"},
    {"providers: {gemini: {transport: websocket}}",
     "1:33: providers.gemini.transport: this service has no WebSocket (api: openai-responses "
     "has)"},
    {"providers: {openai: {transport: websocket, background: true}}",
     "1:33: providers.openai.transport: replies are not made in the background over a WebSocket"},
    {"providers: {p: {apiKey: sk-ant-0123456789}}",
     "1:25: providers.p.apiKey: a key must not be in this file: use apiKeyEnv or apiKeyFile"},
    {"providers: {p: {headers: {X-Key: [hunter2hunter2]}}}",
     "1:34: providers.p.headers: expected text (in quotes), not array"},
    {"providers: {p: {headers: {'X Key': a}}}",
     "1:27: providers.p.headers: not the name of a header"},
    {"providers: {p: {headers: {X-Key: \"hunter2\\nhunter2\"}}}",
     "1:34: providers.p.headers: a header's value is one line of text"},
    {"providers: {p: {quirks: {bearer: 1}}}",
     "1:34: providers.p.quirks: expected true or false, not number"},
    {"providers: {p: {models: [{contextWindow: 5}]}}", "1:26: providers.p.models[0].id: missing"},
    {"tools: {custom: [{description: d, command: [x]}]}", "1:18: tools.custom[0].name: missing"},
    {"tools: {custom: [{name: a, command: [x]}]}", "1:18: tools.custom[0].description: missing"},
    {"tools: {custom: [{name: a, description: d}]}", "1:18: tools.custom[0].command: missing"},
    {"tools: {custom: [{name: a, description: d, command: x}]}",
     "1:53: tools.custom[0].command: expected a list such as [program, argument], not string"},
    {"tools: {custom: [{name: a, description: d, command: []}]}",
     "1:53: tools.custom[0].command: expected a list such as [program, argument], not an empty "
     "array"},
    {"tools: {custom: [{name: a, description: d, command: [x, 1]}]}",
     "1:57: tools.custom[0].command: expected text (in quotes), not number"},
    {"tools: {custom: [{name: a, description: d, command: [x], timeoutSec: soon}]}",
     "1:70: tools.custom[0].timeoutSec: expected a number, not string"},
    {"tools: {custom: [{name: a, description: d, command: [x]}, {name: a, description: d, command: "
     "[x]}]}",
     "1:59: tools.custom[1]: a is there already, in line 1"},
};

static void test_bad_files(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0}, want = {0};
        int rc = parse(bad[i].yaml, &warnings, &cfg, &err);
        ch_buf_addf(&want, "c.yaml:%s", bad[i].want);
        if (rc != CHELA_ECONFIG || strcmp(err.message, want.p) != 0)
            fail_msg("%s:\n got %s\nwant %s", bad[i].yaml, err.message, want.p);
        assert_null(cfg);
        assert_null(strstr(err.message, "hunter2"));
        assert_null(strstr(err.message, "0123456789"));
    }
}

static void test_yaml_errors_have_a_place(void **state) {
    (void)state;
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    CH_BUF_AUTO warnings = {0};
    assert_int_equal(parse("agents:\n  defaults: {model: a/b\n", &warnings, &cfg, &err),
                     CHELA_EPARSE);
    assert_memory_equal(err.message, "c.yaml:3:1: ", 12);
    assert_int_equal(parse("store: a\nstore: b\n", &warnings, &cfg, &err), CHELA_EPARSE);
    assert_memory_equal(err.message, "c.yaml:2:1: ", 12);
}

/* All complaints of a file, in its order. */
static const struct {
    const char *yaml, *want;
} complained[] = {
    {"agent: {}", "c.yaml:1:1: agent: unknown key, did you mean agents?\n"},
    {"agents: {default: {}}", "c.yaml:1:10: agents.default: unknown key, did you mean defaults?\n"},
    {"agents: {defaults: {id: x}}", "c.yaml:1:21: agents.defaults.id: unknown key\n"},
    {"agents:\n  defaults: {modle: x, tool: {}}",
     "c.yaml:2:14: agents.defaults.modle: unknown key, did you mean model?\n"
     "c.yaml:2:24: agents.defaults.tool: unknown key, did you mean tools?\n"},
    {"agents: {list: [{id: x, tools: {alow: [ls]}}]}",
     "c.yaml:1:33: agents.list[0].tools.alow: unknown key, did you mean allow?\n"},
    {"agents: {list: [{id: x, limits: {max_turns: 3}}]}",
     "c.yaml:1:34: agents.list[0].limits.max_turns: unknown key, did you mean maxTurns?\n"},
    {"agents: {defaults: {limits.maxTurns: 3}}",
     "c.yaml:1:21: agents.defaults.limits.maxTurns: unknown key\n"},
    {"providers: {p: {base_url: 'http://x', api_key_env: K}}",
     "c.yaml:1:17: providers.p.base_url: unknown key, did you mean baseUrl?\n"
     "c.yaml:1:39: providers.p.api_key_env: unknown key, did you mean apiKeyEnv?\n"},
    {"tools: {custom: [{name: a, description: d, command: [x], timeout: 3}]}",
     "c.yaml:1:58: tools.custom[0].timeout: unknown key, did you mean timeoutSec?\n"},
    {"approvals: {exec: ask, wirte: ask, weather: auto, 'zz*': deny, send_mail: ask, allow: []}\n"
     "tools: {custom: [{name: weather, description: d, command: [w]}]}",
     "c.yaml:1:24: approvals: there is no tool wirte, did you mean write?\n"
     "c.yaml:1:64: approvals: there is no tool send_mail, did you mean send_email?\n"},
    {"providers: {p: {quirks: {maxtokens: true, zzz: false}}}",
     "c.yaml:1:26: providers.p.quirks: unknown quirk maxtokens, did you mean max_tokens?\n"
     "c.yaml:1:43: providers.p.quirks: unknown quirk zzz\n"},
    {"agents: {defaults: {modle: a/b, limits: {maxTurns: many}}, "
     "list: [{name: x}, {id: y, mode: z},\n"
     "  {id: y}]}\nsandbox: {mode: maybe, net: none}\nzebra: 1\ngatway: {}\n"
     "policies: [{id: p, chanel: c}]\n",
     "c.yaml:1:21: agents.defaults.modle: unknown key, did you mean model?\n"
     "c.yaml:1:52: agents.defaults.limits.maxTurns: expected a whole number, not string\n"
     "c.yaml:1:67: agents.list[0].id: missing\n"
     "c.yaml:1:92: agents.list[1].mode: expected react, plan, route or heartbeat, not \"z\"\n"
     "c.yaml:2:3: agents.list[2]: y is there already, in line 1\n"
     "c.yaml:3:17: sandbox.mode: expected required, auto or off, not \"maybe\"\n"
     "c.yaml:3:24: sandbox.net: unknown key\n"
     "c.yaml:5:1: gatway: unknown key, did you mean gateway?\n"
     "c.yaml:6:20: policies[0].chanel: unknown key, did you mean channel?\n"},
    {"agents: {defaults: {tools: {allow: [raed], deny: [exce, zzz]}}}",
     "c.yaml:1:51: agents.defaults.tools.deny: there is no tool exce, did you mean exec?\n"},
    {"policies: [{id: a, channel: '*', senders: [x]}, {id: b, channel: c, deny: [wirte]}]",
     "c.yaml:1:12: policies[0]: with senders, channel must be one name: an id means nothing in "
     "another channel\n"
     "c.yaml:1:76: policies[1].deny: there is no tool wirte, did you mean write?\n"},
};

static void test_all_complaints(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(complained); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO got = {0};
        struct chela_config_opts opts = CHELA_CONFIG_OPTS(.complain = keep_warning, .user = &got);
        int rc = ch_config_parse_with(ch_sv_str(complained[i].yaml), "c.yaml", "/conf", &opts, &cfg,
                                      &err);
        if (rc != CHELA_ECONFIG || strcmp(ch_buf_str(&got), complained[i].want) != 0)
            fail_msg("%s:\n got %s\nwant %s", complained[i].yaml, ch_buf_str(&got),
                     complained[i].want);
        size_t n = strcspn(complained[i].want, "\n");
        assert_int_equal(strncmp(err.message, complained[i].want, n), 0);
        assert_int_equal(strstr(err.message, " more error") != NULL,
                         complained[i].want[n + 1] != '\0');
    }
}

static void test_strict(void **state) {
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.strict = 1);
    (void)state;
    assert_int_equal(
        ch_config_parse_with(CH_SV("memory: {enable: true}"), "c.yaml", "/", &opts, &cfg, &err),
        CHELA_ECONFIG);
    assert_string_equal(err.message,
                        "c.yaml:1:10: memory.enable: unknown key, did you mean enabled?");
}

static const struct {
    const char *yaml, *want;
} warned[] = {
    {"zebra: 1\nagents: {}", "c.yaml:1:1: zebra: unknown key\n"},
    {"agents: {defaults: {tools: {allow: [raed, 'web_*'], deny: [frobnicate]}}}",
     "c.yaml:1:37: agents.defaults.tools.allow: there is no tool raed, did you mean read?\n"
     "c.yaml:1:60: agents.defaults.tools.deny: there is no tool frobnicate\n"},
    {"agents: {list: [{id: x, tools: {allow: [wether]}}]}\n"
     "tools: {custom: [{name: weather, description: d, command: [w]}]}",
     "c.yaml:1:41: agents.list[0].tools.allow: there is no tool wether, did you mean weather?\n"},
    {"agents: {defaults: {tools: {allow: [read, ls, 'w*', 'group:files'], deny: [ls, write]}},\n"
     "         list: [{id: x, tools: {allow: [write, edit]}}, {id: y, tools: {deny: [edit]}}]}",
     "c.yaml:1:43: agents.defaults.tools.allow: ls is in tools.deny as well, which wins\n"
     "c.yaml:2:41: agents.list[0].tools.allow: write is in tools.deny as well, which wins\n"},
    {"policies: [{id: a, channel: c, allow: [raed, ls], deny: [ls]}]",
     "c.yaml:1:40: policies[0].allow: there is no tool raed, did you mean read?\n"
     "c.yaml:1:46: policies[0].allow: ls is in deny as well, which wins\n"},
    {"agents: {defaults: {tools: {allow: [edit], deny: ['group:files']}}}",
     "c.yaml:1:37: agents.defaults.tools.allow: edit is in tools.deny as well, which wins\n"},
    {"memory: {enable: true}",
     "c.yaml:1:10: memory.enable: unknown key, did you mean enabled?\n"},
    {"approvals: {zz: ask, 'zz*': deny}", "c.yaml:1:13: approvals: there is no tool zz\n"},
    {"channels: {feishu: {appId: x}}", "c.yaml:1:20: channels.feishu: this channel answers nobody: "
                                       "set allowFrom, groups or dmPolicy\n"},
    {"channels: {telegram: {tokenEnv: T, dmPolicy: off, groupPolicy: off, owners: ['1']}}",
     "c.yaml:1:22: channels.telegram: this channel answers nobody: set allowFrom, groups or "
     "dmPolicy\n"},
    {"channels: {telegram: {tokenEnv: T, owners: ['1']}, feishu: {appId: x, groups: [oc_1]}}", ""},
    {"channels: {feishu: {appId: CHANGE-ME, groups: [oc_1]}}",
     "c.yaml:1:28: channels.feishu.appId: not filled in: replace CHANGE-ME by the value from the "
     "console of the service\n"},
    {"channels: {telegram: {tokenEnv: T, owners: [CHANGE-ME], domain: 'http://[::1]:8'}}",
     "c.yaml:1:44: channels.telegram.owners: not filled in: replace CHANGE-ME by the value from "
     "the console of the service\n"},
    {"channels: {feishu: {appId: x, dmPolicy: pairing}, telegram: {domain: 'https://x'}}",
     "c.yaml:1:51: channels.telegram: the channel is not used: it needs tokenEnv or tokenFile\n"},
    {"channels: {feishu: }",
     "c.yaml:1:12: channels.feishu: the channel is not used: it needs appId\n"},
    {"\"a\\nb\": 1", "c.yaml:1:1: a b: unknown key\n"},
    {"sk-ant-0123456789: 1", "c.yaml:1:1: ***: unknown key\n"},
    /* Keys that other parts of chela have are no mistakes. */
    {"databases: {default: 'sqlite:x'}\nmail: {smtp: 'smtp://x'}\napprovals: {exec: ask}\n"
     "sandbox: {mode: auto}\nstore: 'sqlite:./chela.db'\nprompts: {dir: x}\n"
     "channels: {feishu: {appId: x, dmPolicy: open}}\n"
     "providers: {p: {models: [{id: q, contextWindow: 32768}]}}\n",
     ""},
};

static void test_warnings(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(warned); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0};
        if (parse(warned[i].yaml, &warnings, &cfg, &err) < 0)
            fail_msg("%s: %s", warned[i].yaml, err.message);
        if (strcmp(ch_buf_str(&warnings), warned[i].want) != 0)
            fail_msg("%s:\n got %s\nwant %s", warned[i].yaml, ch_buf_str(&warnings),
                     warned[i].want);
        chela_config_free(cfg);
        assert_int_equal(
            ch_config_parse(ch_sv_str(warned[i].yaml), "c", "/", NULL, NULL, &cfg, NULL), 0);
        chela_config_free(cfg);
    }
}

/* --- generated from the table -------------------------------------------------------- */

/* A file in one line that sets one option; *at is where its value stands. */
static char *file_with(const struct ch_option *o, const char *value, size_t *at,
                       struct ch_buf *path) {
    static const struct {
        const char *open, *close, *path;
    } around[] = {
        [CH_SCOPE_FILE] = {"", "", ""},
        [CH_SCOPE_AGENT] = {"\"agents\": {\"list\": [{", "}]}", "agents.list[0]."},
        [CH_SCOPE_PROVIDER] = {"\"providers\": {\"p\": {", "}}", "providers.p."},
        [CH_SCOPE_MODEL] = {"\"providers\": {\"p\": {\"models\": [{", "}]}}",
                            "providers.p.models[0]."},
        [CH_SCOPE_TOOL] = {"\"tools\": {\"custom\": [{", "}]}", "tools.custom[0]."},
        [CH_SCOPE_POLICY] = {"\"policies\": [{", "}]", "policies[0]."},
        [CH_SCOPE_HOOK] = {"\"gateway\": {\"hooks\": {\"h\": {", "}}}", "gateway.hooks.h."},
        [CH_SCOPE_HOOK_PROGRAM] = {"\"hooks\": {\"stop\": [{", "}]}", "hooks.stop[0]."},
        [CH_SCOPE_SCHEDULE] = {"\"schedules\": {\"s\": {", "}}", "schedules.s."},
        [CH_SCOPE_BUDGET] = {"\"budgets\": {\"b\": {", "}}", "budgets.b."},
        [CH_SCOPE_SECRET] = {"\"secrets\": {\"s\": {", "}}", "secrets.s."},
        [CH_SCOPE_MCP] = {"\"mcp\": {\"servers\": {\"m\": {", "}}}", "mcp.servers.m."},
        [CH_SCOPE_CHANNEL] = {"\"channels\": {\"feishu\": {", "}}", "channels.feishu."},
    };
    struct ch_buf out = {0};
    ch_buf_addf(path, "%s%s", around[o->scope].path, o->key);
    ch_buf_addf(&out, "{%s", around[o->scope].open);
    for (const struct ch_option *r = ch_options; r->key; r++)
        if (r != o && r->scope == o->scope && (r->flags & CH_CFG_REQUIRED))
            ch_buf_addf(&out, "\"%s\": %s, ", r->key,
                        r->type == CH_CFG_COMMAND || r->type == CH_CFG_HOSTS ? "[x]"
                        : r->type == CH_CFG_WHEN  ? "\"@daily\""
                                                  : "x");
    if (o->scope == CH_SCOPE_BUDGET) /* one of two limits is required */
        ch_buf_addf(&out, "\"%s\": 1, ", strcmp(o->key, "tokens") == 0 ? "costUsd" : "tokens");
    if (o->scope == CH_SCOPE_SECRET && /* one of the sources is required */
        (strcmp(o->key, "hosts") == 0 || strcmp(o->key, "header") == 0))
        ch_buf_add_str(&out, "\"env\": X, ");
    struct ch_sv rest = ch_sv_str(o->key);
    size_t nested = 0;
    while (rest.n) {
        struct ch_sv part = ch_sv_split(&rest, '.');
        ch_buf_addf(&out, "\"%.*s\": %s", CH_SV_FMT(part), rest.n ? "{" : "");
        nested += rest.n > 0;
    }
    *at = out.n;
    ch_buf_add_str(&out, value);
    while (nested--)
        ch_buf_addc(&out, '}');
    ch_buf_addf(&out, "%s}", around[o->scope].close);
    return ch_buf_take(&out);
}

/* The column itself says which values it takes. */
static bool column_takes(const struct ch_option *o, char kind) {
    static const struct {
        char kind;
        const char *json;
    } values[] = {{'s', "\"text\""}, {'n', "5"}, {'b', "true"}, {'l', "[{}]"}, {'m', "{}"}};
    bool taken = false;
    for (size_t i = 0; i < CH_LEN(values); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_some_facts some = {0};
        const struct ch_json *v;
        assert_int_equal(
            ch_json_parse(&a, ch_sv_str(values[i].json), CH_JSON_STRICT, &v, NULL, NULL), 0);
        if (values[i].kind == kind)
            taken = ch_column_read(ch_column_find(ch_sv_str(o->key)), v, &a, &some, NULL) == 0;
    }
    return taken;
}

/* Values of all kinds, and which types take one of that kind. */
static bool takes(const struct ch_option *o, char kind) {
    switch (o->type) {
    case CH_CFG_TEXT:
    case CH_CFG_NAME:
    case CH_CFG_PATH:
    case CH_CFG_FOLDER:
    case CH_CFG_URL:
    case CH_CFG_SMTP:
    case CH_CFG_WHEN:
    case CH_CFG_SPAN:
    case CH_CFG_HOURS:
    case CH_CFG_ENV:
    case CH_CFG_CHOICE:
    case CH_CFG_MODEL:
        return kind == 's';
    case CH_CFG_BOOL:
    case CH_CFG_FLAG:
    case CH_CFG_UNLESS:
        return kind == 'b';
    case CH_CFG_INT:
    case CH_CFG_LIMIT:
    case CH_CFG_COUNT:
    case CH_CFG_SECONDS:
    case CH_CFG_BUDGET:
    case CH_CFG_NUMBER:
        return kind == 'n';
    case CH_CFG_NAMES:
    case CH_CFG_PATTERNS:
    case CH_CFG_HOSTS:
    case CH_CFG_WORDS:
    case CH_CFG_PATHS:
    case CH_CFG_PLACES:
    case CH_CFG_INSIDE:
    case CH_CFG_COMMAND:
    case CH_CFG_TEXTS:
    case CH_CFG_LIST:
        return kind == 'l';
    case CH_CFG_ENVS:
    case CH_CFG_NETWORK:
    case CH_CFG_MODELS:
        return kind == 's' || kind == 'l';
    case CH_CFG_SYSTEM:
        return kind == 's' || kind == 'm';
    case CH_CFG_HEADERS:
    case CH_CFG_DATABASES:
    case CH_CFG_QUIRKS:
    case CH_CFG_PINS:
    case CH_CFG_ROLLOUT:
    case CH_CFG_CHECK:
        return kind == 'm' || kind == 'l';
    case CH_CFG_JSON:
    case CH_CFG_APPROVALS:
    case CH_CFG_ONE:
    case CH_CFG_MAP:
    case CH_CFG_CHANNELS:
        return kind == 'm';
    case CH_CFG_FACT:
        return column_takes(o, kind);
    case CH_CFG_ANY:
        return true;
    case CH_CFG_REFUSED:
        return false;
    }
    return false;
}

static void test_wrong_types(void **state) {
    (void)state;
    static const struct {
        char kind;
        const char *value;
    } values[] = {{'s', "\"text\""}, {'n', "5"}, {'b', "true"}, {'l', "[{}]"}, {'m', "{k: [1]}"}};
    size_t tried = 0;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        for (size_t i = 0; i < CH_LEN(values); i++) {
            if (takes(o, values[i].kind))
                continue;
            chela_config *cfg = NULL;
            struct chela_error err = {0};
            CH_BUF_AUTO warnings = {0}, path = {0}, want = {0};
            size_t at;
            CH_AUTOFREE char *yaml = file_with(o, values[i].value, &at, &path);
            int rc = parse(yaml, &warnings, &cfg, &err);
            ch_buf_addf(&want, "c.yaml:1:%zu: %s: %s", at + 1, path.p,
                        o->type == CH_CFG_REFUSED ? o->help : "expected ");
            if (rc != CHELA_ECONFIG || !ch_sv_starts(ch_sv_str(err.message), want.p))
                fail_msg("%s:\n got %s\nwant %s...", yaml, err.message, want.p);
            tried++;
        }
    }
    assert_true(tried > 150);
}

static void expect(const struct ch_option *o, const char *value, int want) {
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    CH_BUF_AUTO warnings = {0}, path = {0};
    size_t at;
    CH_AUTOFREE char *yaml = file_with(o, value, &at, &path);
    int rc = parse(yaml, &warnings, &cfg, &err);
    if (rc != want)
        fail_msg("%s: %s", yaml, rc < 0 ? err.message : "was accepted");
    chela_config_free(cfg);
}

/* Both ends of each range, just beyond them, each word of each choice, null. */
static void test_ranges_and_choices(void **state) {
    (void)state;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        char text[64];
        bool source = o->scope == CH_SCOPE_SECRET && strcmp(o->key, "header") != 0;
        if (!(o->flags & CH_CFG_REQUIRED) && !source)
            expect(o, "null", 0);
        if (o->max > 0) {
            snprintf(text, sizeof(text), "%.0f", o->min);
            expect(o, text, 0);
            snprintf(text, sizeof(text), "%.0f", o->max);
            expect(o, text, 0);
            snprintf(text, sizeof(text), "%.0f", o->min - 1);
            expect(o, text, CHELA_ECONFIG);
            snprintf(text, sizeof(text), "%.0f", o->max + 1);
            expect(o, text, CHELA_ECONFIG);
        }
        struct ch_sv words = ch_sv_str(o->words);
        while (words.n) {
            struct ch_sv word = ch_sv_split(&words, '|');
            bool list = o->type == CH_CFG_WORDS, begins = word.p[word.n - 1] == ':';
            snprintf(text, sizeof(text), list ? "[\"%.*s%s\"]" : "%.*s%s", CH_SV_FMT(word),
                     begins ? "name" : "");
            expect(o, text, 0);
        }
    }
}

/* The table itself: keys once, together, explained, with defaults that hold. */
static void test_the_table(void **state) {
    (void)state;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        assert_ptr_equal(ch_option_find(o->scope, ch_sv_str(o->key)), o);
        bool group = o->type == CH_CFG_ONE || o->type == CH_CFG_LIST || o->type == CH_CFG_MAP;
        if (!(o->flags & CH_CFG_UNUSED))
            assert_non_null(o->help);
        if (o->otherwise && !group)
            expect(o, o->otherwise, 0);
        assert_int_equal(o->type == CH_CFG_CHOICE || o->type == CH_CFG_WORDS, o->words != NULL);
    }
    const struct ch_option *api = ch_option_find(CH_SCOPE_PROVIDER, CH_SV("api"));
    struct ch_sv codecs = ch_sv_str(ch_codec_names());
    while (codecs.n) {
        char word[32];
        struct ch_sv name = ch_sv_split(&codecs, ' ');
        snprintf(word, sizeof(word), "%.*s", CH_SV_FMT(name));
        assert_non_null(strstr(api->words, word));
    }
}

/* --- hostile files --------------------------------------------------------------------- */

static void survive(struct ch_sv text, unsigned most_warnings) {
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    CH_BUF_AUTO warnings = {0};
    int rc = ch_config_parse(text, "c.yaml", "/", keep_warning, &warnings, &cfg, &err);
    unsigned lines = 0;
    for (size_t i = 0; i < warnings.n; i++)
        lines += warnings.p[i] == '\n';
    assert_true(lines <= most_warnings);
    if (rc < 0)
        assert_memory_equal(err.message, "c.yaml:", 7);
    else
        chela_config_free(cfg);
}

static void test_garbage(void **state) {
    (void)state;
    size_t n = CH_MB;
    CH_AUTOFREE char *text = ch_malloc(n);
    uint32_t seed = 7;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
    survive(ch_sv(text, n), 0);
    for (size_t i = 0; i < n; i++)
        text[i] = "agents: {}[]-\n 09\"'&*|>"[(seed = seed * 1664525 + 1013904223) >> 28 | (i & 4)];
    survive(ch_sv(text, n), CH_LIMIT_CONFIG_WARNINGS + 1);
    memset(text, 'a', n);
    survive(ch_sv(text, n), 0);
}

static void test_many_unknown_keys(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    for (unsigned i = 0; i < 20000; i++)
        ch_buf_addf(&text, "key%u: {}\n", i);
    chela_config *cfg = NULL;
    CH_BUF_AUTO warnings = {0};
    assert_int_equal(
        ch_config_parse(ch_buf_sv(&text), "c.yaml", "/", keep_warning, &warnings, &cfg, NULL), 0);
    assert_non_null(strstr(ch_buf_str(&warnings), "c.yaml:50:1: key49: unknown key\n"));
    assert_non_null(strstr(ch_buf_str(&warnings), "c.yaml:51:1: key50: more warnings follow\n"));
    assert_null(strstr(ch_buf_str(&warnings), "key51"));
    chela_config_free(cfg);
}

static void test_deep_nesting(void **state) {
    (void)state;
    static const char *const starts[] = {
        "", "databases: ", "agents: {defaults: {skills: ", "tools: {custom: [{parameters: "};
    for (size_t i = 0; i < CH_LEN(starts); i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_add_str(&text, starts[i]);
        for (unsigned k = 0; k < 100000; k++)
            ch_buf_addc(&text, k % 2 ? '[' : '{');
        survive(ch_buf_sv(&text), 0);
        ch_buf_clear(&text);
        ch_buf_add_str(&text, starts[i]);
        for (unsigned k = 0; k < 400; k++)
            ch_buf_add_str(&text, "{a: ");
        survive(ch_buf_sv(&text), CH_LIMIT_CONFIG_WARNINGS + 1);
    }
}

static void test_too_many_entries(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    chela_config *cfg = NULL;
    CH_BUF_AUTO warnings = {0};
    ch_buf_add_str(&text, "agents: {list: [");
    for (unsigned i = 0; i <= CH_LIMIT_CONFIG_ITEMS; i++)
        ch_buf_addf(&text, "{id: a%u},", i);
    ch_buf_add_str(&text, "]}");
    assert_int_equal(parse(text.p, &warnings, &cfg, &err), CHELA_ECONFIG);
    assert_string_equal(err.message, "c.yaml:1:16: agents.list: more than 1024 entries");
}

/* --- with a real runtime ------------------------------------------------------------------ */

struct folder {
    char dir[256], config[300], other[300];
};

static void make_folder(struct folder *f, const char *yaml) {
    const char *tmp = getenv("TMPDIR");
    snprintf(f->dir, sizeof(f->dir), "%s/chela-config-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->config, sizeof(f->config), "%s/chela.yaml", f->dir);
    snprintf(f->other, sizeof(f->other), "%s/key", f->dir);
    put(f->config, yaml);
}

static void remove_folder(struct folder *f) {
    unlink(f->config);
    unlink(f->other);
    rmdir(f->dir);
}

static chela_config *load(const struct folder *f) {
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    if (chela_config_load(f->config, NULL, NULL, &cfg, &err) < 0)
        fail_msg("%s", err.message);
    return cfg;
}

static const struct ch_provider_conf *provider(const chela_runtime *rt, const char *name) {
    for (const struct ch_provider_conf *c = rt->providers.confs; c; c = c->next)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void test_providers(void **state) {
    (void)state;
    struct folder f;
    make_folder(&f, "providers:\n"
                    "  my-llm:\n"
                    "    api: openai\n"
                    "    baseUrl: http://127.0.0.1:8080/v1\n"
                    "    apiKeyFile: ./key\n"
                    "    headers: {X-Team: 'red team', X-Other: ''}\n"
                    "    extraBody: {top_k: 5, nested: {a: [1.50]}}\n"
                    "    quirks: {max_tokens: true, no_stream_usage: false}\n"
                    "    models: [{id: qwen, contextWindow: 32768, quirks: {reasons: true, "
                    "max_tokens: false}}]\n"
                    "  anthropic: {apiKeyEnv: OTHER_KEY}\n"
                    "  openai:\n");
    put(f.other, "  secret-key-123\n\n");
    chela_config *cfg = load(&f);
    chela_runtime *rt = NULL;
    struct chela_error err = {0};
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    if (chela_config_apply(cfg, rt, &err) < 0)
        fail_msg("%s", err.message);
    const struct ch_provider_conf *mine = provider(rt, "my-llm");
    assert_non_null(mine);
    assert_string_equal(mine->api, "openai");
    assert_string_equal(mine->base_url, "http://127.0.0.1:8080/v1");
    assert_string_equal(mine->api_key, "secret-key-123");
    assert_int_equal(mine->nheaders, 2);
    assert_true(ch_sv_is(mine->headers[0].name, "X-Team"));
    assert_true(ch_sv_is(mine->headers[0].value, "red team"));
    assert_string_equal(mine->extra_body, "\"top_k\":5,\"nested\":{\"a\":[1.50]}");
    assert_int_equal(mine->quirks.on, CH_Q_MAX_TOKENS);
    assert_int_equal(mine->quirks.off, CH_Q_NO_STREAM_USAGE);
    assert_non_null(provider(rt, "anthropic"));
    assert_string_equal(provider(rt, "anthropic")->api_key_env, "OTHER_KEY");
    assert_null(provider(rt, "anthropic")->api);
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "my-llm/qwen");
    chela_agent *agent;
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    assert_int_equal(ch_target_window(agent->targets[0]), 32768);
    unsigned quirks = agent->targets[0]->ep.quirks;
    assert_true(quirks & CH_Q_REASONS && !(quirks & CH_Q_MAX_TOKENS));
    const struct chela_agent_opts other = CHELA_AGENT_OPTS(.model = "my-llm/other");
    assert_int_equal(chela_agent_new(rt, &other, &agent, &err), 0);
    quirks = agent->targets[0]->ep.quirks;
    assert_true(!(quirks & CH_Q_REASONS) && quirks & CH_Q_MAX_TOKENS);
    chela_runtime_close(rt);
    chela_config_free(cfg);
    remove_folder(&f);
}

/* Keys and header values do not come out in messages, wherever they stand. */
static void test_secrets_are_redacted(void **state) {
    (void)state;
    struct folder f;
    make_folder(&f,
                "providers: {p: {api: openai, apiKeyFile: key, headers: {X-A: hunter2-header}}}");
    put(f.other, "hunter2-in-a-file");
    chela_config *cfg = load(&f);
    chela_runtime *rt = NULL;
    struct chela_error err = {0};
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    assert_int_equal(chela_config_apply(cfg, rt, &err), 0);
    ch_fail(&err, CHELA_EIO, "got hunter2-header and hunter2-in-a-file here");
    assert_string_equal(err.message, "got *** and *** here");
    chela_runtime_close(rt);
    chela_config_free(cfg);
    remove_folder(&f);
}

static void test_what_apply_refuses(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *key, *want; /* %s: the folder */
    } cases[] = {
        {"providers:\n  p: {apiKeyFile: nokey}", "",
         "%s/chela.yaml:2:19: providers.p.apiKeyFile: %s/nokey: No such file or directory"},
        {"providers:\n  p: {apiKeyFile: key}", " \n",
         "%s/chela.yaml:2:19: providers.p.apiKeyFile: %s/key: the file is empty"},
        {"providers:\n  p: {apiKeyFile: key}", "hunter2\nhunter2",
         "%s/chela.yaml:2:19: providers.p.apiKeyFile: %s/key: expected one key and nothing else"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct folder f;
        make_folder(&f, cases[i].yaml);
        put(f.other, cases[i].key);
        chela_config *cfg = load(&f);
        chela_runtime *rt = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO want = {0};
        struct ch_sv rest = ch_sv_str(cases[i].want);
        CH_AUTOFREE char *real = realpath(f.dir, NULL);
        for (const char *at = rest.p; *at; at++) {
            if (at[0] == '%' && at[1] == 's')
                ch_buf_add_str(&want, want.n ? real : f.dir), at++;
            else
                ch_buf_addc(&want, *at);
        }
        assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
        assert_true(chela_config_apply(cfg, rt, NULL) < 0);
        assert_true(chela_config_apply(cfg, rt, &err) < 0);
        assert_string_equal(err.message, want.p);
        chela_runtime_close(rt);
        chela_config_free(cfg);
        remove_folder(&f);
    }
}

/* The names of an agent's tools, one after the other. */
static void tool_names(const chela_agent *agent, struct ch_buf *out) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *tools;
    char *json = chela_agent_tools_json(agent);
    assert_int_equal(ch_json_parse(&a, ch_sv_str(json), CH_JSON_STRICT, &tools, NULL, NULL), 0);
    for (CH_JSON_EACH(t, tools)) {
        struct ch_sv name = ch_json_get_str(t, "name");
        ch_buf_addf(out, "%s%.*s", out->n ? " " : "", CH_SV_FMT(name));
    }
    chela_free(json);
}

#define CUSTOM                                                                                 \
    "tools: {custom: [{name: w1, description: d, command: [./w, -x], permission: read},"       \
    "{name: w2, description: d, command: [w], permission: write, parameters: {type: object}}," \
    "{name: boss, description: d, command: [/bin/w], effect: keyed, timeoutSec: 0, cwd: sub}]}\n"

/* All built-in tools that need no more than this, then `custom`. */
static void all_tools(chela_runtime *rt, int bound, const char *custom, struct ch_buf *out) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "*",
                                                    .permission = (enum chela_permission)bound);
    chela_agent *agent = NULL;
    assert_int_equal(chela_agent_new(rt, &opts, &agent, NULL), 0);
    tool_names(agent, out);
    ch_buf_addf(out, " %s", custom);
}

static void test_tools_of_an_agent(void **state) {
    (void)state;
    static const struct {
        const char *yaml;
        int bound; /* all built-in tools within it; -1: none of them */
        const char *want;
    } cases[] = {
        {CUSTOM, CHELA_PERM_ADMIN, "w1 w2 boss"},
        {CUSTOM "agents: {defaults: {tools: {allow: []}}}", -1, ""},
        {CUSTOM "agents: {defaults: {tools: {allow: [ls, w1]}}}", -1, "ls w1"},
        {CUSTOM "agents: {defaults: {tools: {allow: ['w?', 'w*e'], deny: [w2]}}}", -1, "write w1"},
        {CUSTOM "agents: {defaults: {tools: {allow: ['group:files'], deny: ['*d*', 'f*']}}}", -1,
         "write apply_patch ls grep"},
        {CUSTOM "agents: {defaults: {tools: {permission: read}}}", CHELA_PERM_READ, "w1"},
        {CUSTOM "agents: {defaults: {tools: {permission: write}}}", CHELA_PERM_WRITE, "w1 w2"},
        {CUSTOM "agents: {defaults: {tools: {allow: [ls]}}, list: [{id: x, tools: {allow: [w1]}}]}",
         -1, "w1"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = NULL;
        chela_runtime *rt = NULL;
        chela_agent *agent = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0}, got = {0}, want = {0};
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
        assert_int_equal(parse(cases[i].yaml, &warnings, &cfg, NULL), 0);
        assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
        assert_int_equal(chela_config_agent(cfg, NULL, &opts, NULL), 0);
        assert_int_equal(chela_agent_new(rt, &opts, &agent, NULL), 0);
        if (chela_config_tools(cfg, NULL, agent, &err) < 0)
            fail_msg("%s", err.message);
        tool_names(agent, &got);
        if (cases[i].bound >= 0)
            all_tools(rt, cases[i].bound, cases[i].want, &want);
        else
            ch_buf_add_str(&want, cases[i].want);
        assert_string_equal(ch_buf_str(&got), ch_buf_str(&want));
        chela_runtime_close(rt);
        chela_config_free(cfg);
    }
}

/* Whether there are such prompts is known when the file is applied; the place is
 * named all the same. */
static void test_prompts(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *want; /* NULL: fine */
    } cases[] = {
        {"prompts: {pin: {router: 1.0}, rollout: {planner: {'1.0': 10}}}", NULL},
        {"prompts: {dir: /nonexistent/prompts}",
         "c.yaml:1:16: prompts.dir: /nonexistent/prompts: No such file or directory"},
        {"prompts: {pin: {router: '9.9'}}",
         "c.yaml:1:25: prompts.pin: prompt router has no version 9.9; it has 1.0"},
        {"prompts:\n  rollout:\n    ruoter: {'1.0': 10}",
         "c.yaml:3:14: prompts.rollout: there is no prompt ruoter (did you mean router?)"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = NULL;
        chela_runtime *rt = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0};
        assert_int_equal(parse(cases[i].yaml, &warnings, &cfg, &err), 0);
        assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
        int rc = chela_config_apply(cfg, rt, &err);
        assert_int_equal(rc < 0, cases[i].want != NULL);
        if (cases[i].want)
            assert_string_equal(err.message, cases[i].want);
        chela_runtime_close(rt);
        chela_config_free(cfg);
    }
}

/* `~/` is the home directory in every path; `~name` is a file. */
static void test_home(void **state) {
    (void)state;
    static const char yaml[] =
        "sandbox: { readable: [\"~/x\", ~y, \"a~/b\"], writable: [workspace, \"~\"],\n"
        "           protect: [\"~/secret\", own] }\n"
        "store: sqlite:~/s.db\n"
        "tools: { custom: [ { name: w, description: d, command: [~/bin/w], cwd: ~/d } ] }\n"
        "agents: { defaults: { model: scripted/~/r.yaml, workspaceDir: \"~/work\" } }\n";
    static const struct chela_config_opts opts[] = {CHELA_CONFIG_OPTS(.home = "/h/ann"),
                                                    CHELA_CONFIG_OPTS(.home = NULL)};
    for (size_t i = 0; i < CH_LEN(opts); i++) {
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        if (ch_config_parse_with(ch_sv_str(yaml), "c.yaml", "/conf", &opts[i], &cfg, &err) < 0)
            fail_msg("%s", err.message);
        const struct ch_conf *c = &cfg->conf;
        const struct ch_conf_tool *tool = c->tools.items;
        const char *paths[] = {c->sandbox.readable[0], c->sandbox.writable[1],
                               c->sandbox.protect[0],  chela_config_store(cfg) + strlen("sqlite:"),
                               tool->command[0], tool->cwd,
                               c->defaults.models[0] + strlen("scripted/"),
                               c->defaults.workspace};
        static const char *const want[] = {"/x", "", "/secret", "/s.db", "/bin/w",
                                           "/d", "/r.yaml", "/work"};
        for (size_t k = 0; k < CH_LEN(paths); k++) {
            CH_BUF_AUTO full = {0};
            ch_buf_addf(&full, "%s%s", opts[i].home ? opts[i].home : "~", want[k]);
            assert_string_equal(paths[k], ch_buf_str(&full));
        }
        assert_string_equal(c->sandbox.readable[1], "/conf/~y");
        assert_string_equal(c->sandbox.readable[2], "/conf/a~/b");
        assert_string_equal(c->sandbox.protect[1], "own");
        chela_config_free(cfg);
    }
}

static void test_what_a_tool_is_made_of(void **state) {
    (void)state;
    chela_config *cfg = NULL;
    CH_BUF_AUTO warnings = {0};
    assert_int_equal(parse(CUSTOM, &warnings, &cfg, NULL), 0);
    const struct ch_conf_tool *t = cfg->conf.tools.items;
    assert_int_equal(cfg->conf.tools.n, 3);
    assert_string_equal(t[0].command[0], "/conf/w");
    assert_string_equal(t[0].command[1], "-x");
    assert_null(t[0].command[2]);
    assert_string_equal(t[1].command[0], "w");
    assert_string_equal(t[1].parameters, "{\"type\":\"object\"}");
    assert_string_equal(t[2].command[0], "/bin/w");
    assert_string_equal(t[2].cwd, "/conf/sub");
    assert_string_equal(t[2].effect, "keyed");
    assert_int_equal(t[2].timeout_ms, -1);
    chela_config_free(cfg);
}

static void test_tools_that_cannot_be_added(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *want;
    } cases[] = {
        {"tools: {custom: [{name: w, description: d, command: [w], parameters: {type: 5}}]}",
         "c.yaml:1:18: "},
        {"tools: {custom: [{name: read, description: d, command: [w]}]}", NULL},
        {"tools: {custom: [{name: w, description: d, command: [w], confirm: true}]}", NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = NULL;
        chela_runtime *rt = NULL;
        chela_agent *agent = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0};
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
        assert_int_equal(parse(cases[i].yaml, &warnings, &cfg, NULL), 0);
        assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
        assert_int_equal(chela_config_agent(cfg, NULL, &opts, NULL), 0);
        assert_int_equal(chela_agent_new(rt, &opts, &agent, NULL), 0);
        int rc = chela_config_tools(cfg, NULL, agent, &err);
        assert_int_equal(rc < 0, cases[i].want != NULL);
        if (cases[i].want && !ch_sv_starts(ch_sv_str(err.message), cases[i].want))
            fail_msg("got %s", err.message);
        chela_runtime_close(rt);
        chela_config_free(cfg);
    }
}

/* What the file says about databases, web and mail, as the library takes it. */
static void test_settings(void **state) {
    static const struct {
        const char *yaml, *want;
    } cases[] = {
        {"{}", ""},
        {"databases: {default: 'sqlite:./d.db', abs: 'sqlite:/x/y.db',"
         " pg: 'postgres://u:${PW}@h:5433/db?sslmode=require', other: 'postgresql://h/db'}",
         "databases.default=sqlite:/conf/d.db databases.abs=sqlite:/x/y.db "
         "databases.pg=postgres://u:${PW}@h:5433/db?sslmode=require "
         "databases.other=postgresql://h/db "},
        {"webFetch: {allowHosts: ['*.a.example', 'b:9000', '[::1]:*'], denyHosts: [],"
         " allowPrivate: true}",
         "webFetch.allowHosts=*.a.example,b:9000,[::1]:* webFetch.denyHosts= "
         "webFetch.allowPrivate=true "},
        {"webFetch: {allowHosts: [], allowPrivate: false}", "webFetch.allowHosts= "},
        {"webSearch: {provider: brave, baseUrl: 'https://s.example', apiKeyEnv: K}",
         "webSearch.provider=brave webSearch.baseUrl=https://s.example webSearch.apiKeyEnv=K "},
        {"mail: {smtp: 'smtp://h:587', from: 'Bot <b@x.example>', user: u, passwordEnv: P,"
         " tls: optional, allowTo: ['*@x.example', a+b@y.example]}",
         "mail.smtp=smtp://h:587 mail.from=Bot <b@x.example> mail.user=u mail.passwordEnv=P "
         "mail.allowTo=*@x.example,a+b@y.example mail.noTls=true "},
        {"mail: {tls: required}", ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_config *cfg = NULL;
        chela_runtime *rt = NULL;
        chela_agent *agent = NULL;
        struct chela_error err = {0};
        CH_BUF_AUTO warnings = {0}, got = {0};
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
        if (parse(cases[i].yaml, &warnings, &cfg, &err) < 0)
            fail_msg("%s: %s", cases[i].yaml, err.message);
        assert_string_equal(ch_buf_str(&warnings), "");
        assert_int_equal(chela_config_agent(cfg, NULL, &opts, NULL), 0);
        for (const char *const *s = opts.toolset->settings; s && *s; s++)
            ch_buf_addf(&got, "%s ", *s);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
        assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
        if (chela_agent_new(rt, &opts, &agent, &err) < 0) /* the library takes them all */
            fail_msg("%s: %s", cases[i].yaml, err.message);
        chela_runtime_close(rt);
        chela_config_free(cfg);
    }
}

static void test_load(void **state) {
    (void)state;
    struct folder f;
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    make_folder(&f, "agents: {defaults: {workspaceDir: ws}}");
    assert_int_equal(chela_config_load(f.other, NULL, NULL, &cfg, &err), CHELA_ENOENT);
    assert_non_null(strstr(err.message, "/key: No such file or directory"));
    cfg = load(&f);
    CH_AUTOFREE char *real = realpath(f.dir, NULL);
    CH_BUF_AUTO want = {0};
    ch_buf_addf(&want, "%s/ws", real);
    assert_string_equal(cfg->conf.defaults.workspace, want.p);
    chela_config_free(cfg);
    chela_config_free(NULL);
    remove_folder(&f);
}

/* A false of an agent replaces a true of the defaults. */
static void test_false_of_an_agent(void **state) {
    static const char yaml[] =
        "agents:\n"
        "  defaults: { tools: { gateway: true, chat: true, schedule: true, strict: true },\n"
        "    reviewPlan: true, limits: { sumUp: true }, mode: heartbeat,\n"
        "    heartbeat: { group: { answerAll: true }, direct: { answerAll: false } } }\n"
        "  list:\n"
        "  - id: same\n"
        "  - { id: other, tools: { gateway: false, chat: false, schedule: false, strict: false },\n"
        "      reviewPlan: false, limits: { sumUp: false },\n"
        "      heartbeat: { group: { answerAll: false }, direct: { answerAll: true } } }\n";
    static const char *const ids[] = {"same", "other"};
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    CH_BUF_AUTO warnings = {0};
    (void)state;
    if (parse(yaml, &warnings, &cfg, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < 2; i++) {
        struct chela_agent_opts o = CHELA_AGENT_OPTS(.model = "scripted/demo");
        bool yes = i == 0;
        assert_int_equal(chela_config_agent(cfg, ids[i], &o, NULL), 0);
        assert_int_equal(o.gateway->gateway_tool, yes);
        assert_int_equal(o.gateway->chat_actions, yes);
        assert_int_equal(chela_config_schedule_tool(cfg, ids[i]), yes);
        assert_int_equal(o.request->strict, yes);
        assert_int_equal(o.planning->review_plan, yes);
        assert_int_equal(o.limits->sum_up, yes ? 1 : -1);
        assert_int_equal(o.heartbeat->group->answer_all, yes);
        assert_int_equal(o.heartbeat->direct->answer_all, !yes);
    }
    chela_config_free(cfg);
}

/* --- what is made from the table ------------------------------------------------------------ */

static void test_schema(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *root;
    char *text = chela_config_schema();
    assert_int_equal(ch_json_parse(&a, ch_sv_str(text), CH_JSON_STRICT, &root, NULL, NULL), 0);
    const struct ch_json *top = ch_json_get(root, "properties");
    const struct ch_json *agents = ch_json_path(top, "agents", "properties", NULL);
    const struct ch_json *tops[] = {
        [CH_SCOPE_FILE] = root,
        [CH_SCOPE_AGENT] = ch_json_path(agents, "list", "items", NULL),
        [CH_SCOPE_PROVIDER] = ch_json_path(top, "providers", "additionalProperties", NULL),
        [CH_SCOPE_MODEL] = ch_json_path(top, "providers", "additionalProperties", "properties",
                                        "models", "items", NULL),
        [CH_SCOPE_TOOL] = ch_json_path(top, "tools", "properties", "custom", "items", NULL),
        [CH_SCOPE_POLICY] = ch_json_path(top, "policies", "items", NULL),
        [CH_SCOPE_HOOK] =
            ch_json_path(top, "gateway", "properties", "hooks", "additionalProperties", NULL),
        [CH_SCOPE_HOOK_PROGRAM] =
            ch_json_path(top, "hooks", "properties", "beforeTool", "items", NULL),
        [CH_SCOPE_SCHEDULE] = ch_json_path(top, "schedules", "additionalProperties", NULL),
        [CH_SCOPE_BUDGET] = ch_json_path(top, "budgets", "additionalProperties", NULL),
        [CH_SCOPE_SECRET] = ch_json_path(top, "secrets", "additionalProperties", NULL),
        [CH_SCOPE_MCP] =
            ch_json_path(top, "mcp", "properties", "servers", "additionalProperties", NULL),
        [CH_SCOPE_CHANNEL] = ch_json_path(top, "channels", "properties", "telegram", NULL),
    };
    for (const struct ch_option *o = ch_options; o->key; o++) {
        const struct ch_json *at = tops[o->scope];
        struct ch_sv rest = ch_sv_str(o->key);
        while (rest.n)
            at = ch_json_get_sv(ch_json_get(at, "properties"), ch_sv_split(&rest, '.'));
        if ((at != NULL) != (o->type != CH_CFG_REFUSED))
            fail_msg("%s is %sthere", o->key, at ? "" : "not ");
    }
    const struct ch_json *defaults = ch_json_get(agents, "defaults");
    assert_non_null(ch_json_path(defaults, "properties", "model", "anyOf", NULL));
    assert_null(ch_json_path(defaults, "properties", "id", NULL));
    assert_null(ch_json_get(defaults, "required"));
    const struct ch_json *agent = tops[CH_SCOPE_AGENT];
    assert_true(ch_sv_is(ch_json_str(ch_json_at(ch_json_get(agent, "required"), 0)), "id"));
    const struct ch_json *turns =
        ch_json_path(agent, "properties", "limits", "properties", "maxTurns", NULL);
    assert_true(ch_sv_is(ch_json_get_str(turns, "type"), "integer"));
    assert_int_equal(ch_json_int(ch_json_get(turns, "default"), -1), 25);
    assert_int_equal(ch_json_int(ch_json_get(turns, "maximum"), -1), 1000000);
    assert_int_equal(ch_json_int(ch_json_path(tops[CH_SCOPE_TOOL], "required", NULL), 7), 7);
    assert_int_equal(ch_json_get(tops[CH_SCOPE_TOOL], "required")->n, 3);
    static const char file[] = "{\"approvals\":{\"a\":\"ask\",\"b\":\"sandbox\",\"c\":\"auto\","
                               "\"d\":\"deny\",\"allow\":[\"exec: git *\"]}}";
    chela_schema *schema = NULL;
    assert_int_equal(chela_schema_new(text, strlen(text), NULL, &schema, NULL), 0);
    assert_int_equal(chela_schema_valid(schema, file, strlen(file)), 1);
    chela_schema_free(schema);
    chela_free(text);
}

/* The rows of the manual's tables, made from the options. */
static void manual_row(const struct ch_option *o, struct ch_buf *out) {
    ch_buf_addf(out, "| `%s` | ", o->key);
    if (o->type == CH_CFG_CHOICE) {
        struct ch_sv words = ch_sv_str(o->words);
        bool first = true;
        while (words.n) {
            struct ch_sv word = ch_sv_split(&words, '|');
            ch_buf_addf(out, "%s`%.*s`", first ? "" : ", ", CH_SV_FMT(word));
            first = false;
        }
    } else {
        ch_buf_add_str(out, ch_cfg_type_name(o->type));
    }
    if (o->type == CH_CFG_INT || o->type == CH_CFG_NUMBER)
        ch_buf_addf(out, ", %.15g to %.15g", o->min, o->max);
    if (o->flags & CH_CFG_REQUIRED)
        ch_buf_add_str(out, ", required");
    if (o->otherwise)
        ch_buf_addf(out, " | `%s`", o->otherwise);
    else
        ch_buf_add_str(out, " |");
    ch_buf_addf(out, " | %s |\n", o->help);
}

static void test_the_manual(void **state) {
    (void)state;
    CH_BUF_AUTO manual = {0};
    struct chela_error err = {0};
    if (ch_file_load("docs/configuration.md", CH_MB, &manual, &err) < 0)
        fail_msg("%s (tests run in the top directory)", err.message);
    size_t rows = 0, missing = 0, documented = 0;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        CH_BUF_AUTO row = {0};
        if ((o->flags & CH_CFG_UNUSED) || o->type == CH_CFG_REFUSED)
            continue;
        manual_row(o, &row);
        rows++;
        if (strstr(manual.p, row.p))
            continue;
        missing++;
        print_error("%s", row.p);
    }
    const struct chela_channel_ops *ops;
    for (size_t i = 0; (ops = ch_channel_listed(i, NULL)); i++) {
        CH_ARENA_AUTO a = {0};
        for (const struct ch_option *o = ch_conf_channel_rows(ops, &a); o->key; o++) {
            CH_BUF_AUTO row = {0};
            struct ch_option named = *o;
            named.key = ch_arena_printf(&a, "%s.%s", ops->name, o->key);
            if (o->type == CH_CFG_REFUSED)
                continue;
            manual_row(&named, &row);
            rows++;
            if (!strstr(manual.p, row.p)) {
                missing++;
                print_error("%s", row.p);
            }
        }
    }
    if (missing)
        fail_msg("docs/configuration.md lacks the %zu rows above", missing);
    for (const char *at = manual.p; (at = strstr(at, "\n| `")); at++)
        documented++;
    assert_int_equal(documented, rows); /* and has no others */
}

/* The manual's quirks are those that providers take, in order. */
static void test_quirks_of_the_manual(void **state) {
    (void)state;
    CH_BUF_AUTO manual = {0}, want = {0}, got = {0};
    unsigned bit;
    assert_int_equal(ch_file_load("docs/configuration.md", CH_MB, &manual, NULL), 0);
    for (size_t i = 0; ch_quirk_name(i, &bit); i++)
        ch_buf_addf(&want, "%s ", ch_quirk_name(i, &bit));
    for (const char *at = manual.p; (at = strstr(at, "\n- `"));) {
        at += strlen("\n- `");
        ch_buf_addf(&got, "%.*s ", (int)strcspn(at, "`"), at);
    }
    assert_string_equal(got.p, want.p);
}

/* The example at its top is a good file. */
static void test_example_of_the_manual(void **state) {
    (void)state;
    CH_BUF_AUTO manual = {0}, warnings = {0};
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    assert_int_equal(ch_file_load("docs/configuration.md", CH_MB, &manual, NULL), 0);
    char *start = strstr(manual.p, "```yaml\n");
    assert_non_null(start);
    char *end = strstr(start += strlen("```yaml\n"), "```");
    assert_non_null(end);
    *end = '\0';
    if (parse(start, &warnings, &cfg, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(ch_buf_str(&warnings), "");
    chela_config_free(cfg);
}

struct shown {
    struct ch_buf file, defaults;
};

static void note_option(const char *key, const char *value, int from_file, void *user) {
    struct shown *s = user;
    ch_buf_addf(from_file ? &s->file : &s->defaults, "%s=%s\n", key, value);
}

/* What was read is shown as it was meant; every default of the table is there. */
static void test_show(void **state) {
    (void)state;
    static const char text[] = "agents:\n"
                               "  defaults: { model: [a/b, c/d], limits: { maxTurns: 5, "
                               "maxToolCalls: 0, timeoutSec: 1.5 } }\n"
                               "  list:\n"
                               "    - { id: x, tools: { allow: [read, ls], deny: [] } }\n"
                               "providers:\n"
                               "  p: { api: openai, baseUrl: \"http://h/v1\", "
                               "headers: { K: secret-value } }\n"
                               "approvals: { exec: ask }\n";
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    struct shown s = {0}, none = {0};
    assert_int_equal(ch_config_parse(ch_sv_str(text), "t", "/t", NULL, NULL, &cfg, &err), 0);
    chela_config_show(cfg, note_option, &s);
    assert_string_equal(ch_buf_str(&s.file), "agents.defaults.model=a/b, c/d\n"
                                             "agents.defaults.limits.maxTurns=5\n"
                                             "agents.defaults.limits.maxToolCalls=0\n"
                                             "agents.defaults.limits.timeoutSec=1.5\n"
                                             "agents.list[x].id=x\n"
                                             "agents.list[x].tools.allow=read,ls\n"
                                             "agents.list[x].tools.deny=(none)\n"
                                             "providers[p].api=openai\n"
                                             "providers[p].baseUrl=http://h/v1\n"
                                             "providers[p].headers=(set, not shown)\n"
                                             "approvals=exec=ask\n");
    chela_config_show(NULL, note_option, &none);
    assert_int_equal(none.file.n, 0);
    assert_non_null(strstr(ch_buf_str(&none.defaults), "agents.defaults.limits.maxTurns=25\n"));
    ch_buf_release(&s.file);
    ch_buf_release(&s.defaults);
    ch_buf_release(&none.file);
    ch_buf_release(&none.defaults);
    chela_config_free(cfg);
}

static void test_show_address(void **state) {
    (void)state;
    static const struct {
        const char *address, *shown;
    } cases[] = {
        {"postgres://chela:hunter2@db.net/chela", "postgres://chela:***@db.net/chela"},
        {"postgres://chela:un@coded/p?ss@db/x", "postgres://chela:***@db/x"},
        {"postgres://db:5432/x?password=hunter2&sslmode=require",
         "postgres://db:5432/x?password=***&sslmode=require"},
        {"postgres://db:5432/x?password=hun@ter2&a=b", "postgres://db:***&a=b"},
        {"postgres://chela@db:5432/x", "postgres://chela@db:5432/x"},
        {"postgresql://", "postgresql://"}, /* PGHOST and others have the rest */
        {"redis://:hunter2@cache", "redis://:***@cache"},
        {"redis://cache:1/0?password_file=/k", "redis://cache:1/0?password_file=/k"},
        {"sqlite:./a:b@c.db", "sqlite:./a:b@c.db"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO text = {0}, expected = {0};
        chela_config *cfg = NULL;
        struct chela_error err = {0};
        struct shown s = {0};
        ch_buf_addf(&text, "store: \"%s\"\n", cases[i].address);
        ch_buf_addf(&expected, "store=%s\n", cases[i].shown);
        assert_int_equal(ch_config_parse(ch_buf_sv(&text), "t", "/t", NULL, NULL, &cfg, &err), 0);
        chela_config_show(cfg, note_option, &s);
        assert_string_equal(ch_buf_str(&s.file), ch_buf_str(&expected));
        ch_buf_release(&s.file);
        ch_buf_release(&s.defaults);
        chela_config_free(cfg);
    }
    struct chela_error err = {0};
    ch_fail(&err, CHELA_EIO, "refused: hunter2");
    assert_string_equal(err.message, "refused: ***");
}

/* Every word of an option that is an enum of the library is a name of that enum. */
static void test_words_are_names(void **state) {
    static const struct {
        enum ch_scope scope;
        const char *key;
        enum chela_choice set;
    } rows[] = {
        {CH_SCOPE_FILE, "sandbox.mode", CHELA_CHOICE_SANDBOX_MODE},
        {CH_SCOPE_FILE, "sandbox.network", CHELA_CHOICE_NETWORK},
        {CH_SCOPE_FILE, "durability", CHELA_CHOICE_DURABILITY},
        {CH_SCOPE_FILE, "language", CHELA_CHOICE_LANGUAGE},
        {CH_SCOPE_CHANNEL, "language", CHELA_CHOICE_LANGUAGE},
        {CH_SCOPE_CHANNEL, "dmPolicy", CHELA_CHOICE_ACCESS},
        {CH_SCOPE_CHANNEL, "groupPolicy", CHELA_CHOICE_ACCESS},
        {CH_SCOPE_CHANNEL, "groupSession", CHELA_CHOICE_GROUP_SESSION},
        {CH_SCOPE_AGENT, "tools.permission", CHELA_CHOICE_PERMISSION},
        {CH_SCOPE_AGENT, "tools.selection", CHELA_CHOICE_SELECTION},
        {CH_SCOPE_AGENT, "context.prompt", CHELA_CHOICE_PROMPT_STYLE},
        {CH_SCOPE_AGENT, "compaction.mode", CHELA_CHOICE_COMPACTION},
        {CH_SCOPE_AGENT, "compaction.by", CHELA_CHOICE_COMPACTION_BY},
        {CH_SCOPE_AGENT, "mode", CHELA_CHOICE_MODE},
        {CH_SCOPE_AGENT, "reflection.when", CHELA_CHOICE_REFLECTION},
        {CH_SCOPE_AGENT, "heartbeat.protocol", CHELA_CHOICE_PROTOCOL},
        {CH_SCOPE_AGENT, "heartbeat.busy", CHELA_CHOICE_BUSY},
        {CH_SCOPE_AGENT, "reasoning", CHELA_CHOICE_REASONING},
        {CH_SCOPE_AGENT, "promptCache", CHELA_CHOICE_CACHE},
        {CH_SCOPE_AGENT, "output.by", CHELA_CHOICE_OUTPUT_BY},
        {CH_SCOPE_AGENT, "queue.mode", CHELA_CHOICE_QUEUE_MODE},
        {CH_SCOPE_AGENT, "queue.overflow", CHELA_CHOICE_OVERFLOW},
        {CH_SCOPE_TOOL, "effect", CHELA_CHOICE_EFFECT},
        {CH_SCOPE_TOOL, "permission", CHELA_CHOICE_PERMISSION},
        {CH_SCOPE_POLICY, "permission", CHELA_CHOICE_PERMISSION},
        {CH_SCOPE_POLICY, "approve", CHELA_CHOICE_APPROVE},
        {CH_SCOPE_SCHEDULE, "missed", CHELA_CHOICE_MISSED},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        const struct ch_option *o = ch_option_find(rows[i].scope, ch_sv_str(rows[i].key));
        assert_non_null(o);
        struct ch_sv rest = ch_sv_str(o->words);
        while (rest.n) {
            struct ch_sv word = ch_sv_split(&rest, '|');
            CH_AUTOFREE char *name = ch_strndup(word.p, word.n);
            struct chela_error err = {0};
            int value;
            if (chela_choice_read(rows[i].set, name, &value, &err) < 0)
                fail_msg("%s: %s", rows[i].key, err.message);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_names),
        cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_flags_come_first),
        cmocka_unit_test(test_short_struct),
        cmocka_unit_test(test_unknown_agents),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_yaml_errors_have_a_place),
        cmocka_unit_test(test_all_complaints),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_ranges_and_choices),
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_many_unknown_keys),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_too_many_entries),
        cmocka_unit_test(test_providers),
        cmocka_unit_test(test_secrets_are_redacted),
        cmocka_unit_test(test_what_apply_refuses),
        cmocka_unit_test(test_tools_of_an_agent),
        cmocka_unit_test(test_home),
        cmocka_unit_test(test_what_a_tool_is_made_of),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_tools_that_cannot_be_added),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_false_of_an_agent),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_the_manual),
        cmocka_unit_test(test_quirks_of_the_manual),
        cmocka_unit_test(test_example_of_the_manual),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_show_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
