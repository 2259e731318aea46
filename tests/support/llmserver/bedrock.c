/* bedrock.c -- a reply in the format of Amazon's Converse, streamed in frames with
 * checksums, or whole. */
#include "server.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bedrock {
    struct out *out;   /* streaming, or NULL */
    struct text *body; /* whole replies, or NULL */
    const struct request *rq;
    const struct json *reply;
    unsigned index, calls;
    bool stopped;
};

/* --- frames ----------------------------------------------------------------- */

static uint32_t crc32(const char *p, size_t n) {
    uint32_t crc = ~0u;

    while (n--) {
        crc ^= (unsigned char)*p++;
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
}

static void add_u32(struct text *t, uint32_t v) {
    char bytes[4] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};

    text_add(t, bytes, 4);
}

static void add_header(struct text *t, const char *name, const char *value) {
    char length[2] = {(char)(strlen(value) >> 8), (char)strlen(value)};
    char n = (char)strlen(name);

    text_add(t, &n, 1);
    text_add(t, name, strlen(name));
    text_add(t, "\7", 1);
    text_add(t, length, 2);
    text_add(t, value, strlen(value));
}

static void send_frame(struct out *o, const char *kind, const char *name, const struct text *data) {
    struct text headers = {0}, frame = {0};
    char key[32];

    snprintf(key, sizeof(key), ":%s-type", kind);
    add_header(&headers, key, name);
    add_header(&headers, ":content-type", "application/json");
    add_header(&headers, ":message-type", kind);
    add_u32(&frame, (uint32_t)(16 + headers.n + data->n));
    add_u32(&frame, (uint32_t)headers.n);
    add_u32(&frame, crc32(frame.p, frame.n));
    text_add(&frame, headers.p, headers.n);
    text_add(&frame, data->p ? data->p : "", data->n);
    add_u32(&frame, crc32(frame.p, frame.n));
    out_body(o, frame.p, frame.n);
    text_free(&headers);
    text_free(&frame);
}

__attribute__((format(printf, 3, 4))) static void event(struct bedrock *b, const char *name,
                                                        const char *fmt, ...) {
    struct text data = {0};
    char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        abort();
    va_end(ap);
    text_add(&data, line, strlen(line));
    send_frame(b->out, "event", name, &data);
    text_free(&data);
    free(line);
}

/* --- what both forms need ---------------------------------------------------- */

static void add_all(struct text *t, const struct json *pieces) {
    for (const struct json *p = pieces ? pieces->first : NULL; p; p = p->next)
        add_piece(t, p);
}

static void quote(struct text *t, const struct text *raw) {
    text_addf(t, "\"");
    text_escape(t, raw->p ? raw->p : "", raw->n);
    text_addf(t, "\"");
}

static void quote_all(struct text *t, const struct json *pieces) {
    struct text raw = {0};

    add_all(&raw, pieces);
    quote(t, &raw);
    text_free(&raw);
}

static void add_signature(struct text *t, const struct json *pieces) {
    struct text raw = {0};
    char signature[32];

    add_all(&raw, pieces);
    thinking_signature(raw.p ? raw.p : "", raw.n, signature);
    text_addf(t, "\"%s\"", signature);
    text_free(&raw);
}

static void add_tool_use(struct text *t, const struct bedrock *b, const struct json *call) {
    const char *id = json_str(call, "id", NULL);

    text_addf(t, "\"name\":");
    text_quote(t, json_str(call, "name", "unnamed"));
    text_addf(t, ",\"toolUseId\":");
    if (id)
        text_quote(t, id);
    else
        text_addf(t, "\"tooluse_%s%04u%02u\"", b->rq->instance, b->rq->number, b->calls);
}

static const char *stop_of(const struct bedrock *b) {
    static const char *const names[][2] = {{"stop", "end_turn"},
                                           {"length", "max_tokens"},
                                           {"pause", "end_turn"},
                                           {"refusal", "content_filtered"}};
    const char *stop = json_str(b->reply, "stop", b->calls ? "tool_use" : "stop");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(stop, names[i][0]) == 0)
            return names[i][1];
    return stop;
}

static void add_usage(struct text *t, const struct bedrock *b) {
    const struct json *u = json_get(b->reply, "usage");
    long input = json_int(u, "input", 10), output = json_int(u, "output", 5);
    long read = json_int(u, "cache_read", 0), write = json_int(u, "cache_write", 0);

    text_addf(t,
              "{\"cacheReadInputTokens\":%ld,\"cacheWriteInputTokens\":%ld,\"inputTokens\":%ld,"
              "\"outputTokens\":%ld,\"totalTokens\":%ld}",
              read, write, input - read - write, output, input + output);
}

