/* gemini.c -- a reply in the format of Google's Gemini.
 *
 * Every event is a whole GenerateContentResponse with the usage so far. Calls arrive whole.
 * A call that the output limit truncated is streamed as by Vertex, without its end; a call
 * that is not JSON ends the reply as malformed. From Gemini 3 on calls have ids; the first
 * call of a reply is signed, and the signature must be sent back (check_gemini.c). */
#include "render.h"

#include <stdio.h>
#include <string.h>

static bool has_ids(const struct render *r) {
    return strncmp(r->model, "gemini-1", 8) != 0 && strncmp(r->model, "gemini-2", 8) != 0;
}

static void add_usage(struct text *t, const struct render *r, bool last) {
    const struct json *u = json_get(r->reply, "usage");
    long input = json_int(u, "input", 10), output = last ? json_int(u, "output", 5) : 1;
    long reasoning = last ? json_int(u, "reasoning", 0) : 0, read = json_int(u, "cache_read", 0);

    text_addf(t, "{\"promptTokenCount\":%ld,\"candidatesTokenCount\":%ld,\"totalTokenCount\":%ld",
              input, output - reasoning, input + output);
    if (read)
        text_addf(t, ",\"cachedContentTokenCount\":%ld", read);
    if (reasoning)
        text_addf(t, ",\"thoughtsTokenCount\":%ld", reasoning);
    text_addf(t, ",\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":%ld}]}", input);
}

static void add_tail(struct text *t, const struct render *r, bool last) {
    text_addf(t, ",\"index\":0}],\"usageMetadata\":");
    add_usage(t, r, last);
    text_addf(t, ",\"modelVersion\":");
    text_quote(t, r->model);
    text_addf(t, ",\"responseId\":\"r%u-%u\"}", r->rq->conn, r->rq->number);
}

/* Writes one event with these parts; reason: the text after the content. */
static void chunk(struct render *r, const char *parts, const char *reason) {
    struct text data = {0};

    text_addf(&data, "{\"candidates\":[{\"content\":{\"parts\":[%s],\"role\":\"model\"}%s", parts,
              reason);
    add_tail(&data, r, *reason != '\0');
    out_event(r->out, NULL, &data);
    text_free(&data);
}

void gemini_pieces(struct render *r, const struct json *pieces, bool thought) {
    for (const struct json *p = pieces->first; p && !r->out->dead; p = p->next) {
        struct text part = {0};
        text_addf(&part, "{\"text\":");
        quote_piece(&part, p);
        text_addf(&part, thought ? ",\"thought\":true}" : "}");
        chunk(r, part.p, "");
        text_free(&part);
    }
}

/* --- calls */

static void add_call(struct text *t, const struct render *r, const struct json *call,
                     const char *args) {
    const char *name = json_str(call, "name", "unnamed"), *id = json_str(call, "id", NULL);
    char signature[32];

    text_addf(t, "{\"functionCall\":{\"name\":");
    text_quote(t, name);
    if (args)
        text_addf(t, ",\"args\":%s", args);
    else
        text_addf(t, ",\"willContinue\":true");
    if (has_ids(r)) {
        text_addf(t, ",\"id\":");
        if (id)
            text_quote(t, id);
        else
            text_addf(t, "\"g%s%03u%02u\"", r->rq->instance, r->rq->number, r->calls);
    }
    text_addf(t, "}");
    if (r->calls == 0) {
        thinking_signature(name, strlen(name), signature);
        text_addf(t, ",\"thoughtSignature\":\"%s\"", signature);
    }
    text_addf(t, "}");
}

/* Writes the part of a call; false: the call cannot be sent. */
static bool call_part(struct text *t, const struct render *r, const struct json *call) {
    struct text args = {0};
    const char *why;

    add_all(&args, json_get(call, "arguments"));
    struct json *v = json_parse(args.n ? args.p : "{}", args.n ? args.n : 2, &why);
    bool whole = json_is(v, JSON_OBJECT);
    bool cut = !whole && strcmp(json_str(r->reply, "stop", ""), "length") == 0;
    if (whole || cut)
        add_call(t, r, call, cut ? NULL : args.n ? args.p : "{}");
    json_free(v);
    text_free(&args);
    return whole || cut;
}

void gemini_call(struct render *r, const struct json *call) {
    struct text part = {0};

    if (call_part(&part, r, call))
        chunk(r, part.p, "");
    else
        r->malformed = true;
    text_free(&part);
}

void gemini_unknown(struct render *r) {
    struct text data = {0};

    text_addf(&data, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"brandNew\":1}],"
                     "\"role\":\"model\",\"mood\":\"fine\"},\"brandNewRatings\":[]");
    add_tail(&data, r, false);
    out_event(r->out, NULL, &data);
    text_free(&data);
}

