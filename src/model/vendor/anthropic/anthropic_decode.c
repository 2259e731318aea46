/* anthropic_decode.c -- decodes a Messages reply, streamed or whole.
 *
 * The fold key of a block is its index on the wire. Events are dispatched by the JSON's own
 * "type"; the event name only repeats it. Members may come in any order: an event is parsed
 * first and used afterwards. Deltas, nearly all events of a stream, have a fast path for
 * Anthropic's notation; deltas of other servers are matched by templates
 * (delta_fast_path.h).
 *
 * Blocks of unknown types (server tools and their results, compaction, future types) are
 * kept as JSON and sent back unchanged. The container of the service's code execution is kept
 * as a block of its own. Usage is cumulative: later figures replace earlier
 * ones. */
#include "base/limits.h"
#include "base/vector.h"
#include "model/codec/decode.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"
#include "model/codec/fold.h"
#include "model/codec/opaque.h"
#include "model/catalog/thinking.h"
#include "model/codec/delta_fast_path.h"
#include "model/vendor/anthropic/anthropic_findings.h"
#include "json/members.h"
#include "json/pull.h"
#include "json/scan.h"
#include "model/vendor/anthropic/anthropic_encode.h"

#define QUICK_LEAD 112
/* wire indices are smaller than these keys */
#define REFUSAL_KEY (CH_FOLD_KEYS - 1)
#define CONTAINER_KEY (CH_FOLD_KEYS - 2)

enum delta { D_TEXT, D_JSON, D_THINKING, D_SIGNATURE, D_OTHER };

struct tokens {
    int64_t input, cache_write, cache_read, output, thinking;
    int64_t cache_write_5m, cache_write_1h;
};

struct state {
    struct ch_sv id; /* id of the message, in the arena; empty: none yet */
    struct tokens tokens;
    struct tokens compaction; /* of the service's compactions, which `tokens` do not include */

    /* State of the current block; blocks do not overlap. */
    unsigned key;
    bool citing;          /* its citations, an unterminated JSON array, are being collected */
    bool has_input;       /* a call whose start contained input */
    struct ch_buf start;  /* that input, or the start of an opaque block */
    struct ch_buf deltas; /* deltas of an opaque block, an unterminated JSON array */
    struct ch_sv type;    /* type of an opaque block, in the arena; else empty */

    struct ch_template template; /* matches the deltas of another server than Anthropic's */
    enum delta template_kind;    /* kind of these deltas */
    unsigned template_key;       /* key of the block that they are appended to */

    /* The last delta in Anthropic's notation, which the next one usually repeats up to its
     * string: those bytes, kind and block. nlead 0: none, or the event since was no delta. */
    char lead[QUICK_LEAD];
    size_t nlead;
    enum delta lead_kind;
    unsigned lead_key;
};

static struct state *anthropic_decode_state_of(struct ch_decoder *d) {
    return d->state;
}

/* --- stop reasons and usage */

static enum ch_stop anthropic_decode_stop_of(struct ch_sv raw) {
    static const struct ch_stop_word stops[] = {
        {"tool_use", CH_STOP_TOOL_USE},
        {"max_tokens", CH_STOP_LENGTH},
        {"model_context_window_exceeded", CH_STOP_LENGTH},
        {"refusal", CH_STOP_REFUSAL},
        {"sensitive", CH_STOP_REFUSAL},
        {"pause_turn", CH_STOP_PAUSE},
        {"compaction", CH_STOP_PAUSE},
    };
    return ch_decode_stop(stops, CH_LEN(stops), raw);
}

static void anthropic_decode_set_stop(struct ch_decoder *d, struct ch_sv raw) {
    if (!raw.n)
        return;
    d->reply.stop_raw = ch_arena_sv(&d->arena, raw);
    d->reply.stop = anthropic_decode_stop_of(raw);
}

/* --- blocks */

struct wire_block {
    struct ch_sv type, text, thinking, signature, data, id, name;
    struct ch_sv input, citations, caller; /* JSON */
};

