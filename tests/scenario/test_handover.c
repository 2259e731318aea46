/* test_handover.c -- one conversation that changes vendor, over the network.
 *
 * Five tools, calls in parallel, an error, images and reasoning: two runs of
 * one session, six model calls. A hook gives calls 2 to 4 to vendor T and the
 * others to vendor S, so that the history is handed over in the middle of a
 * run, and back in the middle of the next. For every S and T, the same
 * included, streamed and not:
 *
 *   the server's checkers find no fault in any request; what happened is the
 *   same as on every other pair; and of two requests to one vendor, the bytes
 *   of the first up to its last breakpoint are the beginning of the second.
 *
 * The same conversation, kept and cut off after each record of its journal, goes
 * on over another protocol, and the checkers find no fault in that either. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela/hooks.h"
#include "chela/store.h"
#include "json/json.h"

#define PNG_MAGIC "\x89PNG\r\n\x1a\n." /* nine bytes: what follows is encoded by itself */
#define SEEN_IMAGE PNG_MAGIC "seen by the user"
#define TAKEN_IMAGE PNG_MAGIC "taken by the tool"
/* How they go over the wire, after what they have in common. */
#define SEEN_WIRE "c2VlbiBieSB0aGUgdXNl"
#define TAKEN_WIRE "dGFrZW4gYnkgdGhlIHRv"

enum { REPLIES = 6, FIRST_OF_T = 2, LAST_OF_T = 4, VENDORS = 7 };

/* `open`, put before what follows the last breakpoint of a body, makes it JSON
 * again: so nothing but the end of the history stands there. */
#define END_OF_LIST "{\"history\":["
static const struct vendor {
    const char *provider, *spec, *api;
    const char *path; /* after the instance's address */
    const char *mark; /* what a breakpoint looks like; "]": the history's end */
    const char *open;
    bool prompted;
} vendors[] = {
    {"anthropic", "anthropic/claude-test", NULL, "", "]", END_OF_LIST, false},
    {"openai", "openai/gpt-5.2", NULL, "/v1", "]", END_OF_LIST, false},
    {"openai-responses", "openai-responses/gpt-test", NULL, "/v1", "]", END_OF_LIST, false},
    {"gemini", "gemini/gemini-3-test", NULL, "", "]", END_OF_LIST, false},
    {"gemini-interactions", "gemini-interactions/gemini-3-test", NULL, "", "]", END_OF_LIST, false},
    {"bedrock", "bedrock/us.anthropic.claude-sonnet-4-5-test-v1:0", NULL, "",
     ",{\"cachePoint\":", "{\"history\":[{\"content\":[{}", false},
    {"plain", "prompted+plain/gpt-test", "openai", "/v1", "]", END_OF_LIST, true},
    /* The layer over the others, by itself. */
    {"anthropic", "prompted+anthropic/claude-test", NULL, "", "]", END_OF_LIST, true},
    {"openai-responses", "prompted+openai-responses/gpt-test", NULL, "/v1", "]", END_OF_LIST, true},
    {"gemini", "prompted+gemini/gemini-3-test", NULL, "", "]", END_OF_LIST, true},
    {"bedrock", "prompted+bedrock/us.anthropic.claude-sonnet-4-5-test-v1:0", NULL, "",
     ",{\"cachePoint\":", "{\"history\":[{\"content\":[{}", true},
};

#define CALL(name, args) "{\"call\":{\"name\":\"" name "\",\"arguments\":[\"" args "\"]}}"
#define TAGGED(name, args) \
    "\\n<tool_call>{\\\"name\\\":\\\"" name "\\\",\\\"arguments\\\":" args "}</tool_call>"

