/* gemini_decode.c -- decodes a Gemini reply, streamed or whole.
 *
 * Every chunk is a GenerateContentResponse: some parts, usage so far, and in the last one a
 * finishReason, the end marker. A whole reply is one chunk; a stream without alt=sse is an
 * array of chunks. Members come in any order, so a chunk is parsed completely and used
 * afterwards. Decoding continues after a finishReason, because a reply with code execution
 * may have several.
 *
 * Parts have no index: consecutive text of one kind is one block, but a part with a
 * thoughtSignature is a block of its own, because the signature must be sent back on the
 * same part. Calls arrive whole (except see gemini_args.h). Other parts are kept as JSON. A
 * chunk that differs from the previous one only in text and figures is matched by a
 * template (delta_fast_path.h). */
#include "base/grow.h"
#include "base/limits.h"
#include "model/codec/decode.h"
#include "model/codec/errors.h"
#include "model/codec/fold.h"
#include "model/codec/logprobs.h"
#include "model/vendor/gemini/gemini.h"
#include "model/vendor/gemini/gemini_args.h"
#include "model/codec/delta_fast_path.h"
#include "model/vendor/gemini/gemini_findings.h"
#include "json/members.h"
#include "json/pull.h"
#include "json/writer.h"
#include "model/vendor/gemini/gemini_encode.h"
#include "model/vendor/gemini/gemini_errors.h"
#include "model/vendor/gemini/gemini_http.h"

struct part {
    struct ch_sv text, signature, other; /* other: name of a member of another kind */
    struct ch_sv call, json;             /* JSON: functionCall; the whole part */
    struct ch_sv source;                 /* the undecoded text */
    bool thought;
};

struct usage {
    int64_t prompt, cached, candidates, thoughts, tools;
};

enum open { OPEN_NONE, OPEN_TEXT, OPEN_THOUGHT, OPEN_SOUND };

struct state {
    struct part *parts; /* parts of the current chunk; owned */
    size_t nparts, cap;
    struct usage usage;
    struct ch_sv finish_message; /* in the arena */
    struct ch_buf grounding;     /* sources of the reply, JSON; empty: none */

    unsigned next; /* key of the next block */
    unsigned key;  /* key of the open block that text may be appended to */
    enum open open;

    struct ch_template template; /* template of chunks that append to that block */
    struct ch_buf figures;       /* usageMetadata of the last such chunk; empty: none */

    struct ch_gemini_args args; /* state of a call that is still incomplete: */
    bool growing;
    unsigned growing_key;
};

static struct state *gemini_decode_state_of(struct ch_decoder *d) {
    return d->state;
}

/* --- stop reasons */

/* Clients of the REST API may get numbers instead of names; Google AI and Vertex use the
 * same numbers up to OTHER. */
static enum ch_stop gemini_decode_stop_of(struct ch_sv raw) {
    static const struct ch_stop_word stops[] = {
        {"MAX_TOKENS", CH_STOP_LENGTH},
        {"2", CH_STOP_LENGTH},
        {"SAFETY", CH_STOP_REFUSAL},
        {"3", CH_STOP_REFUSAL},
        {"RECITATION", CH_STOP_REFUSAL},
        {"4", CH_STOP_REFUSAL},
        {"6", CH_STOP_REFUSAL}, /* 6 to 8 mean blocked content in both of Google's numberings */
        {"7", CH_STOP_REFUSAL},
        {"8", CH_STOP_REFUSAL},
        {"LANGUAGE", CH_STOP_REFUSAL},
        {"BLOCKLIST", CH_STOP_REFUSAL},
        {"PROHIBITED_CONTENT", CH_STOP_REFUSAL},
        {"SPII", CH_STOP_REFUSAL},
        {"IMAGE_SAFETY", CH_STOP_REFUSAL},
        {"IMAGE_PROHIBITED_CONTENT", CH_STOP_REFUSAL},
        {"IMAGE_RECITATION", CH_STOP_REFUSAL},
        {"MODEL_ARMOR", CH_STOP_REFUSAL},
        {"CONTINUATION", CH_STOP_PAUSE},
        {"MALFORMED_FUNCTION_CALL", CH_STOP_ERROR},
        {"UNEXPECTED_TOOL_CALL", CH_STOP_ERROR},
        {"TOO_MANY_TOOL_CALLS", CH_STOP_ERROR},
        {"MALFORMED_RESPONSE", CH_STOP_ERROR},
        {"MISSING_THOUGHT_SIGNATURE", CH_STOP_ERROR},
        {"NO_IMAGE", CH_STOP_ERROR},
        {"IMAGE_OTHER", CH_STOP_ERROR},
        {"OTHER", CH_STOP_ERROR},
        {"5", CH_STOP_ERROR},
        {"FINISH_REASON_UNSPECIFIED", CH_STOP_ERROR},
        {"0", CH_STOP_ERROR},
    };
    return ch_decode_stop(stops, CH_LEN(stops), raw);
}

