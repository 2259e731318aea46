/* bedrock_decode.c -- decodes a Converse reply, streamed or whole.
 *
 * The event name is the type of an event; the payload does not repeat it. The fold key of a
 * block is its index on the wire. Text and reasoning have no start event: their first delta
 * opens them. messageStop ends the reply, but the usage follows in metadata, the last
 * event.
 *
 * Calls and results of the service's own tools are assembled, kept as JSON and sent back
 * unchanged. Citations in a block of their own belong to the preceding text. An image names
 * its format in the start event; its data comes in deltas. Every event is padded with a member
 * "p". */
#include "base/limits.h"
#include "model/codec/decode.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"
#include "model/codec/fold.h"
#include "model/codec/delta_fast_path.h"
#include "model/vendor/bedrock/bedrock_findings.h"
#include "json/members.h"
#include "json/pull.h"
#include "model/vendor/bedrock/bedrock_encode.h"
#include "model/vendor/bedrock/bedrock_message.h"

enum delta { D_TEXT, D_INPUT, D_REASONING, D_SIGNATURE, D_REDACTED, D_KINDS };

struct state {
    int64_t input, output, cache_read, cache_write, cache_write_5m, cache_write_1h;

    struct ch_sv cache_details; /* JSON, inside of the event being read */

    struct ch_template template; /* matches deltas with one string */
    enum delta template_kind;    /* kind of these deltas */
    unsigned template_key;       /* key of the block that they are appended to */

    unsigned text_key; /* key of the last text, to which citations belong */
    bool has_text;
    bool citing; /* cited_key has citations, an unterminated JSON array */
    unsigned cited_key;

    /* State of the service's own block, if start is not empty: */
    unsigned own_key;
    struct ch_buf start, pieces;
};

static struct state *bedrock_decode_state_of(struct ch_decoder *d) {
    return d->state;
}

/* --- stop reasons and usage */

static const struct ch_stop_word stops[] = {
    {"tool_use", CH_STOP_TOOL_USE},
    {"max_tokens", CH_STOP_LENGTH},
    {"model_context_window_exceeded", CH_STOP_LENGTH},
    {"guardrail_intervened", CH_STOP_REFUSAL},
    {"content_filtered", CH_STOP_REFUSAL},
    {"refusal", CH_STOP_REFUSAL},
    {"malformed_tool_use", CH_STOP_ERROR},
    {"malformed_model_output", CH_STOP_ERROR},
};

static void bedrock_decode_set_stop(struct ch_decoder *d, struct ch_sv raw) {
    if (!raw.n)
        return;
    d->reply.stop_raw = ch_arena_sv(&d->arena, raw);
    d->reply.stop = ch_decode_stop(stops, CH_LEN(stops), raw);
}

/* A retry will probably give another reply. */
static void bedrock_decode_fail_by_reason(struct ch_decoder *d) {
    const char *line = ch_arena_printf(&d->arena, "the model's output was malformed (%.*s)",
                                       CH_SV_FMT(d->reply.stop_raw));
    ch_decoder_fail_as(d, CH_ERR_SERVER, true, ch_sv_str(line));
}

/* The tokens written to the cache by lifetime: [{"ttl":"1h","inputTokens":N}..]. */
static void read_cache_details(struct ch_decoder *d, struct ch_sv array) {
    struct detail {
        struct ch_sv ttl;
        int64_t tokens;
    };
    static const struct ch_member members[] = {
        CH_MEMBER(struct detail, ttl, "ttl", CH_MEMBER_STR),
        CH_MEMBER(struct detail, tokens, "inputTokens", CH_MEMBER_INT),
    };
    struct state *st = bedrock_decode_state_of(d);
    struct ch_pull p;
    ch_pull_init(&p, array, &d->scratch);
    st->cache_write_5m = st->cache_write_1h = 0;
    if (!ch_pull_enter(&p, '['))
        return;
    while (ch_pull_item(&p)) {
        struct detail x = {0};
        ch_members_pull(&p, members, CH_LEN(members), &x);
        int64_t *sum = ch_sv_is(x.ttl, "1h") ? &st->cache_write_1h : &st->cache_write_5m;
        *sum = ch_token_count(*sum + ch_token_count(x.tokens));
    }
}