/* --- the end */

static void add_reason(struct text *t, const struct render *r) {
    const char *stop = json_str(r->reply, "stop", "stop");
    const struct json *list = json_get(r->reply, "blocks");
    struct text words = {0};

    for (const struct json *b = list ? list->first : NULL; b; b = b->next)
        add_all(&words, json_get(b, "refusal"));
    const char *reason = r->malformed                     ? "MALFORMED_FUNCTION_CALL"
                         : strcmp(stop, "length") == 0    ? "MAX_TOKENS"
                         : strcmp(stop, "refusal") == 0   ? "SAFETY"
                         : strcmp(stop, "pause") == 0     ? "CONTINUATION"
                                                          : "STOP";
    text_addf(t, ",\"finishReason\":\"%s\"", reason);
    if (r->malformed)
        text_addf(&words, "Malformed function call");
    else if (r->calls)
        text_addf(&words, "Model generated function call(s).");
    if (words.n) {
        text_addf(t, ",\"finishMessage\":");
        text_quote(t, words.p);
    }
    text_free(&words);
}

static bool has_thoughts(const struct render *r) {
    const struct json *list = json_get(r->reply, "blocks");

    for (const struct json *b = list ? list->first : NULL; b; b = b->next)
        if (json_get(b, "reasoning"))
            return true;
    return false;
}

/* Adds the signature of thoughts without a call. */
static void add_signature(struct text *t, const struct render *r) {
    char signature[32];

    thinking_signature(r->model, strlen(r->model), signature);
    text_addf(t, "{\"text\":\"\"");
    if (has_thoughts(r) && !r->calls)
        text_addf(t, ",\"thoughtSignature\":\"%s\"", signature);
    text_addf(t, "}");
}

void gemini_finish(struct render *r) {
    struct text reason = {0}, part = {0};

    add_reason(&reason, r);
    add_signature(&part, r);
    chunk(r, part.p, reason.p);
    text_free(&reason);
    text_free(&part);
}

/* --- whole */

static void add_part(struct text *parts, const char *part) {
    text_addf(parts, "%s%s", parts->n ? "," : "", part);
}

static void whole_block(struct render *r, const struct json *b, struct text *parts) {
    const struct json *text = json_get(b, "text"), *thought = json_get(b, "reasoning");
    const struct json *call = json_get(b, "call");
    struct text part = {0};

    if (text || thought) {
        text_addf(&part, "{\"text\":");
        quote_all(&part, text ? text : thought);
        text_addf(&part, text ? "}" : ",\"thought\":true}");
        add_part(parts, part.p);
    } else if (call) {
        if (call_part(&part, r, call))
            add_part(parts, part.p);
        else
            r->malformed = true;
        r->calls++;
    }
    text_free(&part);
}

void gemini_whole(struct render *r) {
    const struct json *list = json_get(r->reply, "blocks");
    struct text parts = {0}, end = {0}, *body = r->body;

    for (const struct json *b = list ? list->first : NULL; b; b = b->next)
        whole_block(r, b, &parts);
    if (has_thoughts(r)) {
        add_signature(&end, r);
        add_part(&parts, end.p);
    }
    text_addf(body, "{\"candidates\":[{");
    if (parts.n) /* without parts there is no content */
        text_addf(body, "\"content\":{\"role\":\"model\",\"parts\":[%s]},", parts.p);
    struct text reason = {0};
    add_reason(&reason, r);
    text_add(body, reason.p + 1, reason.n - 1);
    add_tail(body, r, true);
    text_free(&parts);
    text_free(&end);
    text_free(&reason);
}

/* --- errors */

static const struct {
    int status;
    const char *name;
} statuses[] = {
    {400, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},    {403, "PERMISSION_DENIED"},
    {404, "NOT_FOUND"},        {429, "RESOURCE_EXHAUSTED"}, {503, "UNAVAILABLE"},
    {504, "DEADLINE_EXCEEDED"}, {500, "INTERNAL"}, /* last: any other */
};

int gemini_error(struct text *body, const struct json *error, int status, const char *message) {
    const char *after = json_str(error, "retry_after", NULL);
    size_t row = 0;

    if (status == 529) /* only Anthropic uses this status */
        status = 503;
    while (statuses[row].status != status && statuses[row].status != 500)
        row++;
    text_addf(body, "{\"error\":{\"code\":%d,\"message\":", status);
    text_quote(body, message);
    text_addf(body, ",\"status\":\"%s\"", statuses[row].name);
    if (after)
        text_addf(body,
                  ",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\","
                  "\"retryDelay\":\"%ss\"}]",
                  after);
    text_addf(body, "}}");
    return status;
}
