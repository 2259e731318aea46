/* test_scripted.c -- the scripted model, driven as the agent would drive it:
 * requests of the Messages API in, bytes of a response out.
 *
 * What comes back is told in one line, e.g.
 *     200 text<Hi there> call<ls toolu_0001 {"path":"."}> stop<tool_use> whole
 * so that a case is a rule file, a conversation and that line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "io/loop.h"
#include "model/scripted/scripted.h"
#include "json/json.h"
#include "json/writer.h"

/* --- a model, a clock, a client ---------------------------------------------- */

struct fixture {
    struct ch_loop *loop;
    struct ch_scripted *model;
    struct ch_clock clock;
    int64_t now;
    char path[256];
};

static int64_t held_time(void *user) {
    return ((struct fixture *)user)->now;
}

static void write_file(const char *path, const char *text, size_t n) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static int open_model(struct fixture *f, const char *rules, size_t n, struct chela_error *err) {
    *f = (struct fixture){.clock = {held_time, held_time, f}, .now = 1000};
    const char *tmp = getenv("TMPDIR");
    snprintf(f->path, sizeof(f->path), "%s/chela-rules-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    write_file(f->path, rules, n);
    assert_int_equal(ch_loop_new(NULL, &f->clock, &f->loop, NULL), 0);
    return ch_scripted_new(f->loop, f->path, &f->model, err);
}

static void open_good(struct fixture *f, const char *rules) {
    struct chela_error err = {0};
    if (open_model(f, rules, strlen(rules), &err) < 0)
        fail_msg("%s", err.message);
}

static void close_model(struct fixture *f) {
    ch_scripted_close(f->model);
    ch_loop_close(f->loop, NULL, NULL);
    if (f->path[0])
        unlink(f->path);
}

struct client {
    int status;
    char type[64], retry_after[16], retry_after_ms[16];
    struct ch_buf body;
    size_t pieces;
    bool done;
    struct chela_error err;
    /* What to do to the call from inside its callbacks. */
    enum { LEAVE, CANCEL_IN_HEAD, CANCEL_IN_DATA, CANCEL_IN_DONE, CLOSE_IN_DATA } plan;
    struct fixture *f;
    struct ch_http_call *call;
};

static void keep_header(const struct ch_http_head *head, const char *name, char *out, size_t size) {
    for (size_t i = 0; i < head->nheaders; i++)
        if (ch_sv_is(head->headers[i].name, name))
            snprintf(out, size, "%.*s", CH_SV_FMT(head->headers[i].value));
}

static void cancel(struct client *c) {
    ch_transport_cancel(ch_scripted_transport(c->f->model), c->call);
}

static void on_head(const struct ch_http_head *head, void *user) {
    struct client *c = user;
    c->status = head->status;
    keep_header(head, "content-type", c->type, sizeof(c->type));
    keep_header(head, "retry-after", c->retry_after, sizeof(c->retry_after));
    keep_header(head, "retry-after-ms", c->retry_after_ms, sizeof(c->retry_after_ms));
    if (c->plan == CANCEL_IN_HEAD)
        cancel(c);
}

static void on_data(struct ch_sv data, void *user) {
    struct client *c = user;
    assert_false(c->done);
    assert_true(c->status != 0);
    ch_buf_add_sv(&c->body, data);
    c->pieces++;
    if (c->plan == CANCEL_IN_DATA)
        cancel(c);
    if (c->plan == CLOSE_IN_DATA) {
        ch_scripted_close(c->f->model);
        c->f->model = NULL;
    }
}

static void on_done(const struct chela_error *err, void *user) {
    struct client *c = user;
    assert_false(c->done);
    c->done = true;
    if (err)
        c->err = *err;
    if (c->plan == CANCEL_IN_DONE)
        cancel(c);
}

static const struct ch_http_handler handler = {on_head, on_data, on_done};

static void start(struct fixture *f, struct client *c, struct ch_http_request *req) {
    c->f = f;
    c->call = ch_transport_start(ch_scripted_transport(f->model), req, &handler, c);
    assert_non_null(c->call);
    assert_int_equal(c->status, 0); /* nothing fires inside start */
    assert_false(c->done);
}

/* Let time pass as far as timers ask for it, at most limit_ms. */
static void run_until_quiet(struct fixture *f, int64_t limit_ms) {
    int64_t end = f->now + limit_ms;
    for (unsigned idle = 0; idle < 3;) {
        ch_loop_tick(f->loop);
        int64_t due = ch_loop_next_due(f->loop);
        if (due < 0 || f->now + due > end) {
            idle++;
            continue;
        }
        f->now += due;
        idle = 0;
    }
}

/* A response of n pieces needs n passes of the loop. */
static void run(struct fixture *f, struct client *c) {
    for (unsigned i = 0; i < 100000 && !c->done; i++) {
        ch_loop_tick(f->loop);
        int64_t due = ch_loop_next_due(f->loop);
        if (due > 0)
            f->now += due;
    }
}

static struct ch_http_request request(struct ch_sv *body) {
    return (struct ch_http_request){
        .method = "POST", .url = "scripted:/v1/messages", .body = body, .nbody = 1};
}

static void exchange(struct fixture *f, struct client *c, const char *body) {
    struct ch_sv text = ch_sv_str(body);
    struct ch_http_request req = request(&text);
    start(f, c, &req);
    run(f, c);
    if (!c->done)
        fail_msg("no end of the response to %s", body);
}

/* --- telling a response in one line ------------------------------------------- */

struct told {
    struct ch_buf *out;
    struct ch_buf open; /* contents of the block that is open */
    struct ch_buf label;
};

static void tell_usage(struct ch_buf *out, const struct ch_json *u) {
    ch_buf_addf(out, " usage<%lld+%lld+%lld %lld>",
                (long long)ch_json_int(ch_json_get(u, "input_tokens"), -1),
                (long long)ch_json_int(ch_json_get(u, "cache_read_input_tokens"), -1),
                (long long)ch_json_int(ch_json_get(u, "cache_creation_input_tokens"), -1),
                (long long)ch_json_int(ch_json_get(u, "output_tokens"), -1));
}

static void open_block(struct told *t, const struct ch_json *b) {
    ch_buf_clear(&t->open);
    ch_buf_clear(&t->label);
    struct ch_sv type = ch_json_get_str(b, "type");
    if (ch_sv_is(type, "tool_use"))
        ch_buf_addf(&t->label, "call<%.*s %.*s ", CH_SV_FMT(ch_json_get_str(b, "name")),
                    CH_SV_FMT(ch_json_get_str(b, "id")));
    else
        ch_buf_addf(&t->label, "%.*s<", CH_SV_FMT(type));
}

static void tell_event(struct told *t, const struct ch_json *e, bool usage) {
    struct ch_sv type = ch_json_get_str(e, "type");
    const struct ch_json *d = ch_json_get(e, "delta");
    if (ch_sv_is(type, "content_block_start"))
        open_block(t, ch_json_get(e, "content_block"));
    if (ch_sv_is(type, "content_block_delta")) {
        static const char *const members[] = {"text", "thinking", "partial_json"};
        for (size_t i = 0; i < CH_LEN(members); i++)
            ch_buf_add_sv(&t->open, ch_json_get_str(d, members[i]));
    }
    if (ch_sv_is(type, "content_block_stop"))
        ch_buf_addf(t->out, " %s%s>", ch_buf_str(&t->label), ch_buf_str(&t->open));
    if (ch_sv_is(type, "message_delta")) {
        ch_buf_addf(t->out, " stop<%.*s>", CH_SV_FMT(ch_json_get_str(d, "stop_reason")));
        if (usage)
            tell_usage(t->out, ch_json_get(e, "usage"));
    }
    if (ch_sv_is(type, "message_stop"))
        ch_buf_add_str(t->out, " whole");
    if (ch_sv_is(type, "error"))
        ch_buf_addf(t->out, " error<%.*s: %.*s>",
                    CH_SV_FMT(ch_json_get_str(ch_json_get(e, "error"), "type")),
                    CH_SV_FMT(ch_json_get_str(ch_json_get(e, "error"), "message")));
}

static void tell_stream(struct ch_buf *out, struct ch_sv body, bool usage) {
    struct told t = {.out = out};
    CH_ARENA_AUTO a = {0};
    while (body.n) {
        struct ch_sv line = ch_sv_split(&body, '\n');
        const struct ch_json *e;
        if (!ch_sv_starts(line, "data: "))
            continue;
        if (ch_json_parse(&a, ch_sv(line.p + 6, line.n - 6), CH_JSON_STRICT, &e, NULL, NULL) == 0)
            tell_event(&t, e, usage);
        else if (body.p) /* not cut off */
            ch_buf_add_str(out, " not JSON");
    }
    ch_buf_release(&t.open);
    ch_buf_release(&t.label);
}

static void tell_body(struct ch_buf *out, struct ch_sv body, bool usage) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *m;
    struct told t = {.out = out};
    if (ch_json_parse(&a, body, CH_JSON_STRICT, &m, NULL, NULL) < 0) {
        ch_buf_add_str(out, " not JSON");
        return;
    }
    tell_event(&t, m, usage);
    for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
        CH_BUF_AUTO input = {0};
        struct ch_jw w = ch_jw(&input);
        open_block(&t, b);
        ch_jw_value(&w, ch_json_get(b, "input") ? ch_json_get(b, "input") : m);
        struct ch_sv type = ch_json_get_str(b, "type");
        struct ch_sv text = ch_sv_is(type, "tool_use") ? ch_buf_sv(&input)
                            : ch_sv_is(type, "text")   ? ch_json_get_str(b, "text")
                                                       : ch_json_get_str(b, "thinking");
        ch_buf_addf(out, " %s%.*s>", ch_buf_str(&t.label), CH_SV_FMT(text));
    }
    if (ch_json_get(m, "stop_reason"))
        ch_buf_addf(out, " stop<%.*s>", CH_SV_FMT(ch_json_get_str(m, "stop_reason")));
    if (usage)
        tell_usage(out, ch_json_get(m, "usage"));
    ch_buf_release(&t.open);
    ch_buf_release(&t.label);
}