/* Each reply as a model with tools gives it, and as one without. */
static const struct {
    const char *native, *prompted;
} replies[REPLIES] = {
    {"{\"reasoning\":[\"Three things \",\"to find out.\"]},{\"text\":[\"Three at once.\"]}," CALL(
         "look", "{\\\"path\\\":\\\"a\\\"}") "," CALL("list",
                                                      "{}") "," CALL("divide",
                                                                     "{\\\"a\\\":1,\\\"b\\\":0}"),
     "{\"text\":[\"<scratchpad>Three things to find out.</scratch\",\"pad>Three at once.\","
     "\"" TAGGED("look", "{\\\"path\\\":\\\"a\\\"}") TAGGED("list", "{}")
         TAGGED("divide", "{\\\"a\\\":1,\\\"b\\\":0}") "\"]}"},
    {CALL("photo", "{}"), "{\"text\":[\"" TAGGED("photo", "{}") "\"]}"},
    {CALL("put", "{\\\"path\\\":\\\"b\\\"}") "," CALL("look", "{\\\"path\\\":\\\"b\\\"}"),
     "{\"text\":[\"" TAGGED("put", "{\\\"path\\\":\\\"b\\\"}")
         TAGGED("look", "{\\\"path\\\":\\\"b\\\"}") "\"]}"},
    {"{\"text\":[\"Half \",\"done.\"]}", "{\"text\":[\"Half \",\"done.\"]}"},
    {"{\"reasoning\":[\"One more.\"]}," CALL("photo", "{}") "," CALL("divide",
                                                                     "{\\\"a\\\":84,\\\"b\\\":2}"),
     "{\"text\":[\"<scratchpad>One more.</scratchpad>" TAGGED("photo", "{}")
         TAGGED("divide", "{\\\"a\\\":84,\\\"b\\\":2}") "\"]}"},
    {"{\"text\":[\"All done: 42.\"]}", "{\"text\":[\"All done: 42.\"]}"},
};

static char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *fmt, ...) {
    struct ch_buf out = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&out, fmt, ap);
    va_end(ap);
    return ch_buf_take(&out);
}

/* --- the server */

static struct {
    pid_t pid;
    int port;
    char *dir, *log;
} server;

static int start_server(void **state) {
    (void)state;
    const char *build = getenv("BUILD"), *tmp = getenv("TMPDIR");
    server.dir = text_of("%s/handover.XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(server.dir));
    server.log = text_of("%s/log", server.dir);
    CH_AUTOFREE char *program = text_of("%s/tests/support/llmserver", build ? build : "build");
    int out[2];
    assert_int_equal(pipe(out), 0);
    server.pid = fork();
    if (server.pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        execl(program, program, "--conversations", server.dir, "--log", server.log, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    int found = fscanf(f, "port %d", &server.port);
    fclose(f);
    setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 1);
    return found == 1 ? 0 : -1;
}

static int stop_server(void **state) {
    (void)state;
    kill(server.pid, SIGTERM);
    waitpid(server.pid, NULL, 0);
    unlink(server.log);
    rmdir(server.dir);
    ch_free(server.log);
    ch_free(server.dir);
    return 0;
}

/* --- the five tools */

static int look(chela_call *call, void *user) {
    const char *path;
    (void)user;
    int rc = chela_arg_string(call, "path", &path);
    if (rc == 0)
        chela_result_printf(call, "%s holds \"text\"\n", path);
    return rc;
}

static int list(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "a\nb");
    return 0;
}

static int put(chela_call *call, void *user) {
    (void)call;
    (void)user;
    return 0; /* nothing to say: an empty result is one too */
}

static int divide(chela_call *call, void *user) {
    int64_t a, b;
    (void)user;
    int rc = chela_arg_int(call, "a", &a);
    if (rc == 0)
        rc = chela_arg_int(call, "b", &b);
    if (rc < 0)
        return rc;
    if (b == 0)
        return chela_result_error(call, "invalid_arguments", "division by zero");
    chela_result_printf(call, "%lld", (long long)(a / b));
    return 0;
}

static int photo(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "click", 5);
    chela_result_media(call, "image/png", TAKEN_IMAGE, sizeof(TAKEN_IMAGE) - 1);
    return 0;
}