static void bedrock_decode_read_usage(struct ch_decoder *d, struct ch_sv json) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct state, input, "inputTokens", CH_MEMBER_INT),
        CH_MEMBER(struct state, output, "outputTokens", CH_MEMBER_INT),
        CH_MEMBER(struct state, cache_read, "cacheReadInputTokens", CH_MEMBER_INT),
        CH_MEMBER(struct state, cache_write, "cacheWriteInputTokens", CH_MEMBER_INT),
        CH_MEMBER(struct state, cache_details, "cacheDetails", CH_MEMBER_RAW),
    };
    struct state *st = bedrock_decode_state_of(d);
    st->cache_details = ch_sv(NULL, 0);
    ch_members_read(json, &d->scratch, members, CH_LEN(members), st);
    if (st->cache_details.n)
        read_cache_details(d, st->cache_details);
}

/* --- pieces of blocks */

static int bedrock_decode_fold_piece(struct ch_decoder *d, unsigned key, enum delta kind,
                                     struct ch_sv piece) {
    struct state *st = bedrock_decode_state_of(d);
    int rc = CHELA_OK;
    switch (kind) {
    case D_TEXT:
        st->text_key = key;
        st->has_text = true;
        return ch_fold_text(d->fold, key, piece);
    case D_INPUT:
        return ch_fold_call(d->fold, key, CH_SV(""), CH_SV(""), piece);
    case D_REASONING:
        return ch_fold_reasoning(d->fold, key, piece);
    case D_REDACTED:
    case D_SIGNATURE:
        rc = ch_fold_reasoning(d->fold, key, CH_SV(""));
        if (rc < 0 || kind == D_SIGNATURE)
            return rc < 0 ? rc : ch_fold_extra(d->fold, key, piece);
        ch_fold_flag(d->fold, key, CH_F_REDACTED);
        return ch_fold_extra_base64(d->fold, key, piece);
    case D_KINDS:
        break;
    }
    return rc;
}

static void end_citations(struct ch_decoder *d) {
    struct state *st = bedrock_decode_state_of(d);
    if (st->citing)
        ch_fold_extra(d->fold, st->cited_key, CH_SV("]"));
    st->citing = false;
}

static int bedrock_decode_cite(struct ch_decoder *d, struct ch_sv citation) {
    struct state *st = bedrock_decode_state_of(d);
    if (!st->has_text || !citation.n)
        return CHELA_OK;
    if (st->cited_key != st->text_key)
        end_citations(d);
    st->cited_key = st->text_key;
    int rc = ch_fold_extra(d->fold, st->cited_key, st->citing ? CH_SV(",") : CH_SV("["));
    st->citing = true;
    return rc < 0 ? rc : ch_fold_extra(d->fold, st->cited_key, citation);
}

/* --- the service's own tools: {"toolUse":{...}} and {"toolResult":{...}} */

static void begin_own(struct ch_decoder *d, unsigned key, const char *member, struct ch_sv start) {
    struct state *st = bedrock_decode_state_of(d);
    st->own_key = key;
    ch_buf_clear(&st->start);
    ch_buf_clear(&st->pieces);
    ch_buf_addf(&st->start, "{\"%s\":", member);
    ch_buf_add(&st->start, start.p, start.n - 1); /* the last brace is added at the end */
}

static bool bedrock_decode_is_own(struct ch_decoder *d, unsigned key) {
    const struct state *st = bedrock_decode_state_of(d);
    return st->start.n && st->own_key == key;
}