static void tell(struct ch_buf *out, const struct client *c, bool usage) {
    ch_buf_addf(out, "%d", c->status);
    if (ch_sv_starts(ch_sv_str(c->type), "text/event-stream"))
        tell_stream(out, ch_buf_sv(&c->body), usage);
    else if (c->status)
        tell_body(out, ch_buf_sv(&c->body), usage);
    if (c->err.code)
        ch_buf_addf(out, " %s", chela_error_name(c->err.code));
}

/* --- rules, conversations, lines ------------------------------------------------- */

#define ASK(text) "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"
#define CALLED(id, tool)                                                       \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"" id \
    "\",\"name\":\"" tool "\",\"input\":{}}]}"
#define RESULT(id, text)                              \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id \
    "\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"
#define RETURNED(id, text) "{\"role\":\"user\",\"content\":[" RESULT(id, text) "]}"
#define FAILED(id, text)                                                              \
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" id \
    "\",\"content\":\"" text "\",\"is_error\":true}]}"
#define SAID(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define TWO_CALLED                                                                                \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"read\"," \
    "\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"ls\",\"input\":{}}]}"
#define TWO_RETURNED \
    "{\"role\":\"user\",\"content\":[" RESULT("a", "one") "," RESULT("b", "two") "]}"

static const struct {
    const char *name, *rules, *messages, *want;
} cases[] = {
    {"text", "rules: [{say: Hello there}]", ASK("hi"),
     "200 text<Hello there> stop<end_turn> whole"},
    {"long words and Chinese come out whole",
     "rules: [{say: '遍历当前目录下所有文件并打印相对路径  supercalifragilisticexpialidocious  "
     "x'}]",
     ASK("hi"),
     "200 text<遍历当前目录下所有文件并打印相对路径  supercalifragilisticexpialidocious  x> "
     "stop<end_turn> whole"},
    {"reasoning, text and calls, in that order",
     "rules: [{say: s, think: t, call: {tool: ls, args: {path: .}}}]", ASK("hi"),
     "200 thinking<t> text<s> call<ls toolu_0001 {\"path\":\".\"}> stop<tool_use> whole"},
    {"parallel calls, ids count up",
     "rules: [{call: [{tool: a}, {tool: b, args: {n: 1, l: [true, null, 0.5]}}, {tool: c, id: "
     "mine}]}]",
     ASK("hi"),
     "200 call<a toolu_0001 {}> call<b toolu_0002 {\"n\":1,\"l\":[true,null,0.5]}> call<c mine {}> "
     "stop<tool_use> whole"},
    {"ids go on, and pass over a taken one", "rules: [{call: [{tool: a}, {tool: b}]}]",
     ASK("hi") "," CALLED("toolu_0003", "ls") "," RETURNED("toolu_0003", "x"),
     "200 call<a toolu_0002 {}> call<b toolu_0004 {}> stop<tool_use> whole"},
    {"raw arguments", "rules: [{call: {tool: a, raw: '{\"cut\":'}, stop: max_tokens}]", ASK("hi"),
     "200 call<a toolu_0001 {\"cut\":> stop<max_tokens> whole"},
    {"an empty reply", "rules: [{say: ''}]", ASK("hi"), "200 stop<end_turn> whole"},
    {"a stop reason", "rules: [{say: no, stop: refusal}]", ASK("hi"),
     "200 text<no> stop<refusal> whole"},

    {"first rule that fits", "rules: [{when: {user: bye}, say: A}, {say: B}, {say: C}]", ASK("hi"),
     "200 text<B> stop<end_turn> whole"},
    {"user pattern", "rules: [{when: {user: ^bye}, say: A}, {when: {user: h.$}, say: B}]",
     ASK("say hi"), "200 text<B> stop<end_turn> whole"},
    {"what the runtime adds is nobody's words",
     "rules: [{when: {message: 1, turn: 2, after: read, user: ^hi$, result: ^x$}, say: A}, {say: "
     "B}]",
     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"<trusted_metadata>\\n{}\"},"
     "{\"type\":\"text\",\"text\":\"hi\"},"
     "{\"type\":\"text\",\"text\":\"<runtime_note>\\nMind it.\\n</runtime_note>\"}]},"
     CALLED("a", "read") ","
     RETURNED("a", "x\\n\\n<runtime_note about='rules'>\\nMind.\\n</runtime_note>"),
     "200 text<A> stop<end_turn> whole"},
    {"what it says in a result is",
     "rules: [{when: {message: 2, after: none, user: ^Stop.$}, say: '{{result.read}}'}, {say: B}]",
     ASK("hi") "," CALLED("a", "read") ","
     RETURNED("a", "x\\n\\n<runtime_note>\\nStop.\\n</runtime_note>"),
     "200 text<x> stop<end_turn> whole"},
    {"a text of the user that looks like one is", "rules: [{when: {user: note}, say: A}, {say: B}]",
     ASK("<runtime_note>"), "200 text<A> stop<end_turn> whole"},
    {"case matters", "rules: [{when: {user: HI}, say: A}, {say: B}]", ASK("hi"),
     "200 text<B> stop<end_turn> whole"},
    {"unless it does not", "rules: [{when: {user: (?i)HI}, say: A}, {say: B}]", ASK("hi"),
     "200 text<A> stop<end_turn> whole"},
    {"a pattern counts characters in any locale",
     "rules: [{when: {user: '^.[脚本]$'}, say: A}, {say: B}]", ASK("写脚"),
     "200 text<A> stop<end_turn> whole"},
    {"classes have the letters of all languages, a dot is also a line feed",
     "rules: [{when: {user: '^[[:alpha:]]+.b$'}, say: A}, {say: B}]", ASK("脚本\\nb"),
     "200 text<A> stop<end_turn> whole"},
    {"a search of too many steps finds nothing",
     "rules: [{when: {user: '^(a+a+)+$'}, say: A}, {say: B}]",
     ASK("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
     "200 text<B> stop<end_turn> whole"},
    {"Chinese pattern", "rules: [{when: {user: (?i)python|脚本}, say: A}, {say: B}]",
     ASK("写一个脚本"), "200 text<A> stop<end_turn> whole"},
    {"text blocks are joined, other blocks ignored",
     "rules: [{when: {user: \"^one\\ntwo$\"}, say: A}, {say: B}]",
     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"image\"},"
     "{\"type\":\"text\",\"text\":\"two\"}]}",
     "200 text<A> stop<end_turn> whole"},
    {"content as a string", "rules: [{say: '{{user}}'}]",
     "{\"role\":\"user\",\"content\":\"plain\"}", "200 text<plain> stop<end_turn> whole"},
    {"the last user text counts", "rules: [{say: '{{user}} {{message}} {{turn}}'}]",
     ASK("one") "," SAID("ok") "," ASK("two"), "200 text<two 2 1> stop<end_turn> whole"},

    {"after none", "rules: [{when: {after: none}, say: A}, {say: B}]", ASK("hi"),
     "200 text<A> stop<end_turn> whole"},
    {"after null is after none", "rules: [{when: {after: null}, say: A}, {say: B}]", ASK("hi"),
     "200 text<A> stop<end_turn> whole"},
    {"not after none", "rules: [{when: {after: none}, say: A}, {say: B}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r"), "200 text<B> stop<end_turn> whole"},
    {"after a tool", "rules: [{when: {after: read}, say: A}, {when: {after: ls}, say: B}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r"), "200 text<B> stop<end_turn> whole"},
    {"after any", "rules: [{when: {after: any}, say: A}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r"), "200 text<A> stop<end_turn> whole"},
    {"after only the latest batch",
     "rules: [{when: {after: ls}, say: A}, {when: {after: read}, say: B}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r") "," CALLED("y", "read") "," RETURNED(
         "y", "s"),
     "200 text<B> stop<end_turn> whole"},
    {"a user text starts afresh", "rules: [{when: {after: any}, say: A}, {say: '{{turn}}'}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r") "," SAID("ok") "," ASK("again"),
     "200 text<1> stop<end_turn> whole"},
    {"also one beside the results", "rules: [{when: {after: any}, say: A}, {say: '{{user}}'}]",
     ASK("hi") "," CALLED("x", "ls") ",{\"role\":\"user\",\"content\":[" RESULT(
         "x", "r") ",{\"type\":\"text\",\"text\":\"stop that\"}]}",
     "200 text<stop that> stop<end_turn> whole"},
    {"after all of a list", "rules: [{when: {after: [ls, read]}, say: A}, {say: B}]",
     ASK("hi") "," TWO_CALLED "," TWO_RETURNED, "200 text<A> stop<end_turn> whole"},
    {"after none of a list that is not whole",
     "rules: [{when: {after: [ls, write]}, say: A}, {say: B}]",
     ASK("hi") "," TWO_CALLED "," TWO_RETURNED, "200 text<B> stop<end_turn> whole"},

    {"result pattern", "rules: [{when: {result: '([0-9]+) files'}, say: 'n={{1}}'}, {say: B}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "12 files"),
     "200 text<n=12> stop<end_turn> whole"},
    {"result pattern of the named tool",
     "rules: [{when: {after: read, result: two}, say: A}, {when: {after: read, result: one}, say: "
     "B}]",
     ASK("hi") "," TWO_CALLED "," TWO_RETURNED, "200 text<B> stop<end_turn> whole"},
    {"result is the one that fits", "rules: [{when: {result: on}, say: '{{result}}'}]",
     ASK("hi") "," TWO_CALLED "," TWO_RETURNED, "200 text<one> stop<end_turn> whole"},
    {"result without condition is the last", "rules: [{say: '{{result}}'}]",
     ASK("hi") "," TWO_CALLED "," TWO_RETURNED, "200 text<two> stop<end_turn> whole"},
    {"is_error", "rules: [{when: {is_error: true}, say: 'bad {{result}}'}, {say: good}]",
     ASK("hi") "," CALLED("x", "ls") "," FAILED("x", "nope"),
     "200 text<bad nope> stop<end_turn> whole"},
    {"is_error false", "rules: [{when: {is_error: false}, say: good}, {say: bad}]",
     ASK("hi") "," CALLED("x", "ls") "," FAILED("x", "nope"), "200 text<bad> stop<end_turn> whole"},
    {"is_error needs a result", "rules: [{when: {is_error: false}, say: A}, {say: B}]", ASK("hi"),
     "200 text<B> stop<end_turn> whole"},
    {"turn", "rules: [{when: {turn: 1}, say: A}, {when: {turn: 2}, say: B}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "r"), "200 text<B> stop<end_turn> whole"},
    {"message", "rules: [{when: {message: 1}, say: A}, {when: {message: 2}, say: B}]",
     ASK("hi") "," SAID("ok") "," ASK("hi"), "200 text<B> stop<end_turn> whole"},
    {"system pattern and its groups",
     "rules: [{when: {user: '(h)(i)', system: 'agent=([a-z]+)'}, say: '{{3}}{{1}}'}]", ASK("hi"),
     "200 text<coderh> stop<end_turn> whole"},
    {"tools that are offered",
     "rules: [{when: {tools: [ls, mail]}, say: A}, {when: {tools: ls}, say: B}]", ASK("hi"),
     "200 text<B> stop<end_turn> whole"},

    {"templates",
     "rules: [{when: {user: '([a-z]+)-([a-z]+)(x)?'}, say: '{{2}} {{ 1 }} [{{3}}] {{{{user}} "
     "{{user}}'}]",
     ASK("ab-cd"), "200 text<cd ab [] {{user}} ab-cd> stop<end_turn> whole"},
    {"what is filled in is not looked at again", "rules: [{say: '<{{user}}>'}]", ASK("{{result}}"),
     "200 text<<{{result}}>> stop<end_turn> whole"},
    {"templates in arguments are escaped",
     "rules: [{call: {tool: write, args: {content: 'a {{user}} z', deep: [{k: '{{user}}'}]}}}]",
     ASK("q\\\"\\n\\\\"),
     "200 call<write toolu_0001 {\"content\":\"a q\\\"\\n\\\\ "
     "z\",\"deep\":[{\"k\":\"q\\\"\\n\\\\\"}]}> "
     "stop<tool_use> whole"},
    {"templates in raw arguments are not", "rules: [{call: {tool: a, raw: '{\"n\":{{user}}}'}}]",
     ASK("42"), "200 call<a toolu_0001 {\"n\":42}> stop<tool_use> whole"},
    {"result of a tool, from anywhere in the conversation", "rules: [{say: '{{result.ls}}'}]",
     ASK("hi") "," CALLED("x", "ls") "," RETURNED("x", "old") "," CALLED("y", "ls") "," RETURNED(
         "y", "new") "," SAID("ok") "," ASK("and?"),
     "200 text<new> stop<end_turn> whole"},
    {"a missing result names the rule",
     "rules: [{when: {user: no}, say: a}, {say: '{{result.ls}}'}]", ASK("hi"),
     "400 error<invalid_request_error: rule 2: {{result.ls}}: there is no such result>"},

    {"a status", "rules: [{fail: {status: 429}}]", ASK("hi"),
     "429 error<rate_limit_error: rule 1 of FILE fails on purpose>"},
    {"a status with its own words",
     "rules: [{fail: {status: 400, type: billing, message: 'no {{user}}'}}]", ASK("hi"),
     "400 error<billing: no hi>"},
    {"an unusual status", "rules: [{fail: {status: 503, message: m}}]", ASK("hi"),
     "503 error<api_error: m>"},
    {"an error inside the stream",
     "rules: [{say: half a, fail: {type: overloaded_error, message: m}}]", ASK("hi"),
     "200 text<half a> error<overloaded_error: m>"},
    {"no connection", "rules: [{fail: {network: connection refused}}]", ASK("hi"), "0 ENET"},
    {"cut before any content", "rules: [{say: a b c, cut_after: 0}]", ASK("hi"), "200 ENET"},
    {"cut inside a block", "rules: [{say: a b c, cut_after: 2}]", ASK("hi"), "200 ENET"},
    {"cut between blocks", "rules: [{say: a, call: {tool: t}, cut_after: 1}]", ASK("hi"),
     "200 text<a> ENET"},
    {"cut at the latest before the end", "rules: [{say: a, cut_after: 99}]", ASK("hi"),
     "200 text<a> ENET"},
    {"nothing fits", "rules: [{when: {user: x}, say: a}]", ASK("do it"),
     "400 error<invalid_request_error: scripted model: no rule of FILE fits (message 1, turn 1, "
     "after none, user text \"do it\")>"},
    {"nothing fits after a tool", "rules: [{when: {turn: 1}, say: a}]",
     ASK("do it") "," CALLED("x", "ls") "," RETURNED("x", "r"),
     "400 error<invalid_request_error: scripted model: no rule of FILE fits (message 1, turn 2, "
     "after ls, user text \"do it\")>"},

    {"a call without result", "rules: [{say: a}]", ASK("hi") "," CALLED("x", "ls") "," ASK("hm"),
     "400 error<invalid_request_error: messages.1: `tool_use` ids were found without `tool_result` "
     "blocks immediately after: x>"},
    {"a call at the end", "rules: [{say: a}]", ASK("hi") "," CALLED("x", "ls"),
     "400 error<invalid_request_error: messages.1: `tool_use` ids were found without `tool_result` "
     "blocks immediately after: x>"},
    {"one of two results", "rules: [{say: a}]", ASK("hi") "," TWO_CALLED "," RETURNED("b", "r"),
     "400 error<invalid_request_error: messages.1: `tool_use` ids were found without `tool_result` "
     "blocks immediately after: a>"},
    {"a result twice", "rules: [{say: a}]",
     ASK("hi") "," TWO_CALLED
               ",{\"role\":\"user\",\"content\":[" RESULT("a", "1") "," RESULT("a", "2") "]}",
     "400 error<invalid_request_error: messages.2: `tool_result` a answers no `tool_use` of the "
     "message before it>"},
    {"a result without call", "rules: [{say: a}]", ASK("hi") "," RETURNED("x", "r"),
     "400 error<invalid_request_error: messages.1: `tool_result` x answers no `tool_use` of the "
     "message before it>"},
    {"no messages", "rules: [{say: a}]", "",
     "400 error<invalid_request_error: messages: at least one message is required>"},
};

