/* responses_decode.c -- decodes a Responses reply, streamed or whole.
 *
 * Events are dispatched by the JSON's own "type"; the event name only repeats it, and some
 * servers omit it. responses_items.c decodes items; this file handles the events, the state
 * of the reply and its end:
 *
 *       response.completed             stop, or tool_use if there are calls
 *       response.incomplete            by its reason: length, refusal, pause
 *       response.failed, error         an error by its code
 *       none, or a status before the   the service makes the reply in the background: its id
 *       end
 *
 * A whole reply is the content of response.completed. A delta that differs from the
 * previous one only in its text is matched by a template (delta_fast_path.h). */
#include <stddef.h>

#include "base/limits.h"
#include "model/codec/decode.h"
#include "model/codec/errors.h"
#include "model/codec/logprobs.h"
#include "model/codec/delta_fast_path.h"
#include "model/vendor/responses/responses.h"
#include "model/vendor/responses/responses_encode.h"
#include "model/vendor/responses/responses_items.h"
#include "model/vendor/responses/responses_findings.h"
#include "json/members.h"
#include "json/pull.h"
#include "json/writer.h"

struct state {
    struct ch_responses_items items;
    unsigned last;                         /* index of the last item */
    struct ch_sv job; /* id of a reply that the service makes in the background; empty: none */
    struct ch_template template;           /* matches deltas */
    enum ch_responses_delta template_kind; /* kind of these deltas */
    unsigned template_key;                 /* key of the block that they are appended to */
};

static struct state *responses_decode_state_of(struct ch_decoder *d) {
    return d->state;
}

static struct ch_responses_items *items_of(struct ch_decoder *d) {
    struct ch_responses_items *items = &responses_decode_state_of(d)->items;
    items->endpoint = d->endpoint;
    items->server_tools = d->server_tools;
    return items;
}

/* --- the state of the reply */

struct response {
    struct ch_sv object, id, status, model, reason;
    bool background;
    struct ch_sv output, usage; /* JSON */
    struct ch_sv json;          /* the whole response object */
};

static void read_response(struct ch_pull *p, struct response *r) {
    static const struct ch_member details[] = {
        CH_MEMBER(struct response, reason, "reason", CH_MEMBER_STR),
    };
    static const struct ch_member members[] = {
        CH_MEMBER(struct response, object, "object", CH_MEMBER_STR),
        CH_MEMBER(struct response, id, "id", CH_MEMBER_STR),
        CH_MEMBER(struct response, background, "background", CH_MEMBER_BOOL),
        CH_MEMBER(struct response, status, "status", CH_MEMBER_STR),
        CH_MEMBER(struct response, model, "model", CH_MEMBER_STR),
        CH_MEMBERS_IN("incomplete_details", details),
        CH_MEMBER(struct response, output, "output", CH_MEMBER_ARRAY),
        CH_MEMBER(struct response, usage, "usage", CH_MEMBER_OBJECT),
    };
    *r = (struct response){.json.p = p->at};
    ch_members_pull(p, members, CH_LEN(members), r);
    r->json.n = (size_t)(p->at - r->json.p);
}

static void responses_decode_read_usage(struct ch_decoder *d, struct ch_sv json) {
    static const struct ch_member details[] = {
        CH_MEMBER(struct ch_usage, cache_read, "cached_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct ch_usage, cache_write, "cache_write_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct ch_usage, reasoning, "reasoning_tokens", CH_MEMBER_INT),
    };
    static const struct ch_member members[] = {
        CH_MEMBER(struct ch_usage, input, "input_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct ch_usage, output, "output_tokens", CH_MEMBER_INT),
        CH_MEMBERS_IN("input_tokens_details", details),
        CH_MEMBERS_IN("output_tokens_details", details),
    };
    struct ch_usage u = {0};
    if (!json.n)
        return;
    ch_members_read(json, &responses_decode_state_of(d)->items.scratch, members, CH_LEN(members),
                    &u);
    d->reply.usage = (struct ch_usage){
        .input = ch_token_count(u.input),
        .output = ch_token_count(u.output),
        .cache_read = ch_token_count(u.cache_read),
        .cache_write = ch_token_count(u.cache_write),
        .reasoning = ch_token_count(u.reasoning),
    };
}

static void responses_decode_set_model(struct ch_decoder *d, struct ch_sv model) {
    if (model.n && !ch_sv_eq(model, d->reply.model))
        d->reply.model = ch_arena_sv(&d->arena, model);
}

/* --- errors */

/* `fallback` is used if the vendor's error has no text. */
static int responses_decode_read_error(struct ch_decoder *d, struct ch_sv json,
                                       struct ch_sv fallback, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0}; /* kept texts are copied */
    const struct ch_json *v;
    struct ch_vendor_error e;
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return ch_decode_malformed(err);
    if (ch_vendor_error_read(v, &arena, &e)) {
        if (ch_sv_is(e.type, "error"))
            e.type = CH_SV(""); /* the type of the event, not of the error */
        d->recognised = true;
        ch_decoder_fail(d, &e);
    } else if (fallback.n) {
        d->recognised = true;
        ch_decoder_fail_as(d, CH_ERR_SERVER, true, fallback);
    }
    return CHELA_OK;
}