static void gemini_decode_finish(struct ch_decoder *d, struct ch_sv raw, enum ch_stop stop,
                                 struct ch_sv message) {
    struct state *st = gemini_decode_state_of(d);
    d->reply.complete = true;
    d->reply.stop = stop;
    if (!ch_sv_eq(raw, d->reply.stop_raw))
        d->reply.stop_raw = ch_arena_sv(&d->arena, raw);
    st->finish_message = ch_arena_sv(&d->arena, message);
}

/* The server could not use a call that the model wrote; a retry will probably give another
 * one. */
static void gemini_decode_fail_by_reason(struct ch_decoder *d) {
    struct ch_sv raw = d->reply.stop_raw, words = gemini_decode_state_of(d)->finish_message;
    bool call = ch_sv_is(raw, "MALFORMED_FUNCTION_CALL") || ch_sv_is(raw, "UNEXPECTED_TOOL_CALL");
    char *line =
        ch_arena_printf(&d->arena, "the server ended the reply with finishReason \"%.*s\"%s%.*s",
                        CH_SV_FMT(raw), words.n ? ": " : "", CH_SV_FMT(words));
    ch_decoder_fail_as(d, call ? CH_ERR_FORMAT : CH_ERR_SERVER, true, ch_sv_str(line));
}

/* --- reading a chunk */

struct candidate {
    int64_t index;
    struct ch_sv reason, message;
    struct ch_sv grounding, logprobs; /* JSON */
    bool has_content;
};

struct chunk {
    struct candidate first; /* the candidate with index 0 */
    bool has_first;
    bool recognised, has_error, crowded, has_more;
    struct ch_sv model;
    struct ch_sv block, block_message; /* from promptFeedback */
    struct ch_sv usage, json;
};

/* A name, or its number. */
static void gemini_decode_take_word(struct ch_pull *p, struct ch_sv *out) {
    char c = ch_pull_peek(p);
    if (c == '"')
        ch_pull_str(p, out);
    else if (c >= '0' && c <= '9')
        ch_pull_raw(p, out);
    else
        ch_pull_skip(p);
}

static void gemini_decode_read_part(struct ch_pull *p, struct part *x) {
    struct ch_sv key;
    *x = (struct part){0};
    ch_pull_peek(p);
    const char *start = p->at;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "text")) {
            ch_pull_str_raw(p, &x->text, &x->source);
        } else if (ch_sv_is(key, "thought")) {
            ch_pull_bool(p, &x->thought);
        } else if (ch_sv_is(key, "thoughtSignature")) {
            ch_pull_str(p, &x->signature);
        } else if (ch_sv_is(key, "functionCall") && ch_pull_peek(p) == '{') {
            ch_pull_raw(p, &x->call);
        } else {
            if (!x->other.n && ch_pull_peek(p) != 'n')
                x->other = key;
            ch_pull_skip(p);
        }
    }
    x->json = ch_sv(start, (size_t)(p->at - start));
}

static void gemini_decode_read_parts(struct state *st, struct ch_pull *p, struct chunk *c) {
    if (!ch_pull_enter(p, '['))
        return;
    while (ch_pull_item(p)) {
        if (st->nparts == CH_LIMIT_REPLY_BLOCKS) {
            c->crowded = true;
            ch_pull_skip(p);
            continue;
        }
        CH_GROW(st->parts, st->nparts, st->cap, 8);
        gemini_decode_read_part(p, &st->parts[st->nparts++]);
    }
}

static void gemini_decode_read_content(struct state *st, struct ch_pull *p, struct chunk *c) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "parts"))
            gemini_decode_read_parts(st, p, c);
        else
            ch_pull_skip(p);
    }
}

