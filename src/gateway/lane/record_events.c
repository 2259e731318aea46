/* record_events.c -- see record_events.h. */
#include "gateway/lane/record_events.h"

#include "agent/journal/journal.h"
#include "agent/machine/event.h"
#include "base/limits.h"
#include "base/mem.h"
#include "model/wire/reply_findings.h"
#include "model/message/message_json.h"
#include "json/json.h"
#include "json/writer.h"

#define SPARE_EVENTS 3 /* of a record, besides those of blocks and calls */

struct record_call { /* a call of the last reply */
    struct ch_link link;
    char *id, *name, *arguments; /* owned */
    bool settled;                /* the call has a result, or a person was asked */
    bool done;                   /* the call has a result */
    bool started;
    int64_t since; /* ms: its last start; of a call whose start is not stored, the reply */
};

struct record_note { /* a message that waits for its delivery */
    struct ch_link link;
    uint64_t record;
    char *text; /* owned */
    bool steers;
};

/* --- the state */

static void free_call(struct record_call *c) {
    ch_list_del(&c->link);
    ch_free(c->id);
    ch_free(c->name);
    ch_free(c->arguments);
    ch_free(c);
}

static void free_note(struct record_note *n) {
    ch_list_del(&n->link);
    ch_free(n->text);
    ch_free(n);
}

static void forget_calls(struct ch_record_events *s) {
    for (struct record_call *c; (c = CH_LIST_FIRST(&s->calls, struct record_call, link));)
        free_call(c);
}

void ch_record_events_release(struct ch_record_events *s) {
    if (s->ready)
        forget_calls(s);
    for (struct record_note *n;
         s->ready && (n = CH_LIST_FIRST(&s->notes, struct record_note, link));)
        free_note(n);
    ch_buf_release(&s->session);
    ch_buf_release(&s->agent);
    ch_buf_release(&s->run_agent);
    ch_buf_release(&s->run);
    ch_buf_release(&s->model);
    ch_buf_release(&s->answer);
    ch_buf_release(&s->citations);
}

void ch_record_batch_free(struct ch_record_batch *b) {
    if (!b)
        return;
    ch_list_del(&b->link);
    ch_arena_release(&b->arena);
    ch_free(b);
}

static void set_text(struct ch_buf *to, struct ch_sv text) {
    ch_buf_clear(to);
    ch_buf_add_sv(to, text);
}

/* --- events */

/* A record in progress of being read. */
struct record_reading {
    struct ch_record_events *s;
    struct ch_record_batch *b;
    const struct chela_store_record *record;
    const struct ch_json *v; /* its data */
};

static struct chela_str copy_text(struct record_reading *r, struct ch_sv text) {
    struct ch_sv t = ch_arena_sv(&r->b->arena, text.p ? text : CH_SV(""));
    return (struct chela_str){t.p, t.n};
}

static struct chela_event *add_event(struct record_reading *r, enum chela_event_type type) {
    struct chela_event *ev = &r->b->events[r->b->n++];
    *ev = (struct chela_event){.type = type,
                               .run = copy_text(r, ch_buf_sv(&r->s->run)).p,
                               .seq = r->s->seq++,
                               .ts = r->record->ts};
    return ev;
}

static int64_t number_of(const struct ch_json *v, const char *name) {
    return ch_json_int(ch_json_get(v, name), 0);
}

static struct chela_usage usage_of(const struct ch_json *v) {
    const struct ch_json *u = ch_json_get(v, "usage");
    const struct ch_json *cost = ch_json_get(v, "cost");
    return (struct chela_usage){.input = number_of(u, "input"),
                                .output = number_of(u, "output"),
                                .cache_read = number_of(u, "cache_read"),
                                .cache_write = number_of(u, "cache_write"),
                                .reasoning = number_of(u, "reasoning"),
                                .cost_usd = ch_json_double(cost, 0)};
}