static char *request_text(const char *messages, bool stream) {
    CH_BUF_AUTO b = {0};
    ch_buf_addf(
        &b,
        "{\"model\":\"m1\",\"max_tokens\":9,\"stream\":%s,\"system\":[{\"type\":\"text\","
        "\"text\":\"You are agent=coder\"}],\"tools\":[{\"name\":\"ls\"},{\"name\":\"read\"}],"
        "\"messages\":[%s]}",
        stream ? "true" : "false", messages);
    return ch_buf_take(&b);
}

/* The line for a case, with the file's name as FILE. */
static char *told(const struct fixture *f, const struct client *c, bool usage) {
    CH_BUF_AUTO line = {0}, out = {0};
    tell(&line, c, usage);
    const char *at = ch_buf_str(&line), *hit;
    while ((hit = strstr(at, f->path))) {
        ch_buf_add(&out, at, (size_t)(hit - at));
        ch_buf_add_str(&out, "FILE");
        at = hit + strlen(f->path);
    }
    ch_buf_add_str(&out, at);
    return ch_buf_take(&out);
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct fixture f;
        struct client c = {0};
        open_good(&f, cases[i].rules);
        CH_AUTOFREE char *body = request_text(cases[i].messages, true);
        exchange(&f, &c, body);
        CH_AUTOFREE char *got = told(&f, &c, false);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s:\n got %s\nwant %s", cases[i].name, got, cases[i].want);
        ch_buf_release(&c.body);
        close_model(&f);
    }
}