/* The first of several candidates is the reply; its index may come last. */
static void read_candidate(struct state *st, struct ch_pull *p, struct chunk *c) {
    struct candidate x = {0};
    struct ch_sv key;
    size_t before = st->nparts;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "content")) {
            x.has_content = true;
            gemini_decode_read_content(st, p, c);
        } else if (ch_sv_is(key, "finishReason")) {
            gemini_decode_take_word(p, &x.reason);
        } else if (ch_sv_is(key, "finishMessage")) {
            ch_pull_str(p, &x.message);
        } else if (ch_sv_is(key, "index")) {
            ch_pull_int(p, &x.index);
        } else if (ch_sv_is(key, "logprobsResult")) {
            ch_pull_raw(p, &x.logprobs);
        } else if (ch_sv_is(key, "groundingMetadata")) {
            ch_pull_raw(p, &x.grounding);
        } else {
            ch_pull_skip(p);
        }
    }
    if (x.index != 0 || c->has_first) {
        st->nparts = before;
        c->has_more = true;
        return;
    }
    c->first = x;
    c->has_first = true;
}

static void read_candidates(struct state *st, struct ch_pull *p, struct chunk *c) {
    if (!ch_pull_enter(p, '['))
        return;
    while (ch_pull_item(p))
        read_candidate(st, p, c);
}

/* Cumulative, in nearly every chunk: the last one is used. */
static void gemini_decode_read_usage(struct state *st, struct ch_pull *p) {
    struct usage u = {0};
    struct ch_sv key;
    bool any = false;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "promptTokenCount"))
            any |= ch_pull_int(p, &u.prompt);
        else if (ch_sv_is(key, "candidatesTokenCount"))
            any |= ch_pull_int(p, &u.candidates);
        else if (ch_sv_is(key, "thoughtsTokenCount"))
            any |= ch_pull_int(p, &u.thoughts);
        else if (ch_sv_is(key, "cachedContentTokenCount"))
            any |= ch_pull_int(p, &u.cached);
        else if (ch_sv_is(key, "toolUsePromptTokenCount"))
            any |= ch_pull_int(p, &u.tools);
        else
            ch_pull_skip(p);
    }
    if (!any)
        return;
    st->usage = u;
    ch_buf_clear(&st->figures);
}

static void read_feedback(struct ch_pull *p, struct chunk *c) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "blockReason"))
            gemini_decode_take_word(p, &c->block);
        else if (ch_sv_is(key, "blockReasonMessage"))
            ch_pull_str(p, &c->block_message);
        else
            ch_pull_skip(p);
    }
}

static void gemini_decode_read_chunk(struct ch_decoder *d, struct ch_pull *p, struct chunk *c) {
    struct state *st = gemini_decode_state_of(d);
    struct ch_sv key;
    *c = (struct chunk){0};
    st->nparts = 0;
    ch_pull_peek(p);
    const char *start = p->at;
    bool object = ch_pull_enter(p, '{');
    while (object && ch_pull_key(p, &key)) {
        bool known = true;
        if (ch_sv_is(key, "candidates")) {
            read_candidates(st, p, c);
        } else if (ch_sv_is(key, "usageMetadata")) {
            ch_pull_peek(p);
            c->usage = ch_sv(p->at, 0);
            gemini_decode_read_usage(st, p);
            c->usage.n = (size_t)(p->at - c->usage.p);
        } else if (ch_sv_is(key, "modelVersion")) {
            ch_pull_str(p, &c->model);
        } else if (ch_sv_is(key, "promptFeedback")) {
            read_feedback(p, c);
        } else {
            known = ch_sv_is(key, "responseId");
            c->has_error |= ch_sv_is(key, "error") && ch_pull_peek(p) != 'n';
            ch_pull_skip(p);
        }
        c->recognised |= known;
    }
    c->json = ch_sv(start, (size_t)(p->at - start));
}

/* --- calls */

struct call {
    struct ch_sv id, name, args, partial; /* args, partial: JSON */
    bool more;
};

static void gemini_decode_read_call(struct ch_sv json, struct ch_buf *scratch, struct call *x) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct call, id, "id", CH_MEMBER_STR),
        CH_MEMBER(struct call, name, "name", CH_MEMBER_STR),
        CH_MEMBER(struct call, args, "args", CH_MEMBER_RAW),
        CH_MEMBER(struct call, partial, "partialArgs", CH_MEMBER_RAW),
        CH_MEMBER(struct call, more, "willContinue", CH_MEMBER_BOOL),
    };
    *x = (struct call){0};
    ch_members_read(json, scratch, members, CH_LEN(members), x);
}

