/* interactions.c -- a reply in the format of Google's Interactions API.
 *
 * Every block is a step: announced, extended by deltas, and ended. A whole reply has whole steps.
 * A thought has a signature, which must be sent back (check_interactions.c); calls have none, so a
 * thought without a summary precedes them. A blocked reply is an error, beside what was written. */
#include "render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {MEMBERS,"event_type":NAME} */
__attribute__((format(printf, 3, 4))) static void event(struct render *r, const char *name,
                                                        const char *fmt, ...) {
    struct text data = {0};
    char *members = NULL;
    va_list ap;

    if (!r->out)
        return;
    va_start(ap, fmt);
    if (vasprintf(&members, fmt, ap) < 0)
        abort();
    va_end(ap);
    text_addf(&data, "{");
    text_add(&data, members, strlen(members));
    text_addf(&data, ",\"event_type\":\"%s\"}", name);
    free(members);
    out_event(r->out, name, &data);
    text_free(&data);
}

static void announce(struct render *r, const char *step) {
    event(r, "step.start", "\"index\":%u,\"step\":%s", r->index, step);
}

/* Ends the step; a whole reply consists of the steps. */
static void done(struct render *r, const struct text *step) {
    event(r, "step.stop", "\"index\":%u", r->index);
    text_addf(&r->items, "%s", r->items.n ? "," : "");
    text_add(&r->items, step->p, step->n);
    r->index++;
}

/* One delta per piece: `before` PIECE `after`. */
static void pieces_of(struct render *r, const char *before, const struct json *pieces,
                      const char *after) {
    for (const struct json *p = pieces ? pieces->first : NULL; p && r->out && !r->out->dead;
         p = p->next) {
        struct text quoted = {0};
        quote_piece(&quoted, p);
        event(r, "step.delta", "\"index\":%u,\"delta\":{%s%s%s}", r->index, before, quoted.p,
              after);
        text_free(&quoted);
    }
}

static void text(struct render *r, const struct json *pieces) {
    struct text step = {0};

    announce(r, "{\"type\":\"model_output\"}");
    pieces_of(r, "\"text\":", pieces, ",\"type\":\"text\"");
    text_addf(&step, "{\"type\":\"model_output\",\"content\":[{\"type\":\"text\",\"text\":");
    quote_all(&step, pieces);
    text_addf(&step, "}]}");
    done(r, &step);
    text_free(&step);
}

static void endless(struct render *r, const struct json *pieces) {
    announce(r, "{\"type\":\"model_output\"}");
    while (!r->out->dead)
        pieces_of(r, "\"text\":", pieces, ",\"type\":\"text\"");
}

/* pieces: NULL for a thought without a summary. */
static void reasoning(struct render *r, const struct json *pieces) {
    struct text whole = {0}, step = {0};
    char signature[32];

    add_all(&whole, pieces);
    thinking_signature(whole.p ? whole.p : "", whole.n, signature);
    announce(r, "{\"type\":\"thought\"}");
    pieces_of(r, "\"content\":{\"type\":\"text\",\"text\":", pieces,
              "},\"type\":\"thought_summary\"");
    event(r, "step.delta", "\"index\":%u,\"delta\":{\"signature\":\"%s\",\"type\":"
                           "\"thought_signature\"}", r->index, signature);
    text_addf(&step, "{\"type\":\"thought\",\"signature\":\"%s\"", signature);
    if (pieces) {
        text_addf(&step, ",\"summary\":[{\"type\":\"text\",\"text\":");
        quote_all(&step, pieces);
        text_addf(&step, "}]");
    }
    text_addf(&step, "}");
    done(r, &step);
    r->signed_thought = true;
    text_free(&step);
    text_free(&whole);
}

/* A whole reply has no place for arguments that are no object. */
static bool is_object(const struct text *arguments) {
    const char *why;
    struct json *v = json_parse(arguments->n ? arguments->p : "{}",
                                arguments->n ? arguments->n : 2, &why);
    bool object = json_is(v, JSON_OBJECT);

    json_free(v);
    return object;
}

static void call(struct render *r, const struct json *call) {
    struct text arguments = {0}, head = {0}, step = {0};

    if (!r->signed_thought)
        reasoning(r, NULL);
    add_all(&arguments, json_get(call, "arguments"));
    text_addf(&head, "{\"type\":\"function_call\",\"id\":");
    add_call_id(&head, r, call);
    text_addf(&head, ",\"name\":");
    text_quote(&head, json_str(call, "name", "unnamed"));
    text_addf(&head, ",\"arguments\":");
    text_add(&step, head.p, head.n);
    text_addf(&head, "{}}");
    announce(r, head.p);
    pieces_of(r, "\"arguments\":", json_get(call, "arguments"), ",\"type\":\"arguments_delta\"");
    bool object = is_object(&arguments);
    r->malformed |= !r->out && !object;
    if (object && arguments.n)
        text_add(&step, arguments.p, arguments.n);
    else
        text_addf(&step, "{}");
    text_addf(&step, "}");
    if (r->out || object)
        done(r, &step);
    r->calls++;
    text_free(&arguments);
    text_free(&head);
    text_free(&step);
}

static void server_call(struct render *r, const struct json *v) {
    struct text step = {0};

    (void)v;
    text_addf(&step, "{\"type\":\"google_search_call\",\"id\":\"s%u\",\"arguments\":{},"
                     "\"signature\":\"\"}", r->index);
    announce(r, step.p);
    event(r, "step.delta", "\"index\":%u,\"delta\":{\"type\":\"google_search_call\",\"arguments\":"
                           "{\"queries\":[\"x\"]},\"signature\":\"sig_search\"}", r->index);
    text_free(&step);
    text_addf(&step, "{\"type\":\"google_search_call\",\"id\":\"s%u\",\"arguments\":{\"queries\":"
                     "[\"x\"]},\"signature\":\"sig_search\"}", r->index);
    done(r, &step);
    text_free(&step);
}

