/* sweep_modes.c -- the runs that the sweep plays, and all callbacks of a host. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/guard_alloc.h"
#include "support/sweep.h"

/* --- scripts ----------------------------------------------------------------- */

#define WORK "{ tool: stamp, args: { n: 1 } }"
#define OPEN "{ tool: later, args: {} }, { tool: threaded, args: {} }"

static const char plain[] =
    "rules:\n"
    "  - { when: { user: then }, say: \"the last words\" }\n"
    "  - { when: { after: none }, think: \"hm well\", say: \"let me see\", call: [" WORK ", " OPEN
    ", { tool: stamp, raw: '{\"n\": \"x\"}' }] }\n"
    "  - { say: \"did {{result}}\" }\n";

static const char timeout[] =
    "rules:\n"
    "  - { when: { after: none }, call: [{ tool: expires, args: {} }, " WORK "] }\n"
    "  - { say: \"did {{result}}\" }\n";

static const char rare[] =
    "rules:\n"
    "  - { times: 1, fail: { status: 503, retry_after: 0 } }\n"
    "  - { when: { after: none }, call: { tool: exec, args: { command: 'true', background: true } "
    "} }\n"
    "  - { when: { after: exec }, call: { tool: pause, args: {} } }\n"
    "  - { say: \"\" }\n";

static const char approval[] =
    "rules:\n"
    "  - { when: { after: none }, call: [" WORK ", { tool: host, args: {} }, " OPEN "] }\n"
    "  - { say: \"did {{result}}\" }\n";

#define FINE "{\"score\":5,\"reason\":\"r\"}"
#define STEP(id, tool, input)                                                        \
    "{\"step_id\":" #id ",\"description\":\"d\",\"tool_name\":\"" tool               \
    "\",\"tool_input\":" input ",\"depends_on\":[]}"
#define PLANNING                                                                              \
    "  - { when: { system: You are a planner }, say: '{\"analysis\":\"a\",\"action\":\"plan\"," \
    "\"plan\":[" STEP(1, "react_step", "{\"task\":\"work\"}") ","                             \
    STEP(2, "later", "{}") "," STEP(3, "threaded", "{}")                                      \
    "],\"estimated_steps\":3,\"can_parallelize\":[]}' }\n"                                    \
    "  - { when: { system: You judge }, say: '{\"evaluation\":{\"completeness\":" FINE          \
    ",\"correctness\":" FINE ",\"format\":" FINE                                              \
    "},\"overall_pass\":true,\"action\":\"accept\"}' }\n"                                     \
    "  - { when: { user: plan was carried out }, say: \"heard it\" }\n"                       \
    "  - { when: { after: none }, call: " WORK " }\n"                                         \
    "  - { say: \"did {{result}}\" }\n"

static const char plan[] = "rules:\n" PLANNING;

static const char route[] =
    "rules:\n"
    "  - { when: { system: You are a router }, say: '{\"reasoning\":\"it fits\",\"action\":"
    "\"route\",\"tool_name\":\"stamp\",\"tool_input\":{\"n\":1},\"confidence\":0.9}' }\n"
    "  - { say: \"it is done\" }\n";

static const char route_plan[] =
    "rules:\n"
    "  - { when: { system: You are a router }, say: '{\"reasoning\":\"it fits\",\"action\":"
    "\"route\",\"tool_name\":\"planner\",\"tool_input\":{\"request\":\"r\"},\"confidence\":0.9}' "
    "}\n" PLANNING;

static const char delegate[] =
    "rules:\n"
    "  - { when: { system: lead, after: none }, call: [{ tool: other, args: { task: work } }, "
    "{ tool: other, args: { task: work } }] }\n"
    "  - { when: { system: lead }, say: \"heard {{result}}\" }\n"
    "  - { when: { after: none }, call: [" WORK ", " OPEN "] }\n"
    "  - { say: \"did {{result}}\" }\n";

static const char handoff[] =
    "rules:\n"
    "  - { when: { system: lead }, call: { tool: handoff, args: { agent: other } } }\n"
    "  - { when: { turn: 2 }, call: [" WORK ", " OPEN "] }\n"
    "  - { say: \"done by another\" }\n";