/* Results are arrays, which are concatenated; arguments are pieces of text. */
static int bedrock_decode_add_own(struct ch_decoder *d, struct ch_sv input, struct ch_sv results) {
    struct state *st = bedrock_decode_state_of(d);
    if (results.n > 2 && *results.p == '[') {
        if (st->pieces.n)
            ch_buf_addc(&st->pieces, ',');
        ch_buf_add(&st->pieces, results.p + 1, results.n - 2);
    }
    ch_buf_add_sv(&st->pieces, input);
    return st->pieces.n > CH_LIMIT_REPLY ? CHELA_ELIMIT : CHELA_OK;
}

static int end_own(struct ch_decoder *d) {
    struct state *st = bedrock_decode_state_of(d);
    bool call = ch_sv_starts(ch_buf_sv(&st->start), "{\"toolUse\"");
    struct ch_sv pieces = ch_buf_sv(&st->pieces);
    if (call && !ch_is_json(pieces, CH_JSON_OBJECT))
        pieces = CH_SV("{}");
    const char *lead = call ? ",\"input\":" : ",\"content\":[";
    if (st->start.p[st->start.n - 1] == '{')
        lead++; /* no comma after an empty start */
    ch_buf_add_str(&st->start, lead);
    ch_buf_add_sv(&st->start, pieces);
    ch_buf_add_str(&st->start, call ? "}}" : "]}}");
    int rc = ch_fold_opaque(d->fold, st->own_key, call ? CH_SV("toolUse") : CH_SV("toolResult"),
                            ch_buf_sv(&st->start));
    ch_buf_clear(&st->start);
    return rc;
}

/* --- pictures and sound */

struct media {
    struct ch_sv format, bytes;
};

/* Read {"format","source":{"bytes"}}, or a part of it. */
static struct media read_media(struct ch_sv json, struct ch_buf *scratch) {
    static const struct ch_member source[] = {
        CH_MEMBER(struct media, bytes, "bytes", CH_MEMBER_STR),
    };
    static const struct ch_member members[] = {
        CH_MEMBER(struct media, format, "format", CH_MEMBER_STR),
        CH_MEMBERS_IN("source", source),
    };
    struct media x = {0};
    ch_members_read(json, scratch, members, CH_LEN(members), &x);
    return x;
}

static int fold_media(struct ch_decoder *d, unsigned key, enum ch_block_type block,
                      struct media x) {
    CH_BUF_AUTO type = {0};
    struct ch_sv format = ch_sv_is(x.format, "mp3") ? CH_SV("mpeg") : x.format;
    if (format.n)
        ch_buf_addf(&type, "%s/%.*s", block == CH_BLOCK_IMAGE ? "image" : "audio",
                    CH_SV_FMT(format));
    return ch_fold_media(d->fold, key, block, ch_buf_sv(&type), x.bytes);
}

static int fold_image_piece(struct ch_decoder *d, unsigned key, struct ch_sv json) {
    CH_BUF_AUTO scratch = {0};
    return fold_media(d, key, CH_BLOCK_IMAGE, read_media(json, &scratch));
}

/* --- blocks */

struct tool_use {
    struct ch_sv id, name, type;
    struct ch_sv input; /* JSON */
};

static bool read_tool_use(struct ch_decoder *d, struct ch_sv json, struct tool_use *t) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct tool_use, id, "toolUseId", CH_MEMBER_STR),
        CH_MEMBER(struct tool_use, name, "name", CH_MEMBER_STR),
        CH_MEMBER(struct tool_use, type, "type", CH_MEMBER_STR),
        CH_MEMBER(struct tool_use, input, "input", CH_MEMBER_RAW),
    };
    *t = (struct tool_use){0};
    return ch_members_read(json, &d->scratch, members, CH_LEN(members), t);
}

/* Name and value of the first member of an object that is neither a type nor null; the kind of
 * a block is the name of its member. */