static int choice_of(struct record_reading *r, enum chela_choice set, const char *name,
                     int otherwise) {
    struct ch_sv word = ch_json_get_str(r->v, name);
    int value = otherwise;
    if (word.n)
        chela_choice_read(set, copy_text(r, word).p, &value, NULL);
    return value;
}

static void begin_run(struct record_reading *r) {
    struct ch_record_events *s = r->s;
    struct chela_event *ev = add_event(r, CHELA_EV_RUN_START);
    s->begun = true;
    ev->start.session = copy_text(r, ch_buf_sv(&s->session)).p;
    const struct ch_buf *agent = s->run_agent.n ? &s->run_agent : &s->agent;
    ev->start.agent = copy_text(r, ch_buf_sv(agent)).p;
    ev->start.model = copy_text(r, ch_buf_sv(&s->model)).p;
    ev->start.mode =
        (enum chela_mode)choice_of(r, CHELA_CHOICE_MODE, "mode", CHELA_MODE_REACT);
    ev->start.prompt = copy_text(r, ch_json_get_str(r->v, "prompt")).p;
}

/* Handles a record whose run differs from the run of the previous record. */
static void use_run(struct record_reading *r) {
    struct ch_sv run = ch_json_get_str(r->v, "run");
    if (!run.n || ch_sv_eq(run, ch_buf_sv(&r->s->run)))
        return;
    set_text(&r->s->run, run);
    ch_buf_clear(&r->s->answer);
    ch_buf_clear(&r->s->citations);
    forget_calls(r->s);
    r->s->seq = r->s->since = 0;
    r->s->begun = r->s->paused = r->s->open = false;
}

/* --- replies */

static char *arguments_of(const struct ch_json *block) {
    struct ch_sv raw = ch_json_get_str(block, "arguments_raw");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (raw.p)
        return ch_strndup(raw.p, raw.n);
    ch_jw_value(&w, ch_json_get(block, "arguments"));
    return ch_buf_take(&text);
}

static struct record_call *keep_call(struct record_reading *r, const struct ch_json *block) {
    struct record_call *c = ch_alloc(sizeof(*c));
    struct ch_sv id = ch_json_get_str(block, "id"), name = ch_json_get_str(block, "name");
    c->id = ch_strndup(id.p ? id.p : "", id.n);
    c->name = ch_strndup(name.p ? name.p : "", name.n);
    c->arguments = arguments_of(block);
    c->since = r->record->ts;
    ch_list_add(&r->s->calls, &c->link);
    return c;
}

static void tell_call(struct record_reading *r, enum chela_event_type type,
                      const struct record_call *c) {
    struct chela_event *ev = add_event(r, type);
    ev->call.id = copy_text(r, ch_sv_str(c->id));
    ev->call.name = copy_text(r, ch_sv_str(c->name));
    ev->call.arguments = copy_text(r, ch_sv_str(c->arguments));
}

static void tell_delta(struct record_reading *r, enum chela_event_type type, struct ch_sv text) {
    struct chela_event *ev = add_event(r, type);
    ev->delta.text = ev->delta.so_far = copy_text(r, text);
}

/* Emits the parts of a reply beside text and calls. Returns its sources, a JSON array. */
static struct chela_str tell_extras(struct record_reading *r, const struct ch_json *message) {
    struct ch_findings f = {0};
    struct ch_msg *m = NULL;
    CH_BUF_AUTO citations = {0};
    if (ch_msg_read(message, &m, NULL) < 0)
        return copy_text(r, CH_SV(""));
    ch_findings_read(&f, m);
    ch_findings_write(&f, &citations);
    for (size_t i = 0; i < ch_findings_ncalls(&f); i++) {
        const struct ch_server_call *c = ch_findings_call_at(&f, i);
        struct chela_event *ev = add_event(r, CHELA_EV_SERVER_TOOL);
        ev->server.id = copy_text(r, c->id);
        ev->server.name = copy_text(r, c->name);
        ev->server.arguments = copy_text(r, c->arguments);
        ev->server.result = copy_text(r, c->result);
    }
    ch_findings_release(&f);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_IMAGE && b->type != CH_BLOCK_AUDIO)
            continue;
        struct chela_event *ev = add_event(r, CHELA_EV_MEDIA);
        ev->made.media_type = copy_text(r, b->name);
        ev->made.path = copy_text(r, b->id);
        ev->made.url = copy_text(r, b->flags & CH_F_URL ? b->text : CH_SV(""));
    }
    ch_msg_free(m);
    return copy_text(r, ch_buf_sv(&citations));
}

