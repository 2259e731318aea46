/* responses.c -- a reply in the format of OpenAI's Responses API.
 *
 * Every block is an item: announced, streamed in pieces, and ended with an object that holds
 * all of it. The end of the reply repeats all items, so they are kept. A whole reply
 * consists only of that end. The encrypted form of reasoning is its signature, so that the
 * checks can verify it. */
#include "render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {"type":NAME,"sequence_number":N,MEMBERS} */
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
    text_addf(&data, "{\"type\":\"%s\",\"sequence_number\":%u", name, r->sequence++);
    text_add(&data, *members ? "," : "", *members ? 1 : 0);
    text_add(&data, members, strlen(members));
    text_add(&data, "}", 1);
    free(members);
    out_event(r->out, name, &data);
    text_free(&data);
}

static void item_id(const struct render *r, const char *kind, char out[64]) {
    snprintf(out, 64, "%s_%u_%u_%u", kind, r->rq->conn, r->rq->number, r->index);
}

static void announce(struct render *r, const char *item) {
    event(r, "response.output_item.added", "\"output_index\":%u,\"item\":%s", r->index, item);
}

/* Ends the item and keeps it for the end of the reply. */
static void done(struct render *r, const struct text *item) {
    event(r, "response.output_item.done", "\"output_index\":%u,\"item\":%s", r->index, item->p);
    if (r->items.n)
        text_addf(&r->items, ",");
    text_add(&r->items, item->p, item->n);
    r->index++;
}

/* Writes one event per piece; `where` identifies the part. */
static void pieces_of(struct render *r, const char *name, const char *where,
                      const struct json *pieces) {
    for (const struct json *p = pieces ? pieces->first : NULL; p && !(r->out && r->out->dead);
         p = p->next) {
        struct text quoted = {0};
        quote_piece(&quoted, p);
        event(r, name, "%s,\"delta\":%s,\"obfuscation\":\"x%u\"", where, quoted.p, r->sequence);
        text_free(&quoted);
    }
}

/* --- messages --------------------------------------------------------------- */

static void begin_message(struct render *r, const char *part, char id[64], char where[160]) {
    struct text item = {0};

    item_id(r, "msg", id);
    snprintf(where, 160, "\"item_id\":\"%s\",\"output_index\":%u,\"content_index\":0", id,
             r->index);
    text_addf(&item,
              "{\"id\":\"%s\",\"type\":\"message\",\"status\":\"in_progress\","
              "\"content\":[],\"role\":\"assistant\"}",
              id);
    announce(r, item.p);
    text_free(&item);
    event(r, "response.content_part.added", "%s,\"part\":%s", where, part);
}

static void end_message(struct render *r, const char *id, const char *where,
                        const struct text *part) {
    struct text item = {0};

    event(r, "response.content_part.done", "%s,\"part\":%s", where, part->p);
    text_addf(&item, "{\"id\":\"%s\",\"type\":\"message\",\"status\":\"completed\",\"content\":[",
              id);
    text_add(&item, part->p, part->n);
    text_addf(&item, "],\"role\":\"assistant\"}");
    done(r, &item);
    text_free(&item);
}