/* --- streaming --------------------------------------------------------------- */

/* Writes a delta with padding, as the service does. */
static void delta(struct bedrock *b, const char *before, const struct text *quoted,
                  const char *after) {
    event(b, "contentBlockDelta", "{\"contentBlockIndex\":%u,\"delta\":{%s%s%s},\"p\":\"%.*s\"}",
          b->index, before, quoted->p, after, (int)(quoted->n * 7 % 30),
          "abcdefghijklmnopqrstuvwxyzABCDEF");
}

static void deltas(struct bedrock *b, const char *before, const struct json *pieces,
                   const char *after) {
    for (const struct json *p = pieces ? pieces->first : NULL; p && !b->out->dead; p = p->next) {
        struct text raw = {0}, quoted = {0};
        add_piece(&raw, p);
        quote(&quoted, &raw);
        delta(b, before, &quoted, after);
        text_free(&raw);
        text_free(&quoted);
    }
}

static void stop_block(struct bedrock *b) {
    event(b, "contentBlockStop", "{\"contentBlockIndex\":%u,\"p\":\"abc\"}", b->index++);
}

static void s_text(struct bedrock *b, const struct json *v) {
    deltas(b, "\"text\":", v, "");
    stop_block(b);
}

static void s_reasoning(struct bedrock *b, const struct json *v) {
    struct text signature = {0};

    deltas(b, "\"reasoningContent\":{\"text\":", v, "}");
    add_signature(&signature, v);
    delta(b, "\"reasoningContent\":{\"signature\":", &signature, "}");
    text_free(&signature);
    stop_block(b);
}

static void start_call(struct bedrock *b, const struct json *v, const char *type) {
    struct text use = {0};

    add_tool_use(&use, b, v);
    event(b, "contentBlockStart",
          "{\"contentBlockIndex\":%u,\"p\":\"ab\",\"start\":{\"toolUse\":{%s%s}}}", b->index, use.p,
          type);
    text_free(&use);
    deltas(b, "\"toolUse\":{\"input\":", json_get(v, "arguments"), "}");
    stop_block(b);
}

static void s_call(struct bedrock *b, const struct json *v) {
    start_call(b, v, "");
    b->calls++;
}

static void s_server_call(struct bedrock *b, const struct json *v) {
    start_call(b, v, ",\"type\":\"server_tool_use\"");
}

static void s_unknown(struct bedrock *b, const struct json *v) {
    (void)v;
    event(b, "brandNewEvent", "{\"text\":\"ignore me\"}");
}

static void s_stall(struct bedrock *b, const struct json *v) {
    out_wait(b->out, strtol(v->text, NULL, 10));
}

static void s_endless(struct bedrock *b, const struct json *v) {
    while (!b->out->dead)
        deltas(b, "\"text\":", v, "");
}

static void s_raw(struct bedrock *b, const struct json *v) {
    struct text bytes = {0};

    add_piece(&bytes, v);
    out_body(b->out, bytes.p ? bytes.p : "", bytes.n);
    text_free(&bytes);
}

static void s_endless_raw(struct bedrock *b, const struct json *v) {
    while (!b->out->dead)
        s_raw(b, v);
}

static void s_deep(struct bedrock *b, const struct json *v) {
    struct text data = {0};
    long depth = strtol(v->text, NULL, 10);

    for (long i = 0; i < depth; i++)
        text_addf(&data, "{\"delta\":");
    text_addf(&data, "0");
    for (long i = 0; i < depth; i++)
        text_addf(&data, "}");
    send_frame(b->out, "event", "contentBlockDelta", &data);
    text_free(&data);
}

/* --- errors ------------------------------------------------------------------ */

static const struct {
    int status, sent;
    const char *type, *message;
} errors[] = {
    {400, 400, "ValidationException", "the request is not valid"},
    {401, 401, "UnrecognizedClientException", "The security token in the request is invalid."},
    {403, 403, "InvalidSignatureException", "The request signature does not match."},
    {404, 404, "ResourceNotFoundException", "The model does not exist."},
    {429, 429, "ThrottlingException", "Too many requests, rate limit reached"},
    {529, 503, "ServiceUnavailableException", "Overloaded"},
    {500, 500, "InternalServerException", "Internal server error"}, /* last: any other */
};

static size_t row_of(const struct json *error) {
    int status = (int)json_int(error, "status", 500);
    size_t row = 0;

    while (errors[row].status != status && errors[row].status != 500)
        row++;
    return row;
}