/* The holder emits TURN_END when all calls of the turn have results. */
static void end_turn(struct record_reading *r) {
    struct ch_record_events *s = r->s;
    if (!s->open)
        return;
    struct chela_event *ev = add_event(r, CHELA_EV_TURN_END);
    s->open = false;
    ev->turn.turn = (unsigned)s->turn;
    ev->turn.stop_reason = s->stop;
    ev->turn.usage = s->usage;
    ev->turn.citations = copy_text(r, ch_buf_sv(&s->citations));
}

static void end_turn_if_done(struct record_reading *r) {
    for (CH_LIST_EACH(k, &r->s->calls))
        if (!CH_CONTAINER(k, struct record_call, link)->done)
            return;
    end_turn(r);
}

/* A reply that was cut off has no reason why it stopped. */
static bool reply_is_cut(const struct record_reading *r, struct ch_sv text) {
    return !ch_json_get(r->v, "stop") && ch_sv_ends(text, CH_REPLY_CUT);
}

static void read_reply(struct record_reading *r, const struct ch_json *message) {
    const struct ch_json *content = ch_json_get(message, "content");
    struct ch_record_events *s = r->s;
    bool cut = false;
    struct ch_sv model = ch_json_get_str(ch_json_get(r->v, "request"), "model");
    if (model.n)
        set_text(&s->model, model);
    end_turn(r);
    s->turn = (uint64_t)number_of(r->v, "turn");
    ch_buf_clear(&s->answer);
    forget_calls(s);
    add_event(r, CHELA_EV_TURN_START)->turn.turn = (unsigned)s->turn;
    for (CH_JSON_EACH(block, content)) {
        struct ch_sv type = ch_json_get_str(block, "type"), text = ch_json_get_str(block, "text");
        cut = reply_is_cut(r, text);
        if (cut)
            text.n -= strlen(CH_REPLY_CUT);
        if (ch_sv_is(type, "reasoning") && text.n)
            tell_delta(r, CHELA_EV_REASONING_DELTA, text);
        else if ((ch_sv_is(type, "text") || ch_sv_is(type, "refusal")) && text.n)
            tell_delta(r, CHELA_EV_TEXT_DELTA, text);
        else if (ch_sv_is(type, "tool_call"))
            tell_call(r, CHELA_EV_TOOL_CALL, keep_call(r, block));
        if (ch_sv_is(type, "text") || ch_sv_is(type, "refusal"))
            ch_buf_add_sv(&s->answer, text);
    }
    struct chela_str citations = tell_extras(r, message);
    set_text(&s->citations, ch_sv(citations.p, citations.n));
    s->stop = (enum chela_stop)choice_of(
        r, CHELA_CHOICE_STOP, "stop", cut ? CHELA_STOP_CANCELLED : CHELA_STOP_STOP);
    s->usage = usage_of(r->v);
    s->open = true;
    end_turn_if_done(r);
}

/* --- messages */

static struct ch_sv first_text(const struct ch_json *message) {
    const struct ch_json *content = ch_json_get(message, "content");
    if (ch_json_is(content, CH_JSON_STRING))
        return ch_json_str(content);
    for (CH_JSON_EACH(block, content))
        if (ch_sv_is(ch_json_get_str(block, "type"), "text"))
            return ch_json_get_str(block, "text");
    return CH_SV("");
}