/* Without streaming the same message is one JSON body. */
static void test_whole_bodies(void **state) {
    (void)state;
    static const struct {
        const char *rules, *want;
    } whole[] = {
        {"rules: [{think: t, say: a b, call: {tool: ls, args: {n: 1}}, usage: {input: 7, output: "
         "8, "
         "cache_read: 9, cache_write: 10}}]",
         "200 thinking<t> text<a b> call<ls toolu_0001 {\"n\":1}> stop<tool_use> usage<7+9+10 8>"},
        {"rules: [{call: {tool: ls, raw: '{\"cut'}, usage: {input: 1}}]",
         "200 call<ls toolu_0001 \"{\\\"cut\"> stop<tool_use> usage<1+0+0 2>"},
        {"rules: [{fail: {type: overloaded_error, message: m}}]",
         "529 error<overloaded_error: m> usage<-1+-1+-1 -1>"},
        {"rules: [{fail: {type: strange, message: m}}]",
         "500 error<strange: m> usage<-1+-1+-1 -1>"},
        {"rules: [{say: a b c, cut_after: 1}]", "200 not JSON ENET"},
    };
    for (size_t i = 0; i < CH_LEN(whole); i++) {
        struct fixture f;
        struct client c = {0};
        open_good(&f, whole[i].rules);
        CH_AUTOFREE char *body = request_text(ASK("hi"), false);
        exchange(&f, &c, body);
        CH_AUTOFREE char *got = told(&f, &c, true);
        assert_string_equal(got, whole[i].want);
        assert_string_equal(c.type, "application/json");
        ch_buf_release(&c.body);
        close_model(&f);
    }
}