static const char heartbeat[] =
    "rules:\n"
    "  - { when: { user: 'result of stamp' }, call: { tool: send_message, args: { content: "
    "\"It is done.\" } } }\n"
    "  - { when: { tools: send_message }, say: \"a thought\", call: " WORK " }\n"
    "  - { say: \"nothing to add\" }\n";

static const char compaction[] =
    "rules:\n"
    "  - { when: { user: '^long', after: none }, say: \"noted\" }\n"
    "  - { when: { user: '^go', after: none }, call: " WORK " }\n"
    "  - { when: { user: '^go' }, say: \"gone\" }\n"
    "  - { say: \"## Summary: the user said long things and went on to say more of them\" }\n";

#define MESSAGE(rest) "{ tool: message, args: { action: " rest " } }"
static const char mail[] =
    "rules:\n"
    "  - { when: { after: none }, call: [" MESSAGE("send, message: one")
    ", " MESSAGE("reply, message: two, message_id: m1") ", "
    MESSAGE("react, emoji: ok, message_id: m1") "] }\n"
    "  - { say: \"the answer\" }\n";

static const char wake[] =
    "rules:\n"
    "  - { when: { after: none }, call: { tool: exec, args: { command: 'sleep 0.1', background: "
    "true } } }\n"
    "  - { say: \"it works by itself\" }\n";

const struct sweep_mode sweep_modes[] = {
    {.name = "plain", .script = plain, .text = "go"},
    {.name = "timeout", .script = timeout, .text = "go", .only = " tool:cancel "},
    {.name = "rare", .script = rare, .text = "go", .rare = true,
     .only = " retry system_event ", .workers = 12},
    {.name = "approval", .script = approval, .text = "go", .tool_flags = CHELA_TOOL_CONFIRM},
    {.name = "plan", .script = plan, .text = "go", .agent_mode = CHELA_MODE_PLAN},
    {.name = "plan_approval", .script = plan, .text = "go", .agent_mode = CHELA_MODE_PLAN,
     .tool_flags = CHELA_TOOL_CONFIRM},
    {.name = "route", .script = route, .text = "go", .agent_mode = CHELA_MODE_ROUTE},
    {.name = "route_plan", .script = route_plan, .text = "go", .agent_mode = CHELA_MODE_ROUTE},
    {.name = "delegate", .script = delegate, .text = "go", .delegate = true},
    {.name = "delegate_approval", .script = delegate, .text = "go", .delegate = true,
     .tool_flags = CHELA_TOOL_CONFIRM},
    {.name = "handoff", .script = handoff, .text = "go", .handoff = true},
    {.name = "heartbeat", .script = heartbeat, .text = "[10:02 om_1] Ann: chela, do it\n",
     .agent_mode = CHELA_MODE_HEARTBEAT},
    {.name = "compaction", .script = compaction, .text = "go", .compact = true},
    {.name = "hosted", .script = approval, .text = "go", .tool_flags = CHELA_TOOL_CONFIRM,
     .hosted = true},
    {.name = "mail", .script = mail, .text = "go", .mail = true},
    {.name = "wake", .script = wake, .text = "go", .rare = true, .wakes = true,
     .only = " wake ", .workers = 12},
    {.name = "log", .script = compaction, .text = "go", .compact = true, .logs = true,
     .only = " log:context "},
};
const size_t sweep_nmodes = sizeof(sweep_modes) / sizeof(sweep_modes[0]);