static bool bedrock_decode_first_member(struct ch_decoder *d, struct ch_sv json, struct ch_sv *name,
                                        struct ch_sv *value) {
    struct ch_pull p;
    struct ch_sv key;
    *name = *value = ch_sv(NULL, 0);
    ch_pull_init(&p, json, &d->scratch);
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key)) {
            char first = ch_pull_peek(&p);
            bool none = first == 'n' || (first == '"' && ch_sv_is(key, "type"));
            if (!name->p && !none && ch_pull_raw(&p, value))
                *name = key;
            else
                ch_pull_skip(&p);
        }
    return !ch_pull_failed(&p);
}

static int bedrock_decode_begin_block(struct ch_decoder *d, unsigned key, struct ch_sv start,
                                      struct chela_error *err) {
    struct ch_sv member, value;
    struct tool_use t;
    /* some servers begin all blocks, then end all */
    if (bedrock_decode_state_of(d)->start.n && end_own(d) < 0)
        return ch_decode_too_large(err);
    if (!bedrock_decode_first_member(d, start, &member, &value))
        return ch_decode_malformed(err);
    ch_fold_release_key(d->fold, key); /* a reused index is a new block */
    bool object = value.n >= 2 && *value.p == '{';
    if (object && ch_sv_is(member, "toolResult"))
        begin_own(d, key, "toolResult", value);
    if (object && ch_sv_is(member, "image") && fold_image_piece(d, key, value) < 0)
        return ch_decode_too_large(err);
    if (!object || !ch_sv_is(member, "toolUse"))
        return CHELA_OK;
    if (!read_tool_use(d, value, &t))
        return ch_decode_malformed(err);
    if (ch_sv_is(t.type, "server_tool_use")) {
        begin_own(d, key, "toolUse", value);
        return CHELA_OK;
    }
    return ch_fold_call(d->fold, key, t.id, t.name, CH_SV("")) < 0 ? ch_decode_too_large(err)
                                                                   : CHELA_OK;
}

static int bedrock_decode_end_block(struct ch_decoder *d, unsigned key, struct chela_error *err) {
    int rc = bedrock_decode_is_own(d, key) ? end_own(d) : CHELA_OK;
    ch_fold_close(d->fold, key);
    return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
}

/* --- deltas */

struct pieces {
    struct ch_sv of[D_KINDS];              /* p is NULL if absent */
    struct ch_sv citation, results, image; /* JSON */
    struct ch_sv raw;                      /* the last string, undecoded */
    unsigned members;
};

static void bedrock_decode_take(struct ch_pull *p, struct pieces *x, enum delta kind) {
    ch_pull_str_raw(p, &x->of[kind], &x->raw);
}

static void read_inner(struct ch_pull *p, struct pieces *x) {
    struct ch_sv key;
    if (ch_pull_enter(p, '{'))
        while (ch_pull_key(p, &key)) {
            x->members++;
            if (ch_sv_is(key, "input"))
                bedrock_decode_take(p, x, D_INPUT);
            else if (ch_sv_is(key, "text"))
                bedrock_decode_take(p, x, D_REASONING);
            else if (ch_sv_is(key, "signature"))
                bedrock_decode_take(p, x, D_SIGNATURE);
            else if (ch_sv_is(key, "redactedContent"))
                bedrock_decode_take(p, x, D_REDACTED);
            else
                ch_pull_skip(p);
        }
}

static bool bedrock_decode_read_pieces(struct ch_decoder *d, struct ch_sv delta, struct pieces *x) {
    struct ch_pull p;
    struct ch_sv key;
    *x = (struct pieces){0};
    ch_pull_init(&p, delta, &d->scratch);
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "toolUse") || ch_sv_is(key, "reasoningContent")) {
                read_inner(&p, x);
                continue;
            }
            x->members++;
            if (ch_sv_is(key, "text"))
                bedrock_decode_take(&p, x, D_TEXT);
            else if (ch_sv_is(key, "citation"))
                ch_pull_raw(&p, &x->citation);
            else if (ch_sv_is(key, "toolResult"))
                ch_pull_raw(&p, &x->results);
            else if (ch_sv_is(key, "image"))
                ch_pull_raw(&p, &x->image);
            else
                ch_pull_skip(&p);
        }
    return !ch_pull_failed(&p);
}