/* True if the request declares a tool of this name that Anthropic defined and clients run. */
static bool is_vendors_tool(const struct ch_decoder *d, struct ch_sv name) {
    static const char *const types[] = {"bash_*", "text_editor_*", "memory_*"};
    for (size_t i = 0; d->endpoint && name.n && i < CH_LEN(types); i++)
        if (ch_encode_declares(d->endpoint, d->server_tools, types[i], name))
            return true;
    return false;
}

static int anthropic_decode_begin_call(struct ch_decoder *d, unsigned key,
                                       const struct wire_block *b) {
    struct state *st = anthropic_decode_state_of(d);
    int rc = ch_fold_call(d->fold, key, b->id, b->name, CH_SV(""));
    if (rc == CHELA_OK && b->caller.n)
        rc = ch_fold_extra(d->fold, key, b->caller);
    if (is_vendors_tool(d, b->name))
        ch_fold_runner(d->fold, key, CH_RUN_RUNTIME);
    CH_BUF_AUTO scratch = {0};
    struct ch_sv input = b->input;
    struct ch_pull p;
    ch_pull_init(&p, input, &scratch);
    bool text = ch_pull_str(&p, &input); /* some servers send the object as a text */
    /* The input in the start event is usually {}; other input counts only if no delta
     * follows. */
    st->has_input = text ? input.n > 0 : input.n > 2 && *input.p == '{';
    if (st->has_input)
        ch_buf_add_sv(&st->start, input);
    return rc;
}

static int begin_opaque(struct ch_decoder *d, unsigned key, struct ch_sv type, struct ch_sv json) {
    struct state *st = anthropic_decode_state_of(d);
    st->type = ch_arena_sv(&d->arena, type);
    ch_buf_add_sv(&st->start, json);
    return ch_fold_opaque(d->fold, key, type, json);
}

static int begin_text(struct ch_decoder *d, unsigned key, const struct wire_block *b) {
    int rc = ch_fold_text(d->fold, key, b->text);
    if (rc == CHELA_OK && b->citations.n > 2 && *b->citations.p == '[')
        rc = ch_fold_extra(d->fold, key, b->citations);
    return rc;
}

static int begin_thinking(struct ch_decoder *d, unsigned key, const struct wire_block *b) {
    int rc = ch_fold_reasoning(d->fold, key, b->thinking);
    return rc < 0 ? rc : ch_fold_extra(d->fold, key, b->signature);
}

/* Merge the start of an opaque block with its deltas. */
static int end_opaque(struct ch_decoder *d, struct chela_error *err) {
    struct state *st = anthropic_decode_state_of(d);
    CH_BUF_AUTO json = {0};
    ch_buf_addc(&st->deltas, ']');
    ch_opaque_merge(ch_buf_sv(&st->start), ch_buf_sv(&st->deltas), &json);
    if (ch_fold_opaque(d->fold, st->key, st->type, ch_buf_sv(&json)) < 0)
        return ch_decode_too_large(err);
    return CHELA_OK;
}

/* Complete the current block by the parts that were kept for its end. */
static int anthropic_decode_settle(struct ch_decoder *d, struct chela_error *err) {
    struct state *st = anthropic_decode_state_of(d);
    int rc = st->type.p && st->deltas.n ? end_opaque(d, err) : CHELA_OK;
    if (st->has_input && !ch_fold_block_text(d->fold, st->key).n)
        ch_fold_replace(d->fold, st->key, ch_buf_sv(&st->start));
    if (st->citing)
        ch_fold_extra(d->fold, st->key, CH_SV("]"));
    st->citing = st->has_input = false;
    st->type = ch_sv(NULL, 0);
    return rc;
}