static void write_file(const char *dir, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

void sweep_files(const char *dir) {
    char name[64];
    for (size_t i = 0; i < sweep_nmodes; i++) {
        snprintf(name, sizeof(name), "%s.yaml", sweep_modes[i].name);
        write_file(dir, name, sweep_modes[i].script);
    }
    write_file(dir, "broken.yaml", "rules:\n  - { fail: { status: 401 } }\n");
    write_file(dir, "chela.yaml", "agents:\n  list:\n    - id: main\n");
}

/* --- callbacks ----------------------------------------------------------------- */

static void note_id(char list[SWEEP_WAITING][64], unsigned *n, struct chela_str id) {
    if (*n < SWEEP_WAITING)
        snprintf(list[(*n)++], 64, "%.*s", (int)id.n, id.p);
}

static void at(struct sweep *cx, const char *prefix, const char *what, const char *more) {
    char site[96];
    if (!cx->begun)
        return; /* an earlier run that makes the conversation long */
    snprintf(site, sizeof(site), "%s%s%s%s%s", cx->resumed ? "resumed/" : "", prefix, what,
             *more ? ":" : "", more);
    cx->at(cx, site);
}

static void follow(struct sweep *cx, const struct chela_event *ev) {
    if (cx->ended && ev->type != CHELA_EV_RUN_START)
        sweep_problem("an event after RUN_END: %s", chela_event_name(ev->type));
    cx->ended = ev->type == CHELA_EV_RUN_END;
    if (ev->type != CHELA_EV_CHILD && ev->type != CHELA_EV_RUN_START && ev->seq != cx->next_seq)
        sweep_problem("seq %llu instead of %llu", (unsigned long long)ev->seq,
                      (unsigned long long)cx->next_seq);
    if (ev->type != CHELA_EV_CHILD)
        cx->next_seq = ev->seq + 1;
    cx->events++;
    cx->starts += ev->type == CHELA_EV_RUN_START;
    cx->ends += ev->type == CHELA_EV_RUN_END;
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        note_id(cx->approvals, &cx->napprovals, ev->approval.approval_id);
    if (ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        note_id(cx->calls, &cx->ncalls, ev->call.id);
}

static void finish_open_call(struct sweep *cx) {
    chela_call *call = atomic_exchange(&cx->open_call, NULL);
    if (call) {
        chela_result_printf(call, "late");
        chela_call_finish(call);
    }
}

static bool of_tool(const struct chela_event *ev, const char *name) {
    if (ev->type == CHELA_EV_CHILD)
        return of_tool(ev->child.event, name);
    return ev->type == CHELA_EV_TOOL_RESULT && ev->result.name.n == strlen(name) &&
           memcmp(ev->result.name.p, name, strlen(name)) == 0;
}

static void on_event(const struct chela_event *ev, void *user) {
    struct sweep *cx = user;
    const struct chela_event *inner = ev->type == CHELA_EV_CHILD ? ev->child.event : ev;
    bool over = of_tool(ev, "threaded");
    follow(cx, ev);
    cx->event = ev;
    cx->call = atomic_load(&cx->open_call);
    at(cx, inner == ev ? "" : "child:", chela_event_name(inner->type),
       inner->type == CHELA_EV_STATE ? chela_state_name(inner->state.to) : "");
    cx->event = NULL;
    cx->call = NULL;
    if (over)
        finish_open_call(cx);
}

static enum chela_flow hook(void *user, chela_run *run, const char *what) {
    struct sweep_side *side = user;
    side->cx->hook_run = run;
    side->cx->call = atomic_load(&side->cx->open_call);
    at(side->cx, side->prefix, "hook", what);
    side->cx->hook_run = NULL;
    side->cx->call = NULL;
    return CHELA_GO;
}
#define HOOK(name, ...)                                                          \
    static enum chela_flow on_##name(chela_run *run, __VA_ARGS__, void *user) { \
        return hook(user, run, #name);                                           \
    }
HOOK(before_model, struct chela_turn_patch *patch __attribute__((unused)))
HOOK(text, struct chela_str piece __attribute__((unused)),
     struct chela_str so_far __attribute__((unused)))
HOOK(reasoning, struct chela_str piece __attribute__((unused)),
     struct chela_str so_far __attribute__((unused)))
HOOK(call_delta, const struct chela_event *ev __attribute__((unused)))
HOOK(after_model, const struct chela_event *ev __attribute__((unused)))
HOOK(invalid_call, struct chela_invalid_call *call __attribute__((unused)))
HOOK(before_tool, struct chela_before_tool *call __attribute__((unused)))
HOOK(after_tool, struct chela_after_tool *call __attribute__((unused)))
HOOK(approve, struct chela_approval *call __attribute__((unused)))
static void on_run_end(chela_run *run, const struct chela_event *end, void *user) {
    (void)end;
    hook(user, run, "run_end");
}

static void on_ready(chela_session *s, const struct chela_error *err, void *user) {
    (void)s;
    (void)err;
    at(user, "", "ready", "");
}

/* Called inside any function, so only rows for any thread and pure rows are played. Hosts may
 * call less: the functions of chela/error.h. */
static void on_log(enum chela_log_level level, const char *area, const char *line, void *user) {
    struct sweep *cx = user;
    struct sweep copy = {.mode = cx->mode, .rt = cx->rt, .run = cx->run, .session = cx->session,
                         .agent = cx->agent, .owner = cx, .on_thread = true};
    char site[96];
    (void)level;
    (void)line;
    snprintf(site, sizeof(site), "log:%s", area);
    if (cx->begun)
        cx->at(&copy, site);
}

static void on_wake(chela_session *s, void *user) {
    struct sweep *cx = user;
    (void)s;
    cx->woken = true;
    at(cx, "", "wake", "");
}

/* --- channels and mailboxes -------------------------------------------------------- */

static int deliver(chela_call *call, const struct chela_message *m, void *user, const char *what) {
    struct sweep *cx = user;
    cx->call = call;
    at(cx, "", "channel", what);
    cx->call = NULL;
    chela_result_printf(call, "%s", m->key); /* borrowed until this returns */
    return 0;
}
#define DELIVER(name)                                                                       \
    static int do_##name(chela_call *call, const struct chela_message *m, void *user) {     \
        return deliver(call, m, user, #name);                                               \
    }
DELIVER(send)
DELIVER(reply)
DELIVER(react)

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    (void)rc;
    (void)err;
    at(user, "", "inbox", "accepted");
}

static void on_put(int rc, const struct chela_error *err, void *user) {
    (void)rc;
    (void)err;
    at(user, "", "outbox", "stored");
}

static void on_outbound(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    struct sweep *cx = user;
    cx->outbound = m;
    at(cx, "", "outbox", m->run ? "answer" : "message");
    cx->outbound = NULL;
    chela_outbox_receipt(rt, m->key, CHELA_RECEIPT_SENT, m->text, 0, NULL);
}

/* Performs all tasks of a host with a chat: messages arrive and are sent during a run. */
static bool open_mail(struct sweep *cx, struct chela_error *err) {
    struct chela_channel page = CHELA_CHANNEL(.name = "page", .conversation = "c1", .send = do_send,
                                              .reply = do_reply, .react = do_react, .user = cx);
    struct chela_inbox_event came =
        CHELA_INBOX_EVENT(.id = "page:m1", .session = "elsewhere", .data = "{}", .n = 2);
    struct chela_outbound goes = CHELA_OUTBOUND(.key = "m1", .session = "elsewhere",
                                                .channel = "page", .text = "welcome");
    if (chela_session_channel(cx->session, &page, err) < 0)
        return false;
    return !cx->store || (chela_session_wait(cx->session, err) == 0 &&
                          chela_outbox_channel(cx->rt, "page", on_outbound, cx, err) == 0 &&
                          chela_inbox_accept(cx->rt, &came, on_accepted, cx, err) == 0 &&
                          chela_outbox_put(cx->rt, &goes, on_put, cx, err) == 0);
}

/* --- tools --------------------------------------------------------------------- */

static void in_tool(void *user, chela_call *call, const char *what) {
    struct sweep_side *side = user;
    side->cx->call = call;
    at(side->cx, side->prefix, "tool", what);
    side->cx->call = NULL;
}

static int stamp(chela_call *call, void *user) {
    chela_call_progress(call, "working");
    chela_result_printf(call, "stamped");
    ((struct sweep_side *)user)->cx->can_defer = true;
    in_tool(user, call, "fn");
    ((struct sweep_side *)user)->cx->can_defer = false;
    return 0;
}

static int stamp_check(chela_call *call, void *user) {
    in_tool(user, call, "check");
    return 0;
}

static void stamp_resources(chela_call *call, void *user) {
    chela_call_uses(call, "stamps", CHELA_USE_SHARED);
    in_tool(user, call, "resources");
}

static void later_cancelled(chela_call *call, void *user) {
    struct sweep_side *side = user;
    in_tool(user, call, "cancel");
    if (atomic_exchange(&side->cx->open_call, NULL) == call)
        chela_call_finish(call);
}

/* One call may be open in a case; a second call is answered at once. */
static int later(chela_call *call, void *user) {
    struct sweep_side *side = user;
    if (atomic_load(&side->cx->open_call)) {
        chela_result_printf(call, "at once");
        return 0;
    }
    chela_call_defer(call);
    chela_call_on_cancel(call, later_cancelled, user);
    atomic_store(&side->cx->open_call, call);
    chela_call_progress(call, "open");
    in_tool(user, call, "deferred");
    return 0;
}

/* A call that is never finished, until it times out. */
static int expires(chela_call *call, void *user) {
    chela_call_defer(call);
    chela_call_on_cancel(call, later_cancelled, user);
    atomic_store(&((struct sweep_side *)user)->cx->open_call, call);
    return 0;
}

/* Waits long enough for a process to end. */
static int pause_a_while(chela_call *call, void *user) {
    (void)user;
    nanosleep(&(struct timespec){0, 50 * 1000000}, NULL);
    chela_result_printf(call, "waited");
    return 0;
}

/* Runs on a separate thread, so of the case only the site may be changed: the function gets
 * a copy. */
static int threaded(chela_call *call, void *user) {
    struct sweep_side *side = user;
    struct sweep copy = {.mode = side->cx->mode, .rt = side->cx->rt, .run = side->cx->run,
                         .session = side->cx->session, .agent = side->cx->agent,
                         .call = call, .owner = side->cx, .on_thread = true};
    char site[96];
    snprintf(site, sizeof(site), "%stool:thread", side->prefix);
    side->cx->at(&copy, site);
    chela_result_printf(call, "from a thread");
    return 0;
}

static void add_tool(struct sweep_side *side, chela_agent *agent, const char *name,
                     chela_tool_fn *fn, unsigned flags) {
    struct chela_error err = {0};
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = name, .description = "Does some work.", .fn = fn, .user = side,
            .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}",
            .flags = flags, .timeout_ms = fn == expires ? 10 : 300);
    if (fn == stamp) {
        tool.check = stamp_check;
        tool.resources = stamp_resources;
    }
    if (chela_agent_add_tool(agent, &tool, &err) < 0)
        sweep_problem("set-up: %s", err.message);
}