/* Learn a delta with one string; the next ones probably have the same form. */
static void bedrock_decode_learn(struct ch_decoder *d, struct ch_sv data, unsigned key,
                                 const struct pieces *x) {
    struct state *st = bedrock_decode_state_of(d);
    ch_template_clear(&st->template);
    for (int kind = 0; kind < D_KINDS && x->members == 1 && x->raw.p; kind++) {
        if (!x->of[kind].p)
            continue;
        st->template_kind = (enum delta)kind;
        st->template_key = key;
        ch_template_learn(&st->template,
                          &(struct ch_template_event){.data = data, .piece = x->raw});
    }
}

static bool bedrock_decode_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = bedrock_decode_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    *rc = bedrock_decode_fold_piece(d, st->template_key, st->template_kind, m.piece);
    return true;
}

static int bedrock_decode_fold_delta(struct ch_decoder *d, struct ch_sv data, unsigned key,
                                     struct ch_sv delta, struct chela_error *err) {
    struct pieces x;
    int rc = CHELA_OK;
    if (!bedrock_decode_read_pieces(d, delta, &x))
        return ch_decode_malformed(err);
    if (bedrock_decode_is_own(d, key)) {
        rc = bedrock_decode_add_own(d, x.of[D_INPUT], x.results);
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    }
    for (int kind = 0; kind < D_KINDS && rc == CHELA_OK; kind++)
        if (x.of[kind].p)
            rc = bedrock_decode_fold_piece(d, key, (enum delta)kind, x.of[kind]);
    if (rc == CHELA_OK)
        rc = bedrock_decode_cite(d, x.citation);
    if (rc == CHELA_OK && x.image.n)
        rc = fold_image_piece(d, key, x.image);
    bedrock_decode_learn(d, data, key, &x);
    return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
}

/* --- events */

struct event {
    int64_t index;
    struct ch_sv stop;
    struct ch_sv start, delta, usage, output; /* JSON */
};

static bool bedrock_decode_read_event(struct ch_decoder *d, struct ch_sv data, struct event *e) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct event, index, "contentBlockIndex", CH_MEMBER_INT),
        CH_MEMBER(struct event, delta, "delta", CH_MEMBER_RAW),
        CH_MEMBER(struct event, start, "start", CH_MEMBER_RAW),
        CH_MEMBER(struct event, stop, "stopReason", CH_MEMBER_STR),
        CH_MEMBER(struct event, usage, "usage", CH_MEMBER_RAW),
        CH_MEMBER(struct event, output, "output", CH_MEMBER_RAW),
    };
    *e = (struct event){0};
    return ch_members_read(data, &d->scratch, members, CH_LEN(members), e);
}

static int bedrock_decode_block_event(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                                      const struct event *e, struct chela_error *err) {
    if (e->index < 0 || e->index >= CH_FOLD_KEYS)
        return ch_decode_too_large(err);
    unsigned key = (unsigned)e->index;
    if (ch_sv_is(name, "contentBlockDelta"))
        return bedrock_decode_fold_delta(d, data, key, e->delta, err);
    ch_template_clear(&bedrock_decode_state_of(d)->template);
    if (ch_sv_is(name, "contentBlockStart"))
        return bedrock_decode_begin_block(d, key, e->start, err);
    return ch_sv_is(name, "contentBlockStop") ? bedrock_decode_end_block(d, key, err) : CHELA_OK;
}

