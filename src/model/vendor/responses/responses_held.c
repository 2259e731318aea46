/* responses_held.c -- see responses_held.h. */
#include "model/vendor/responses/responses_held.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/pull.h"

#define ROOM 2048 /* bytes on the stack: enough for the items of most replies */

void ch_responses_held_clear(struct ch_responses_held *h) {
    ch_buf_release(&h->reply);
    ch_buf_release(&h->calls);
    ch_buf_release(&h->id);
    ch_buf_release(&h->head);
    ch_buf_release(&h->tail);
    h->history = 0;
    h->nitems = 0;
}

/* --- comparing an item with the service's */

/* Arguments are written again for a request, perhaps with other white space. */
static bool same_json(struct ch_sv a, struct ch_sv b, struct ch_arena *arena) {
    const struct ch_json *x = NULL, *y = NULL;
    if (ch_sv_eq(a, b))
        return true;
    return ch_json_parse(arena, a, CH_JSON_STRICT, &x, NULL, NULL) == 0 &&
           ch_json_parse(arena, b, CH_JSON_STRICT, &y, NULL, NULL) == 0 && ch_json_equal(x, y);
}

/* The words of a message, which may be one text or a list of parts. */
static struct ch_sv words_of(const struct ch_json *message, struct ch_arena *arena) {
    const struct ch_json *content = ch_json_get(message, "content");
    struct ch_sv all = ch_json_str(content);
    for (CH_JSON_EACH(part, content)) {
        struct ch_sv text = ch_json_get_str(part, "text");
        struct ch_sv both[] = {all, text.n ? text : ch_json_get_str(part, "refusal")};
        all = ch_sv(ch_arena_join(arena, both, CH_LEN(both)), both[0].n + both[1].n);
    }
    return all;
}

static bool same_message(const struct ch_json *ours, const struct ch_json *theirs,
                         struct ch_arena *arena) {
    struct ch_sv type = ch_json_get_str(ours, "type");
    const struct ch_json *phase = ch_json_get(ours, "phase");
    return (!type.n || ch_sv_is(type, "message")) &&
           ch_sv_is(ch_json_get_str(ours, "role"), "assistant") &&
           (!phase || ch_json_equal(phase, ch_json_get(theirs, "phase"))) &&
           ch_sv_eq(words_of(ours, arena), words_of(theirs, arena));
}

/* Every member that would be sent is one of the service's. */
static bool same_item(const struct ch_json *ours, const struct ch_json *theirs,
                      struct ch_arena *arena) {
    if (ch_sv_is(ch_json_get_str(theirs, "type"), "message"))
        return same_message(ours, theirs, arena);
    bool typed = false;
    for (CH_JSON_MEMBERS(key, value, ours)) {
        const struct ch_json *other = ch_json_get_sv(theirs, ch_json_str(key));
        typed |= ch_sv_is(ch_json_str(key), "type");
        if (!other)
            return false;
        if (ch_sv_is(ch_json_str(key), "arguments") && ch_json_is(other, CH_JSON_STRING)
                ? !same_json(ch_json_str(value), ch_json_str(other), arena)
                : !ch_json_equal(value, other))
            return false;
    }
    return typed;
}

/* Reasoning that has nothing for a later request is not sent again. */
static bool is_mute(const struct ch_json *item) {
    return ch_sv_is(ch_json_get_str(item, "type"), "reasoning") &&
           !ch_json_get_str(item, "encrypted_content").n;
}

/* The end of the items of the reply at the begin of `added`; NULL: they are others. */
static const char *past_reply(const struct ch_responses_held *h, struct ch_sv added) {
    char room[ROOM];
    CH_ARENA_AUTO arena = CH_ARENA_IN(room);
    const struct ch_json *theirs = NULL, *ours = NULL;
    const char *at = added.p, *end = added.p + added.n;
    if (ch_json_parse(&arena, ch_buf_sv(&h->reply), CH_JSON_REPLACE, &theirs, NULL, NULL) < 0)
        return NULL;
    for (CH_JSON_EACH(event, theirs)) {
        const struct ch_json *item = ch_json_get(event, "item");
        if (is_mute(item))
            continue;
        const char *next = at < end && *at == ',' ? ch_pull_past(at + 1, end) : NULL;
        if (!next ||
            ch_json_parse(&arena, ch_sv(at + 1, (size_t)(next - at - 1)), CH_JSON_REPLACE, &ours,
                          NULL, NULL) < 0 ||
            !same_item(ours, item, &arena))
            return NULL;
        at = next;
    }
    return at;
}