static void furnish(struct sweep *cx, struct sweep_side *side, chela_agent *agent) {
    struct chela_hooks hooks = CHELA_HOOKS(
            .user = side, .before_model = on_before_model, .text = on_text,
            .reasoning = on_reasoning, .call_delta = on_call_delta, .after_model = on_after_model,
            .invalid_call = on_invalid_call, .before_tool = on_before_tool,
            .after_tool = on_after_tool, .run_end = on_run_end, .approve = on_approve);
    add_tool(side, agent, "stamp", stamp, CHELA_TOOL_ON_LOOP | cx->mode->tool_flags);
    add_tool(side, agent, "later", later, CHELA_TOOL_ON_LOOP);
    add_tool(side, agent, "expires", expires, CHELA_TOOL_ON_LOOP);
    add_tool(side, agent, "threaded", threaded, 0);
    add_tool(side, agent, "pause", pause_a_while, 0);
    add_tool(side, agent, "host", NULL, CHELA_TOOL_CLIENT);
    SWEEP_EXPECT(chela_agent_hooks(agent, &hooks, NULL) == 0);
}

/* --- a case ---------------------------------------------------------------------- */

static const struct chela_run_opts *run_opts(struct sweep *cx) {
    static struct chela_run_opts opts;
    opts = (struct chela_run_opts)CHELA_RUN_OPTS(
            .on_event = on_event, .user = cx,
            .answer_to = cx->mode->mail && cx->store ? "c1" : NULL);
    return &opts;
}