static int bedrock_decode_on_event(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                                   struct chela_error *err) {
    struct event e;
    int rc;
    if (ch_sv_is(name, "contentBlockDelta") && bedrock_decode_repeat(d, data, &rc))
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    bool block = ch_sv_starts(name, "contentBlock");
    bool stop = ch_sv_is(name, "messageStop"), metadata = ch_sv_is(name, "metadata");
    if (!block && !stop && !metadata && !ch_sv_is(name, "messageStart"))
        return CHELA_OK;
    if (!bedrock_decode_read_event(d, data, &e))
        return ch_decode_malformed(err);
    d->recognised = true;
    if (block)
        return bedrock_decode_block_event(d, name, data, &e, err);
    if (stop) {
        d->reply.complete = true;
        bedrock_decode_set_stop(d, e.stop);
    }
    if (metadata) {
        bedrock_decode_read_usage(d, e.usage);
        d->stopped = d->reply.complete;
    }
    return CHELA_OK;
}

/* --- a whole reply */

/* {"content":[{"text"}..],"citations":[..]} */
static int fold_cited(struct ch_decoder *d, unsigned key, struct ch_sv json) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO citations = {0};
    const struct ch_json *v;
    int rc = CHELA_OK;
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return CHELA_OK; /* nested too deep, although valid JSON */
    for (CH_JSON_EACH(part, ch_json_get(v, "content")))
        if (rc == CHELA_OK)
            rc = bedrock_decode_fold_piece(d, key, D_TEXT, ch_json_get_str(part, "text"));
    const struct ch_json *list = ch_json_get(v, "citations");
    if (rc < 0 || !ch_json_is(list, CH_JSON_ARRAY) || !list->n)
        return rc;
    struct ch_jw w = ch_jw(&citations);
    ch_jw_value(&w, list);
    return ch_fold_extra(d->fold, key, ch_buf_sv(&citations));
}

static int bedrock_decode_fold_call(struct ch_decoder *d, unsigned key, struct ch_sv block,
                                    struct ch_sv json, struct chela_error *err) {
    struct tool_use t;
    if (!read_tool_use(d, json, &t))
        return ch_decode_malformed(err);
    if (ch_sv_is(t.type, "server_tool_use"))
        return ch_fold_opaque(d->fold, key, CH_SV("toolUse"), block);
    int rc = ch_fold_call(d->fold, key, t.id, t.name, CH_SV(""));
    return rc < 0 ? rc : ch_fold_replace(d->fold, key, t.input);
}

static int bedrock_decode_fold_reasoning(struct ch_decoder *d, unsigned key, struct ch_sv json) {
    struct ch_sv member, value;
    struct pieces x = {0};
    struct ch_pull p;
    bedrock_decode_first_member(d, json, &member, &value);
    bool text = ch_sv_is(member, "reasoningText");
    ch_pull_init(&p, text ? value : json, &d->scratch);
    read_inner(&p, &x);
    int rc = CHELA_OK;
    for (int kind = D_REASONING; kind < D_KINDS && rc == CHELA_OK; kind++)
        if (x.of[kind].p)
            rc = bedrock_decode_fold_piece(d, key, (enum delta)kind, x.of[kind]);
    return rc;
}

/* A picture, a sound, or a block of another kind, whose JSON is kept. Media at another place
 * (s3Location) are kept, too. */
static int fold_other(struct ch_decoder *d, unsigned key, struct ch_sv block, struct ch_sv member,
                      struct ch_sv value) {
    CH_BUF_AUTO name = {0}; /* the key may be in the scratch buffer */
    CH_BUF_AUTO scratch = {0};
    bool image = ch_sv_is(member, "image");
    if (image || ch_sv_is(member, "audio")) {
        struct media x = read_media(value, &scratch);
        if (x.bytes.n)
            return fold_media(d, key, image ? CH_BLOCK_IMAGE : CH_BLOCK_AUDIO, x);
    }
    ch_buf_add_sv(&name, member);
    return ch_fold_opaque(d->fold, key, ch_buf_sv(&name), block);
}