bool ch_responses_held_rest(const struct ch_responses_held *h, uint64_t history,
                            const struct ch_sv body[3], struct ch_sv *rest) {
    struct ch_sv items = body[1];
    if (!h->id.n || !history || history != h->history || items.n <= h->nitems ||
        !ch_sv_eq(body[0], ch_buf_sv(&h->head)) || !ch_sv_eq(body[2], ch_buf_sv(&h->tail)))
        return false;
    const char *end = items.p + items.n;
    struct ch_sv added = ch_sv(items.p + h->nitems, items.n - h->nitems);
    bool same = h->plain && added.n >= h->calls.n &&
                ch_sv_eq(ch_sv(added.p, h->calls.n), ch_buf_sv(&h->calls));
    const char *at = same ? added.p + h->calls.n : past_reply(h, added);
    if (!at || at + 1 >= end || *at != ',')
        return false;
    *rest = ch_sv(at + 1, (size_t)(end - at - 1));
    return true;
}

/* --- the last request and its reply */

static void held_set(struct ch_buf *to, struct ch_sv text) {
    if (ch_sv_eq(ch_buf_sv(to), text))
        return;
    ch_buf_clear(to);
    ch_buf_add_sv(to, text);
}

void ch_responses_held_sent(struct ch_responses_held *h, uint64_t history,
                            const struct ch_sv body[3]) {
    if (!h->reply.max)
        ch_buf_init(&h->reply, CH_LIMIT_WS_MESSAGE);
    ch_buf_clear(&h->reply);
    ch_buf_clear(&h->id);
    ch_buf_clear(&h->calls);
    h->plain = true;
    ch_buf_addc(&h->reply, '[');
    bool whole = body[2].n && *body[2].p == ']'; /* else the tail has items of this request alone */
    h->history = whole && body[1].n ? history : 0;
    h->nitems = body[1].n;
    held_set(&h->head, body[0]);
    held_set(&h->tail, body[2]);
}

/* Goes to the value of a member. False: there is none. */
static bool held_find(struct ch_pull *p, const char *name) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return false;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, name))
            return true;
        ch_pull_skip(p);
    }
    return false;
}

/* Values of a call, as they are written. */
struct call {
    struct ch_sv type, id, name, arguments;
};

/* False: the item is no call, or has more members. */
static bool pull_call(struct ch_pull *p, struct call *c) {
    struct ch_sv key, unused;
    if (!ch_pull_enter(p, '{'))
        return false;
    while (ch_pull_key(p, &key)) {
        struct ch_sv *to = ch_sv_is(key, "type")                            ? &c->type
                           : ch_sv_is(key, "call_id")                       ? &c->id
                           : ch_sv_is(key, "name")                          ? &c->name
                           : ch_sv_is(key, "arguments")                     ? &c->arguments
                           : ch_sv_is(key, "id") || ch_sv_is(key, "status") ? &unused
                                                                            : NULL;
        if (!to || !ch_pull_raw(p, to))
            return false;
    }
    return ch_sv_is(c->type, "\"function_call\"") && c->id.n && c->name.n && c->arguments.n;
}

/* Writes a call as a request has it. A call in another form is compared in full later. */
static void expect_call(struct ch_responses_held *h, struct ch_sv event) {
    static const struct ch_sv item = CH_SV("\"item\":");
    CH_BUF_AUTO scratch = {0};
    struct call c = {0};
    const char *end = event.p + event.n, *at = memmem(event.p, event.n, item.p, item.n);
    struct ch_pull p = {.at = at ? at + item.n : end, .end = end, .scratch = &scratch, .depth = 1};
    h->plain = h->plain && pull_call(&p, &c);
    if (!h->plain)
        return;
    CH_BUF_LIT(&h->calls, ",{\"type\":\"function_call\",\"call_id\":");
    ch_buf_add_sv(&h->calls, c.id);
    CH_BUF_LIT(&h->calls, ",\"name\":");
    ch_buf_add_sv(&h->calls, c.name);
    CH_BUF_LIT(&h->calls, ",\"arguments\":");
    ch_buf_add_sv(&h->calls, c.arguments);
    ch_buf_addc(&h->calls, '}');
}

static void end_reply(struct ch_responses_held *h, struct ch_sv event) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv id = {0};
    ch_pull_init(&p, event, &scratch);
    ch_buf_addc(&h->reply, ']');
    if (h->history && !h->reply.overflow && held_find(&p, "response") && held_find(&p, "id") &&
        ch_pull_str(&p, &id) && id.n <= CH_LIMIT_VENDOR_JOB_ID)
        ch_buf_add_sv(&h->id, id);
}

void ch_responses_held_event(struct ch_responses_held *h, struct ch_sv type, struct ch_sv event) {
    if (ch_sv_is(type, "response.completed")) {
        end_reply(h, event);
    } else if (ch_sv_is(type, "response.output_item.done")) {
        ch_buf_add_str(&h->reply, h->reply.n > 1 ? "," : "");
        ch_buf_add_sv(&h->reply, event);
        expect_call(h, event);
    }
}