const char *bedrock_error_type(const struct json *error) {
    return json_str(error, "type", errors[row_of(error)].type);
}

int bedrock_error(struct text *body, const struct json *error) {
    size_t row = row_of(error);

    text_addf(body, "{\"message\":");
    text_quote(body, json_str(error, "message", errors[row].message));
    text_addf(body, "}");
    int status = (int)json_int(error, "status", 500);
    return errors[row].status == status ? errors[row].sent : status;
}

/* An exception in the stream has the name of the error with a lower-case first letter. */
static void s_error(struct bedrock *b, const struct json *v) {
    struct text body = {0};
    char name[80];

    bedrock_error(&body, v);
    snprintf(name, sizeof(name), "%s", bedrock_error_type(v));
    name[0] = (char)(name[0] | 32);
    send_frame(b->out, "exception", name, &body);
    text_free(&body);
    b->stopped = true;
}

/* --- whole ------------------------------------------------------------------- */

static void comma(struct text *t) {
    if (t->p[t->n - 1] != '[')
        text_addf(t, ",");
}

static void w_text(struct bedrock *b, const struct json *v) {
    comma(b->body);
    text_addf(b->body, "{\"text\":");
    quote_all(b->body, v);
    text_addf(b->body, "}");
}

static void w_reasoning(struct bedrock *b, const struct json *v) {
    comma(b->body);
    text_addf(b->body, "{\"reasoningContent\":{\"reasoningText\":{\"text\":");
    quote_all(b->body, v);
    text_addf(b->body, ",\"signature\":");
    add_signature(b->body, v);
    text_addf(b->body, "}}}");
}

static void w_call(struct bedrock *b, const struct json *v) {
    const struct json *arguments = json_get(v, "arguments");

    comma(b->body);
    text_addf(b->body, "{\"toolUse\":{");
    add_tool_use(b->body, b, v);
    text_addf(b->body, ",\"input\":");
    if (arguments && arguments->len)
        add_all(b->body, arguments);
    else
        text_addf(b->body, "{}");
    text_addf(b->body, "}}");
    b->calls++;
}

static void w_nothing(struct bedrock *b, const struct json *v) {
    (void)b;
    (void)v;
}

static const struct {
    const char *key;
    void (*stream)(struct bedrock *b, const struct json *v);
    void (*whole)(struct bedrock *b, const struct json *v);
} blocks[] = {
    {"text", s_text, w_text},
    {"refusal", s_text, w_text},
    {"reasoning", s_reasoning, w_reasoning},
    {"call", s_call, w_call},
    {"server_call", s_server_call, w_nothing},
    {"unknown", s_unknown, w_nothing},
    {"stall_ms", s_stall, w_nothing},
    {"error", s_error, w_nothing},
    {"endless", s_endless, w_nothing},
    {"endless_raw", s_endless_raw, w_nothing},
    {"deep", s_deep, w_nothing},
    {"raw", s_raw, w_nothing},
};

static void each_block(struct bedrock *b) {
    const struct json *list = json_get(b->reply, "blocks");

    for (const struct json *v = list ? list->first : NULL; v && !b->stopped; v = v->next) {
        if (b->out && b->out->dead)
            return;
        for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
            const struct json *value = json_get(v, blocks[i].key);
            if (value)
                (b->out ? blocks[i].stream : blocks[i].whole)(b, value);
        }
    }
}

void bedrock_stream(struct out *o, const struct request *rq, const struct json *reply) {
    struct bedrock b = {.out = o, .rq = rq, .reply = reply};
    struct text usage = {0};

    event(&b, "messageStart", "{\"p\":\"abcd\",\"role\":\"assistant\"}");
    each_block(&b);
    if (b.stopped || o->dead || json_true(reply, "no_end"))
        return;
    event(&b, "messageStop", "{\"p\":\"abcdefgh\",\"stopReason\":\"%s\"}", stop_of(&b));
    add_usage(&usage, &b);
    event(&b, "metadata", "{\"metrics\":{\"latencyMs\":12},\"p\":\"ab\",\"usage\":%s}", usage.p);
    text_free(&usage);
}

void bedrock_whole(struct text *body, const struct request *rq, const struct json *reply) {
    struct bedrock b = {.body = body, .rq = rq, .reply = reply};

    text_addf(body, "{\"metrics\":{\"latencyMs\":12},\"output\":{\"message\":{\"content\":[");
    each_block(&b);
    text_addf(body, "],\"role\":\"assistant\"}},\"stopReason\":\"%s\",\"usage\":", stop_of(&b));
    add_usage(body, &b);
    text_addf(body, "}");
}