static void test_usage_is_estimated_from_bytes(void **state) {
    (void)state;
    struct fixture f;
    struct client c = {0};
    open_good(&f, "rules: [{say: '0123456789', call: {tool: abc, args: {}}}]");
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    CH_BUF_AUTO want = {0};
    ch_buf_addf(
        &want, "200 text<0123456789> call<abc toolu_0001 {}> stop<tool_use> usage<%zu+0+0 4> whole",
        (strlen(body) + 3) / 4); /* 10 + 3 + 2 bytes make 4 tokens */
    exchange(&f, &c, body);
    CH_AUTOFREE char *got = told(&f, &c, true);
    assert_string_equal(got, want.p);
    ch_buf_release(&c.body);
    close_model(&f);
}

static void test_headers(void **state) {
    (void)state;
    struct fixture f;
    open_good(&f, "rules: [{times: 1, fail: {status: 429, retry_after: 2}},"
                  "{times: 1, fail: {status: 529, retry_after: 0.25}}, {say: ok}]");
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    static const struct {
        const char *type, *after, *after_ms;
    } want[] = {{"application/json", "2", ""},
                {"application/json", "1", "250"},
                {"text/event-stream; charset=utf-8", "", ""}};
    for (size_t i = 0; i < CH_LEN(want); i++) {
        struct client c = {0};
        exchange(&f, &c, body);
        assert_string_equal(c.type, want[i].type);
        assert_string_equal(c.retry_after, want[i].after);
        assert_string_equal(c.retry_after_ms, want[i].after_ms);
        ch_buf_release(&c.body);
    }
    close_model(&f);
}

static void test_times_make_a_sequence(void **state) {
    (void)state;
    struct fixture f;
    open_good(&f,
              "rules: [{times: 2, say: A}, {times: 1, fail: {status: 500, message: m}}, {say: C}]");
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    static const char *const want[] = {
        "200 text<A> stop<end_turn> whole", "200 text<A> stop<end_turn> whole",
        "500 error<api_error: m>", "200 text<C> stop<end_turn> whole",
        "200 text<C> stop<end_turn> whole"};
    for (size_t i = 0; i < CH_LEN(want); i++) {
        struct client c = {0};
        exchange(&f, &c, body);
        CH_AUTOFREE char *got = told(&f, &c, false);
        assert_string_equal(got, want[i]);
        ch_buf_release(&c.body);
    }
    close_model(&f);
}

/* The request may come in any number of parts. */
static void test_gathered_request(void **state) {
    (void)state;
    struct fixture f;
    open_good(&f, "rules: [{say: '{{user}}'}]");
    CH_AUTOFREE char *body = request_text(ASK("split me"), true);
    size_t n = strlen(body);
    for (size_t cut = 0; cut <= n; cut += 7) {
        struct ch_sv parts[] = {ch_sv(body, cut), CH_SV(""), ch_sv(body + cut, n - cut)};
        struct ch_http_request req = request(parts);
        req.nbody = CH_LEN(parts);
        struct client c = {0};
        start(&f, &c, &req);
        run(&f, &c);
        CH_AUTOFREE char *got = told(&f, &c, false);
        assert_string_equal(got, "200 text<split me> stop<end_turn> whole");
        ch_buf_release(&c.body);
    }
    close_model(&f);
}