/* `json` is the source text of b. */
static int anthropic_decode_begin_block(struct ch_decoder *d, unsigned key, struct ch_sv json,
                                        const struct wire_block *b, struct chela_error *err) {
    struct state *st = anthropic_decode_state_of(d);
    int rc = anthropic_decode_settle(d, err); /* some servers begin all blocks, then end all */
    if (rc < 0)
        return rc;
    if (!json.n)
        return ch_decode_malformed(err);
    ch_fold_release_key(d->fold, key); /* a reused index is a new block */
    st->key = key;
    ch_buf_clear(&st->start);
    ch_buf_clear(&st->deltas);
    if (ch_sv_is(b->type, "text")) {
        rc = begin_text(d, key, b);
    } else if (ch_sv_is(b->type, "tool_use")) {
        rc = anthropic_decode_begin_call(d, key, b);
    } else if (ch_sv_is(b->type, "thinking")) {
        rc = begin_thinking(d, key, b);
    } else if (ch_sv_is(b->type, "redacted_thinking")) {
        rc = ch_fold_reasoning(d->fold, key, CH_SV(""));
        ch_fold_flag(d->fold, key, CH_F_REDACTED);
        rc = rc < 0 ? rc : ch_fold_extra(d->fold, key, b->data);
    } else {
        rc = begin_opaque(d, key, b->type, json);
    }
    return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
}

static int anthropic_decode_end_block(struct ch_decoder *d, unsigned key, struct chela_error *err) {
    bool current = key == anthropic_decode_state_of(d)->key;
    int rc = current ? anthropic_decode_settle(d, err) : CHELA_OK;
    ch_fold_close(d->fold, key);
    return rc;
}

/* --- deltas */

static const struct {
    struct ch_sv type, lead; /* lead: the bytes of a delta before its string */
} deltas[] = {
    [D_TEXT] = {CH_SV("text_delta"), CH_SV("{\"type\":\"text_delta\",\"text\":\"")},
    [D_JSON] = {CH_SV("input_json_delta"),
                CH_SV("{\"type\":\"input_json_delta\",\"partial_json\":\"")},
    [D_THINKING] = {CH_SV("thinking_delta"), CH_SV("{\"type\":\"thinking_delta\",\"thinking\":\"")},
    [D_SIGNATURE] = {CH_SV("signature_delta"),
                     CH_SV("{\"type\":\"signature_delta\",\"signature\":\"")},
};

static int anthropic_decode_fold_piece(struct ch_decoder *d, unsigned key, enum delta kind,
                                       struct ch_sv piece) {
    switch (kind) {
    case D_TEXT:
        return ch_fold_text(d->fold, key, piece);
    case D_JSON:
        return ch_fold_call(d->fold, key, CH_SV(""), CH_SV(""), piece);
    case D_THINKING:
        return ch_fold_reasoning(d->fold, key, piece);
    case D_SIGNATURE:
        return ch_fold_extra(d->fold, key, piece);
    case D_OTHER:
        break;
    }
    return CHELA_OK;
}

static int anthropic_decode_cite(struct ch_decoder *d, unsigned key, struct ch_sv citation) {
    struct state *st = anthropic_decode_state_of(d);
    if (!citation.n || key != st->key)
        return CHELA_OK;
    int rc = ch_fold_extra(d->fold, key, st->citing ? CH_SV(",") : CH_SV("["));
    st->citing = true;
    return rc < 0 ? rc : ch_fold_extra(d->fold, key, citation);
}

/* The parts of a delta, in any order. */
struct pieces {
    struct ch_sv type, of[D_OTHER], citation;
    struct ch_sv raw; /* the last piece, undecoded */
    unsigned n;       /* number of pieces */
};

static void anthropic_decode_read_pieces(struct ch_pull *p, struct pieces *x) {
    static const char *const members[] = {
        [D_TEXT] = "text",
        [D_JSON] = "partial_json",
        [D_THINKING] = "thinking",
        [D_SIGNATURE] = "signature",
    };
    struct ch_sv name;
    *x = (struct pieces){0};
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &name)) {
        int kind = 0;
        while (kind < D_OTHER && !ch_sv_is(name, members[kind]))
            kind++;
        if (kind < D_OTHER)
            x->n += ch_pull_str_raw(p, &x->of[kind], &x->raw);
        else if (ch_sv_is(name, "type"))
            ch_pull_str(p, &x->type);
        else if (ch_sv_is(name, "citation"))
            ch_pull_raw(p, &x->citation);
        else
            ch_pull_skip(p);
    }
}