/* --- the end */

static enum ch_stop responses_decode_stop_of(struct ch_sv reason) {
    if (ch_sv_is(reason, "content_filter"))
        return CH_STOP_REFUSAL;
    return ch_sv_is(reason, "steered") ? CH_STOP_PAUSE : CH_STOP_LENGTH;
}

static int fail_by_status(struct ch_decoder *d, struct ch_sv status, struct ch_sv json,
                          struct chela_error *err) {
    char *line = ch_arena_printf(&d->arena, "the server ended the reply with status \"%.*s\"",
                                 CH_SV_FMT(status));
    return responses_decode_read_error(d, json, ch_sv_str(line), err);
}

/* The arrays `logprobs` of an item's parts, or of all items of a reply. */
static void add_logprobs(struct ch_decoder *d, struct ch_sv json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    static const char sought[] = "\"logprobs\"";
    if (!json.n || !memmem(json.p, json.n, sought, sizeof(sought) - 1) ||
        ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    const struct ch_json *end = ch_json_next(v);
    bool list = v->type == CH_JSON_ARRAY;
    for (const struct ch_json *item = list ? v + 1 : v; item < end; item = ch_json_next(item))
        for (CH_JSON_EACH(part, ch_json_get(item, "content"))) {
            CH_BUF_AUTO tokens = {0};
            struct ch_jw w = ch_jw(&tokens);
            const struct ch_json *found = ch_json_get(part, "logprobs");
            if (!ch_json_is(found, CH_JSON_ARRAY) || !found->n)
                continue;
            ch_jw_value(&w, found);
            ch_logprobs_add(d, ch_buf_sv(&tokens));
        }
}

/* --- replies that the service makes in the background */

static bool is_job(struct ch_sv status) {
    return ch_sv_is(status, "queued") || ch_sv_is(status, "in_progress");
}

/* The state of a reply in a stream, which may end long before the reply is made. */
static void note_job(struct ch_decoder *d, const struct response *r, struct ch_sv event) {
    struct state *st = responses_decode_state_of(d);
    if (!st->job.n && (r->background || ch_sv_is(event, "queued") || ch_sv_is(r->status, "queued")))
        d->reply.job = st->job = ch_decode_job_id(d, r->id);
}

/* Where the stream of a job can be taken up again. */
static void note_cursor(struct ch_decoder *d, int64_t sequence) {
    if (d->reply.job.n && sequence > d->reply.cursor)
        d->reply.cursor = sequence;
}

/* The same for an event that was matched by the template. */
static void find_cursor(struct ch_decoder *d, struct ch_sv data) {
    static const struct ch_sv name = CH_SV("\"sequence_number\":");
    const char *at = d->reply.job.n ? memmem(data.p, data.n, name.p, name.n) : NULL;
    const char *end = data.p + data.n;
    int64_t n = -1;
    for (at = at ? at + name.n : end; at < end && (*at == ' ' || (*at >= '0' && *at <= '9')); at++)
        if (*at != ' ' && n < INT64_MAX / 100)
            n = CH_MAX(n, 0) * 10 + (*at - '0');
    note_cursor(d, n);
}

static void responses_decode_on_end(struct ch_decoder *d) {
    if (!d->reply.complete && d->reply.error.cls == CH_ERR_NONE && d->status / 100 == 2)
        d->reply.pending = responses_decode_state_of(d)->job;
}

/* Apply the whole reply. event_status is its status according to the event. */
static int use_response(struct ch_decoder *d, const struct response *r, struct ch_sv event_status,
                        struct chela_error *err) {
    struct ch_responses_items *items = items_of(d);
    struct ch_sv status = r->status.n ? r->status : event_status;
    bool completed = ch_sv_is(status, "completed") || ch_sv_is(status, "complete");
    bool incomplete = ch_sv_is(status, "incomplete");
    responses_decode_set_model(d, r->model);
    responses_decode_read_usage(d, r->usage);
    d->reply.stop_raw =
        incomplete && r->reason.n
            ? ch_sv_str(ch_arena_printf(&d->arena, "incomplete.%.*s", CH_SV_FMT(r->reason)))
            : ch_arena_sv(&d->arena, status);
    if (!d->logprobs.n) /* a stream has sent them with the items */
        add_logprobs(d, r->output);
    if (ch_responses_output(items, d->fold, r->output) < 0)
        return ch_decode_too_large(err);
    if (is_job(status)) {
        ch_decode_pending(d, r->id, status);
        return CHELA_OK;
    }
    if (r->background && !d->reply.job.n)
        d->reply.job = ch_decode_job_id(d, r->id);
    if (!completed && !incomplete)
        return fail_by_status(d, status, r->json, err);
    if (completed)
        ch_responses_close(items, d->fold);
    d->reply.stop = completed ? CH_STOP_STOP : responses_decode_stop_of(r->reason);
    d->reply.complete = d->stopped = true;
    return CHELA_OK;
}

/* --- events */

struct event {
    struct ch_sv type, delta, text, item_id;
    int64_t output_index, part, sequence;
    struct ch_sv item; /* JSON */
    bool has_error, has_response;
    struct response response;
};

static bool responses_decode_read_event(struct ch_decoder *d, struct ch_sv data, struct event *e) {
    struct ch_pull p;
    struct ch_sv key;
    /* skip the large part, which a delta does not use */
    memset(e, 0, offsetof(struct event, response));
    e->output_index = e->sequence = -1;
    ch_pull_init(&p, data, &d->scratch);
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "type"))
                ch_pull_str(&p, &e->type);
            else if (ch_sv_is(key, "delta"))
                ch_pull_str(&p, &e->delta);
            else if (ch_sv_is(key, "item_id"))
                ch_pull_str(&p, &e->item_id);
            else if (ch_sv_is(key, "sequence_number"))
                ch_pull_int(&p, &e->sequence);
            else if (ch_sv_is(key, "output_index"))
                ch_pull_int(&p, &e->output_index);
            else if (ch_sv_is(key, "content_index") || ch_sv_is(key, "summary_index"))
                ch_pull_int(&p, &e->part);
            else if (ch_sv_is(key, "text") || ch_sv_is(key, "arguments") ||
                     ch_sv_is(key, "refusal") || ch_sv_is(key, "input"))
                ch_pull_str(&p, &e->text);
            else if (ch_sv_is(key, "item"))
                ch_pull_raw(&p, &e->item);
            else if (ch_sv_is(key, "response") && ch_pull_peek(&p) == '{') {
                e->has_response = true;
                read_response(&p, &e->response);
            } else {
                e->has_error |= ch_sv_is(key, "error") && ch_pull_peek(&p) != 'n';
                ch_pull_skip(&p);
            }
        }
    return !ch_pull_failed(&p);
}