/* Streams arrive in pieces, and with a pace event by event. */
static void test_pieces(void **state) {
    (void)state;
    struct fixture f;
    open_good(
        &f,
        "rules: [{when: {user: slow}, say: a b c d, pace_ms: 10, delay_ms: 100}, {say: a b c d}]");
    struct client fast = {0}, slow = {0};
    CH_AUTOFREE char *quick_body = request_text(ASK("hi"), true);
    CH_AUTOFREE char *slow_body = request_text(ASK("slow"), true);
    int64_t t0 = f.now;
    exchange(&f, &fast, quick_body);
    assert_int_equal(f.now, t0);
    assert_true(fast.pieces > 1);

    struct ch_sv text = ch_sv_str(slow_body);
    struct ch_http_request req = request(&text);
    start(&f, &slow, &req);
    run_until_quiet(&f, 99);
    assert_int_equal(slow.status, 0);
    f.now = t0 + 100;
    run_until_quiet(&f, 0);
    assert_int_equal(slow.status, 200);
    assert_int_equal(slow.pieces, 1); /* message_start */
    run(&f, &slow);
    assert_int_equal(slow.pieces, 10); /* start ping open 4 words close delta stop */
    assert_int_equal(f.now, t0 + 100 + 10 * 10);
    ch_buf_release(&fast.body);
    ch_buf_release(&slow.body);
    close_model(&f);
}

static void test_timeouts(void **state) {
    (void)state;
    static const struct {
        const char *rules;
        struct ch_http_timeouts t;
        int64_t after; /* when it gives up */
        const char *want;
    } late[] = {
        {"rules: [{say: a b, stall_after: 1}]", {.idle = 500}, 500, "200 ETIMEOUT"},
        {"rules: [{say: a b, stall_after: 1}]", {0}, CH_DEFAULT_IDLE_MS, "200 ETIMEOUT"},
        {"rules: [{say: a, delay_ms: 900}]", {.first_byte = 300}, 300, "0 ETIMEOUT"},
        {"rules: [{say: a b c d e, pace_ms: 100}]", {.total = 250}, 250, "200 ETIMEOUT"},
        {"rules: [{say: a, pace_ms: 100}]", {.idle = 99}, 99, "200 ETIMEOUT"},
        {"rules: [{say: a, delay_ms: 299}]",
         {.first_byte = 300},
         299,
         "200 text<a> stop<end_turn> whole"},
    };
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    for (size_t i = 0; i < CH_LEN(late); i++) {
        struct fixture f;
        struct client c = {0};
        struct ch_sv text = ch_sv_str(body);
        struct ch_http_request req = request(&text);
        req.timeouts = late[i].t;
        open_good(&f, late[i].rules);
        int64_t t0 = f.now;
        start(&f, &c, &req);
        run(&f, &c);
        CH_AUTOFREE char *got = told(&f, &c, false);
        assert_string_equal(got, late[i].want);
        assert_int_equal(f.now - t0, late[i].after);
        ch_buf_release(&c.body);
        close_model(&f);
    }
}

/* Cancelled from outside after any number of passes, or from any callback:
 * nothing more arrives. */
static void test_cancel(void **state) {
    (void)state;
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    struct ch_sv text = ch_sv_str(body);
    struct ch_http_request req = request(&text);
    struct fixture f;
    open_good(&f, "rules: [{say: a b c d e f g h, pace_ms: 1, delay_ms: 1}]");
    for (unsigned passes = 0; passes < 12; passes++) {
        struct client c = {0};
        start(&f, &c, &req);
        for (unsigned i = 0; i < passes; i++) {
            ch_loop_tick(f.loop);
            f.now++;
        }
        assert_false(c.done);
        cancel(&c);
        size_t n = c.body.n;
        run_until_quiet(&f, 100000);
        assert_false(c.done);
        assert_int_equal(c.body.n, n);
        ch_buf_release(&c.body);
    }
    for (int plan = CANCEL_IN_HEAD; plan <= CANCEL_IN_DONE; plan++) {
        struct client c = {.plan = plan};
        start(&f, &c, &req);
        run_until_quiet(&f, 100000);
        assert_int_equal(c.status, 200);
        assert_int_equal(c.done, plan == CANCEL_IN_DONE);
        if (plan != CANCEL_IN_DONE)
            assert_int_equal(c.pieces, plan == CANCEL_IN_DATA);
        ch_buf_release(&c.body);
    }
    close_model(&f);
}

static void test_close_with_calls_in_flight(void **state) {
    (void)state;
    CH_AUTOFREE char *body = request_text(ASK("hi"), true);
    struct ch_sv text = ch_sv_str(body);
    struct ch_http_request req = request(&text);
    struct fixture f;
    open_good(&f, "rules: [{say: a b c d e f g h}]");
    struct client a = {0}, b = {.plan = CLOSE_IN_DATA}, c = {0};
    start(&f, &a, &req);
    start(&f, &b, &req);
    start(&f, &c, &req);
    run_until_quiet(&f, 1000);
    assert_false(a.done || b.done || c.done);
    assert_int_equal(b.pieces, 1);
    ch_buf_release(&a.body);
    ch_buf_release(&b.body);
    ch_buf_release(&c.body);
    close_model(&f);
}

/* --- rule files that are wrong ---------------------------------------------------- */

