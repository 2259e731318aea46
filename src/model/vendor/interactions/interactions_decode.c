/* interactions_decode.c -- decodes an interaction, streamed or whole.
 *
 * Events are dispatched by the JSON's own "event_type"; the event name only repeats it.
 * interactions_steps.c decodes steps; this file handles the events, the status and the end:
 *
 *       completed, requires_action    stop, or tool_use if there are calls
 *       incomplete, budget_exceeded   length
 *       requires_continuation         pause
 *       failed, cancelled             an error by its code
 *       queued, in_progress           the service makes the reply in the background: its id
 *
 * A code of an error says whether the service blocked the reply. A whole reply is the interaction
 * with its steps; the event of the end repeats it without them. A delta that differs from the
 * previous one only in its text is matched by a template (delta_fast_path.h). */
#include "base/limits.h"
#include "json/members.h"
#include "model/codec/decode.h"
#include "model/codec/delta_fast_path.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"
#include "model/vendor/gemini/gemini_encode.h"
#include "model/vendor/gemini/gemini_errors.h"
#include "model/vendor/interactions/interactions.h"
#include "model/vendor/interactions/interactions_encode.h"
#include "model/vendor/interactions/interactions_findings.h"
#include "model/vendor/interactions/interactions_steps.h"

struct state {
    struct ch_interactions_steps steps;
    struct ch_sv id;      /* of a reply that the service makes in the background, in the arena */
    struct ch_sv status;  /* that the last event named, in the arena */
    size_t last;          /* index of the last step */
    struct ch_buf scratch;
    struct ch_template template;       /* matches deltas */
    enum ch_block_type template_type;  /* of the block that they extend: text or a call */
    unsigned template_key;             /* its key */
};

static struct state *interactions_state_of(struct ch_decoder *d) {
    return d->state;
}

struct interaction {
    struct ch_sv id, status, model;
    struct ch_sv steps, usage; /* JSON */
    struct ch_sv json;         /* the whole interaction */
    bool has_error, has_errors;
};

static const struct ch_member interaction_members[] = {
    CH_MEMBER(struct interaction, id, "id", CH_MEMBER_STR),
    CH_MEMBER(struct interaction, status, "status", CH_MEMBER_STR),
    CH_MEMBER(struct interaction, model, "model", CH_MEMBER_STR),
    CH_MEMBER(struct interaction, steps, "steps", CH_MEMBER_ARRAY),
    CH_MEMBER(struct interaction, usage, "usage", CH_MEMBER_OBJECT),
    CH_MEMBER(struct interaction, has_error, "error", CH_MEMBER_SOME),
    CH_MEMBER(struct interaction, has_errors, "errors", CH_MEMBER_SOME),
};

/* The tokens of thoughts are no part of the output, nor are those of the service's own tools of the
 * input. */