static void read_inbound(struct record_reading *r) {
    struct ch_sv mode = ch_json_get_str(r->v, "mode"), event = ch_json_get_str(r->v, "event");
    if (event.n)
        r->b->taken = copy_text(r, event).p;
    r->b->mode = copy_text(r, mode).p;
    if (ch_sv_is(mode, "start")) { /* the STATE record that follows begins the run */
        set_text(&r->s->run_agent, ch_json_get_str(r->v, "agent"));
        return;
    }
    struct record_note *n = ch_alloc(sizeof(*n));
    struct ch_sv text = first_text(ch_json_get(r->v, "message"));
    n->record = r->record->seq;
    n->text = ch_strndup(text.p, text.n);
    n->steers = ch_sv_is(mode, "steer");
    ch_list_add(&r->s->notes, &n->link);
}

static void deliver_note(struct record_reading *r, uint64_t record) {
    for (CH_LIST_EACH(k, &r->s->notes)) {
        struct record_note *n = CH_CONTAINER(k, struct record_note, link);
        if (n->record != record)
            continue;
        if (r->s->begun && !ch_json_bool(ch_json_get(r->v, "dropped"), false))
            add_event(r, n->steers ? CHELA_EV_STEERING : CHELA_EV_FOLLOW_UP)->note.text =
                copy_text(r, ch_sv_str(n->text));
        free_note(n);
        return;
    }
}

static void read_message(struct record_reading *r) {
    const struct ch_json *m = ch_json_get(r->v, "message"), *of = ch_json_get(r->v, "of");
    if (of)
        deliver_note(r, (uint64_t)ch_json_int(of, 0));
    else if (ch_sv_is(ch_json_get_str(m, "role"), "assistant"))
        read_reply(r, m);
}

/* --- calls */

static struct record_call *find_call(const struct ch_record_events *s, struct ch_sv id) {
    for (CH_LIST_EACH(k, &s->calls)) {
        struct record_call *c = CH_CONTAINER(k, struct record_call, link);
        if (ch_sv_is(id, c->id))
            return c;
    }
    return NULL;
}

static struct record_call *call_at(const struct ch_record_events *s, int64_t index) {
    for (CH_LIST_EACH(k, &s->calls))
        if (index-- == 0)
            return CH_CONTAINER(k, struct record_call, link);
    return NULL;
}

static void read_result(struct record_reading *r) {
    for (CH_JSON_EACH(block, ch_json_path(r->v, "message", "content", NULL))) {
        struct ch_sv id = ch_json_get_str(block, "id");
        if (!ch_sv_is(ch_json_get_str(block, "type"), "tool_result"))
            continue;
        const struct ch_json *content = ch_json_get(block, "content");
        struct record_call *c = find_call(r->s, id);
        struct chela_event *ev = add_event(r, CHELA_EV_TOOL_RESULT);
        if (c) {
            c->settled = c->done = true;
            ev->result.duration_ms = CH_MAX(r->record->ts - c->since, 0);
        }
        ev->result.id = copy_text(r, id);
        ev->result.name = copy_text(r, ch_json_get_str(block, "name"));
        ev->result.is_error = ch_json_bool(ch_json_get(block, "is_error"), false) ||
                              ch_json_bool(ch_json_get(block, "denied"), false);
        ev->result.content = copy_text(
            r, ch_json_is(content, CH_JSON_STRING) ? ch_json_str(content) : first_text(block));
        ev->result.attempts = ch_json_bool(ch_json_get(r->v, "ran"), false);
        end_turn_if_done(r);
        return; /* a record has one result */
    }
}