static const struct {
    const char *rules, *want; /* after "FILE:" */
} broken[] = {
    {"rules: [", "2:1: "},
    {"[]", "1:1: rule file: expected a mapping, not array"},
    {"{}", "1:1: rules: missing"},
    {"rules: 3", "1:8: rules: expected a list of rules, not number"},
    {"rules: []", "1:8: rules: expected a list of rules, not array"},
    {"ruels: []", "1:1: ruels: unknown key, did you mean rules?"},
    {"rules:\n  - saye: x", "2:5: saye: unknown key, did you mean say?"},
    {"rules:\n  - zzzzz: x", "2:5: zzzzz: unknown key"},
    {"rules:\n  - hi", "2:5: rule: expected a mapping, not string"},
    {"rules:\n  - when: {user: x}",
     "2:5: rule 1 does nothing: say, think, call or fail is missing"},
    {"rules:\n  - say: 42", "2:10: say: expected text (in quotes), not number"},
    {"rules:\n  - say: a\n    when: x", "3:11: when: expected a mapping, not string"},
    {"rules:\n  - say: a\n    when: {usr: x}", "3:12: usr: unknown key, did you mean user?"},
    {"rules:\n  - say: a\n    when: {user: 'a('}", "3:18: user: bad pattern: "},
    {"rules:\n  - say: a\n    when: {user: 1}",
     "3:18: user: expected text (in quotes), not number"},
    {"rules:\n  - say: a\n    when: {turn: 0}", "3:18: turn: 0 is not between 1 and 2147483647"},
    {"rules:\n  - say: a\n    when: {turn: 1.5}",
     "3:18: turn: expected a whole number, not number"},
    {"rules:\n  - say: a\n    when: {is_error: maybe}",
     "3:22: is_error: expected true or false, not string"},
    {"rules:\n  - say: a\n    when: {after: [1]}", "3:20: after: expected a name, not number"},
    {"rules:\n  - say: a\n    when: {after: []}",
     "3:19: after: expected a name or a list of names, not array"},
    {"rules:\n  - say: a\n    when: {after: none, result: x}",
     "3:11: when: after none has no result to look at"},
    {"rules:\n  - say: a\n    when: {user: '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)(m)(n)', result: "
     "'(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)(m)(n)'}",
     "3:11: when: more than 27 groups in its patterns"},
    {"rules:\n  - call: ls", "2:11: call: expected a mapping, not string"},
    {"rules:\n  - call: []", "2:11: call: expected 1 to 2000 calls"},
    {"rules:\n  - call: {args: {}}", "2:11: call: which tool? `tool` is missing"},
    {"rules:\n  - call: {tool: a, args: []}", "2:27: args: expected a mapping, not array"},
    {"rules:\n  - call: {tool: a, arg: {}}", "2:21: arg: unknown key, did you mean args?"},
    {"rules:\n  - call: {tool: a, args: {}, raw: x}",
     "2:11: call: args and raw exclude each other"},
    {"rules:\n  - fail: {}", "2:11: fail: needs status, type or network"},
    {"rules:\n  - fail: {status: 200}", "2:20: status: 200 is not between 300 and 599"},
    {"rules:\n  - fail: {status: 429, retry_after: soon}",
     "2:38: retry_after: expected a number of seconds, not string"},
    {"rules:\n  - fail: {status: 429, retry_after: -1}",
     "2:38: retry_after: not between 0 and 86400"},
    {"rules:\n  - fail: {type: x, retry_after: 1}", "2:11: fail: retry_after needs a status"},
    {"rules:\n  - fail: {network: x, status: 500}", "2:11: fail: network excludes the other keys"},
    {"rules:\n  - fail: {status: 500}\n    say: x",
     "2:5: rule 1: fail with status or network sends no reply, so say, think and call do not fit"},
    {"rules:\n  - say: a\n    cut_after: 1\n    stall_after: 1",
     "2:5: rule 1: cut_after and stall_after exclude each other"},
    {"rules:\n  - fail: {type: x}\n    cut_after: 1",
     "2:5: rule 1: fail excludes cut_after and stall_after"},
    {"rules:\n  - say: a\n    stop: done", "3:11: stop: expected one of end_turn, tool_use, "
                                           "max_tokens, stop_sequence, pause_turn, refusal"},
    {"rules:\n  - say: a\n    usage: {inputs: 1}",
     "3:13: inputs: unknown key, did you mean input?"},
    {"rules:\n  - say: a\n    times: 0", "3:12: times: 0 is not between 1 and 2147483647"},
    {"rules:\n  - say: '{{usr}}'", "2:10: say: unknown template {{usr}}"},
    {"rules:\n  - say: '{{user'", "2:10: say: unknown template {{user"},
    {"rules:\n  - say: '{{1}}'", "2:10: say: unknown template {{1}}"},
    {"rules:\n  - say: '{{}}'", "2:10: say: unknown template {{}}"},
    {"rules:\n  - say: '{{result.}}'", "2:10: say: unknown template {{result.}}"},
    {"rules:\n  - think: '{{x}}'", "2:12: think: unknown template {{x}}"},
    {"rules:\n  - fail: {status: 400, message: '{{x}}'}", "2:34: message: unknown template {{x}}"},
    {"rules:\n  - call: {tool: a, args: {k: '{{x}}'}}", "2:27: args: unknown template {{x}}"},
    {"rules:\n  - say: a\n    when: {user: '(x)'}\n  - say: '{{1}}'",
     "4:10: say: unknown template {{1}}"},
};

static void test_broken_files(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(broken); i++) {
        struct fixture f;
        struct chela_error err = {0};
        CH_BUF_AUTO want = {0};
        int rc = open_model(&f, broken[i].rules, strlen(broken[i].rules), &err);
        ch_buf_addf(&want, "%s:%s", f.path, broken[i].want);
        bool open_end = want.p[want.n - 1] == ' ';
        bool same = open_end ? ch_sv_starts(ch_sv_str(err.message), want.p)
                             : strcmp(err.message, want.p) == 0;
        if (rc >= 0 || !same)
            fail_msg("%s:\n got %s\nwant %s", broken[i].rules, err.message, want.p);
        assert_int_equal(rc, open_end && i == 0 ? CHELA_EPARSE : CHELA_ECONFIG);
        close_model(&f);
    }
}

static void test_missing_and_huge_files(void **state) {
    (void)state;
    struct fixture f;
    struct chela_error err = {0};
    open_good(&f, "rules: [{say: a}]");
    struct ch_scripted *none = NULL;
    assert_int_equal(ch_scripted_new(f.loop, "/nonexistent/rules.yaml", &none, &err), CHELA_ENOENT);
    assert_string_equal(err.message, "/nonexistent/rules.yaml: No such file or directory");
    assert_null(none);
    size_t n = CH_LIMIT_YAML_FILE + 1;
    CH_AUTOFREE char *big = ch_malloc(n);
    memset(big, '#', n);
    write_file(f.path, big, n);
    assert_int_equal(ch_scripted_new(f.loop, f.path, &none, &err), CHELA_ELIMIT);

    CH_BUF_AUTO pattern = {0};
    ch_buf_add_str(&pattern, "rules: [{say: a, when: {user: ");
    for (size_t i = 0; i <= CH_LIMIT_SCRIPT_PATTERN; i++)
        ch_buf_addc(&pattern, 'a');
    ch_buf_add_str(&pattern, "}}]");
    write_file(f.path, pattern.p, pattern.n);
    assert_int_equal(ch_scripted_new(f.loop, f.path, &none, &err), CHELA_ECONFIG);
    assert_non_null(strstr(err.message, "user: pattern longer than 4096 bytes"));
    close_model(&f);
}