static void add_tools(chela_agent *agent) {
#define PATH "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"
#define PAIR                                                                             \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":" \
    "\"integer\"}},\"required\":[\"a\",\"b\"]}"
    assert_int_equal(chela_agent_tool(agent, "look", "Look into a file.", PATH, look, NULL), 0);
    assert_int_equal(chela_agent_tool(agent, "list", "List the files.", NULL, list, NULL), 0);
    assert_int_equal(chela_agent_tool(agent, "put", "Put a file there.", PATH, put, NULL), 0);
    assert_int_equal(chela_agent_tool(agent, "divide", "Divide a by b.", PAIR, divide, NULL), 0);
    assert_int_equal(chela_agent_tool(agent, "photo", "Take a photo.", NULL, photo, NULL), 0);
}

/* --- one conversation */

enum further { FURTHER_NOT, FURTHER_RESUME, FURTHER_MESSAGE };

struct talk {
    const struct vendor *s, *t;
    chela_store *store;   /* NULL: it is not kept */
    enum further further; /* one that began elsewhere goes on */
    char name[32];
    bool whole;            /* replies are not streamed */
    unsigned asked;        /* model calls begun */
    struct ch_buf outcome; /* what happened, in words that no vendor chose */
    struct ch_buf text, thought;
};

static const struct vendor *who_answers(const struct talk *k, unsigned reply) {
    return reply >= FIRST_OF_T && reply <= LAST_OF_T ? k->t : k->s;
}

static enum chela_flow before_model(chela_run *run, struct chela_turn_patch *patch, void *user) {
    struct talk *k = user;
    (void)run;
    patch->model = who_answers(k, k->asked++)->spec;
    return CHELA_GO;
}

static void flush(struct ch_buf *out, const char *what, struct ch_buf *text) {
    if (text->n)
        ch_buf_addf(out, "%s: %s\n", what, ch_buf_str(text));
    ch_buf_clear(text);
}

/* Two tools of one reply may end in either order: what they returned is looked
 * for in the requests. */
static void on_event(const struct chela_event *ev, void *user) {
    struct talk *k = user;
    struct ch_buf *out = &k->outcome;
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
        ch_buf_add(&k->text, ev->delta.text.p, ev->delta.text.n);
        break;
    case CHELA_EV_REASONING_DELTA:
        ch_buf_add(&k->thought, ev->delta.text.p, ev->delta.text.n);
        break;
    case CHELA_EV_TOOL_CALL:
        ch_buf_addf(out, "call %u: %.*s %.*s\n", ev->call.index, (int)ev->call.name.n,
                    ev->call.name.p, (int)ev->call.arguments.n, ev->call.arguments.p);
        break;
    case CHELA_EV_TURN_END:
        flush(out, "thought", &k->thought);
        flush(out, "text", &k->text);
        break;
    case CHELA_EV_RETRY:
    case CHELA_EV_FALLBACK:
    case CHELA_EV_WARNING:
        ch_buf_addf(out, "%s\n", chela_event_name(ev->type));
        break;
    default:
        break;
    }
}

static char *conversation_path(const struct talk *k) {
    return text_of("%s/%s.json", server.dir, k->name);
}

static void write_conversation(const struct talk *k) {
    CH_AUTOFREE char *path = conversation_path(k);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    if (k->further) {
        fprintf(f, "{\"repeat\":true,\"replies\":[{\"blocks\":[{\"text\":[\"Well.\"]}]}]}");
        assert_int_equal(fclose(f), 0);
        return;
    }
    fprintf(f, "{\"replies\":[");
    for (unsigned i = 0; i < REPLIES; i++)
        fprintf(f, "%s{\"blocks\":[%s],\"usage\":{\"input\":9,\"output\":5}}", i ? "," : "",
                who_answers(k, i)->prompted ? replies[i].prompted : replies[i].native);
    fprintf(f, "]}");
    assert_int_equal(fclose(f), 0);
}