static void text(struct render *r, const struct json *pieces) {
    struct text quoted = {0}, part = {0};
    char id[64], where[160];

    quote_all(&quoted, pieces);
    begin_message(r, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"\"}",
                  id, where);
    pieces_of(r, "response.output_text.delta", where, pieces);
    event(r, "response.output_text.done", "%s,\"text\":%s,\"logprobs\":[]", where, quoted.p);
    text_addf(&part, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
    text_add(&part, quoted.p, quoted.n);
    text_addf(&part, "}");
    end_message(r, id, where, &part);
    text_free(&quoted);
    text_free(&part);
}

static void refusal(struct render *r, const struct json *pieces) {
    struct text quoted = {0}, part = {0};
    char id[64], where[160];

    r->refused = true;
    quote_all(&quoted, pieces);
    begin_message(r, "{\"type\":\"refusal\",\"refusal\":\"\"}", id, where);
    pieces_of(r, "response.refusal.delta", where, pieces);
    event(r, "response.refusal.done", "%s,\"refusal\":%s", where, quoted.p);
    text_addf(&part, "{\"type\":\"refusal\",\"refusal\":");
    text_add(&part, quoted.p, quoted.n);
    text_addf(&part, "}");
    end_message(r, id, where, &part);
    text_free(&quoted);
    text_free(&part);
}

static void endless(struct render *r, const struct json *pieces) {
    char id[64], where[160];

    begin_message(r, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"\"}",
                  id, where);
    while (!r->out->dead)
        pieces_of(r, "response.output_text.delta", where, pieces);
}

/* --- reasoning -------------------------------------------------------------- */

static bool wants_encrypted(const struct render *r) {
    const struct json *list = json_get(r->rq->json, "include");

    for (const struct json *v = list ? list->first : NULL; v; v = v->next)
        if (json_is(v, JSON_STRING) && strcmp(v->text, "reasoning.encrypted_content") == 0)
            return true;
    return false;
}

static void reasoning(struct render *r, const struct json *pieces) {
    struct text quoted = {0}, whole = {0}, item = {0};
    char id[64], where[160], signature[32];

    add_all(&whole, pieces);
    thinking_signature(whole.p ? whole.p : "", whole.n, signature);
    quote_all(&quoted, pieces);
    item_id(r, "rs", id);
    snprintf(where, sizeof(where), "\"item_id\":\"%s\",\"output_index\":%u,\"summary_index\":0", id,
             r->index);
    text_addf(&item, "{\"id\":\"%s\",\"type\":\"reasoning\",\"summary\":[]}", id);
    announce(r, item.p);
    text_free(&item);
    event(r, "response.reasoning_summary_part.added",
          "%s,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}", where);
    pieces_of(r, "response.reasoning_summary_text.delta", where, pieces);
    event(r, "response.reasoning_summary_text.done", "%s,\"text\":%s", where, quoted.p);
    event(r, "response.reasoning_summary_part.done",
          "%s,\"part\":{\"type\":\"summary_text\",\"text\":%s}", where, quoted.p);
    text_addf(&item,
              "{\"id\":\"%s\",\"type\":\"reasoning\",\"summary\":[{\"type\":"
              "\"summary_text\",\"text\":",
              id);
    text_add(&item, quoted.p, quoted.n);
    text_addf(&item, "}]");
    if (wants_encrypted(r))
        text_addf(&item, ",\"encrypted_content\":\"%s\"", signature);
    text_addf(&item, "}");
    done(r, &item);
    text_free(&item);
    text_free(&whole);
    text_free(&quoted);
}

/* --- calls ------------------------------------------------------------------ */

static void add_call(struct text *item, const struct render *r, const struct json *call,
                     const char *id, const char *status, const char *arguments) {
    text_addf(item, "{\"id\":\"%s\",\"type\":\"function_call\",\"status\":\"%s\",", id, status);
    text_addf(item, "\"arguments\":");
    text_add(item, arguments, strlen(arguments));
    text_addf(item, ",\"call_id\":");
    add_call_id(item, r, call);
    text_addf(item, ",\"name\":");
    text_quote(item, json_str(call, "name", "unnamed"));
    text_addf(item, "}");
}

static void call(struct render *r, const struct json *call) {
    const struct json *pieces = json_get(call, "arguments");
    struct text quoted = {0}, item = {0};
    char id[64], where[160];

    item_id(r, "fc", id);
    snprintf(where, sizeof(where), "\"item_id\":\"%s\",\"output_index\":%u", id, r->index);
    quote_all(&quoted, pieces);
    add_call(&item, r, call, id, "in_progress", "\"\"");
    announce(r, item.p);
    text_free(&item);
    pieces_of(r, "response.function_call_arguments.delta", where, pieces);
    event(r, "response.function_call_arguments.done", "%s,\"arguments\":%s", where, quoted.p);
    add_call(&item, r, call, id, "completed", quoted.p);
    done(r, &item);
    r->calls++;
    text_free(&item);
    text_free(&quoted);
}

static void server_call(struct render *r, const struct json *v) {
    struct text item = {0};
    char id[64];

    (void)v;
    item_id(r, "ws", id);
    text_addf(&item, "{\"id\":\"%s\",\"type\":\"web_search_call\",\"status\":\"in_progress\"}", id);
    announce(r, item.p);
    text_free(&item);
    text_addf(&item,
              "{\"id\":\"%s\",\"type\":\"web_search_call\",\"status\":\"completed\","
              "\"action\":{\"type\":\"search\",\"query\":\"x\"}}",
              id);
    done(r, &item);
    text_free(&item);
}

/* --- what is no item -------------------------------------------------------- */

static void ping(struct render *r, const struct json *v) {
    (void)v;
    event(r, "keepalive", "%s", "");
}

static void unknown(struct render *r, const struct json *v) {
    (void)v;
    event(r, "response.brand_new.delta", "\"output_index\":%u,\"delta\":\"ignore me\"", r->index);
}

static void error_event(struct render *r, const struct json *error) {
    long status = json_int(error, "status", 500);
    struct text message = {0};

    text_quote(&message, json_str(error, "message", "The server had an error."));
    event(r, "error", "\"code\":\"%s\",\"message\":%s,\"param\":null",
          status == 429   ? "rate_limit_exceeded"
          : status == 529 ? "server_is_overloaded"
                          : "server_error",
          message.p);
    text_free(&message);
    r->stopped = true;
}

/* Features of streams are left out of a whole reply. */
bool responses_block(struct render *r, const char *kind, const struct json *v) {
    static const struct {
        const char *kind;
        void (*say)(struct render *r, const struct json *v);
        bool whole;
    } blocks[] = {
        {"text", text, true},
        {"refusal", refusal, true},
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

/* --- the reply as a whole --------------------------------------------------- */

static void add_usage(struct text *t, const struct render *r) {
    const struct json *u = json_get(r->reply, "usage");
    long input = json_int(u, "input", 10), output = json_int(u, "output", 5);

    text_addf(t,
              "{\"input_tokens\":%ld,\"input_tokens_details\":{\"cached_tokens\":%ld,"
              "\"cache_write_tokens\":%ld},\"output_tokens\":%ld,\"output_tokens_details\":"
              "{\"reasoning_tokens\":%ld},\"total_tokens\":%ld}",
              input, json_int(u, "cache_read", 0), json_int(u, "cache_write", 0), output,
              json_int(u, "reasoning", 0), input + output);
}

/* The reason why the reply is incomplete, or NULL. */
static const char *reason_of(const struct render *r) {
    const char *stop = json_str(r->reply, "stop", "");

    if (strcmp(stop, "length") == 0)
        return "max_output_tokens";
    return strcmp(stop, "refusal") == 0 && !r->refused ? "content_filter" : NULL;
}

static void add_response(struct text *t, const struct render *r, const char *status,
                         const char *reason) {
    text_addf(t,
              "{\"id\":\"resp_%u_%u\",\"object\":\"response\",\"created_at\":1700000000,"
              "\"status\":\"%s\",\"error\":null,\"instructions\":null,\"metadata\":{},"
              "\"model\":",
              r->rq->conn, r->rq->number, status);
    text_quote(t, r->model);
    text_addf(t, ",\"parallel_tool_calls\":true,\"temperature\":1,\"tool_choice\":\"auto\","
                 "\"tools\":[],\"top_p\":1,\"incomplete_details\":");
    if (reason)
        text_addf(t, "{\"reason\":\"%s\"}", reason);
    else
        text_addf(t, "null");
    text_addf(t, ",\"output\":[");
    if (r->items.n)
        text_add(t, r->items.p, r->items.n);
    text_addf(t, "],\"usage\":");
    if (strcmp(status, "in_progress") == 0)
        text_addf(t, "null");
    else
        add_usage(t, r);
    text_addf(t, "}");
}

void responses_begin(struct render *r) {
    struct text response = {0};

    add_response(&response, r, "in_progress", NULL);
    event(r, "response.created", "\"response\":%s", response.p);
    event(r, "response.in_progress", "\"response\":%s", response.p);
    text_free(&response);
}

void responses_finish(struct render *r) {
    struct text response = {0};
    const char *reason = reason_of(r), *status = reason ? "incomplete" : "completed";

    add_response(&response, r, status, reason);
    if (r->out)
        event(r, reason ? "response.incomplete" : "response.completed", "\"response\":%s",
              response.p);
    else
        text_add(r->body, response.p, response.n);
    text_free(&response);
}