/* --- what is no step */

static void ping(struct render *r, const struct json *v) {
    (void)v;
    event(r, "interaction.status_update", "\"interaction_id\":\"v1_%u\",\"status\":\"in_progress\"",
          r->rq->conn);
}

static void unknown(struct render *r, const struct json *v) {
    (void)v;
    event(r, "step.brand_new", "\"index\":%u,\"delta\":\"ignore me\"", r->index);
}

static const char *code_of(long status) {
    static const struct {
        long status;
        const char *code;
    } codes[] = {
        {400, "invalid_request"},     {401, "authentication"},      {403, "permission_denied"},
        {404, "model_not_found"},     {429, "rate_limit_exceeded"}, {503, "service_unavailable"},
        {504, "deadline_exceeded"},   {500, "api_error"}, /* last: any other */
    };
    size_t row = 0;

    if (status == 529) /* only Anthropic uses this status */
        status = 503;
    while (codes[row].status != status && codes[row].status != 500)
        row++;
    return codes[row].code;
}

int interactions_error(struct text *body, int status, const char *message) {
    text_addf(body, "{\"error\":{\"message\":");
    text_quote(body, message);
    text_addf(body, ",\"code\":\"%s\"}}", code_of(status));
    return status == 529 ? 503 : status;
}

static void say_error(struct render *r, const char *code, const char *message) {
    struct text quoted = {0};

    text_quote(&quoted, message);
    event(r, "error", "\"error\":{\"code\":\"%s\",\"message\":%s}", code, quoted.p);
    text_free(&quoted);
    r->stopped = true;
}

static void error_event(struct render *r, const struct json *error) {
    say_error(r, code_of(json_int(error, "status", 500)), json_str(error, "message", "Overloaded"));
}

/* Features of streams are left out of a whole reply. */
bool interactions_block(struct render *r, const char *kind, const struct json *v) {
    static const struct {
        const char *kind;
        void (*say)(struct render *r, const struct json *v);
        bool whole;
    } blocks[] = {
        {"text", text, true},
        {"refusal", text, true},
        {"reasoning", reasoning, true},
        {"call", call, true},
        {"server_call", server_call, true},
        {"ping", ping, false},
        {"unknown", unknown, false},
        {"error", error_event, false},
        {"endless", endless, false},
    };

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (strcmp(kind, blocks[i].kind) == 0) {
            if (r->out || blocks[i].whole)
                blocks[i].say(r, v);
            return true;
        }
    return false;
}

/* --- the reply as a whole */

static const char *status_of(const struct render *r) {
    const char *stop = json_str(r->reply, "stop", "");

    if (r->malformed || strcmp(stop, "refusal") == 0)
        return "failed";
    if (strcmp(stop, "length") == 0)
        return "incomplete";
    if (strcmp(stop, "pause") == 0)
        return "requires_continuation";
    return r->calls && !r->out ? "requires_action" : "completed"; /* streams do not tell */
}

static void add_usage(struct text *t, const struct render *r) {
    const struct json *u = json_get(r->reply, "usage");
    long input = json_int(u, "input", 10), output = json_int(u, "output", 5);
    long reasoning = json_int(u, "reasoning", 0);

    text_addf(t,
              ",\"usage\":{\"total_tokens\":%ld,\"total_input_tokens\":%ld,"
              "\"input_tokens_by_modality\":[{\"modality\":\"text\",\"tokens\":%ld}],"
              "\"total_cached_tokens\":%ld,\"total_output_tokens\":%ld,"
              "\"total_tool_use_tokens\":0,\"total_thought_tokens\":%ld}",
              input + output, input, input, json_int(u, "cache_read", 0), output - reasoning,
              reasoning);
}

static void add_interaction(struct text *t, const struct render *r, const char *status) {
    text_addf(t, "{\"id\":\"v1_%u_%u\",\"status\":\"%s\",\"object\":\"interaction\",\"model\":",
              r->rq->conn, r->rq->number, status);
    text_quote(t, r->model);
    if (strcmp(status, "in_progress") != 0)
        add_usage(t, r);
}

void interactions_begin(struct render *r) {
    struct text x = {0};

    add_interaction(&x, r, "in_progress");
    event(r, "interaction.created", "\"interaction\":%s}", x.p);
    text_free(&x);
}

void interactions_finish(struct render *r) {
    struct text x = {0};
    const char *status = status_of(r);
    bool failed = strcmp(status, "failed") == 0;
    const char *code = r->malformed ? "malformed_function_call" : "safety";

    add_interaction(&x, r, status);
    if (r->out && failed) {
        say_error(r, code, "The reply was blocked.");
    } else if (r->out) {
        event(r, "interaction.completed", "\"interaction\":%s}", x.p);
        if (!json_is(json_get(r->reply, "done"), JSON_FALSE))
            out_body(r->out, "event: done\ndata: [DONE]\n\n", 27);
    } else {
        text_add(r->body, x.p, x.n);
        if (failed)
            text_addf(r->body, ",\"errors\":[{\"code\":\"%s\",\"message\":\"It was blocked.\"}]",
                      code);
        text_addf(r->body, ",\"steps\":[");
        if (r->items.n)
            text_add(r->body, r->items.p, r->items.n);
        text_addf(r->body, "]}");
    }
    text_free(&x);
}