static void interactions_read_usage(struct ch_decoder *d, struct ch_sv json) {
    struct figures {
        int64_t input, output, thought, cached, tools;
    } u = {0};
    static const struct ch_member members[] = {
        CH_MEMBER(struct figures, input, "total_input_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct figures, output, "total_output_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct figures, thought, "total_thought_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct figures, cached, "total_cached_tokens", CH_MEMBER_INT),
        CH_MEMBER(struct figures, tools, "total_tool_use_tokens", CH_MEMBER_INT),
    };
    if (!json.n)
        return;
    ch_members_read(json, &interactions_state_of(d)->scratch, members, CH_LEN(members), &u);
    int64_t thought = ch_token_count(u.thought);
    d->reply.usage = (struct ch_usage){
        .input = ch_token_count(u.input) + ch_token_count(u.tools),
        .output = ch_token_count(u.output) + thought,
        .cache_read = ch_token_count(u.cached),
        .reasoning = thought,
    };
}

/* --- the end */

static bool is_one_of(struct ch_sv status, const char *a, const char *b) {
    return ch_sv_is(status, a) || ch_sv_is(status, b);
}

/* A status of the end that is not known counts as a normal one. */
static enum ch_stop interactions_stop_of(struct ch_sv status) {
    static const struct ch_stop_word stops[] = {
        {"incomplete", CH_STOP_LENGTH},
        {"budget_exceeded", CH_STOP_LENGTH},
        {"requires_continuation", CH_STOP_PAUSE},
    };
    return ch_decode_stop(stops, CH_LEN(stops), status);
}

static int interactions_fail(struct ch_decoder *d, struct ch_sv json, struct ch_sv status,
                             struct chela_error *err) {
    if (json.n && ch_gemini_read_error(d, json) < 0)
        return ch_decode_malformed(err);
    char *line = ch_arena_printf(&d->arena, "the server ended the reply with status \"%.*s\"",
                                 CH_SV_FMT(status));
    ch_decoder_fail_as(d, CH_ERR_SERVER, true, ch_sv_str(line));
    return CHELA_OK;
}

static int finish(struct ch_decoder *d, struct ch_sv status, struct ch_sv json,
                  struct chela_error *err) {
    struct ch_interactions_steps *steps = &interactions_state_of(d)->steps;
    d->recognised = true;
    d->reply.stop_raw = ch_arena_sv(&d->arena, status);
    if (steps->error.n || is_one_of(status, "failed", "cancelled"))
        return interactions_fail(d, steps->error.n ? ch_buf_sv(&steps->error) : json, status, err);
    if (ch_interactions_end_all(steps, d->fold) < 0)
        return ch_decode_too_large(err);
    d->reply.stop = interactions_stop_of(status);
    d->reply.complete = d->stopped = true;
    return CHELA_OK;
}

/* True if the request asked for a reply that is made in the background. */
static bool in_background(const struct ch_decoder *d) {
    const struct ch_model_request req = {.endpoint = d->endpoint};
    return d->endpoint && ch_encode_extra_has(&req, "background");
}

static void note_interaction(struct ch_decoder *d, const struct interaction *x) {
    struct state *st = interactions_state_of(d);
    if (x->model.n && !ch_sv_eq(x->model, d->reply.model))
        d->reply.model = ch_arena_sv(&d->arena, x->model);
    interactions_read_usage(d, x->usage);
    if (!st->id.n && x->id.n && in_background(d))
        d->reply.job = st->id = ch_decode_job_id(d, x->id);
}

static int use_interaction(struct ch_decoder *d, const struct interaction *x,
                           struct chela_error *err) {
    struct state *st = interactions_state_of(d);
    struct ch_sv status = x->status.n ? x->status : CH_SV("completed");
    note_interaction(d, x);
    if (ch_interactions_whole(&st->steps, d->fold, x->steps) < 0)
        return ch_decode_too_large(err);
    if (is_one_of(status, "queued", "in_progress")) {
        ch_decode_pending(d, x->id, status);
        return CHELA_OK;
    }
    return finish(d, status, x->json, err);
}

/* A stream may end with the status, and without the event of the end. */
static void interactions_on_end(struct ch_decoder *d) {
    struct state *st = interactions_state_of(d);
    bool open = !d->reply.complete && d->reply.error.cls == CH_ERR_NONE && d->status / 100 == 2;
    if (open && is_one_of(st->status, "failed", "cancelled"))
        finish(d, st->status, CH_SV(""), NULL);
    else if (open)
        d->reply.pending = st->id;
}

/* --- events */

struct event {
    struct ch_sv type, status;
    struct ch_sv step, total_usage; /* JSON */
    int64_t index;
    bool has_error;
    struct ch_interactions_delta delta;
    struct ch_sv interaction; /* JSON */
};

static bool interactions_read_event(struct ch_decoder *d, struct ch_sv data, struct event *e) {
#define DELTA(field, name, kind) CH_MEMBER(struct event, delta.field, name, kind)
    static const struct ch_member delta[] = {
        DELTA(type, "type", CH_MEMBER_STR),
        DELTA(text, "text", CH_MEMBER_STR),
        DELTA(signature, "signature", CH_MEMBER_STR),
        DELTA(arguments, "arguments", CH_MEMBER_TEXT),
        DELTA(media_type, "mime_type", CH_MEMBER_STR),
        DELTA(data, "data", CH_MEMBER_STR),
        DELTA(content, "content", CH_MEMBER_OBJECT),
        DELTA(annotations, "annotations", CH_MEMBER_ARRAY),
    };
#undef DELTA
    static const struct ch_member metadata[] = {
        CH_MEMBER(struct event, total_usage, "total_usage", CH_MEMBER_OBJECT),
    };
    static const struct ch_member members[] = {
        CH_MEMBER(struct event, type, "event_type", CH_MEMBER_STR),
        CH_MEMBER(struct event, status, "status", CH_MEMBER_STR),
        CH_MEMBER(struct event, index, "index", CH_MEMBER_INT),
        CH_MEMBER(struct event, step, "step", CH_MEMBER_OBJECT),
        CH_MEMBER(struct event, has_error, "error", CH_MEMBER_SOME),
        CH_MEMBERS_RAW_IN(struct event, delta.json, "delta", delta),
        CH_MEMBER(struct event, interaction, "interaction", CH_MEMBER_OBJECT),
        CH_MEMBERS_IN("metadata", metadata),
    };
    *e = (struct event){.index = -1};
    return ch_members_read(data, &d->scratch, members, CH_LEN(members), e);
}

static struct interaction read_interaction(struct ch_decoder *d, struct ch_sv json) {
    struct interaction x = {.json = json};
    ch_members_read(json, &interactions_state_of(d)->scratch, interaction_members,
                    CH_LEN(interaction_members), &x);
    return x;
}

/* Texts and arguments repeat; the next delta of this step extends the same block. */
static void interactions_learn(struct ch_decoder *d, struct ch_sv data, const struct event *e) {
    struct state *st = interactions_state_of(d);
    bool text = ch_sv_is(e->delta.type, "text"), call = ch_sv_is(e->delta.type, "arguments_delta");
    struct ch_sv piece = text ? e->delta.text : e->delta.arguments;
    struct ch_sv name = text ? CH_SV("\"text\":\"") : CH_SV("\"arguments\":\"");
    enum ch_block_type type;
    unsigned key;
    if ((!text && !call) || !piece.n || e->total_usage.n ||
        !ch_interactions_target(&st->steps, st->last, &type, &key) ||
        type != (text ? CH_BLOCK_TEXT : CH_BLOCK_TOOL_CALL) ||
        !ch_template_find(data, name, &piece))
        return;
    st->template_type = type;
    st->template_key = key;
    ch_template_learn(&st->template, &(struct ch_template_event){.data = data, .piece = piece});
}

static bool interactions_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = interactions_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    *rc = st->template_type == CH_BLOCK_TEXT
              ? ch_fold_text(d->fold, st->template_key, m.piece)
              : ch_fold_call(d->fold, st->template_key, CH_SV(""), CH_SV(""), m.piece);
    return true;
}

