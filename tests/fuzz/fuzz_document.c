/* fuzz_document.c -- JSON documents of foreign programs that have no other target.
 *
 * The first byte of the input selects the reader; the rest is a document, or several for OAuth,
 * one per line. A document that is refused has a reason. Texts for a model are UTF-8, results are
 * valid JSON, and embedded vectors have length 1. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "acp/acp_content.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "gateway/http/anthropic_input.h"
#include "gateway/http/completion.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_input.h"
#include "gateway/http/openai_messages.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "io/loop.h"
#include "mcp/mcp_auth.h"
#include "mcp/mcp_result.h"
#include "model/catalog/listing.h"
#include "model/codec/codec.h"
#include "model/wire/embed.h"
#include "tool/builtin/web/web_search.h"
#include "tool/call/call.h"
#include "tool/registry/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define OAUTH_STEPS 16 /* requests of one log-in, at most */

static void need(bool holds) {
    if (!holds)
        abort();
}

static const struct ch_json *parse(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL);
    return v;
}

static void judge(int rc, const struct chela_error *err) {
    need(rc == 0 || err->message[0]);
    need(ch_utf8_valid(ch_sv_str(err->message)));
}

/* --- a transport that answers with the input */

static struct answering {
    struct ch_transport transport;
    const struct ch_http_handler *handler; /* NULL: no request */
    void *user;
} answering;

static struct ch_http_call *begin(struct ch_transport *t, const struct ch_http_request *req,
                                  const struct ch_http_handler *handler, void *user) {
    need(req->method && req->url);
    answering.handler = handler;
    answering.user = user;
    return (struct ch_http_call *)t;
}

static void drop(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    (void)call;
    answering.handler = NULL;
}

static struct ch_transport *transport(void) {
    static const struct ch_transport_ops ops = {.name = "input", .start = begin, .cancel = drop};
    answering = (struct answering){.transport.ops = &ops};
    return &answering.transport;
}

static void answer(struct ch_sv body, int status) {
    struct ch_http_head head = {.status = status};
    const struct ch_http_handler *h = answering.handler;
    if (!h)
        return;
    answering.handler = NULL;
    if (h->on_head)
        h->on_head(&head, answering.user);
    h->on_data(body, answering.user);
    h->on_done(NULL, answering.user);
}

/* --- the readers */

static void on_model(const struct ch_listed *m, void *user) {
    (void)user;
    need(m->id.n && m->context_window >= 0 && m->max_output >= 0);
}

static void read_models(struct ch_sv text) {
    struct chela_error err = {0};
    judge(ch_listing_read(text, on_model, NULL, &err), &err);
    need(ch_listing_props(text) >= 0 && ch_listing_show(text) >= 0);
}

static void read_prompt(struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct ch_acp_input *in = NULL;
    int rc = ch_acp_input_read(parse(&a, text), &in, &err);
    judge(rc, &err);
    need(rc < 0 || in);
    ch_acp_input_free(in);
}

static void on_vectors(const struct ch_embedded *got, const struct chela_error *err, void *user) {
    *(bool *)user = true;
    if (!got) {
        judge(err->code, err);
        return;
    }
    need(got->n == 2 && got->dim > 0);
    for (size_t i = 0; i < got->n; i++) {
        const float *row = got->rows + i * got->dim;
        need(fabsf(ch_embed_product(row, row, got->dim) - 1) < 0.01f);
    }
}

static void read_embeddings(struct ch_sv text) {
    static const struct ch_endpoint e = {
        .codec = &ch_codec_openai, .provider = "p", .base_url = "http://x/v1"};
    static const struct ch_sv texts[] = {{"one", 3}, {"two", 3}};
    struct ch_embed_opts o = {.transport = transport(), .endpoint = &e, .model = CH_SV("m")};
    struct chela_error err = {0};
    struct ch_embed *embed;
    bool done = false;
    need(ch_embed_start(&o, texts, 2, on_vectors, &done, &embed, &err) == 0);
    answer(text, 200);
    need(done);
}

/* A call without a batch: the readers only set its result. */
static void check_call(chela_call *call) {
    CH_ARENA_AUTO a = {0};
    ch_answer_conclude(&call->answer, 0, &call->made);
    need(ch_utf8_valid(ch_buf_sv(&call->made.content)));
    if (call->made.details.n)
        need(parse(&a, ch_buf_sv(&call->made.details)) != NULL);
    ch_outcome_release(&call->made);
    ch_answer_release(&call->answer);
    ch_arena_release(&call->arena);
}

static void read_hits(struct ch_sv text) {
    static char *const services[] = {"searxng", "brave"};
    CH_ARENA_AUTO a = {0};
    struct ch_tool tool = {0};
    for (size_t i = 0; i < CH_LEN(services); i++) {
        struct ch_tool_settings s = {.transport = transport(),
                                     .search_provider = services[i],
                                     .search_url = "http://x/",
                                     .search_key = "k"};
        chela_call call = {.tool = &tool, .args = parse(&a, CH_SV("{\"query\":\"q\"}"))};
        if (ch_web_search_run(&call, &s) == 0)
            answer(text, 200);
        check_call(&call);
    }
}