/* Compact arguments; they are an object on the wire, not the model's text, so their white
 * space is meaningless. */
static void gemini_decode_compact(struct ch_sv json, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_jw w = ch_jw(out);
    if (json.n && ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) == CHELA_OK)
        ch_jw_value(&w, v);
}

/* The streamed arguments of a call are complete. */
static int end_growing(struct ch_decoder *d) {
    struct state *st = gemini_decode_state_of(d);
    CH_BUF_AUTO args = {0};
    ch_gemini_args_write(&st->args, &args);
    if (st->args.bad) /* invalid arguments, so that the call is not run */
        CH_BUF_LIT(&args, "\"the pieces of the arguments do not fit together\"");
    int rc = ch_fold_call(d->fold, st->growing_key, CH_SV(""), CH_SV(""), ch_buf_sv(&args));
    ch_fold_close(d->fold, st->growing_key);
    ch_gemini_args_clear(&st->args);
    st->growing = false;
    return rc;
}

/* The streamed arguments end without completion: an unfinished string is truncated, and the
 * call stays open. */
static int leave_growing(struct ch_decoder *d) {
    struct state *st = gemini_decode_state_of(d);
    if (!st->args.growing)
        return end_growing(d);
    ch_gemini_args_clear(&st->args);
    st->growing = false;
    return CHELA_OK;
}

static int gemini_decode_fold_call(struct ch_decoder *d, const struct part *part) {
    struct state *st = gemini_decode_state_of(d);
    CH_BUF_AUTO scratch = {0};
    CH_BUF_AUTO args = {0};
    struct call x;
    int rc = CHELA_OK;
    gemini_decode_read_call(part->call, &scratch, &x);
    if (st->growing && x.name.n)
        rc = leave_growing(d); /* the next call begins */
    bool begins = !st->growing;
    if (rc < 0 || (begins && !x.name.n && !x.args.n))
        return rc; /* end marker of a call that has ended */
    unsigned key = begins ? st->next++ : st->growing_key;
    gemini_decode_compact(x.args, &args);
    rc = ch_fold_call(d->fold, key, x.id, x.name, ch_buf_sv(&args));
    if (rc == CHELA_OK && part->signature.n)
        rc = ch_fold_extra(d->fold, key, part->signature);
    if (!begins || x.more || x.partial.n) {
        st->growing = true;
        st->growing_key = key;
        if (x.more)
            d->reply.complete = false; /* overrides an earlier finishReason */
        ch_gemini_args_add(&st->args, x.partial);
        return x.more || rc < 0 ? rc : end_growing(d);
    }
    ch_fold_close(d->fold, key);
    return rc;
}

/* --- parts into the fold */

static int gemini_decode_fold_text(struct ch_decoder *d, const struct part *part) {
    struct state *st = gemini_decode_state_of(d);
    enum open kind = part->thought ? OPEN_THOUGHT : OPEN_TEXT;
    if (st->open != kind || part->signature.n) {
        st->key = st->next++;
        st->open = kind;
    }
    int rc = part->thought ? ch_fold_reasoning(d->fold, st->key, part->text)
                           : ch_fold_text(d->fold, st->key, part->text);
    if (!part->signature.n)
        return rc;
    st->open = OPEN_NONE;
    return rc < 0 ? rc : ch_fold_extra(d->fold, st->key, part->signature);
}

/* An image or a piece of sound. A sound comes in many parts of one type, which are one
 * block; each image is one. False: data of another kind. */
static bool fold_media(struct ch_decoder *d, const struct part *part, int *rc) {
    struct inline_data {
        struct ch_sv type, data;
    } x = {0};
    static const struct ch_member inside[] = {
        CH_MEMBER(struct inline_data, type, "mimeType", CH_MEMBER_STR),
        CH_MEMBER(struct inline_data, data, "data", CH_MEMBER_STR),
    };
    static const struct ch_member members[] = {CH_MEMBERS_IN("inlineData", inside)};
    struct state *st = gemini_decode_state_of(d);
    CH_BUF_AUTO scratch = {0};
    ch_members_read(part->json, &scratch, members, CH_LEN(members), &x);
    bool image = ch_sv_starts(x.type, "image/"), audio = ch_sv_starts(x.type, "audio/");
    if ((!image && !audio) || !x.data.n)
        return false;
    if (image || st->open != OPEN_SOUND)
        st->key = st->next++;
    st->open = image ? OPEN_NONE : OPEN_SOUND;
    *rc = ch_fold_media(d->fold, st->key, image ? CH_BLOCK_IMAGE : CH_BLOCK_AUDIO, x.type, x.data);
    if (*rc == CHELA_OK && part->signature.n)
        *rc = ch_fold_extra(d->fold, st->key, part->signature);
    return true;
}