/* Prefixes of streamed events, without ".delta" and ".done". */
static const struct {
    struct ch_sv name;
    enum ch_responses_delta kind;
} streams[] = {
    {CH_SV("output_text"), CH_DELTA_TEXT},
    {CH_SV("function_call_arguments"), CH_DELTA_CALL},
    {CH_SV("reasoning_summary_text"), CH_DELTA_REASONING},
    {CH_SV("reasoning_text"), CH_DELTA_REASONING},
    {CH_SV("refusal"), CH_DELTA_REFUSAL},
    {CH_SV("custom_tool_call_input"), CH_DELTA_CALL},
};

static bool find_stream(struct ch_sv name, enum ch_responses_delta *kind) {
    for (size_t i = 0; i < CH_LEN(streams); i++)
        if (ch_sv_eq(name, streams[i].name)) {
            *kind = streams[i].kind;
            return true;
        }
    return false;
}

static void responses_decode_learn(struct ch_decoder *d, struct ch_sv data, struct ch_sv piece,
                                   enum ch_responses_delta kind, unsigned key) {
    struct state *st = responses_decode_state_of(d);
    if (!piece.n || kind == CH_DELTA_REFUSAL ||
        !ch_template_find(data, CH_SV("\"delta\":\""), &piece))
        return;
    st->template_kind = kind;
    st->template_key = key;
    ch_template_learn(&st->template, &(struct ch_template_event){.data = data, .piece = piece});
}

static bool responses_decode_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = responses_decode_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    if (st->template_kind == CH_DELTA_TEXT)
        *rc = ch_fold_text(d->fold, st->template_key, m.piece);
    else if (st->template_kind == CH_DELTA_REASONING)
        *rc = ch_fold_reasoning(d->fold, st->template_key, m.piece);
    else
        *rc = ch_fold_call(d->fold, st->template_key, CH_SV(""), CH_SV(""), m.piece);
    return true;
}