static void on_other_event(const struct chela_event *ev, void *user) {
    chela_free(chela_event_json(ev));
    if (of_tool(ev, "threaded"))
        finish_open_call(user);
}

const struct chela_run_opts *sweep_run_opts(struct sweep *cx) {
    static struct chela_run_opts opts;
    opts = (struct chela_run_opts)CHELA_RUN_OPTS(.on_event = on_other_event, .user = cx->owner);
    return &opts;
}

static bool make_agents(struct sweep *cx, struct chela_error *err) {
    char model[600], broken[600];
    snprintf(model, sizeof(model), "scripted/%s/%s.yaml", cx->dir, cx->mode->name);
    snprintf(broken, sizeof(broken), "scripted/%s/broken.yaml", cx->dir);
    const char *fallbacks[] = {model, NULL};
    bool fails = strcmp(cx->mode->name, "plain") == 0;
    struct chela_sandbox_opts off = CHELA_SANDBOX_OPTS(.mode = CHELA_SANDBOX_OFF);
    struct chela_request_opts request =
        CHELA_REQUEST_OPTS(.max_retries = cx->mode->rare ? 2 : -1);
    struct chela_compaction_opts shorten =
        CHELA_COMPACTION_OPTS(.mode = cx->mode->compact ? CHELA_COMPACTION_SUMMARY : 0);
    /* a small prompt, so that the history is what must be shortened */
    struct chela_prompt_opts prompt = CHELA_PROMPT_OPTS(.system_replaces = 1);
    /* without a known price: causes a WARNING */
    struct chela_limits limits = CHELA_LIMITS(.cost_budget_usd = fails ? 1 : 0);
    struct chela_agent_opts lead = CHELA_AGENT_OPTS(
            .id = "lead", .model = fails ? broken : model, .fallbacks = fails ? fallbacks : NULL,
            .system = "lead", .mode = cx->mode->agent_mode, .workspace = cx->dir,
            .tools = cx->mode->rare ? "exec" : cx->mode->mail ? "message" : NULL,
            .approve = cx->mode->rare ? CHELA_APPROVE_AUTO : CHELA_APPROVE_DEFAULT,
            .sandbox = &off, .request = &request, .compaction = &shorten, .limits = &limits,
            .prompt = &prompt);
    struct chela_agent_opts other = CHELA_AGENT_OPTS(.id = "other", .model = model,
                                                     .system = "helper", .workspace = cx->dir);
    if (cx->mode->compact &&
        chela_runtime_context_window(cx->rt, "scripted", model + strlen("scripted/"), 3000, err) <
            0)
        return false;
    if (chela_agent_new(cx->rt, &lead, &cx->agent, err) < 0 ||
        chela_agent_new(cx->rt, &other, &cx->other, err) < 0)
        return false;
    if (cx->mode->delegate && chela_agent_delegate(cx->agent, cx->other, NULL, err) < 0)
        return false;
    if (cx->mode->handoff && chela_agent_handoff(cx->agent, cx->other, err) < 0)
        return false;
    cx->sides[0] = (struct sweep_side){cx, ""};
    cx->sides[1] = (struct sweep_side){cx, "other/"};
    furnish(cx, &cx->sides[0], cx->agent);
    furnish(cx, &cx->sides[1], cx->other);
    return true;
}