static void read_asked(struct record_reading *r) {
    struct record_call *c = call_at(r->s, number_of(r->v, "call"));
    struct ch_sv approval = ch_json_get_str(r->v, "approval"), id = ch_json_get_str(r->v, "id");
    if (c)
        c->settled = true;
    if (!id.n && c)
        id = ch_sv_str(c->id);
    struct chela_event *ev =
        add_event(r, approval.n ? CHELA_EV_APPROVAL_REQUIRED : CHELA_EV_CLIENT_TOOL_REQUIRED);
    struct chela_str name = copy_text(r, ch_json_get_str(r->v, "name"));
    struct chela_str arguments = copy_text(r, ch_json_get_str(r->v, "arguments"));
    if (!approval.n) {
        ev->call.id = copy_text(r, id);
        ev->call.name = name;
        ev->call.arguments = arguments;
        return;
    }
    ev->approval.approval_id = copy_text(r, approval);
    ev->approval.id = copy_text(r, id);
    ev->approval.name = name;
    ev->approval.arguments = arguments;
    ev->approval.summary = copy_text(r, ch_json_get_str(r->v, "summary"));
    ev->approval.can_remember = ch_json_bool(ch_json_get(r->v, "remember"), false);
}

static void read_started(struct record_reading *r) {
    struct record_call *c = find_call(r->s, ch_json_get_str(r->v, "id"));
    if (c && !c->started) /* a call that continues after a question starts again */
        tell_call(r, CHELA_EV_TOOL_START, c);
    if (c) {
        c->started = true;
        c->since = r->record->ts;
    }
}

/* --- the machine */

static void end_run(struct record_reading *r, enum chela_status status) {
    struct ch_record_events *s = r->s;
    for (CH_LIST_EACH(k, &s->calls)) {
        const struct record_call *c = CH_CONTAINER(k, struct record_call, link);
        if (status == CHELA_STATUS_PAUSED && !c->settled && !c->started)
            tell_call(r, CHELA_EV_CLIENT_TOOL_REQUIRED, c);
    }
    uint64_t next = (uint64_t)number_of(r->v, "seq"); /* number of the event after the RUN_END */
    if (status != CHELA_STATUS_PAUSED && s->seq + 1 < next) /* else the holder emitted none */
        end_turn(r);
    s->seq = CH_MAX(s->seq, next ? next - 1 : 0);
    struct chela_event *ev = add_event(r, CHELA_EV_RUN_END);
    const struct ch_json *below = ch_json_get(r->v, "below");
    s->begun = false;
    s->paused = status == CHELA_STATUS_PAUSED;
    ev->end.status = status;
    ev->end.reason = (enum chela_reason)choice_of(r, CHELA_CHOICE_REASON, "reason",
                                                  CHELA_REASON_NONE);
    ev->end.text = copy_text(r, ch_buf_sv(&s->answer));
    ev->end.citations = copy_text(r, ch_buf_sv(&s->citations));
    ev->end.error = copy_text(r, ch_json_get_str(r->v, "error"));
    ev->end.ending = copy_text(r, ch_json_get_str(r->v, "ending"));
    ev->end.turns = (unsigned)(number_of(r->v, "turns") + number_of(below, "turns"));
    ev->end.tool_calls =
        (unsigned)(number_of(r->v, "tool_calls") + number_of(below, "tool_calls"));
    ev->end.usage = usage_of(r->v);
    if (status == CHELA_STATUS_PAUSED)
        return;
    forget_calls(s); /* a reader of an idle session keeps little */
    ch_buf_release(&s->answer);
    ch_buf_release(&s->citations);
}

static void read_state(struct record_reading *r) {
    struct ch_record_events *s = r->s;
    struct ch_sv word = ch_json_get_str(r->v, "status");
    uint64_t seq = (uint64_t)number_of(r->v, "seq");
    enum chela_status status = (enum chela_status)choice_of(r, CHELA_CHOICE_STATUS, "status",
                                                            CHELA_STATUS_PAUSED);
    /* a paused run that is cancelled has no record of a running state */
    if (!s->begun &&
        (ch_sv_is(word, "running") || (s->paused && status != CHELA_STATUS_PAUSED)))
        begin_run(r);
    if (s->begun && !ch_sv_is(word, "running"))
        end_run(r, status);
    s->seq = s->since = CH_MAX(s->seq, seq);
}

