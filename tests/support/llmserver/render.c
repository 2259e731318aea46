/* render.c -- writes one description of a reply in every protocol.
 *
 * A reply is {"blocks": [...], "stop": ..., "usage": {...}}; a block is an object with one
 * of the keys of the table `blocks`. Blocks that all protocols support become equivalent; a
 * block that a protocol lacks (a paused turn, a call of the vendor's own tools) is left out.
 * Responses is in responses.c, Interactions in interactions.c, Gemini in gemini.c. */
#include "render.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces of text --------------------------------------------------------- */

static void add_hex(struct text *t, const char *hex) {
    for (; isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]); hex += 2) {
        char two[3] = {hex[0], hex[1], 0};
        char byte = (char)strtol(two, NULL, 16);
        text_add(t, &byte, 1);
    }
}

static void add_times(struct text *t, const char *s, long times) {
    for (long i = 0; i < times; i++)
        text_add(t, s, strlen(s));
}

/* See server.h. */
void add_piece(struct text *t, const struct json *piece) {
    if (json_is(piece, JSON_STRING)) {
        text_add(t, piece->text, piece->len);
        return;
    }
    add_hex(t, json_str(piece, "hex", ""));
    add_times(t, json_str(piece, "repeat", ""), json_int(piece, "times", 1));
    add_times(t, "[", json_int(piece, "deep", 0));
    add_times(t, "]", json_int(piece, "deep", 0));
}

void add_all(struct text *t, const struct json *pieces) {
    for (const struct json *p = pieces ? pieces->first : NULL; p; p = p->next)
        add_piece(t, p);
}

void quote_piece(struct text *t, const struct json *piece) {
    struct text raw = {0};

    add_piece(&raw, piece);
    text_addf(t, "\"");
    text_escape(t, raw.p ? raw.p : "", raw.n);
    text_addf(t, "\"");
    text_free(&raw);
}

void quote_all(struct text *t, const struct json *pieces) {
    struct text raw = {0};

    add_all(&raw, pieces);
    text_addf(t, "\"");
    text_escape(t, raw.p ? raw.p : "", raw.n);
    text_addf(t, "\"");
    text_free(&raw);
}

/* --- what all need ------------------------------------------------------- */

static bool anthropic(const struct render *r) {
    return r->rq->api == API_ANTHROPIC;
}

static bool responses(const struct render *r) {
    return r->rq->api == API_RESPONSES;
}

static bool interactions(const struct render *r) {
    return r->rq->api == API_INTERACTIONS;
}

static bool gemini(const struct render *r) {
    return r->rq->api == API_GEMINI;
}

void add_call_id(struct text *t, const struct render *r, const struct json *call) {
    const char *given = json_str(call, "id", NULL);

    if (given)
        text_quote(t, given);
    else
        text_addf(t, "\"%s%s%04u%02u\"", anthropic(r) ? "toolu_" : "call_", r->rq->instance,
                  r->rq->number, r->calls);
}