static void anthropic_decode_learn(struct ch_decoder *d, struct ch_sv data, unsigned key,
                                   enum delta kind, struct ch_sv raw) {
    struct state *st = anthropic_decode_state_of(d);
    st->template_kind = kind;
    st->template_key = key;
    ch_template_learn(&st->template, &(struct ch_template_event){.data = data, .piece = raw});
}

static bool anthropic_decode_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = anthropic_decode_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    *rc = anthropic_decode_fold_piece(d, st->template_key, st->template_kind, m.piece);
    return true;
}

/* `json` is the delta object inside of `data`. */
static int anthropic_decode_fold_delta(struct ch_decoder *d, struct ch_sv data, unsigned key,
                                       struct ch_sv json, struct chela_error *err) {
    struct state *st = anthropic_decode_state_of(d);
    struct pieces x;
    struct ch_pull p;
    if (st->type.p && key == st->key) {
        ch_buf_addc(&st->deltas, st->deltas.n ? ',' : '[');
        ch_buf_add_sv(&st->deltas, json);
        return st->deltas.n > CH_LIMIT_REPLY ? ch_decode_too_large(err) : CHELA_OK;
    }
    ch_pull_init(&p, json, &d->scratch);
    anthropic_decode_read_pieces(&p, &x);
    if (ch_pull_failed(&p))
        return ch_decode_malformed(err);
    int rc = CHELA_OK;
    for (int kind = 0; kind < D_OTHER; kind++)
        if (ch_sv_eq(x.type, deltas[kind].type)) {
            rc = anthropic_decode_fold_piece(d, key, kind, x.of[kind]);
            if (x.n == 1 && x.of[kind].n)
                anthropic_decode_learn(d, data, key, kind, x.raw);
        }
    if (ch_sv_is(x.type, "citations_delta"))
        rc = anthropic_decode_cite(d, key, x.citation);
    return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
}

static const char *past(const char *at, const char *end, struct ch_sv lead) {
    if ((size_t)(end - at) < lead.n || memcmp(at, lead.p, lead.n) != 0)
        return NULL;
    return at + lead.n;
}

static const char *past_blanks(const char *at, const char *end) {
    while (at < end && *at == ' ')
        at++;
    return at;
}

static void keep_lead(struct ch_decoder *d, struct ch_sv lead, enum delta kind, unsigned key) {
    struct state *st = anthropic_decode_state_of(d);
    if (lead.n > sizeof(st->lead))
        return;
    memcpy(st->lead, lead.p, lead.n);
    st->nlead = lead.n;
    st->lead_kind = kind;
    st->lead_key = key;
}

/* {"type":"content_block_delta","index":N,"delta":{"type":"..","..":"piece"}} with blanks
 * between or after the closing braces, as the server pads it. False: not in this form;
 * nothing was changed. */
static bool quick_delta(struct ch_decoder *d, struct ch_sv data, int *rc) {
    static const struct ch_sv begin = CH_SV("{\"type\":\"content_block_delta\",\"index\":");
    const char *end = data.p + data.n, *at = past(data.p, end, begin);
    unsigned key = 0;
    if (!at || at == end || !ch_scan_is_digit(*at))
        return false;
    while (at < end && ch_scan_is_digit(*at) && key < CH_FOLD_KEYS)
        key = 10 * key + (unsigned)(*at++ - '0');
    if (!(at = past(at, end, CH_SV(",\"delta\":"))))
        return false;

    struct ch_sv piece;
    for (int kind = 0; kind < D_OTHER; kind++) {
        const char *string = past(at, end, deltas[kind].lead);
        if (!string)
            continue;
        const char *rest = ch_quick_string(string, end, &d->scratch, &piece);
        if (!rest || !(rest = past(rest, end, CH_SV("}"))))
            return false;
        if (!(rest = past(past_blanks(rest, end), end, CH_SV("}"))))
            return false;
        const struct state *st = anthropic_decode_state_of(d);
        if (past_blanks(rest, end) != end || key >= CONTAINER_KEY || (st->type.p && key == st->key))
            return false;
        keep_lead(d, ch_sv(data.p, (size_t)(string - data.p)), kind, key);
        *rc = anthropic_decode_fold_piece(d, key, kind, piece);
        return true;
    }
    return false;
}