/* Makes the history so long that the next request does not fit. */
static bool fill(struct sweep *cx, struct chela_error *err) {
    char text[4000];
    for (int i = 0; i < 4; i++) {
        memset(text, 'a' + i, sizeof(text));
        for (size_t k = 5; k < sizeof(text); k += 6)
            text[k] = ' ';
        memcpy(text, "long ", 5);
        if (chela_run_start(cx->session, text, sizeof(text), NULL, NULL, err) < 0)
            return false;
        chela_runtime_run(cx->rt);
    }
    return true;
}

static bool set_up(struct sweep *cx, struct chela_error *err) {
    char key[64];
    struct chela_runtime_opts opts = CHELA_RUNTIME_OPTS(
            .module_path = cx->modules, .uv_loop = cx->mode->hosted ? &cx->loop : NULL,
            .log = cx->mode->logs ? on_log : NULL, .trace = "all", .user = cx);
    struct chela_store_opts how = CHELA_STORE_OPTS(.module_path = cx->modules);
    snprintf(key, sizeof(key), "s%u", cx->serial);
    guard_pages(false);
    if (cx->mode->hosted && uv_loop_init(&cx->loop) < 0)
        return false;
    if (chela_runtime_new(&opts, &cx->rt, err) < 0)
        return false;
    if (cx->store_url && (chela_store_open(cx->store_url, &how, &cx->store, err) < 0 ||
                          chela_runtime_store(cx->rt, cx->store, CHELA_DURABILITY_TURN, err) < 0))
        return false;
    if (!make_agents(cx, err))
        return false;
    if (cx->mode->agent_mode) /* compiled once per runtime */
        chela_free(chela_prompts_json(cx->rt, NULL));
    guard_pages(true);
    if (chela_session_new(cx->agent, key, &cx->session, err) < 0)
        return false;
    return !cx->mode->compact || fill(cx, err);
}