static void read_compaction(struct record_reading *r) {
    if (!r->s->begun)
        return;
    struct chela_event *ev = add_event(r, CHELA_EV_COMPACTION);
    ev->compaction.strategy = (enum chela_compacted)choice_of(r, CHELA_CHOICE_COMPACTED, "strategy",
                                                              CHELA_COMPACTED_PRUNE);
    ev->compaction.tokens_before = (size_t)number_of(r->v, "tokens_before");
    ev->compaction.tokens_after = (size_t)number_of(r->v, "tokens_after");
}

static void read_epoch(struct record_reading *r) {
    int64_t n = number_of(r->v, "n");
    if (!r->s->begun || n < 2)
        return;
    struct chela_event *ev = add_event(r, CHELA_EV_EPOCH);
    ev->epoch.n = (unsigned)n;
    ev->epoch.reason = ch_arena_str(&r->b->arena, ch_json_get_str(r->v, "reason"));
}

static size_t events_at_most(const struct record_reading *r) {
    size_t n = SPARE_EVENTS;
    for (CH_JSON_EACH(block, ch_json_path(r->v, "message", "content", NULL)))
        n += ch_sv_is(ch_json_get_str(block, "type"), "opaque") ? 1 + CH_LIMIT_CALLS_PER_REPLY : 1;
    for (CH_LIST_EACH(k, &r->s->calls))
        n++;
    return n;
}

static void read_record(struct record_reading *r) {
    static void (*const readers[CH_REC_TYPES])(struct record_reading *r) = {
        [CH_REC_INBOUND] = read_inbound, [CH_REC_MESSAGE] = read_message,
        [CH_REC_STARTED] = read_started, [CH_REC_DONE] = read_result,
        [CH_REC_ASKED] = read_asked,     [CH_REC_COMPACTION] = read_compaction,
        [CH_REC_STATE] = read_state,     [CH_REC_EPOCH] = read_epoch,
    };
    uint32_t type = r->record->type;
    use_run(r);
    r->b->since = r->s->since;
    r->b->events =
        ch_arena_alloc(&r->b->arena, events_at_most(r) * sizeof(*r->b->events));
    if (type < CH_REC_TYPES && readers[type])
        readers[type](r);
}

bool ch_record_events_make(enum chela_event_type type) {
    switch (type) {
    case CHELA_EV_RUN_START:
    case CHELA_EV_TURN_START:
    case CHELA_EV_TURN_END:
    case CHELA_EV_TOOL_CALL:
    case CHELA_EV_TOOL_RESULT:
    case CHELA_EV_APPROVAL_REQUIRED:
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
    case CHELA_EV_STEERING:
    case CHELA_EV_FOLLOW_UP:
    case CHELA_EV_COMPACTION:
    case CHELA_EV_EPOCH:
    case CHELA_EV_RUN_END:
        return true;
    default:
        return false;
    }
}

struct ch_record_batch *ch_record_events_read(struct ch_record_events *s,
                                              const struct chela_store_record *record) {
    struct ch_record_batch *b = ch_alloc(sizeof(*b));
    struct record_reading r = {.s = s, .b = b, .record = record};
    struct ch_sv data = ch_sv(record->data, record->n);
    if (!s->ready) {
        ch_list_init(&s->calls);
        ch_list_init(&s->notes);
        s->ready = true;
    }
    b->record = record->seq;
    if (ch_json_parse(&b->arena, ch_arena_sv(&b->arena, data), CH_JSON_REPLACE, &r.v, NULL,
                      NULL) == 0)
        read_record(&r);
    if (b->n || b->taken)
        return b;
    ch_record_batch_free(b);
    return NULL;
}