static void add_provider(chela_runtime *rt, const struct vendor *v, const struct talk *k) {
    struct chela_error err = {0};
    CH_AUTOFREE char *url = text_of("http://127.0.0.1:%d/%s/x%s", server.port, k->name, v->path);
    bool aws = strcmp(v->provider, "bedrock") == 0;
    struct chela_provider_opts opts =
        CHELA_PROVIDER_OPTS(.name = v->provider, .api = v->api, .base_url = url,
                            .api_key = aws ? NULL : "a-key-for-the-test");
    if (chela_runtime_provider(rt, &opts, &err) < 0)
        fail_msg("%s: %s", v->provider, err.message);
}

static void await(struct talk *k, chela_run *run) {
    assert_int_equal(chela_run_wait(run), 0);
    ch_buf_addf(&k->outcome, "%s, %s\n", chela_status_name(chela_run_status(run)),
                chela_reason_name(chela_run_reason(run)));
    if (chela_run_status(run) != CHELA_STATUS_DONE)
        print_error("%s: %s %s\n", k->name, chela_reason_name(chela_run_reason(run)),
                    chela_run_error(run));
    chela_run_free(run);
}

static void ask(struct talk *k, chela_session *session, const char *text, bool with_image) {
    static const struct chela_media image = {.data = SEEN_IMAGE, .len = sizeof(SEEN_IMAGE) - 1};
    struct chela_error err = {0};
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.on_event = on_event, .user = k, .media = with_image ? &image : NULL,
                       .nmedia = with_image);
    chela_run *run;
    if (chela_run_start(session, text, strlen(text), &opts, &run, &err) < 0)
        fail_msg("%s: %s", k->name, err.message);
    await(k, run);
}

/* What an earlier process left unfinished, if it did. */
static void take_up(struct talk *k, chela_session *session) {
    struct chela_error err = {0};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event, .user = k);
    chela_run *run;
    if (chela_session_status(session) == CHELA_SESSION_IDLE)
        return;
    if (chela_run_resume(session, &opts, &run, &err) < 0)
        fail_msg("%s: %s", k->name, err.message);
    await(k, run);
}

static void hold(struct talk *k) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    struct chela_hooks hooks = CHELA_HOOKS(.user = k, .before_model = before_model);
    if (chela_runtime_new(NULL, &rt, &err) < 0)
        fail_msg("%s", err.message);
    add_provider(rt, k->s, k);
    add_provider(rt, k->t, k);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .model = k->s->spec, .system = "You look into things.",
            .reasoning = CHELA_REASONING_LOW,
            .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(
                .max_retries = -1, .no_stream = k->whole),
            .limits = &(struct chela_limits)CHELA_LIMITS(.timeout_ms = 10000));
    if (chela_agent_new(rt, &opts, &agent, &err) < 0)
        fail_msg("%s: %s", k->name, err.message);
    add_tools(agent);
    assert_int_equal(chela_agent_hooks(agent, &hooks, NULL), 0);
    if (k->store)
        assert_int_equal(chela_runtime_store(rt, k->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    assert_int_equal(chela_session_new(agent, k->store ? "talk" : NULL, &session, &err), 0);
    assert_int_equal(chela_session_wait(session, &err), 0);
    if (k->further == FURTHER_RESUME) {
        take_up(k, session);
    } else if (k->further == FURTHER_MESSAGE) {
        ask(k, session, "And now?", false);
    } else {
        ask(k, session, "Look into it.", true);
        ask(k, session, "Go on.", false);
    }
    chela_runtime_close(rt);
}

/* --- what was sent */

struct sent {
    char *bodies[REPLIES];
    size_t n;
};

/* A line of the log ends with the body as it came. */
static void take_line(struct talk *k, char *line, struct sent *out) {
    CH_AUTOFREE char *mine = text_of("\"conversation\":\"%s\"", k->name);
    char *body = strstr(line, ",\"body\":");
    if (!strstr(line, mine) || !body)
        return;
    if (!strstr(line, "\"problems\":[],"))
        fail_msg("%s, request %zu: %s", k->name, out->n, line);
    if (out->n == REPLIES)
        fail_msg("%s: more requests than replies", k->name);
    body += strlen(",\"body\":");
    body[strcspn(body, "\n") - 1] = '\0'; /* the line's own brace */
    out->bodies[out->n++] = ch_strdup(body);
}

static void read_log(struct talk *k, struct sent *out) {
    FILE *f = fopen(server.log, "r");
    char *line = NULL;
    size_t room = 0;
    assert_non_null(f);
    while (getline(&line, &room, f) > 0)
        take_line(k, line, out);
    free(line);
    fclose(f);
}

static bool closes(const char *open, const char *rest) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO whole = {0};
    const struct ch_json *v;
    ch_buf_addf(&whole, "%s%s", open, rest);
    return ch_json_parse(&arena, ch_buf_sv(&whole), CH_JSON_STRICT, &v, NULL, NULL) == 0;
}