static const char *stop_of(const struct render *r) {
    const char *stop = json_str(r->reply, "stop", r->calls ? "tool_use" : "stop");
    static const char *const names[][3] = {
        {"stop", "end_turn", "stop"},          {"length", "max_tokens", "length"},
        {"tool_use", "tool_use", "tool_calls"}, {"refusal", "refusal", "content_filter"},
        {"pause", "pause_turn", "stop"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(stop, names[i][0]) == 0)
            return names[i][anthropic(r) ? 1 : 2];
    return stop;
}

static void add_usage(struct text *t, const struct render *r, bool first) {
    const struct json *u = json_get(r->reply, "usage");
    long input = json_int(u, "input", 10), output = json_int(u, "output", 5);
    long read = json_int(u, "cache_read", 0), write = json_int(u, "cache_write", 0);
    long reasoning = json_int(u, "reasoning", 0);

    if (anthropic(r)) {
        text_addf(t,
                  "{\"input_tokens\":%ld,\"cache_creation_input_tokens\":%ld,"
                  "\"cache_read_input_tokens\":%ld,\"output_tokens\":%ld",
                  input - read - write, write, read, first ? 1 : output);
        if (reasoning && !first)
            text_addf(t, ",\"output_tokens_details\":{\"thinking_tokens\":%ld}", reasoning);
        text_addf(t, "}");
        return;
    }
    text_addf(t,
              "{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,\"total_tokens\":%ld,"
              "\"prompt_tokens_details\":{\"cached_tokens\":%ld,\"cache_write_tokens\":%ld},"
              "\"completion_tokens_details\":{\"reasoning_tokens\":%ld}}",
              input, output, input + output, read, write, reasoning);
}

/* --- errors ----------------------------------------------------------------- */

static const struct {
    int status;
    const char *type, *openai_type, *openai_code, *message;
} errors[] = {
    {400, "invalid_request_error", "invalid_request_error", "null", "the request is not valid"},
    {401, "authentication_error", "invalid_request_error", "\"invalid_api_key\"",
     "invalid API key"},
    {404, "not_found_error", "invalid_request_error", "\"model_not_found\"",
     "The model does not exist or you do not have access to it."},
    {429, "rate_limit_error", "requests", "\"rate_limit_exceeded\"", "Rate limit reached"},
    {529, "overloaded_error", "server_error", "null", "Overloaded"},
    {500, "api_error", "server_error", "null", "Internal server error"}, /* last: any other */
};

int render_error(struct text *body, const struct request *rq, const struct json *error) {
    int status = (int)json_int(error, "status", 500);
    size_t row = 0;

    while (errors[row].status != status && errors[row].status != 500)
        row++;
    const char *message = json_str(error, "message", errors[row].message);
    if (rq->api == API_BEDROCK)
        return bedrock_error(body, error);
    if (rq->api == API_GEMINI)
        return gemini_error(body, error, status, message);
    if (rq->api == API_INTERACTIONS)
        return interactions_error(body, status, message);
    if (rq->api != API_ANTHROPIC) {
        text_addf(body, "{\"error\":{\"message\":");
        text_quote(body, message);
        text_addf(body, ",\"type\":\"%s\",\"param\":null,\"code\":%s}}",
                  json_str(error, "type", errors[row].openai_type), errors[row].openai_code);
    } else {
        text_addf(body, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":",
                  json_str(error, "type", errors[row].type));
        text_quote(body, message);
        text_addf(body, "},\"request_id\":\"req_%u_%u\"}", rq->conn, rq->number);
    }
    return status;
}

/* --- Anthropic, streaming --------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void event(struct render *r, const char *name,
                                                        const char *fmt, ...) {
    struct text data = {0};
    char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        abort();
    va_end(ap);
    text_add(&data, line, strlen(line));
    free(line);
    out_event(r->out, anthropic(r) ? name : NULL, &data);
    text_free(&data);
}

static void a_start(struct render *r, const char *block) {
    event(r, "content_block_start",
          "{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":%s}", r->index, block);
}

static void a_delta(struct render *r, const char *type, const char *key, const struct json *piece) {
    struct text quoted = {0};

    quote_piece(&quoted, piece);
    event(r, "content_block_delta",
          "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"%s\",\"%s\":%s}}",
          r->index, type, key, quoted.p);
    text_free(&quoted);
}

static void a_stop(struct render *r) {
    event(r, "content_block_stop", "{\"type\":\"content_block_stop\",\"index\":%u}", r->index++);
}

static void a_pieces(struct render *r, const char *type, const char *key,
                     const struct json *pieces) {
    for (const struct json *p = pieces->first; p && !r->out->dead; p = p->next)
        a_delta(r, type, key, p);
}

static void a_reasoning(struct render *r, const struct json *pieces) {
    struct text whole = {0};
    char signature[32];

    add_all(&whole, pieces);
    thinking_signature(whole.p ? whole.p : "", whole.n, signature);
    text_free(&whole);
    a_start(r, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}");
    a_pieces(r, "thinking_delta", "thinking", pieces);
    event(r, "content_block_delta",
          "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"signature_delta\","
          "\"signature\":\"%s\"}}",
          r->index, signature);
    a_stop(r);
}

static void a_call(struct render *r, const struct json *call, const char *type) {
    struct text block = {0};

    text_addf(&block, "{\"type\":\"%s\",\"id\":", type);
    add_call_id(&block, r, call);
    text_addf(&block, ",\"name\":");
    text_quote(&block, json_str(call, "name", "unnamed"));
    text_addf(&block, ",\"input\":{}}");
    a_start(r, block.p);
    text_free(&block);
    event(r, "content_block_delta",
          "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":\"input_json_delta\","
          "\"partial_json\":\"\"}}",
          r->index);
    a_pieces(r, "input_json_delta", "partial_json", json_get(call, "arguments"));
    a_stop(r);
}

static void a_begin(struct render *r) {
    struct text usage = {0};

    add_usage(&usage, r, true);
    event(r, "message_start",
          "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_%u_%u\",\"type\":\"message\","
          "\"role\":\"assistant\",\"model\":\"%s\",\"content\":[],\"stop_reason\":null,"
          "\"stop_sequence\":null,\"usage\":%s}}",
          r->rq->conn, r->rq->number, r->model, usage.p);
    text_free(&usage);
}

static void a_finish(struct render *r) {
    struct text usage = {0};

    add_usage(&usage, r, false);
    event(r, "message_delta",
          "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null},"
          "\"usage\":%s}",
          stop_of(r), usage.p);
    event(r, "message_stop", "{\"type\":\"message_stop\"}");
    text_free(&usage);
}

/* --- Chat Completions, streaming -------------------------------------------- */

static void o_chunk(struct render *r, const char *delta, const char *finish) {
    event(r, NULL,
          "{\"id\":\"chatcmpl-%u-%u\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
          "\"model\":\"%s\",\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,"
          "\"finish_reason\":%s}]}",
          r->rq->conn, r->rq->number, r->model, delta, finish ? finish : "null");
}

static void o_pieces(struct render *r, const char *key, const struct json *pieces) {
    for (const struct json *p = pieces->first; p && !r->out->dead; p = p->next) {
        struct text delta = {0};
        text_addf(&delta, "{\"%s\":", key);
        quote_piece(&delta, p);
        text_addf(&delta, "}");
        o_chunk(r, delta.p, NULL);
        text_free(&delta);
    }
}

static void o_call(struct render *r, const struct json *call) {
    const struct json *pieces = json_get(call, "arguments");
    struct text delta = {0};

    text_addf(&delta, "{\"tool_calls\":[{\"index\":%u,\"id\":", r->calls);
    add_call_id(&delta, r, call);
    text_addf(&delta, ",\"type\":\"function\",\"function\":{\"name\":");
    text_quote(&delta, json_str(call, "name", "unnamed"));
    text_addf(&delta, ",\"arguments\":\"\"}}]}");
    o_chunk(r, delta.p, NULL);
    text_free(&delta);
    for (const struct json *p = pieces ? pieces->first : NULL; p && !r->out->dead; p = p->next) {
        text_addf(&delta, "{\"tool_calls\":[{\"index\":%u,\"function\":{\"arguments\":", r->calls);
        quote_piece(&delta, p);
        text_addf(&delta, "}}]}");
        o_chunk(r, delta.p, NULL);
        text_free(&delta);
    }
}

static void o_finish(struct render *r) {
    struct text t = {0};

    text_quote(&t, stop_of(r));
    o_chunk(r, "{}", t.p);
    text_free(&t);
    if (json_true(json_get(r->rq->json, "stream_options"), "include_usage")) {
        add_usage(&t, r, false);
        event(r, NULL,
              "{\"id\":\"chatcmpl-%u-%u\",\"object\":\"chat.completion.chunk\",\"created\":"
              "1700000000,\"model\":\"%s\",\"choices\":[],\"usage\":%s}",
              r->rq->conn, r->rq->number, r->model, t.p);
        text_free(&t);
    }
    if (!json_is(json_get(r->reply, "done"), JSON_FALSE))
        event(r, NULL, "[DONE]");
}

/* --- blocks, streaming ------------------------------------------------------ */

static void s_text(struct render *r, const struct json *v) {
    if (gemini(r)) {
        gemini_pieces(r, v, false);
        return;
    }
    if (!anthropic(r)) {
        o_pieces(r, "content", v);
        return;
    }
    a_start(r, "{\"type\":\"text\",\"text\":\"\"}");
    a_pieces(r, "text_delta", "text", v);
    a_stop(r);
}

static void s_refusal(struct render *r, const struct json *v) {
    if (gemini(r))
        return; /* written at the end */
    if (anthropic(r))
        s_text(r, v);
    else
        o_pieces(r, "refusal", v);
}

static void s_reasoning(struct render *r, const struct json *v) {
    if (gemini(r))
        gemini_pieces(r, v, true);
    else if (anthropic(r))
        a_reasoning(r, v);
    else
        o_pieces(r, "reasoning_content", v);
}

static void s_call(struct render *r, const struct json *v) {
    if (gemini(r))
        gemini_call(r, v);
    else if (anthropic(r))
        a_call(r, v, "tool_use");
    else
        o_call(r, v);
    r->calls++;
}

static void s_server_call(struct render *r, const struct json *v) {
    if (anthropic(r))
        a_call(r, v, "server_tool_use");
}

static void s_ping(struct render *r, const struct json *v) {
    (void)v;
    if (anthropic(r))
        event(r, "ping", "{\"type\": \"ping\"}");
    else
        out_body(r->out, ": keep-alive\n\n", 14);
}

/* Vendors add events and fields; a client must ignore them. */
static void s_unknown(struct render *r, const struct json *v) {
    (void)v;
    if (gemini(r))
        gemini_unknown(r);
    else if (anthropic(r))
        event(r, "brand_new_event", "{\"type\":\"brand_new_event\",\"text\":\"ignore me\"}");
    else
        event(r, NULL,
              "{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
              "\"obfuscation\":\"abc\",\"choices\":[{\"index\":0,\"delta\":{\"brand_new\":1},"
              "\"finish_reason\":null}]}");
}

static void s_stall(struct render *r, const struct json *v) {
    out_wait(r->out, strtol(v->text, NULL, 10));
}

static void s_error(struct render *r, const struct json *v) {
    struct text body = {0};

    render_error(&body, r->rq, v);
    out_event(r->out, anthropic(r) ? "error" : NULL, &body);
    text_free(&body);
    r->stopped = true;
}

static void s_endless(struct render *r, const struct json *v) {
    if (anthropic(r))
        a_start(r, "{\"type\":\"text\",\"text\":\"\"}");
    while (!r->out->dead) {
        if (gemini(r))
            gemini_pieces(r, v, false);
        else if (anthropic(r))
            a_pieces(r, "text_delta", "text", v);
        else
            o_pieces(r, "content", v);
    }
}

static void s_endless_raw(struct render *r, const struct json *v) {
    struct text bytes = {0};

    add_piece(&bytes, v);
    while (!r->out->dead)
        out_body(r->out, bytes.p, bytes.n);
    text_free(&bytes);
}

/* An event that consists only of nesting. */
static void s_deep(struct render *r, const struct json *v) {
    struct text data = {0};
    long depth = strtol(v->text, NULL, 10);

    add_times(&data, "{\"type\":", depth);
    text_addf(&data, "0");
    add_times(&data, "}", depth);
    out_event(r->out, anthropic(r) ? "content_block_delta" : NULL, &data);
    text_free(&data);
}

static void s_raw(struct render *r, const struct json *v) {
    struct text bytes = {0};

    add_piece(&bytes, v);
    out_body(r->out, bytes.p ? bytes.p : "", bytes.n);
    text_free(&bytes);
}

/* --- blocks, whole ---------------------------------------------------------- */

static void comma(struct text *t) {
    if (t->n && t->p[t->n - 1] != '[')
        text_addf(t, ",");
}

static void w_text(struct render *r, const struct json *v) {
    if (!anthropic(r))
        return; /* o_whole gathers it */
    comma(r->body);
    text_addf(r->body, "{\"type\":\"text\",\"text\":");
    quote_all(r->body, v);
    text_addf(r->body, "}");
}

static void w_reasoning(struct render *r, const struct json *v) {
    struct text whole = {0};
    char signature[32];

    if (!anthropic(r))
        return;
    add_all(&whole, v);
    thinking_signature(whole.p ? whole.p : "", whole.n, signature);
    text_free(&whole);
    comma(r->body);
    text_addf(r->body, "{\"type\":\"thinking\",\"thinking\":");
    quote_all(r->body, v);
    text_addf(r->body, ",\"signature\":\"%s\"}", signature);
}

static void w_call(struct render *r, const struct json *v) {
    const struct json *arguments = json_get(v, "arguments");

    comma(r->body);
    if (anthropic(r)) {
        text_addf(r->body, "{\"type\":\"tool_use\",\"id\":");
        add_call_id(r->body, r, v);
        text_addf(r->body, ",\"name\":");
        text_quote(r->body, json_str(v, "name", "unnamed"));
        text_addf(r->body, ",\"input\":");
        if (arguments && arguments->len)
            add_all(r->body, arguments);
        else
            text_addf(r->body, "{}");
        text_addf(r->body, "}");
    } else {
        text_addf(r->body, "{\"id\":");
        add_call_id(r->body, r, v);
        text_addf(r->body, ",\"type\":\"function\",\"function\":{\"name\":");
        text_quote(r->body, json_str(v, "name", "unnamed"));
        text_addf(r->body, ",\"arguments\":");
        quote_all(r->body, arguments);
        text_addf(r->body, "}}");
    }
    r->calls++;
}

/* Features of streams are left out of a whole reply. */
static void w_nothing(struct render *r, const struct json *v) {
    (void)r;
    (void)v;
}

static const struct {
    const char *key;
    void (*stream)(struct render *r, const struct json *v);
    void (*whole)(struct render *r, const struct json *v);
} blocks[] = {
    {"text", s_text, w_text},
    {"refusal", s_refusal, w_text},
    {"reasoning", s_reasoning, w_reasoning},
    {"call", s_call, w_call},
    {"server_call", s_server_call, w_nothing},
    {"ping", s_ping, w_nothing},
    {"unknown", s_unknown, w_nothing},
    {"stall_ms", s_stall, w_nothing},
    {"error", s_error, w_nothing},
    {"endless", s_endless, w_nothing},
    {"endless_raw", s_endless_raw, w_nothing},
    {"deep", s_deep, w_nothing},
    {"raw", s_raw, w_nothing},
};

static void each_block(struct render *r) {
    const struct json *list = json_get(r->reply, "blocks");

    for (const struct json *b = list ? list->first : NULL; b && !r->stopped; b = b->next) {
        if (r->out && r->out->dead)
            return;
        for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
            const struct json *v = json_get(b, blocks[i].key);
            if (v && !(responses(r) && responses_block(r, blocks[i].key, v)) &&
                !(interactions(r) && interactions_block(r, blocks[i].key, v)))
                (r->out ? blocks[i].stream : blocks[i].whole)(r, v);
        }
    }
}