static bool ends_line(const char *p, const char *end) {
    return memchr(p, '\n', (size_t)(end - p)) || memchr(p, '\r', (size_t)(end - p));
}

/* The delta that begins at `data`, if its bytes are those of the last delta up to the string
 * and the string is the rest. Only an event that is no delta changes whether such a delta
 * may be folded, and that event forgets the lead. */
static const char *quick_repeat(struct ch_decoder *d, const char *data, const char *end) {
    static const struct ch_sv rest = CH_SV("}}\n\n");
    const struct state *st = anthropic_decode_state_of(d);
    struct ch_sv piece;
    if (!st->nlead || (size_t)(end - data) < st->nlead ||
        !ch_vector_same(data, st->lead, st->nlead))
        return NULL;
    const char *string = data + st->nlead, *at = ch_scan_plain(string, end);
    if (at < end && *at == '"') {
        piece = ch_sv(string, (size_t)(at++ - string));
    } else {
        at = ch_quick_string(string, end, &d->scratch, &piece);
        if (!at || ends_line(string, at))
            return NULL;
    }
    if (end - at < (ptrdiff_t)rest.n || memcmp(at, rest.p, rest.n) != 0)
        return NULL;
    if (anthropic_decode_fold_piece(d, st->lead_key, st->lead_kind, piece) < 0)
        return NULL; /* fails again in full, with an error */
    return at + rest.n;
}

/* --- events */

/* An event, and the members of a message: those in message_start, in the delta of
 * message_delta, or in a whole reply. One pass reads an event with the message inside of it. */
struct event {
    struct ch_sv type;
    int64_t index;
    struct ch_sv block, delta; /* JSON */
    struct wire_block begun;   /* the members of `block` */
    bool has_error;

    struct ch_sv kind, id, model, stop, stop_sequence; /* kind: the type of the message */
    struct ch_sv refusal;               /* explanation for people */
    struct ch_sv content, container, iterations; /* JSON */
    struct tokens tokens;               /* those known before, or later figures */
};