static int fold_part(struct ch_decoder *d, const struct part *part) {
    struct state *st = gemini_decode_state_of(d);
    int rc = CHELA_OK;
    if (part->text.n || (part->thought && part->signature.n && !part->other.n))
        return gemini_decode_fold_text(d, part);
    if (part->call.n) {
        st->open = OPEN_NONE;
        return gemini_decode_fold_call(d, part);
    }
    if (!part->other.n && !part->signature.n)
        return CHELA_OK;
    if (ch_sv_is(part->other, "inlineData") && !part->thought && fold_media(d, part, &rc))
        return rc;
    /* Many replies end with an empty text and a signature: keep the part, show nothing. */
    st->open = OPEN_NONE;
    return ch_fold_opaque(d->fold, st->next++, part->other.n ? part->other : CH_SV("signature"),
                          part->json);
}

static int use_candidate(struct ch_decoder *d, const struct candidate *x) {
    struct state *st = gemini_decode_state_of(d);
    int rc = CHELA_OK;
    for (size_t i = 0; i < st->nparts && rc == CHELA_OK; i++)
        rc = fold_part(d, &st->parts[i]);
    if (x->logprobs.n)
        ch_logprobs_add_candidates(d, x->logprobs);
    if (x->grounding.n > 2 && *x->grounding.p == '{') { /* most chunks hold {} */
        ch_buf_clear(&st->grounding);
        ch_buf_add_sv(&st->grounding, x->grounding);
    }
    if (x->reason.n)
        gemini_decode_finish(d, x->reason, gemini_decode_stop_of(x->reason), x->message);
    return rc;
}

static int gemini_decode_use_chunk(struct ch_decoder *d, const struct chunk *c,
                                   struct chela_error *err) {
    d->recognised |= c->recognised;
    if (c->model.n && !ch_sv_eq(c->model, d->reply.model))
        d->reply.model = ch_arena_sv(&d->arena, c->model);
    if (c->crowded || (c->has_first && use_candidate(d, &c->first) < 0))
        return ch_decode_too_large(err);
    if (c->block.n)
        gemini_decode_finish(d, c->block, CH_STOP_REFUSAL, c->block_message);
    if (c->has_error || !c->recognised)
        return ch_gemini_read_error(d, c->json) < 0 ? ch_decode_malformed(err) : CHELA_OK;
    return CHELA_OK;
}

/* --- repeated chunks */

/* The only text of a chunk, as a slice of data; {NULL,0} if the chunk contains anything
 * else. */
static struct ch_sv only_text(const struct state *st, const struct chunk *c) {
    const struct part *part = st->parts;
    bool one = c->has_first && !c->has_more && st->nparts == 1 && !c->first.reason.n &&
               !c->first.message.n && c->first.grounding.n <= 2 && !c->first.logprobs.n &&
               !c->block.n && !c->has_error;
    if (!one || part->signature.n || part->call.n || part->other.n)
        return ch_sv(NULL, 0);
    return part->source;
}

static bool gemini_decode_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = gemini_decode_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    *rc = st->open == OPEN_THOUGHT ? ch_fold_reasoning(d->fold, st->key, m.piece)
                                   : ch_fold_text(d->fold, st->key, m.piece);
    if (m.figures.n) {
        ch_buf_clear(&st->figures);
        ch_buf_add_sv(&st->figures, m.figures);
    }
    return true;
}

/* --- events and bodies */

/* One chunk, or an array of them. */
static int gemini_decode_read_all(struct ch_decoder *d, struct ch_sv data, struct chunk *c,
                                  bool *array, struct chela_error *err) {
    struct ch_pull p;
    int rc = CHELA_OK;
    ch_pull_init(&p, data, &d->scratch);
    *array = ch_pull_peek(&p) == '[';
    if (!*array) {
        gemini_decode_read_chunk(d, &p, c);
        return ch_pull_failed(&p) ? ch_decode_malformed(err) : gemini_decode_use_chunk(d, c, err);
    }
    ch_pull_enter(&p, '[');
    while (rc == CHELA_OK && ch_pull_item(&p)) {
        gemini_decode_read_chunk(d, &p, c);
        if (!ch_pull_failed(&p))
            rc = gemini_decode_use_chunk(d, c, err);
    }
    return rc == CHELA_OK && ch_pull_failed(&p) ? ch_decode_malformed(err) : rc;
}