static struct render begin(struct out *out, struct text *body, const struct request *rq,
                           const struct json *reply) {
    return (struct render){.out = out,
                           .body = body,
                           .rq = rq,
                           .reply = reply,
                           .model = rq->model[0] ? rq->model
                                                 : json_str(rq->json, "model", "unknown")};
}

void render_stream(struct out *o, const struct request *rq, const struct json *reply) {
    struct render r = begin(o, NULL, rq, reply);

    if (rq->api == API_BEDROCK) {
        bedrock_stream(o, rq, reply);
        return;
    }
    if (responses(&r))
        responses_begin(&r);
    else if (interactions(&r))
        interactions_begin(&r);
    else if (anthropic(&r))
        a_begin(&r);
    else if (!gemini(&r))
        o_chunk(&r, "{\"role\":\"assistant\",\"content\":\"\"}", NULL);
    each_block(&r);
    bool ends = !r.stopped && !o->dead && !json_true(reply, "no_end");
    if (ends && responses(&r))
        responses_finish(&r);
    else if (ends && interactions(&r))
        interactions_finish(&r);
    else if (ends && gemini(&r))
        gemini_finish(&r);
    else if (ends && anthropic(&r))
        a_finish(&r);
    else if (ends)
        o_finish(&r);
    text_free(&r.items);
}