static const struct ch_member tokens_details[] = {
    CH_MEMBER(struct event, tokens.thinking, "thinking_tokens", CH_MEMBER_INT),
};
static const struct ch_member tokens_written[] = {
    CH_MEMBER(struct event, tokens.cache_write_5m, "ephemeral_5m_input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.cache_write_1h, "ephemeral_1h_input_tokens", CH_MEMBER_INT),
};
static const struct ch_member usage_members[] = {
    CH_MEMBER(struct event, tokens.input, "input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.cache_write, "cache_creation_input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.cache_read, "cache_read_input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.output, "output_tokens", CH_MEMBER_INT),
    CH_MEMBERS_IN("output_tokens_details", tokens_details),
    CH_MEMBERS_IN("cache_creation", tokens_written),
    CH_MEMBER(struct event, iterations, "iterations", CH_MEMBER_ARRAY),
};
/* An element of "iterations". */
static const struct ch_member iteration_members[] = {
    CH_MEMBER(struct event, type, "type", CH_MEMBER_STR),
    CH_MEMBER(struct event, tokens.input, "input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.cache_write, "cache_creation_input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.cache_read, "cache_read_input_tokens", CH_MEMBER_INT),
    CH_MEMBER(struct event, tokens.output, "output_tokens", CH_MEMBER_INT),
    CH_MEMBERS_IN("cache_creation", tokens_written),
};
static const struct ch_member stop_details[] = {
    CH_MEMBER(struct event, refusal, "explanation", CH_MEMBER_STR),
};
static const struct ch_member message_members[] = {
    CH_MEMBER(struct event, kind, "type", CH_MEMBER_STR),
    CH_MEMBER(struct event, id, "id", CH_MEMBER_STR),
    CH_MEMBER(struct event, model, "model", CH_MEMBER_STR),
    CH_MEMBER(struct event, stop, "stop_reason", CH_MEMBER_STR),
    CH_MEMBER(struct event, stop_sequence, "stop_sequence", CH_MEMBER_STR),
    CH_MEMBERS_IN("stop_details", stop_details),
    CH_MEMBER(struct event, content, "content", CH_MEMBER_RAW),
    CH_MEMBER(struct event, container, "container", CH_MEMBER_OBJECT),
    CH_MEMBERS_IN("usage", usage_members),
};
static const struct ch_member block_members[] = {
    CH_MEMBER(struct event, begun.type, "type", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.text, "text", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.thinking, "thinking", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.signature, "signature", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.data, "data", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.id, "id", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.name, "name", CH_MEMBER_STR),
    CH_MEMBER(struct event, begun.input, "input", CH_MEMBER_RAW),
    CH_MEMBER(struct event, begun.citations, "citations", CH_MEMBER_RAW),
    CH_MEMBER(struct event, begun.caller, "caller", CH_MEMBER_RAW),
};
static const struct ch_member event_members[] = {
    CH_MEMBER(struct event, type, "type", CH_MEMBER_STR),
    CH_MEMBER(struct event, index, "index", CH_MEMBER_INT),
    CH_MEMBERS_IN("message", message_members),
    CH_MEMBERS_RAW_IN(struct event, block, "content_block", block_members),
    CH_MEMBERS_RAW_IN(struct event, delta, "delta", message_members),
    CH_MEMBERS_IN("usage", usage_members),
    CH_MEMBER(struct event, has_error, "error", CH_MEMBER_SOME),
};

static bool anthropic_decode_read_event(struct ch_decoder *d, struct ch_sv data, struct event *e) {
    *e = (struct event){.tokens = anthropic_decode_state_of(d)->tokens};
    return ch_members_read(data, &d->scratch, event_members, CH_LEN(event_members), e);
}

static void anthropic_decode_set_model(struct ch_decoder *d, struct ch_sv model) {
    if (model.n && !ch_sv_eq(model, d->reply.model))
        d->reply.model = ch_arena_sv(&d->arena, model);
}

/* The service reports the tokens of its compactions apart, again with each event. */
static void read_iterations(struct ch_decoder *d, struct ch_sv json) {
    CH_BUF_AUTO scratch = {0};
    struct tokens sum = {0};
    struct ch_pull p;
    ch_pull_init(&p, json, &scratch);
    if (!json.n || !ch_pull_enter(&p, '['))
        return;
    while (ch_pull_item(&p)) {
        struct event e = {0};
        ch_members_pull(&p, iteration_members, CH_LEN(iteration_members), &e);
        if (!ch_sv_is(e.type, "compaction"))
            continue;
        sum.input += ch_token_count(e.tokens.input);
        sum.output += ch_token_count(e.tokens.output);
        sum.cache_read += ch_token_count(e.tokens.cache_read);
        sum.cache_write += ch_token_count(e.tokens.cache_write);
        sum.cache_write_5m += ch_token_count(e.tokens.cache_write_5m);
        sum.cache_write_1h += ch_token_count(e.tokens.cache_write_1h);
    }
    anthropic_decode_state_of(d)->compaction = sum;
}

static void use_message(struct ch_decoder *d, const struct event *e) {
    read_iterations(d, e->iterations);
    anthropic_decode_set_model(d, e->model);
    anthropic_decode_set_stop(d, e->stop);
    if (e->stop_sequence.n)
        d->reply.stop_sequence = ch_arena_sv(&d->arena, e->stop_sequence);
    if (e->refusal.n) { /* message_delta may repeat it */
        ch_fold_refusal(d->fold, REFUSAL_KEY, CH_SV(""));
        ch_fold_replace(d->fold, REFUSAL_KEY, e->refusal);
    }
    /* not after a call that the output limit truncates, which must stay the last block */
    if (e->container.n && d->reply.stop != CH_STOP_LENGTH)
        ch_fold_opaque(d->fold, CONTAINER_KEY, CH_SV(CH_ANTHROPIC_CONTAINER), e->container);
    anthropic_decode_state_of(d)->tokens = e->tokens;
}

static int anthropic_decode_block_event(struct ch_decoder *d, struct ch_sv data,
                                        const struct event *e, struct chela_error *err) {
    if (e->index < 0 || e->index >= CONTAINER_KEY)
        return ch_decode_too_large(err);
    unsigned key = (unsigned)e->index;
    if (ch_sv_is(e->type, "content_block_delta"))
        return anthropic_decode_fold_delta(d, data, key, e->delta, err);
    if (ch_sv_is(e->type, "content_block_start"))
        return anthropic_decode_begin_block(d, key, e->block, &e->begun, err);
    return ch_sv_is(e->type, "content_block_stop") ? anthropic_decode_end_block(d, key, err)
                                                   : CHELA_OK;
}

/* Fails if a second message begins: a proxy that changes the server in the middle of a stream
 * mixes two messages. Some servers repeat the start of the same message. */
static bool check_message_id(struct ch_decoder *d, struct ch_sv id) {
    struct state *s = anthropic_decode_state_of(d);
    if (s->id.n && id.n && !ch_sv_eq(s->id, id)) {
        ch_decoder_fail_as(d, CH_ERR_NETWORK, true,
                           CH_SV("a second message began within the stream of the first"));
        return false;
    }
    if (!s->id.n)
        s->id = ch_arena_sv(&d->arena, id);
    return true;
}

static int end_message(struct ch_decoder *d) {
    d->reply.complete = d->stopped = true;
    return CHELA_OK;
}

static int message_event(struct ch_decoder *d, const struct event *e, struct chela_error *err) {
    if (ch_sv_is(e->type, "message_stop"))
        return end_message(d);
    bool start = ch_sv_is(e->type, "message_start");
    if (!start && !e->delta.n)
        return ch_decode_malformed(err);
    if (start && !check_message_id(d, e->id))
        return CHELA_OK;
    use_message(d, e);
    return CHELA_OK;
}

/* The end of a block or of the message, as Anthropic writes these events. False: not in this
 * form; nothing was changed. */
static bool quick_stop(struct ch_decoder *d, struct ch_sv data, int *rc, struct chela_error *err) {
    static const struct ch_sv begin = CH_SV("{\"type\":\"content_block_stop\",\"index\":");
    const char *end = data.p + data.n, *at = past(data.p, end, begin);
    bool one_digit = at && end - at == 2 && ch_scan_is_digit(at[0]) && at[1] == '}';
    if (!one_digit && !ch_sv_is(data, "{\"type\":\"message_stop\"}"))
        return false;
    ch_template_clear(&anthropic_decode_state_of(d)->template);
    anthropic_decode_state_of(d)->nlead = 0;
    d->recognised = true;
    *rc = one_digit ? anthropic_decode_end_block(d, (unsigned)(*at - '0'), err) : end_message(d);
    return true;
}

static int anthropic_decode_on_event(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                                     struct chela_error *err) {
    int rc;
    if (quick_delta(d, data, &rc) || anthropic_decode_repeat(d, data, &rc))
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    if (!ch_sv_is(name, "error") && quick_stop(d, data, &rc, err))
        return rc;
    if (ch_sv_starts(data, "[DONE]"))
        return CHELA_OK;
    ch_template_clear(&anthropic_decode_state_of(d)->template);
    anthropic_decode_state_of(d)->nlead = 0;
    struct event e;
    if (!anthropic_decode_read_event(d, data, &e))
        return ch_decode_malformed(err);
    if (e.has_error || ch_sv_is(name, "error"))
        return ch_decode_error(d, data, err);
    bool block = ch_sv_starts(e.type, "content_block_"), ping = ch_sv_is(e.type, "ping");
    bool message = ch_sv_is(e.type, "message_start") || ch_sv_is(e.type, "message_delta") ||
                   ch_sv_is(e.type, "message_stop");
    d->recognised |= block || message || ping;
    if (block)
        return anthropic_decode_block_event(d, data, &e, err);
    return message ? message_event(d, &e, err) : CHELA_OK;
}

/* --- a whole reply */

static int anthropic_decode_on_body(struct ch_decoder *d, struct ch_sv body,
                                    struct chela_error *err) {
    struct event e = {0};
    if (!ch_members_read(body, &d->scratch, message_members, CH_LEN(message_members), &e))
        return ch_decode_malformed(err);
    bool message = e.kind.n ? ch_sv_is(e.kind, "message") : e.stop.n > 0; /* as in examples */
    if (!message || !e.content.n)
        return ch_decode_error(d, body, err);
    d->recognised = true;
    use_message(d, &e);

    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv block;
    unsigned key = 0;
    ch_pull_init(&p, e.content, &scratch);
    if (ch_pull_enter(&p, '['))
        while (ch_pull_item(&p) && ch_pull_raw(&p, &block)) {
            e.begun = (struct wire_block){0};
            ch_members_read(block, &d->scratch, block_members, CH_LEN(block_members), &e);
            int rc = key < CONTAINER_KEY
                         ? anthropic_decode_begin_block(d, key, block, &e.begun, err)
                         : ch_decode_too_large(err);
            if (rc < 0 || (rc = anthropic_decode_end_block(d, key++, err)) < 0)
                return rc;
        }
    d->reply.complete = true;
    return CHELA_OK;
}

/* input_tokens excludes cached tokens; output_tokens includes thinking. */
static void anthropic_decode_on_end(struct ch_decoder *d) {
    const struct tokens *t = &anthropic_decode_state_of(d)->tokens;
    const struct tokens *c = &anthropic_decode_state_of(d)->compaction;
    int64_t read = ch_token_count(t->cache_read) + c->cache_read;
    int64_t written = ch_token_count(t->cache_write) + c->cache_write;
    d->reply.usage = (struct ch_usage){
        .input = ch_token_count(t->input) + c->input + read + written,
        .output = ch_token_count(t->output) + c->output,
        .cache_read = read,
        .cache_write = written,
        .reasoning = ch_token_count(t->thinking),
        .cache_write_5m = ch_token_count(t->cache_write_5m) + c->cache_write_5m,
        .cache_write_1h = ch_token_count(t->cache_write_1h) + c->cache_write_1h,
    };
    d->reply.beside = (struct ch_usage){.input = c->input + c->cache_read + c->cache_write,
                                        .output = c->output,
                                        .cache_read = c->cache_read,
                                        .cache_write = c->cache_write,
                                        .cache_write_1h = c->cache_write_1h};
}

static void anthropic_decode_on_release(struct ch_decoder *d) {
    ch_buf_release(&anthropic_decode_state_of(d)->start);
    ch_buf_release(&anthropic_decode_state_of(d)->deltas);
    ch_template_release(&anthropic_decode_state_of(d)->template);
}

const struct ch_codec ch_codec_anthropic = {
    .name = "anthropic",
    .tail_follows = ch_anthropic_tail_follows,
    .state_size = sizeof(struct state),
    .http = ch_anthropic_http,
    .head = ch_anthropic_head,
    .message = ch_anthropic_message,
    .tail = ch_anthropic_tail,
    .mark = ch_anthropic_mark,
    .takes_schema = ch_anthropic_takes_schema,
    .effort = ch_thinking_effort,
    .searches_tools = ch_anthropic_searches_tools,
    .reads_compaction = ch_anthropic_reads_compaction,
    .wants_only_results = ch_anthropic_wants_only_results,
    .event = anthropic_decode_on_event,
    .quick = quick_repeat,
    .body = anthropic_decode_on_body,
    .findings = ch_anthropic_findings,
    .end = anthropic_decode_on_end,
    .release = anthropic_decode_on_release,
};