static void check_prefix(const struct talk *k, const struct vendor *v, const char *earlier,
                         const char *later) {
    size_t same = 0;
    while (earlier[same] && earlier[same] == later[same])
        same++;
    const char *rest = earlier + same;
    /* The later one may go on with a comma as well. */
    if (v->mark[0] == ',' && rest[0] != ',')
        rest--;
    if (strncmp(rest, v->mark, strlen(v->mark)) != 0 || !closes(v->open, rest))
        fail_msg("%s: %s: the history was changed here: %.200s\nnow: %.200s", k->name, v->spec,
                 rest, later + (rest - earlier));
}

/* What the tools returned, as the last request has it. */
static void check_results(const struct talk *k, const char *body) {
    static const char *const results[] = {"a holds \\\"text", "a\\nb", "division by zero",
                                          "b holds \\\"text", "click", "42"};
    for (size_t i = 0; i < CH_LEN(results); i++)
        if (!strstr(body, results[i]))
            fail_msg("%s: the result %s is not there:\n%s", k->name, results[i], body);
}

static void check_sent(const struct talk *k, const struct sent *sent) {
    assert_int_equal(sent->n, REPLIES);
    check_results(k, sent->bodies[REPLIES - 1]);
    for (unsigned i = 0; i < REPLIES; i++) {
        const struct vendor *v = who_answers(k, i);
        if (!strstr(sent->bodies[i], SEEN_WIRE))
            fail_msg("%s, request %u: the user's image is not there", k->name, i);
        if (i >= FIRST_OF_T && !strstr(sent->bodies[i], TAKEN_WIRE))
            fail_msg("%s, request %u: the tool's image is not there", k->name, i);
        unsigned before = i;
        while (before > 0 && who_answers(k, before - 1) != v)
            before--;
        if (before > 0)
            check_prefix(k, v, sent->bodies[before - 1], sent->bodies[i]);
    }
}

static const char expected[] =
    "call 0: look {\"path\":\"a\"}\ncall 1: list {}\ncall 2: divide {\"a\":1,\"b\":0}\n"
    "thought: Three things to find out.\ntext: Three at once.\n"
    "call 0: photo {}\n"
    "call 0: put {\"path\":\"b\"}\ncall 1: look {\"path\":\"b\"}\n"
    "text: Half done.\ndone, task_completed\n"
    "call 0: photo {}\ncall 1: divide {\"a\":84,\"b\":2}\nthought: One more.\n"
    "text: All done: 42.\ndone, task_completed\n";

static void try_way(size_t s, size_t t, bool whole) {
    struct talk k = {.s = &vendors[s], .t = &vendors[t], .whole = whole};
    struct sent sent = {0};
    snprintf(k.name, sizeof(k.name), "from%zu-to%zu%s", s, t, whole ? "-whole" : "");
    write_conversation(&k);
    hold(&k);
    CH_AUTOFREE char *path = conversation_path(&k);
    unlink(path);
    read_log(&k, &sent);
    if (strcmp(ch_buf_str(&k.outcome), expected) != 0)
        fail_msg("%s to %s:\n%s\nnot:\n%s", k.s->spec, k.t->spec, ch_buf_str(&k.outcome), expected);
    check_sent(&k, &sent);
    for (size_t i = 0; i < sent.n; i++)
        ch_free(sent.bodies[i]);
    ch_buf_release(&k.outcome);
    ch_buf_release(&k.text);
    ch_buf_release(&k.thought);
}