static int gemini_decode_on_event(struct ch_decoder *d, struct ch_sv name CH_UNUSED,
                                  struct ch_sv data, struct chela_error *err) {
    struct state *st = gemini_decode_state_of(d);
    struct chunk c;
    bool array;
    int rc;
    if (gemini_decode_repeat(d, data, &rc))
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    ch_template_clear(&st->template);
    if (ch_sv_starts(data, "[DONE]"))
        return CHELA_OK; /* added by proxies */
    rc = gemini_decode_read_all(d, data, &c, &array, err);
    struct ch_sv text = rc < 0 || array ? ch_sv(NULL, 0) : only_text(st, &c);
    struct ch_template_event e = {.data = data, .piece = text, .figures = c.usage};
    if (text.n)
        ch_template_learn(&st->template, &e);
    return rc;
}

/* A whole reply is complete even without a finishReason; but without content and reason, or
 * if truncated, it is no reply. */
static int gemini_decode_on_body(struct ch_decoder *d, struct ch_sv body, struct chela_error *err) {
    struct chunk c = {0};
    bool array;
    int rc = gemini_decode_read_all(d, body, &c, &array, err);
    if (rc < 0)
        d->reply.complete = false;
    if (rc < 0 || array || d->reply.complete || !d->recognised)
        return rc;
    if (c.first.has_content)
        d->reply.complete = true;
    else
        ch_decoder_fail_as(d, CH_ERR_SERVER, true, CH_SV("the server returned an empty reply"));
    return rc;
}

/* --- the end */

/* candidatesTokenCount excludes thoughts; promptTokenCount includes cached tokens, but not
 * the results of the service's own tools. */
static void gemini_decode_set_usage(struct ch_decoder *d) {
    const struct usage *u = &gemini_decode_state_of(d)->usage;
    struct ch_sv figures = ch_buf_sv(&gemini_decode_state_of(d)->figures);
    struct ch_pull p;
    ch_pull_init(&p, figures, &d->scratch);
    if (figures.n)
        gemini_decode_read_usage(gemini_decode_state_of(d), &p);
    int64_t thoughts = ch_token_count(u->thoughts);
    d->reply.usage = (struct ch_usage){
        .input = ch_token_count(u->prompt) + ch_token_count(u->tools),
        .output = ch_token_count(u->candidates) + thoughts,
        .cache_read = ch_token_count(u->cached),
        .reasoning = thoughts,
    };
}

static void gemini_decode_on_end(struct ch_decoder *d) {
    struct state *st = gemini_decode_state_of(d);
    gemini_decode_set_usage(d);
    if (st->growing && d->reply.complete && d->reply.stop != CH_STOP_LENGTH)
        leave_growing(d);
    if (st->grounding.n)
        ch_fold_opaque(d->fold, st->next++, CH_SV(CH_GEMINI_GROUNDING), ch_buf_sv(&st->grounding));
    if (d->reply.stop == CH_STOP_ERROR)
        gemini_decode_fail_by_reason(d);
    if (d->reply.stop == CH_STOP_REFUSAL && st->finish_message.n)
        ch_fold_refusal(d->fold, st->next, st->finish_message);
}

static void gemini_decode_on_release(struct ch_decoder *d) {
    ch_free(gemini_decode_state_of(d)->parts);
    ch_template_release(&gemini_decode_state_of(d)->template);
    ch_buf_release(&gemini_decode_state_of(d)->figures);
    ch_buf_release(&gemini_decode_state_of(d)->grounding);
    ch_gemini_args_release(&gemini_decode_state_of(d)->args);
}

const struct ch_codec ch_codec_gemini = {
    .name = "gemini",
    .state_size = sizeof(struct state),
    .bare_errors = true,
    .http = ch_gemini_http,
    .head = ch_gemini_head,
    .message = ch_gemini_message,
    .tail = ch_gemini_tail,
    .event = gemini_decode_on_event,
    .body = gemini_decode_on_body,
    .takes_schema = ch_gemini_takes_schema,
    .effort = ch_gemini_sent_effort,
    .end = gemini_decode_on_end,
    .findings = ch_gemini_findings,
    .returns_images = true,
    .release = gemini_decode_on_release,
};