/* Writes the pieces of all blocks of one kind, as a quoted string or null. */
static void o_gather(struct text *t, const struct json *reply, const char *kind) {
    const struct json *list = json_get(reply, "blocks");
    struct text all = {0};
    bool any = false;

    for (const struct json *b = list ? list->first : NULL; b; b = b->next) {
        any = any || json_get(b, kind);
        add_all(&all, json_get(b, kind));
    }
    if (any) {
        text_addf(t, "\"");
        text_escape(t, all.p ? all.p : "", all.n);
        text_addf(t, "\"");
    } else {
        text_addf(t, "null");
    }
    text_free(&all);
}

static void o_whole(struct render *r) {
    struct text calls = {0}, *body = r->body;

    text_addf(&calls, "[");
    r->body = &calls;
    each_block(r);
    r->body = body;
    text_addf(body,
              "{\"id\":\"chatcmpl-%u-%u\",\"object\":\"chat.completion\",\"created\":1700000000,"
              "\"model\":\"%s\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
              "\"content\":",
              r->rq->conn, r->rq->number, r->model);
    o_gather(body, r->reply, "text");
    text_addf(body, ",\"refusal\":");
    o_gather(body, r->reply, "refusal");
    text_addf(body, ",\"reasoning_content\":");
    o_gather(body, r->reply, "reasoning");
    if (r->calls)
        text_addf(body, ",\"tool_calls\":%s]", calls.p);
    text_addf(body, "},\"logprobs\":null,\"finish_reason\":\"%s\"}],\"usage\":", stop_of(r));
    add_usage(body, r, false);
    text_addf(body, "}");
    text_free(&calls);
}

void render_whole(struct text *body, const struct request *rq, const struct json *reply) {
    struct render r = begin(NULL, body, rq, reply);

    if (rq->api == API_BEDROCK) {
        bedrock_whole(body, rq, reply);
        return;
    }
    if (responses(&r) || interactions(&r)) {
        each_block(&r);
        (responses(&r) ? responses_finish : interactions_finish)(&r);
        text_free(&r.items);
        return;
    }
    if (gemini(&r)) {
        gemini_whole(&r);
        return;
    }
    if (!anthropic(&r)) {
        o_whole(&r);
        return;
    }
    text_addf(body,
              "{\"id\":\"msg_%u_%u\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"%s\","
              "\"content\":[",
              rq->conn, rq->number, r.model);
    each_block(&r);
    text_addf(body, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,\"usage\":", stop_of(&r));
    add_usage(body, &r, false);
    text_addf(body, "}");
}