static int item_event(struct ch_decoder *d, struct ch_sv name, const struct event *e,
                      struct ch_sv data) {
    struct state *st = responses_decode_state_of(d);
    struct ch_responses_items *items = items_of(d);
    bool added = ch_sv_is(name, "output_item.added");
    int64_t index = e->output_index;
    if (index < 0)
        index = (int64_t)ch_responses_find(items, e->item_id, e->item, added, st->last);
    if (index >= CH_LIMIT_REPLY_BLOCKS)
        return CHELA_ELIMIT;
    st->last = (unsigned)index;
    if (added)
        return ch_responses_begin(items, d->fold, st->last, e->item);
    if (ch_sv_is(name, "output_item.done")) {
        add_logprobs(d, e->item);
        return ch_responses_done(items, d->fold, st->last, e->item);
    }

    enum ch_responses_delta kind;
    unsigned key;
    bool delta = ch_sv_ends(name, ".delta");
    size_t tail = delta ? 6 : ch_sv_ends(name, ".done") ? 5 : 0;
    if (!tail || !find_stream(ch_sv(name.p, name.n - tail), &kind))
        return CHELA_OK;
    if (!delta) /* for reasoning this is one part; the item's end contains all parts */
        return kind == CH_DELTA_REASONING
                   ? CHELA_OK
                   : ch_responses_settle(items, d->fold, st->last, e->part, kind, e->text);
    int rc = ch_responses_add(items, d->fold, st->last, e->part, kind, e->delta, &key);
    if (rc == CHELA_OK && items->list[st->last].kind != CH_ITEM_SERVICE_CALL)
        responses_decode_learn(d, data, e->delta, kind, key);
    return rc;
}

/* The final status that an event name stands for; {NULL,0}: not final. */
static struct ch_sv final_status(struct ch_sv name) {
    static const char *const names[] = {"completed", "incomplete", "failed", "cancelled"};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(name, names[i]))
            return name;
    return ch_sv_is(name, "done") ? CH_SV("completed") : ch_sv(NULL, 0);
}

static int reply_event(struct ch_decoder *d, struct ch_sv name, const struct event *e,
                       struct chela_error *err) {
    struct ch_sv status = final_status(name);
    if (status.n)
        return use_response(d, &e->response, status, err);
    responses_decode_set_model(d, e->response.model);
    note_job(d, &e->response, name);
    return CHELA_OK;
}

static int responses_decode_on_event(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                                     struct chela_error *err) {
    static const struct ch_sv prefix = CH_SV("response.");
    struct event e;
    int rc;
    if (responses_decode_repeat(d, data, &rc)) {
        find_cursor(d, data);
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    }
    ch_template_clear(&responses_decode_state_of(d)->template);
    if (ch_sv_starts(data, "[DONE]"))
        return CHELA_OK;
    if (!responses_decode_read_event(d, data, &e))
        return ch_decode_malformed(err);
    struct ch_sv type = e.type.n ? e.type : name;
    bool known = ch_sv_starts(type, "response.");
    if (ch_sv_is(type, "error") || (e.has_error && !known))
        return responses_decode_read_error(
            d, data, CH_SV("the server reported an error and did not say which"), err);
    if (!known)
        return CHELA_OK;
    d->recognised = true;
    type = ch_sv(type.p + prefix.n, type.n - prefix.n);
    rc = e.has_response                           ? reply_event(d, type, &e, err)
         : item_event(d, type, &e, data) < 0 ? ch_decode_too_large(err)
                                             : CHELA_OK;
    note_cursor(d, e.sequence);
    return rc;
}

static int responses_decode_on_body(struct ch_decoder *d, struct ch_sv body,
                                    struct chela_error *err) {
    struct ch_pull p;
    struct response r;
    if (*body.p == '[')
        return responses_decode_read_error(d, body, CH_SV(""), err);
    ch_pull_init(&p, body, &d->scratch);
    read_response(&p, &r);
    if (ch_pull_failed(&p))
        return ch_decode_malformed(err);
    if (!ch_sv_is(r.object, "response") && !ch_sv_is(r.object, "response.compaction") &&
        !(r.output.n && r.status.n))
        return responses_decode_read_error(d, body, CH_SV(""), err);
    d->recognised = true;
    return use_response(d, &r, CH_SV("completed"), err);
}

static void responses_decode_on_release(struct ch_decoder *d) {
    ch_responses_items_release(&responses_decode_state_of(d)->items);
    ch_template_release(&responses_decode_state_of(d)->template);
}

const struct ch_codec ch_codec_responses = {
    .name = CH_RESPONSES,
    .state_size = sizeof(struct state),
    .takes_cache_key = true,
    .effort = ch_responses_sent_effort,
    .http = ch_responses_http,
    .head = ch_responses_head,
    .message = ch_responses_message,
    .tail = ch_responses_tail,
    .event = responses_decode_on_event,
    .body = responses_decode_on_body,
    .findings = ch_responses_findings,
    .searches_tools = ch_responses_searches_tools,
    .reads_compaction = ch_responses_reads_compaction,
    .returns_images = true,
    .end = responses_decode_on_end,
    .release = responses_decode_on_release,
};