/* A long text is matched by its beginning, and quoted whole. */
static void test_long_texts(void **state) {
    (void)state;
    struct fixture f;
    struct client c = {0};
    open_good(&f,
              "rules: [{when: {user: end$}, say: found}, {when: {user: (y+)$}, say: '{{user}}'}]");
    CH_BUF_AUTO body = {0};
    ch_buf_add_str(&body, "{\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (size_t i = 0; i < CH_LIMIT_SCRIPT_SUBJECT; i++)
        ch_buf_addc(&body, 'y');
    ch_buf_add_str(&body, "end\"}]}");
    exchange(&f, &c, ch_buf_str(&body));
    assert_int_equal(c.status, 200);
    assert_true(c.body.n > CH_LIMIT_SCRIPT_SUBJECT);
    assert_non_null(strstr(c.body.p, "yyyend"));
    ch_buf_release(&c.body);
    close_model(&f);
}

static void test_bad_requests(void **state) {
    (void)state;
    static const char *const bodies[] = {"",
                                         "{",
                                         "[]",
                                         "{\"messages\":{}}",
                                         "{\"messages\":[1,null]}",
                                         "{\"messages\":[{\"role\":\"user\",\"content\":7}]}"};
    struct fixture f;
    open_good(&f, "rules: [{when: {user: x}, say: a}]");
    for (size_t i = 0; i < CH_LEN(bodies); i++) {
        struct client c = {0};
        exchange(&f, &c, bodies[i]);
        assert_int_equal(c.status, 400);
        assert_non_null(strstr(ch_buf_str(&c.body), "invalid_request_error"));
        ch_buf_release(&c.body);
    }
    close_model(&f);
}

/* --- the embedded demo -------------------------------------------------------------- */

static const struct {
    const char *name, *messages, *want; /* want: a piece of the line */
} demo[] = {
    {"Chinese job", ASK("帮我写一个 Python 脚本,功能是遍历当前目录所有文件"),
     "call<read toolu_0001 {\"file_path\":\"./skills/create-python-script/SKILL.md\"}>"},
    {"English job", ASK("Write a Python script that lists all files"), "call<read toolu_0001"},
    {"then it looks around",
     ASK("写 Python 脚本") "," CALLED("a", "read") "," RETURNED("a", "# skill"),
     "call<ls toolu_0002 {\"path\":\".\"}>"},
    {"also without a skill", ASK("python script") "," CALLED("a", "read") "," FAILED("a", "none"),
     "call<ls toolu_0002"},
    {"then it writes", ASK("写 Python 脚本") "," CALLED("a", "ls") "," RETURNED("a", "README.md"),
     "call<write toolu_0002 {\"file_path\":\"list_files.py\",\"content\":\"#!/usr/bin/env "
     "python3\\n"},
    {"but overwrites nothing",
     ASK("python script") "," CALLED("a", "ls") "," RETURNED("a", "README.md\\nlist_files.py\\n"),
     "text<There is a `list_files.py` here already"},
    {"Chinese answer", ASK("写 Python 脚本") "," CALLED("a", "write") "," RETURNED("a", "Wrote"),
     "text<脚本写好了:`list_files.py`"},
    {"English answer", ASK("python script") "," CALLED("a", "write") "," RETURNED("a", "Wrote"),
     "text<The script is ready: `list_files.py`"},
    {"a failed write is told",
     ASK("python script") "," CALLED("a", "write") "," FAILED("a", "disk full"),
     "text<That did not work: disk full>"},
    {"arithmetic", ASK("what is 17 * 23?"),
     "call<calculate toolu_0001 {\"expression\":\"17 * 23\"}>"},
    {"Chinese arithmetic", ASK("请计算一下 (1+2)*3"), "{\"expression\":\"(1+2)*3\"}"},
    {"bare arithmetic", ASK("2^10"), "{\"expression\":\"2^10\"}"},
    {"its answer", ASK("what is 17 * 23?") "," CALLED("a", "calculate") "," RETURNED("a", "391"),
     "text<17 * 23 = 391>"},
    {"a date is no sum", ASK("what happened on 2024-11-15?"), "I am chela's offline demo model"},
    {"read", ASK("please read README.md"), "call<read toolu_0001 {\"file_path\":\"README.md\"}>"},
    {"read, quoted", ASK("show me the file 'docs/a-b.txt', please"),
     "{\"file_path\":\"docs/a-b.txt\"}"},
    {"read, Chinese", ASK("读取 README.md。"), "{\"file_path\":\"README.md\"}"},
    {"a file about python is no job",
     ASK("read python.md") "," CALLED("a", "read") "," RETURNED("a", "T"), "text<T>"},
    {"list", ASK("list files"), "call<ls toolu_0001 {\"path\":\".\"}>"},
    {"listed", ASK("list files") "," CALLED("a", "ls") "," RETURNED("a", "a.txt"), "text<a.txt>"},
    {"anything else", ASK("who are you?"), "You asked: who are you?"},
    {"anything else, Chinese", ASK("你好"), "你说的是:你好"},
};

static void test_demo(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(demo); i++) {
        struct fixture f;
        struct client c = {0};
        open_good(&f, "rules: [{say: x}]");
        ch_scripted_close(f.model);
        struct chela_error err = {0};
        if (ch_scripted_new(f.loop, "demo", &f.model, &err) < 0)
            fail_msg("%s", err.message);
        CH_BUF_AUTO body = {0};
        ch_buf_addf(&body,
                    "{\"stream\":true,\"tools\":[{\"name\":\"read\"},{\"name\":\"ls\"},{\"name\":"
                    "\"write\"},{\"name\":\"calculate\"}],\"messages\":[%s]}",
                    demo[i].messages);
        exchange(&f, &c, ch_buf_str(&body));
        CH_AUTOFREE char *got = told(&f, &c, false);
        if (!strstr(got, demo[i].want))
            fail_msg("%s:\n got %s\nwant %s", demo[i].name, got, demo[i].want);
        ch_buf_release(&c.body);
        close_model(&f);
    }
}

/* Without tools the demo calls none. */
static void test_demo_without_tools(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(demo); i++) {
        struct fixture f;
        struct client c = {0};
        open_good(&f, "rules: [{say: x}]");
        ch_scripted_close(f.model);
        assert_int_equal(ch_scripted_new(f.loop, "demo", &f.model, NULL), 0);
        if (strstr(demo[i].messages, "tool_use")) {
            close_model(&f);
            continue;
        }
        CH_BUF_AUTO body = {0};
        ch_buf_addf(&body, "{\"stream\":true,\"messages\":[%s]}", demo[i].messages);
        exchange(&f, &c, ch_buf_str(&body));
        CH_AUTOFREE char *got = told(&f, &c, false);
        assert_null(strstr(got, "call<"));
        assert_non_null(strstr(got, "ANTHROPIC_API_KEY"));
        ch_buf_release(&c.body);
        close_model(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_whole_bodies),
        cmocka_unit_test(test_usage_is_estimated_from_bytes),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_times_make_a_sequence),
        cmocka_unit_test(test_gathered_request),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close_with_calls_in_flight),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_missing_and_huge_files),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_demo),
        cmocka_unit_test(test_demo_without_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