static int step_event(struct ch_decoder *d, const struct event *e, struct ch_sv data) {
    struct state *st = interactions_state_of(d);
    size_t index = e->index >= 0 ? (size_t)e->index : st->last;
    st->last = index;
    if (ch_sv_is(e->type, "step.start"))
        return ch_interactions_begin(&st->steps, d->fold, index, e->step);
    if (ch_sv_is(e->type, "step.stop"))
        return ch_interactions_end(&st->steps, d->fold, index);
    if (!ch_sv_is(e->type, "step.delta"))
        return CHELA_OK;
    interactions_read_usage(d, e->total_usage);
    int rc = ch_interactions_grow(&st->steps, d->fold, index, &e->delta);
    if (rc == CHELA_OK)
        interactions_learn(d, data, e);
    return rc;
}

static int interaction_event(struct ch_decoder *d, const struct event *e, struct chela_error *err) {
    struct interaction x = read_interaction(d, e->interaction);
    if (ch_sv_is(e->type, "interaction.completed"))
        return use_interaction(d, &x, err);
    note_interaction(d, &x);
    if (e->status.n)
        interactions_state_of(d)->status = ch_arena_sv(&d->arena, e->status);
    return CHELA_OK;
}

static int interactions_on_event(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                                 struct chela_error *err) {
    struct event e;
    int rc;
    if (interactions_repeat(d, data, &rc))
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    ch_template_clear(&interactions_state_of(d)->template);
    if (ch_sv_starts(data, "[DONE]"))
        return CHELA_OK;
    if (!interactions_read_event(d, data, &e))
        return ch_decode_malformed(err);
    e.type = e.type.n ? e.type : name;
    bool step = ch_sv_starts(e.type, "step."), whole = ch_sv_starts(e.type, "interaction.");
    if (!step && !whole)
        return e.has_error ? interactions_fail(d, data, CH_SV("error"), err) : CHELA_OK;
    d->recognised = true;
    if (whole)
        return interaction_event(d, &e, err);
    return step_event(d, &e, data) < 0 ? ch_decode_too_large(err) : CHELA_OK;
}

/* --- bodies */

/* Some errors are framed as an event, whatever the status. */
static struct ch_sv unframed(struct ch_sv body) {
    static const struct ch_sv mark = CH_SV("data:");
    const char *at = ch_sv_starts(body, "event:") || ch_sv_starts(body, "data:")
                         ? memmem(body.p, body.n, mark.p, mark.n)
                         : NULL;
    if (!at)
        return body;
    struct ch_sv rest = ch_sv(at + mark.n, (size_t)(body.p + body.n - at) - mark.n);
    return ch_sv_split(&rest, '\n');
}

static int interactions_on_body(struct ch_decoder *d, struct ch_sv body, struct chela_error *err) {
    struct interaction x = {.json = unframed(body)};
    if (!ch_members_read(x.json, &d->scratch, interaction_members, CH_LEN(interaction_members), &x))
        return ch_decode_malformed(err);
    if (x.has_error || !(x.status.n || x.steps.n))
        return ch_gemini_read_error(d, x.json) < 0 ? ch_decode_malformed(err) : CHELA_OK;
    return use_interaction(d, &x, err);
}

static void interactions_on_release(struct ch_decoder *d) {
    struct state *st = interactions_state_of(d);
    ch_interactions_steps_release(&st->steps);
    ch_buf_release(&st->scratch);
    ch_template_release(&st->template);
}

const struct ch_codec ch_codec_interactions = {
    .name = CH_INTERACTIONS,
    .state_size = sizeof(struct state),
    .http = ch_interactions_http,
    .head = ch_interactions_head,
    .message = ch_interactions_message,
    .tail = ch_interactions_tail,
    .event = interactions_on_event,
    .body = interactions_on_body,
    .takes_schema = ch_gemini_takes_schema,
    .effort = ch_interactions_sent_effort,
    .findings = ch_interactions_findings,
    .returns_images = true,
    .end = interactions_on_end,
    .release = interactions_on_release,
};