static int fold_block(struct ch_decoder *d, unsigned key, struct ch_sv block,
                      struct chela_error *err) {
    struct ch_sv member, value;
    struct ch_pull p;
    int rc;
    if (!bedrock_decode_first_member(d, block, &member, &value))
        return ch_decode_malformed(err);
    if (ch_sv_is(member, "text")) {
        struct ch_sv text = CH_SV("");
        ch_pull_init(&p, value, &d->scratch);
        ch_pull_str(&p, &text);
        rc = bedrock_decode_fold_piece(d, key, D_TEXT, text);
    } else if (ch_sv_is(member, "toolUse")) {
        rc = bedrock_decode_fold_call(d, key, block, value, err);
    } else if (ch_sv_is(member, "reasoningContent")) {
        rc = bedrock_decode_fold_reasoning(d, key, value);
    } else if (ch_sv_is(member, "citationsContent")) {
        rc = fold_cited(d, key, value);
    } else {
        rc = fold_other(d, key, block, member, value);
    }
    ch_fold_close(d->fold, key);
    return rc == CHELA_ELIMIT ? ch_decode_too_large(err) : rc;
}

/* The array "content" of {"message":{..}}, or nothing. */
static struct ch_sv content_of(struct ch_decoder *d, struct ch_sv output) {
    struct message {
        struct ch_sv content;
    } m = {0};
    static const struct ch_member message[] = {
        CH_MEMBER(struct message, content, "content", CH_MEMBER_RAW),
    };
    static const struct ch_member members[] = {CH_MEMBERS_IN("message", message)};
    ch_members_read(output, &d->scratch, members, CH_LEN(members), &m);
    return m.content;
}

static int bedrock_decode_on_body(struct ch_decoder *d, struct ch_sv body,
                                  struct chela_error *err) {
    struct event e;
    if (!bedrock_decode_read_event(d, body, &e))
        return ch_decode_malformed(err);
    if (!e.output.n)
        return ch_decode_error(d, body, err);
    d->recognised = true;
    d->reply.complete = true;
    bedrock_decode_set_stop(d, e.stop);
    bedrock_decode_read_usage(d, e.usage);

    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv block;
    unsigned key = 0;
    ch_pull_init(&p, content_of(d, e.output), &scratch);
    if (ch_pull_enter(&p, '['))
        while (ch_pull_item(&p) && ch_pull_raw(&p, &block)) {
            int rc =
                key < CH_FOLD_KEYS ? fold_block(d, key++, block, err) : ch_decode_too_large(err);
            if (rc < 0)
                return rc;
        }
    return CHELA_OK;
}

/* inputTokens excludes cached tokens. */
static void bedrock_decode_on_end(struct ch_decoder *d) {
    const struct state *st = bedrock_decode_state_of(d);
    int64_t read = ch_token_count(st->cache_read), written = ch_token_count(st->cache_write);
    end_citations(d);
    if (d->reply.stop == CH_STOP_ERROR)
        bedrock_decode_fail_by_reason(d);
    d->reply.usage = (struct ch_usage){
        .input = ch_token_count(st->input) + read + written,
        .output = ch_token_count(st->output),
        .cache_read = read,
        .cache_write = written,
        .cache_write_5m = st->cache_write_5m,
        .cache_write_1h = st->cache_write_1h,
    };
}

static void bedrock_decode_on_release(struct ch_decoder *d) {
    struct state *st = bedrock_decode_state_of(d);
    ch_template_release(&st->template);
    ch_buf_release(&st->start);
    ch_buf_release(&st->pieces);
}

const struct ch_codec ch_codec_bedrock = {
    .name = "bedrock",
    .state_size = sizeof(struct state),
    .aws_service = "bedrock",
    .binary = true,
    .tail_follows = ch_bedrock_tail_follows,
    .http = ch_bedrock_http,
    .head = ch_bedrock_head,
    .message = ch_bedrock_message,
    .tail = ch_bedrock_tail,
    .mark = ch_bedrock_mark,
    .event = bedrock_decode_on_event,
    .body = bedrock_decode_on_body,
    .takes_schema = ch_bedrock_takes_schema,
    .effort = ch_bedrock_sent_effort,
    .end = bedrock_decode_on_end,
    .findings = ch_bedrock_findings,
    .returns_images = true,
    .release = bedrock_decode_on_release,
};