static void read_result(struct ch_sv text) {
    static const char schema[] = "{\"type\":\"object\",\"required\":[\"a\"]}";
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = parse(&a, text);
    chela_call plain = {0}, typed = {0}, resources = {0};
    ch_mcp_result(&plain, v, NULL);
    check_call(&plain);
    ch_mcp_result(&typed, v, schema);
    check_call(&typed);
    ch_mcp_result_resources(&resources, v);
    check_call(&resources);
}

static void on_token(const struct chela_error *err, void *user) {
    (void)user;
    if (err)
        judge(err->code, err);
}

/* A refresh token is at hand, so that a log-in ends without a browser. */
static const char *stored_tokens(void) {
    static const char text[] = "{\"url\":\"https://h/mcp\",\"refresh\":\"r\","
                               "\"issuer\":\"https://h\",\"id\":\"i\",\"secret\":\"s\"}";
    static char path[40];
    if (!*path) {
        int fd = memfd_create("tokens", 0);
        need(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    return path;
}

static void read_oauth(struct ch_sv text) {
    static struct ch_loop *loop;
    struct ch_mcp_auth_opts o = {.transport = transport(),
                                 .name = "s",
                                 .url = "https://h/mcp",
                                 .path = stored_tokens()};
    need(loop || ch_loop_new(NULL, NULL, &loop, NULL) == 0);
    o.loop = loop;
    struct ch_mcp_auth *auth = ch_mcp_auth_new(&o);
    struct ch_sv first = ch_sv_split(&text, '\n');
    CH_BUF_AUTO challenge = {0};
    ch_buf_add_sv(&challenge, first);
    if (ch_mcp_auth_start(auth, 401, ch_buf_str(&challenge), on_token, NULL) == 0)
        for (int i = 0; answering.handler && i < OAUTH_STEPS; i++)
            answer(ch_sv_split(&text, '\n'), 200);
    const char *token = ch_mcp_auth_token(auth);
    need(!token || !strpbrk(token, "\r\n"));
    ch_mcp_auth_free(auth);
}

/* --- requests to the gateway */

static void finish(struct ch_completion *r, int rc, struct chela_error *err) {
    struct ch_msg *input = NULL;
    judge(rc, err);
    if (rc == 0)
        judge(ch_client_history_finish(&r->history, &input, err), err);
    ch_msg_free(input);
    for (size_t i = 0; i < r->tools.n; i++)
        need(r->tools.opts[i].name && *r->tools.opts[i].name);
    ch_client_history_release(&r->history);
}

static int read_chat(struct ch_completion *r, const struct ch_json *v, struct chela_error *err) {
    int rc = ch_openai_messages(ch_json_get(v, "messages"), &r->history, err);
    return rc < 0 ? rc : ch_openai_tools(&r->tools, ch_json_get(v, "tools"), err);
}

static int read_responses(struct ch_completion *r, const struct ch_json *v,
                          struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO items = {0};
    CH_BUF_AUTO list = {0};
    int rc = ch_openai_input(r, &items, err);
    ch_buf_addf(&list, "[%.*s]", CH_SV_FMT(ch_buf_sv(&items)));
    need(rc < 0 || parse(&a, ch_buf_sv(&list)));
    return rc < 0 ? rc : ch_openai_tools(&r->tools, ch_json_get(v, "tools"), err);
}

static int read_messages(struct ch_completion *r, const struct ch_json *v,
                         struct chela_error *err) {
    int rc = ch_anthropic_input_history(v, &r->history, err);
    if (rc == 0)
        rc = ch_anthropic_input_tools(v, &r->tools, err);
    return rc < 0 ? rc : ch_anthropic_input_settings(r->request, &r->tools, &r->opts, err);
}

static void read_body(struct ch_sv text, int (*read)(struct ch_completion *r,
                                                     const struct ch_json *v,
                                                     struct chela_error *err)) {
    static chela_gateway gw;
    struct chela_error err = {0};
    struct ch_request req = {.gw = &gw};
    struct ch_completion r = {.request = &req};
    req.json = parse(&req.arena, text);
    r.tools.arena = &req.arena;
    ch_client_history_init(&r.history, &req.arena, 1);
    if (req.json) {
        int rc = read(&r, req.json, &err);
        if (rc == 0 && read != read_messages)
            rc = ch_openai_sampling(&req, &r.opts, &err);
        if (rc == 0 && read != read_messages)
            rc = ch_openai_choice(&req, "tool_choice", &r.tools, &r.opts, &err);
        finish(&r, rc, &err);
    }
    ch_arena_release(&req.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static void (*const readers[])(struct ch_sv text) = {
        read_models, read_prompt, read_embeddings, read_hits, read_result, read_oauth};
    static int (*const bodies[])(struct ch_completion *r, const struct ch_json *v,
                                 struct chela_error *err) = {read_chat, read_responses,
                                                             read_messages};
    if (n == 0)
        return 0;
    size_t kind = (size_t)(p[0] - '0') % (CH_LEN(readers) + CH_LEN(bodies));
    struct ch_sv text = ch_sv((const char *)p + 1, n - 1);
    if (kind < CH_LEN(readers))
        readers[kind](text);
    else
        read_body(text, bodies[kind - CH_LEN(readers)]);
    return 0;
}