static bool begin(struct sweep *cx, struct chela_error *err) {
    const char *text = cx->mode->text;
    cx->begun = true;
    if (cx->mode->mail && !open_mail(cx, err))
        return false;
    if (cx->mode->wakes)
        chela_session_on_wake(cx->session, on_wake, cx);
    if (chela_run_start(cx->session, text, strlen(text), run_opts(cx), &cx->run, err) < 0)
        return false;
    if (cx->store)
        chela_session_on_ready(cx->session, on_ready, cx);
    if (strcmp(cx->mode->name, "plain") != 0)
        return true;
    chela_run_steer(cx->run, "and this", 8);
    chela_run_follow_up(cx->run, "then that", 9);
    return true;
}

/* Decide about everything that the run waits for and continue it. */
static bool go_on(struct sweep *cx) {
    struct chela_error err = {0};
    chela_run *again = NULL;
    for (unsigned i = 0; i < cx->napprovals; i++)
        chela_session_approve(cx->session, cx->approvals[i], CHELA_ALLOW_ONCE, NULL, &err);
    for (unsigned i = 0; i < cx->ncalls; i++)
        chela_session_answer(cx->session, cx->calls[i], "yes", 3, 0, &err);
    if (chela_run_resume(cx->session, run_opts(cx), &again, &err) < 0)
        return false;
    chela_run_free(cx->run);
    cx->run = again;
    cx->resumed = true;
    return true;
}

static void judge(struct sweep *cx) {
    if (!cx->closed && cx->ends != cx->starts)
        sweep_problem("%u RUN_START, %u RUN_END", cx->starts, cx->ends);
    if (!cx->closed && cx->run && chela_run_status(cx->run) == CHELA_STATUS_RUNNING)
        sweep_problem("the run never ended");
}

/* A gateway keeps the loop alive, so the host waits for the end of its own work. */
static void work_hosted(struct sweep *cx) {
    while (cx->session && chela_session_status(cx->session) == CHELA_SESSION_RUNNING &&
           uv_loop_alive(&cx->loop))
        uv_run(&cx->loop, UV_RUN_ONCE);
    if (!cx->gateway)
        uv_run(&cx->loop, UV_RUN_DEFAULT);
}

/* Works until nothing is in progress; in the mode `wake` also until the process has ended. */
static void work(struct sweep *cx) {
    if (cx->mode->hosted)
        work_hosted(cx);
    else
        chela_runtime_run(cx->rt);
    for (int i = 0; i < 3; i++)
        chela_runtime_poll(cx->rt);
    for (int i = 0; cx->mode->wakes && !cx->closed && !cx->woken && i < 1000; i++) {
        chela_runtime_poll(cx->rt);
        nanosleep(&(struct timespec){0, 2 * 1000000}, NULL);
    }
}

static void close_loop(struct sweep *cx) {
    if (!cx->mode->hosted)
        return;
    uv_run(&cx->loop, UV_RUN_DEFAULT); /* the runtime's handles */
    if (uv_loop_close(&cx->loop) != 0)
        sweep_problem("the runtime left handles in the host's loop");
}

void sweep_play(struct sweep *cx) {
    struct chela_error err = {0};
    cx->owner = cx;
    if (!set_up(cx, &err) || !begin(cx, &err))
        sweep_problem("set-up: %s", err.message);
    for (int round = 0; cx->rt && round < 6; round++) {
        work(cx);
        if (cx->session && chela_session_status(cx->session) == CHELA_SESSION_RUNNING)
            continue; /* a cancelled paused run: it was resumed to end */
        if (!cx->session || chela_session_status(cx->session) == CHELA_SESSION_IDLE || !go_on(cx))
            break;
    }
    judge(cx);
    cx->closed = true;
    chela_run_free(cx->run);
    chela_gateway_close(cx->gateway);
    chela_runtime_close(cx->rt);
    close_loop(cx);
    chela_store_close(cx->store);
    if (atomic_load(&cx->open_call))
        sweep_problem("a call was left open when the runtime was closed");
}