static void try_pair(size_t s, size_t t) {
    try_way(s, t, false);
    try_way(s, t, true);
}

static void test_each_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(vendors); i++)
        try_pair(i, i);
}

static void test_each_to_each(void **state) {
    (void)state;
    for (size_t s = 0; s < VENDORS; s++)
        for (size_t t = 0; t < VENDORS; t++)
            if (s != t)
                try_pair(s, t);
}

/* --- a conversation that was cut off -------------------------------------------- */

struct journal { /* as it is exported */
    struct ch_buf text;
    size_t ends[128], n;
    size_t of; /* which vendor */
};

static int keep_line(const char *p, size_t n, void *user) {
    struct journal *j = user;
    assert_true(j->n < CH_LEN(j->ends));
    ch_buf_add(&j->text, p, n);
    j->ends[j->n++] = j->text.n;
    return 0;
}

/* The whole conversation over one protocol, stored. */
static void record(struct talk *k, struct journal *out) {
    struct chela_error err = {0};
    assert_int_equal(chela_store_open("memory:", NULL, &k->store, &err), 0);
    write_conversation(k);
    hold(k);
    CH_AUTOFREE char *path = conversation_path(k);
    unlink(path);
    assert_int_equal(chela_store_export(k->store, "talk", keep_line, out, &err), 0);
    chela_store_close(k->store);
    k->store = NULL;
}

/* As if the process had died after the n-th record, and its session went on over
 * another protocol: taken up again, or left behind by another message. */
static void go_on(const struct journal *j, size_t n, const struct vendor *v, bool resume) {
    struct talk k = {.s = v, .t = v, .further = resume ? FURTHER_RESUME : FURTHER_MESSAGE};
    struct chela_error err = {0};
    snprintf(k.name, sizeof(k.name), "cut%zu-%zu-%zu", j->of, n, (size_t)(v - vendors));
    assert_int_equal(chela_store_open("memory:", NULL, &k.store, &err), 0);
    if (chela_store_import(k.store, j->text.p, j->ends[n], NULL, NULL, &err) < 0)
        fail_msg("%zu: %s", n, err.message);
    write_conversation(&k);
    hold(&k);
    CH_AUTOFREE char *path = conversation_path(&k);
    unlink(path);
    struct sent sent = {0};
    read_log(&k, &sent); /* complains of whatever a checker found */
    if (k.outcome.n == 0) /* it had ended, nothing is left to resume */
        assert_true(resume && sent.n == 0);
    else if (!sent.n || !strstr(ch_buf_str(&k.outcome), "done, task_completed"))
        fail_msg("%s: %zu requests, %s", k.name, sent.n, ch_buf_str(&k.outcome));
    for (size_t i = 0; i < sent.n; i++)
        ch_free(sent.bodies[i]);
    chela_store_close(k.store);
    ch_buf_release(&k.outcome);
    ch_buf_release(&k.text);
    ch_buf_release(&k.thought);
}

static void test_every_beginning_is_accepted(void **state) {
    (void)state;
    for (size_t made = 0; made < VENDORS; made++) {
        struct talk k = {.s = &vendors[made], .t = &vendors[made]};
        struct journal j = {.of = made};
        snprintf(k.name, sizeof(k.name), "kept%zu", made);
        record(&k, &j);
        assert_string_equal(ch_buf_str(&k.outcome), expected);
        for (size_t n = 1; n < j.n; n++) /* each time another protocol, both ways in turn */
            go_on(&j, n, &vendors[(made + n) % VENDORS], (n / VENDORS + made) % 2 == 0);
        ch_buf_release(&j.text);
        ch_buf_release(&k.outcome);
        ch_buf_release(&k.text);
        ch_buf_release(&k.thought);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_alone),
        cmocka_unit_test(test_each_to_each),
        cmocka_unit_test(test_every_beginning_is_accepted),
    };
    return cmocka_run_group_tests_name("handover", tests, start_server, stop_server);
}
