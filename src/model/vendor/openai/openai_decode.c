/* openai_decode.c -- decodes a Chat Completions reply, streamed or whole.
 *
 * This codec serves many servers and assumes little: members may come in any order, twice,
 * or as null; the last chunk may contain text and calls beside its finish_reason; usage may
 * be anywhere. A non-empty finish_reason is the end marker and closes the calls; where there
 * is none, [DONE] is. Otherwise [DONE] is optional, and decoding continues after the marker,
 * because usage often follows.
 *
 * The message of a whole reply is decoded like one delta. A chunk that differs from the
 * previous one only in its text is matched by a template (delta_fast_path.h). */
#include "base/limits.h"
#include "base/utf8.h"
#include "model/codec/decode.h"
#include "model/codec/errors.h"
#include "model/codec/fold.h"
#include "model/codec/logprobs.h"
#include "model/vendor/openai/openai.h"
#include "model/vendor/openai/openai_calls.h"
#include "model/vendor/openai/openai_encode.h"
#include "model/vendor/openai/openai_media.h"
#include "model/vendor/openai/openai_usage.h"
#include "model/codec/delta_fast_path.h"
#include "model/vendor/openai/reasoning_details.h"
#include "model/vendor/openai/openai_findings.h"
#include "json/members.h"
#include "json/pull.h"

/* Fold keys; media use those from CH_OPENAI_MEDIA_KEYS on, calls those from
 * CH_OPENAI_CALL_KEYS on. */
enum { KEY_REASONING, KEY_TEXT, KEY_REFUSAL, KEY_EXECUTED };

/* The string of a chunk, from which a template is made if the chunk has no other content. */
struct sole_string {
    struct ch_sv raw[4]; /* its occurrences in the chunk, undecoded */
    size_t n;
    unsigned key; /* key of its block */
    bool others;  /* the chunk has other content */
};

struct state {
    struct ch_openai_calls calls;
    bool no_reasons;    /* an empty finish_reason was received: this server sends no reasons */
    bool native_length; /* a router reports that the model's output was truncated */
    bool unexplained;   /* a whole reply whose finish_reason is null */
    const char *member; /* member that contained the last reasoning */
    struct ch_details details;
    struct ch_openai_media media;
    struct ch_buf usage; /* last usage object, JSON */
    struct ch_buf annotations; /* elements of JSON arrays, with commas */
    struct ch_buf sources; /* the last list of sources, a JSON array */
    struct ch_buf executed; /* calls that the server made, a JSON array */
    struct ch_buf inner; /* scratch for parts of an event */

    struct sole_string sole;     /* of the current chunk */
    struct ch_template template; /* matches chunks with one string */
    unsigned template_key;       /* key of the block that the string is appended to */
    bool template_details;       /* the string is also appended to the last reasoning detail */
};

static struct state *openai_decode_state_of(struct ch_decoder *d) {
    return d->state;
}

/* --- stop reasons */

static enum ch_stop openai_decode_stop_of(struct ch_sv raw) {
    static const struct ch_stop_word stops[] = {
        {"tool_calls", CH_STOP_TOOL_USE},
        {"tool_call", CH_STOP_TOOL_USE},
        {"function_call", CH_STOP_TOOL_USE},
        {"length", CH_STOP_LENGTH},
        {"max_tokens", CH_STOP_LENGTH},
        {"max_output_tokens", CH_STOP_LENGTH},
        {"model_length", CH_STOP_LENGTH},
        {"model_context_window_exceeded", CH_STOP_LENGTH},
        {"content_filter", CH_STOP_REFUSAL},
        {"refusal", CH_STOP_REFUSAL},
        {"sensitive", CH_STOP_REFUSAL},
        {"error", CH_STOP_ERROR},
        {"network_error", CH_STOP_ERROR},
        {"abort", CH_STOP_ERROR}, /* vLLM and SGLang: the engine was stopped or failed */
        {"unknown", CH_STOP_ERROR},
        {"insufficient_system_resource", CH_STOP_ERROR},
        /* relays that pass on the words of other protocols */
        {"tool_use", CH_STOP_TOOL_USE},
        {"content_filtered", CH_STOP_REFUSAL},
        {"guardrail_intervened", CH_STOP_REFUSAL},
        {"MAX_TOKENS", CH_STOP_LENGTH},
        {"SAFETY", CH_STOP_REFUSAL},
        {"RECITATION", CH_STOP_REFUSAL},
        {"PROHIBITED_CONTENT", CH_STOP_REFUSAL},
        {"MALFORMED_FUNCTION_CALL", CH_STOP_ERROR},
    };
    return ch_decode_stop(stops, CH_LEN(stops), raw);
}

static void openai_decode_finish(struct ch_decoder *d, struct ch_sv raw) {
    struct state *st = openai_decode_state_of(d);
    if (!raw.n) {
        st->no_reasons = true;
        return;
    }
    d->reply.complete = true;
    d->reply.stop = openai_decode_stop_of(raw);
    if (!ch_sv_eq(raw, d->reply.stop_raw))
        d->reply.stop_raw = ch_arena_sv(&d->arena, raw);
}

static void openai_decode_fail_by_reason(struct ch_decoder *d) {
    char *line =
        ch_arena_printf(&d->arena, "the server ended the reply with finish_reason \"%.*s\"",
                        CH_SV_FMT(d->reply.stop_raw));
    ch_decoder_fail_as(d, CH_ERR_SERVER, true, ch_sv_str(line));
}

/* --- content */

/* Reasoning members, in order of precedence. */
static const char *const reasoning_members[] = {"reasoning_content", "reasoning", "reasoning_text"};

/* A string, decoded and undecoded. */
struct text {
    struct ch_sv decoded, raw;
};

struct delta {
    struct text content, reasoning[CH_LEN(reasoning_members)];
    struct ch_sv refusal;
    struct ch_sv parts, calls, details, images, annotations, executed; /* JSON arrays */
    struct ch_sv sound; /* JSON object */
};

static void openai_decode_take(struct ch_pull *p, struct text *out) {
    ch_pull_str_raw(p, &out->decoded, &out->raw);
}

static bool take_reasoning(struct ch_pull *p, struct ch_sv key, struct delta *x) {
    for (size_t i = 0; i < CH_LEN(reasoning_members); i++)
        if (ch_sv_is(key, reasoning_members[i])) {
            openai_decode_take(p, &x->reasoning[i]);
            return true;
        }
    return false;
}

/* Media, sources and calls that the server made. Null, and an empty list, count as absent. */
static bool take_extras(struct ch_pull *p, struct ch_sv key, struct delta *x) {
    struct ch_sv json = CH_SV("");
    struct ch_sv *to = ch_sv_is(key, "images")           ? &x->images
                       : ch_sv_is(key, "audio")          ? &x->sound
                       : ch_sv_is(key, "annotations")    ? &x->annotations
                       : ch_sv_is(key, "executed_tools") ? &x->executed
                                                         : NULL;
    if (!to)
        return false;
    char first = ch_pull_peek(p);
    if (ch_pull_raw(p, &json) && json.n > 2 && first == (to == &x->sound ? '{' : '['))
        *to = json;
    return true;
}

static void read_delta(struct ch_pull *p, struct delta *x) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "content")) {
            if (ch_pull_peek(p) == '[')
                ch_pull_raw(p, &x->parts);
            else if (ch_pull_peek(p) == '{') /* an answer in a schema: Cloudflare */
                ch_pull_raw(p, &x->content.decoded);
            else
                openai_decode_take(p, &x->content);
        } else if (ch_sv_is(key, "tool_calls")) {
            ch_pull_raw(p, &x->calls);
        } else if (ch_sv_is(key, "refusal")) {
            ch_pull_str(p, &x->refusal);
        } else if (ch_sv_is(key, "reasoning_details")) {
            ch_pull_raw(p, &x->details);
        } else if (!take_extras(p, key, x) && !take_reasoning(p, key, x)) {
            ch_pull_skip(p);
        }
    }
}

static void note_again(struct sole_string *s, struct ch_sv raw) {
    if (s->n < CH_LEN(s->raw))
        s->raw[s->n++] = raw;
    else
        s->others = true;
}

static void openai_decode_note(struct sole_string *s, unsigned key, struct ch_sv raw) {
    s->others |= s->n > 0 || !raw.n;
    s->key = key;
    note_again(s, raw);
}

/* A text that is no string is the source text of an object, whose bytes were not validated. */
static int openai_decode_fold_text(struct ch_decoder *d, struct text piece) {
    CH_BUF_AUTO clean = {0};
    openai_decode_note(&openai_decode_state_of(d)->sole, KEY_TEXT, piece.raw);
    if (!piece.raw.n && !ch_utf8_valid(piece.decoded)) {
        ch_utf8_add_valid(&clean, piece.decoded);
        piece.decoded = ch_buf_sv(&clean);
    }
    return ch_fold_text(d->fold, KEY_TEXT, piece.decoded);
}

static int openai_decode_fold_reasoning(struct ch_decoder *d, struct text piece,
                                        const char *member) {
    struct state *st = openai_decode_state_of(d);
    int rc = ch_fold_reasoning(d->fold, KEY_REASONING, piece.decoded);
    openai_decode_note(&st->sole, KEY_REASONING, piece.raw);
    if (rc < 0 || st->member == member)
        return rc;
    st->member = member;
    return ch_fold_field(d->fold, KEY_REASONING, ch_sv_str(member), CH_SV(""));
}

/* Text of a part: "..", or [{"text":".."},..] (Mistral's thinking). */
static int fold_thought(struct ch_decoder *d, struct ch_pull *p) {
    struct ch_sv key;
    struct text text;
    int rc = CHELA_OK;
    if (ch_pull_peek(p) == '"') {
        if (ch_pull_str_raw(p, &text.decoded, &text.raw))
            rc = openai_decode_fold_reasoning(d, text, CH_OPENAI_THINKING);
        return rc;
    }
    if (!ch_pull_enter(p, '['))
        return rc;
    while (ch_pull_item(p)) {
        if (!ch_pull_enter(p, '{'))
            continue;
        while (ch_pull_key(p, &key)) {
            if (!ch_sv_is(key, "text"))
                ch_pull_skip(p);
            else if (ch_pull_str_raw(p, &text.decoded, &text.raw) && rc == CHELA_OK)
                rc = openai_decode_fold_reasoning(d, text, CH_OPENAI_THINKING);
        }
    }
    return rc;
}

/* Content as parts: text, Mistral's thinking, Databricks' reasoning. */
static int fold_parts(struct ch_decoder *d, struct ch_sv array) {
    struct ch_pull p;
    struct ch_sv key;
    struct text text;
    int rc = CHELA_OK;
    ch_pull_init(&p, array, &openai_decode_state_of(d)->inner);
    if (!ch_pull_enter(&p, '['))
        return rc;
    while (rc == CHELA_OK && ch_pull_item(&p)) {
        if (!ch_pull_enter(&p, '{'))
            continue;
        while (ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "text")) {
                if (ch_pull_str_raw(&p, &text.decoded, &text.raw) && text.decoded.n)
                    rc = openai_decode_fold_text(d, text);
            } else if (ch_sv_is(key, "thinking") || ch_sv_is(key, "summary")) {
                rc = fold_thought(d, &p);
            } else {
                ch_pull_skip(&p);
            }
        }
    }
    return rc;
}

/* Details repeat a reasoning member; their text counts only if that member is missing. */
static int fold_details(struct ch_decoder *d, struct ch_sv array, bool has_member) {
    struct state *st = openai_decode_state_of(d);
    CH_BUF_AUTO text = {0};
    int rc = ch_details_add(&st->details, array);
    if (has_member && st->details.sole.n)
        note_again(&st->sole, st->details.sole);
    else if (has_member)
        st->sole.others = true;
    if (rc < 0 || has_member)
        return rc;
    ch_details_text(array, &text);
    return openai_decode_fold_reasoning(d, (struct text){ch_buf_sv(&text), st->details.sole},
                                        reasoning_members[1]);
}

static int fold_calls(struct ch_decoder *d, struct ch_sv array, bool whole) {
    struct state *st = openai_decode_state_of(d);
    st->calls.fragments = 0;
    int rc = ch_openai_fold_calls(&st->calls, d->fold, array, whole);
    openai_decode_note(&st->sole, st->calls.last_key, st->calls.sole);
    st->sole.others |= st->calls.fragments != 1;
    return rc;
}

static bool is_list(struct ch_sv json) {
    return json.n > 2 && *json.p == '[';
}

static void replace_list(struct ch_buf *to, struct ch_sv json) {
    if (!is_list(json))
        return;
    ch_buf_clear(to);
    ch_buf_add_sv(to, json);
}

/* Adds images, sound, and the sources of the reply. */
static int fold_extras(struct ch_decoder *d, const struct delta *x) {
    struct state *st = openai_decode_state_of(d);
    struct ch_sv words = CH_SV("");
    int rc = CHELA_OK;
    if (x->annotations.n) {
        if (st->annotations.n)
            ch_buf_addc(&st->annotations, ',');
        ch_buf_add(&st->annotations, x->annotations.p + 1, x->annotations.n - 2);
        rc = st->annotations.n > CH_LIMIT_REPLY ? CHELA_ELIMIT : CHELA_OK;
    }
    replace_list(&st->executed, x->executed);
    if (rc == CHELA_OK && x->images.n)
        rc = ch_openai_fold_images(&st->media, d->fold, x->images, &st->inner);
    if (rc == CHELA_OK && x->sound.n)
        rc = ch_openai_fold_sound(&st->media, d->fold, x->sound, &st->inner, &words);
    if (rc == CHELA_OK && words.n && !x->content.decoded.n)
        rc = ch_fold_text(d->fold, KEY_TEXT, words);
    st->sole.others |= x->images.n || x->sound.n || x->annotations.n || x->executed.n;
    return rc;
}

static int openai_decode_fold_delta(struct ch_decoder *d, const struct delta *x, bool whole) {
    int rc = CHELA_OK;
    bool found = false; /* some servers send the same reasoning under two names */
    for (size_t i = 0; i < CH_LEN(reasoning_members); i++) {
        if (!x->reasoning[i].decoded.n)
            continue;
        if (found)
            note_again(&openai_decode_state_of(d)->sole, x->reasoning[i].raw);
        else
            rc = openai_decode_fold_reasoning(d, x->reasoning[i], reasoning_members[i]);
        found = true;
    }
    if (rc == CHELA_OK && x->details.n)
        rc = fold_details(d, x->details, found);
    if (rc == CHELA_OK && x->content.decoded.n)
        rc = openai_decode_fold_text(d, x->content);
    if (rc == CHELA_OK && x->parts.n)
        rc = fold_parts(d, x->parts);
    if (rc == CHELA_OK && x->refusal.n)
        rc = ch_fold_refusal(d->fold, KEY_REFUSAL, x->refusal);
    if (rc == CHELA_OK && x->calls.n)
        rc = fold_calls(d, x->calls, whole);
    return rc == CHELA_OK ? fold_extras(d, x) : rc;
}

/* --- chunks */

struct choice {
    int64_t index;
    bool has_index, has_reason;
    bool null_reason; /* finish_reason is there and is null */
    struct delta delta;
    struct ch_sv late;    /* JSON of a delta that preceded its index */
    struct ch_sv message; /* JSON of the whole reply, or of the reply so far */
    struct ch_sv reason, native, usage, error;
    struct ch_sv logprobs; /* JSON array */
};

/* {"content":[..],"refusal":null}, or null. */
static void read_logprobs(struct ch_pull *p, struct choice *c) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct choice, logprobs, "content", CH_MEMBER_ARRAY),
    };
    ch_members_pull(p, members, CH_LEN(members), c);
}

static void openai_decode_read_choice(struct ch_pull *p, struct choice *c,
                                      struct ch_template_unread *unread) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "index")) {
            ch_pull_int(p, &c->index);
            c->has_index = true;
        } else if (ch_sv_is(key, "delta")) {
            if (c->has_index && c->index == 0)
                read_delta(p, &c->delta);
            else
                ch_pull_raw(p, &c->late);
        } else if (ch_sv_is(key, "message")) {
            ch_pull_raw(p, &c->message);
        } else if (ch_sv_is(key, "finish_reason")) {
            c->null_reason = ch_pull_peek(p) == 'n';
            c->has_reason = ch_pull_str(p, &c->reason);
        } else if (ch_sv_is(key, "logprobs") && ch_pull_peek(p) == '{') {
            read_logprobs(p, c);
        } else if (ch_sv_is(key, "native_finish_reason")) {
            ch_pull_str(p, &c->native);
        } else if (ch_sv_is(key, "usage")) {
            ch_pull_raw(p, &c->usage);
        } else if (ch_sv_is(key, "error")) {
            if (ch_pull_raw(p, &c->error) && *c->error.p != '{')
                c->error = CH_SV("");
        } else {
            ch_template_skip(unread, p);
        }
    }
}

/* Stored and parsed at the end, because every chunk may contain it. */
static void openai_decode_set_usage(struct ch_decoder *d, struct ch_sv json) {
    struct ch_buf *usage = &openai_decode_state_of(d)->usage;
    if (!json.n || *json.p != '{')
        return;
    ch_buf_clear(usage);
    ch_buf_add_sv(usage, json);
}

/* A whole reply is complete even without a finish_reason. OpenRouter sends null for
 * truncated output, and for an empty reply, which is a failure. */
static void finish_whole(struct ch_decoder *d, const struct choice *c) {
    d->reply.complete = true;
    openai_decode_state_of(d)->unexplained = c->null_reason;
    if (c->null_reason)
        d->reply.stop = CH_STOP_LENGTH;
}

static bool is_empty_delta(const struct delta *x) {
    bool empty = !x->content.decoded.n && !x->refusal.n && !x->parts.n && !x->calls.n &&
                 !x->details.n && !x->images.n && !x->sound.n;
    for (size_t i = 0; i < CH_LEN(reasoning_members); i++)
        empty &= !x->reasoning[i].decoded.n;
    return empty;
}

/* Some servers (Perplexity) send the reply so far in `message` beside every delta, and the
 * whole reply beside an empty one. Drop from the message the part that was received. */
static void drop_received(struct ch_decoder *d, struct delta *x) {
    struct ch_sv have = ch_fold_block_text(d->fold, KEY_TEXT), text = x->content.decoded;
    bool reasoned = ch_fold_has(d->fold, CH_BLOCK_REASONING);
    if (have.n) {
        bool extends = text.n > have.n && memcmp(text.p, have.p, have.n) == 0;
        x->content.decoded = extends ? ch_sv(text.p + have.n, text.n - have.n) : CH_SV("");
        x->parts = CH_SV("");
    }
    for (size_t i = 0; i < CH_LEN(reasoning_members) && reasoned; i++)
        x->reasoning[i].decoded = CH_SV("");
    if (reasoned)
        x->details = CH_SV("");
    if (ch_fold_has(d->fold, CH_BLOCK_REFUSAL))
        x->refusal = CH_SV("");
    if (openai_decode_state_of(d)->calls.n)
        x->calls = CH_SV("");
    if (openai_decode_state_of(d)->media.images)
        x->images = CH_SV("");
    if (openai_decode_state_of(d)->media.sound)
        x->sound = CH_SV("");
    if (openai_decode_state_of(d)->annotations.n)
        x->annotations = CH_SV("");
}

/* Fold the delta of a choice, or its message if the delta is missing or empty. */
static int fold_choice(struct ch_decoder *d, struct choice *c) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    if (c->late.n) {
        ch_pull_init(&p, c->late, &scratch);
        read_delta(&p, &c->delta);
    }
    bool whole = c->message.n && is_empty_delta(&c->delta);
    if (whole) {
        ch_buf_clear(&scratch);
        ch_pull_init(&p, c->message, &scratch);
        read_delta(&p, &c->delta);
        drop_received(d, &c->delta);
    }
    return openai_decode_fold_delta(d, &c->delta, whole);
}

static int use_choice(struct ch_decoder *d, struct choice *c) {
    struct state *st = openai_decode_state_of(d);
    if (c->index != 0)
        return CHELA_OK; /* the first of several choices is the reply */
    int rc = fold_choice(d, c);
    if (c->logprobs.n)
        ch_logprobs_add(d, c->logprobs);
    openai_decode_set_usage(d, c->usage);
    st->native_length |= ch_sv_is(c->native, "length") || ch_sv_is(c->native, "max_tokens") ||
                         ch_sv_is(c->native, "MAX_TOKENS");
    if (c->has_reason)
        openai_decode_finish(d, c->reason);
    return rc;
}

struct chunk {
    struct choice choice; /* the choice with index 0 */
    struct ch_sv split; /* JSON of the choices, if the reply is split into several */
    bool has_choices, has_choice, has_error;
    struct ch_sv model, usage; /* usage: JSON */
    struct ch_sv citations, results; /* JSON arrays: URLs; search results */
    struct ch_sv groq_error; /* why Groq ended the stream early */
    struct ch_template_unread unread;
};

/* Copilot splits the replies of Claude: a choice for the text and one for each call, all
 * without an index. */
static bool is_rest(const struct choice *c) {
    return !c->has_index && c->message.n;
}

static void read_choices(struct ch_pull *p, struct chunk *c) {
    struct choice other;
    bool split = false;
    c->has_choices = ch_pull_peek(p) == '[';
    const char *start = p->at;
    if (!ch_pull_enter(p, '['))
        return;
    while (ch_pull_item(p)) {
        struct choice *into = c->has_choice ? &other : &c->choice;
        *into = (struct choice){0};
        openai_decode_read_choice(p, into, &c->unread);
        split |= c->has_choice && is_rest(into);
        c->has_choice |= into->index == 0;
    }
    if (split)
        c->split = ch_sv(start, (size_t)(p->at - start));
}

/* Fold the further choices of a reply that is split into several. */
static int fold_rest(struct ch_decoder *d, struct ch_sv choices) {
    CH_BUF_AUTO outer = {0};
    CH_BUF_AUTO inner = {0};
    struct ch_template_unread unread = {0};
    struct ch_pull p, message;
    int rc = CHELA_OK;
    ch_pull_init(&p, choices, &outer);
    ch_pull_enter(&p, '[');
    for (int i = 0; rc == CHELA_OK && ch_pull_item(&p); i++) {
        struct choice c = {0};
        openai_decode_read_choice(&p, &c, &unread);
        if (i == 0 || !is_rest(&c))
            continue;
        ch_pull_init(&message, c.message, &inner);
        read_delta(&message, &c.delta);
        rc = openai_decode_fold_delta(d, &c.delta, true);
    }
    return rc;
}

/* Groq puts usage and errors into the member x_groq. */
static void read_x_groq(struct ch_pull *p, struct chunk *c) {
    static const struct ch_member members[] = {
        CH_MEMBER(struct chunk, usage, "usage", CH_MEMBER_RAW),
        CH_MEMBER(struct chunk, groq_error, "error", CH_MEMBER_STR),
    };
    ch_members_pull(p, members, CH_LEN(members), c);
}

static bool openai_decode_read_chunk(struct ch_decoder *d, struct ch_sv data, struct chunk *c) {
    struct ch_pull p;
    struct ch_sv key, usage;
    *c = (struct chunk){0};
    ch_pull_init(&p, data, &d->scratch);
    if (ch_pull_enter(&p, '{'))
        while (ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "choices")) {
                read_choices(&p, c);
            } else if (ch_sv_is(key, "usage")) {
                if (ch_pull_raw(&p, &usage) && *usage.p == '{')
                    c->usage = usage;
            } else if (ch_sv_is(key, "model")) {
                ch_pull_str(&p, &c->model);
            } else if (ch_sv_is(key, "citations")) {
                ch_pull_raw(&p, &c->citations);
            } else if (ch_sv_is(key, "search_results")) {
                ch_pull_raw(&p, &c->results);
            } else if (ch_sv_is(key, "x_groq")) {
                read_x_groq(&p, c);
            } else if (ch_sv_is(key, "error") || ch_sv_is(key, "base_resp")) {
                c->has_error |= ch_pull_peek(&p) != 'n';
                ch_pull_skip(&p);
            } else {
                ch_template_skip(&c->unread, &p);
            }
        }
    return !ch_pull_failed(&p);
}

static int openai_decode_use_chunk(struct ch_decoder *d, struct ch_sv data, struct chunk *c,
                                   struct chela_error *err) {
    d->recognised |= c->has_choices;
    if (c->model.n && !ch_sv_eq(c->model, d->reply.model))
        d->reply.model = ch_arena_sv(&d->arena, c->model);
    if (c->has_choice && use_choice(d, &c->choice) < 0)
        return ch_decode_too_large(err);
    if (c->split.n && fold_rest(d, c->split) < 0)
        return ch_decode_too_large(err);
    openai_decode_set_usage(d, c->usage);
    replace_list(&openai_decode_state_of(d)->sources,
                 is_list(c->results) ? c->results : c->citations);
    if (c->choice.error.n)
        return ch_decode_error(d, c->choice.error, err);
    if (c->groq_error.n)
        ch_decoder_fail(d, &(struct ch_vendor_error){.message = c->groq_error});
    return c->has_error || !c->has_choices ? ch_decode_error(d, data, err) : CHELA_OK;
}

/* True if [DONE] ends a reply without a finish_reason (Snowflake): there is content, and no
 * call is truncated. */
static bool is_done(struct ch_decoder *d) {
    const struct state *st = openai_decode_state_of(d);
    bool content = st->calls.n || st->media.images || st->media.sound ||
                   ch_fold_has(d->fold, CH_BLOCK_TEXT) ||
                   ch_fold_has(d->fold, CH_BLOCK_REFUSAL);
    return d->recognised && (content || st->no_reasons) && !ch_fold_ends_cut(d->fold);
}

/* --- repeated chunks */

static void openai_decode_learn(struct ch_decoder *d, struct ch_sv data, const struct chunk *c) {
    struct state *st = openai_decode_state_of(d);
    const struct sole_string *sole = &st->sole;
    const struct choice *x = &c->choice;
    struct ch_template_event e = {.data = data, .figures = c->usage, .unread = &c->unread};
    if (sole->others || !sole->n || c->has_error || x->message.n || x->usage.n || x->error.n ||
        x->logprobs.n || x->reason.n || x->native.n || x->delta.refusal.n)
        return;
    st->template_key = sole->key;
    st->template_details = x->delta.details.n > 0;
    e.piece = sole->raw[0];
    for (size_t i = 1; i < sole->n; i++)
        e.again[i - 1] = sole->raw[i];
    ch_template_learn(&st->template, &e);
}

static bool openai_decode_repeat(struct ch_decoder *d, struct ch_sv data, int *rc) {
    struct state *st = openai_decode_state_of(d);
    struct ch_template_match m;
    if (!ch_template_match(&st->template, data, &d->scratch, &m))
        return false;
    struct ch_sv piece = m.piece;
    openai_decode_set_usage(d, m.figures);
    if (!piece.n)
        *rc = CHELA_OK;
    else if (st->template_key == KEY_TEXT)
        *rc = ch_fold_text(d->fold, KEY_TEXT, piece);
    else if (st->template_key == KEY_REASONING)
        *rc = ch_fold_reasoning(d->fold, KEY_REASONING, piece);
    else
        *rc = ch_fold_call(d->fold, st->template_key, CH_SV(""), CH_SV(""), piece);
    if (*rc == CHELA_OK && st->template_details)
        *rc = ch_details_add_like(&st->details, piece);
    return true;
}

static int openai_decode_on_event(struct ch_decoder *d, struct ch_sv name CH_UNUSED,
                                  struct ch_sv data, struct chela_error *err) {
    struct state *st = openai_decode_state_of(d);
    struct chunk c;
    int rc;
    if (openai_decode_repeat(d, data, &rc))
        return rc < 0 ? ch_decode_too_large(err) : CHELA_OK;
    ch_template_clear(&st->template);
    if (ch_sv_starts(data, "[DONE]")) {
        d->reply.complete |= is_done(d);
        d->stopped = true;
        return CHELA_OK;
    }
    if (!openai_decode_read_chunk(d, data, &c))
        return ch_decode_malformed(err);
    st->sole = (struct sole_string){0};
    rc = openai_decode_use_chunk(d, data, &c, err);
    if (rc == CHELA_OK)
        openai_decode_learn(d, data, &c);
    return rc;
}

static int openai_decode_on_body(struct ch_decoder *d, struct ch_sv body, struct chela_error *err) {
    struct chunk c;
    if (*body.p == '[')
        return ch_decode_error(d, body, err);
    if (!openai_decode_read_chunk(d, body, &c))
        return ch_decode_malformed(err);
    int rc = openai_decode_use_chunk(d, body, &c, err);
    if (rc == CHELA_OK && c.has_choice)
        finish_whole(d, &c.choice);
    return rc;
}

/* --- the end */

/* Stores the annotations of the text, or else the sources of the reply, with the text. */
static void keep_sources(struct ch_decoder *d) {
    struct state *st = openai_decode_state_of(d);
    if (st->annotations.n) {
        ch_fold_extra(d->fold, KEY_TEXT, CH_SV("["));
        ch_fold_extra(d->fold, KEY_TEXT, ch_buf_sv(&st->annotations));
        ch_fold_extra(d->fold, KEY_TEXT, CH_SV("]"));
    } else if (st->sources.n) {
        ch_fold_extra(d->fold, KEY_TEXT, ch_buf_sv(&st->sources));
    }
    if (st->executed.n)
        ch_fold_opaque(d->fold, KEY_EXECUTED, CH_SV("executed_tools"), ch_buf_sv(&st->executed));
}

static void openai_decode_on_end(struct ch_decoder *d) {
    struct state *st = openai_decode_state_of(d);
    keep_sources(d);
    ch_openai_media_end(&st->media, d->fold);
    if (d->reply.complete)
        ch_fold_close_all(d->fold);
    if (st->native_length)
        ch_fold_cut(d->fold);
    if (st->usage.n)
        d->reply.usage = ch_openai_usage(ch_buf_sv(&st->usage), &st->inner);
    if (d->reply.stop == CH_STOP_ERROR)
        openai_decode_fail_by_reason(d);
    if (st->unexplained && !d->reply.usage.output && !st->calls.n && !st->media.images &&
        !ch_fold_has(d->fold, CH_BLOCK_TEXT))
        ch_decoder_fail_as(d, CH_ERR_SERVER, true, CH_SV("the server returned an empty reply"));
    if (st->details.n) {
        CH_BUF_AUTO json = {0};
        ch_details_write(&st->details, &json);
        ch_fold_extra(d->fold, KEY_REASONING, ch_buf_sv(&json));
    }
}

static void openai_decode_on_release(struct ch_decoder *d) {
    ch_details_release(&openai_decode_state_of(d)->details);
    ch_template_release(&openai_decode_state_of(d)->template);
    ch_buf_release(&openai_decode_state_of(d)->usage);
    ch_buf_release(&openai_decode_state_of(d)->inner);
    ch_buf_release(&openai_decode_state_of(d)->annotations);
    ch_buf_release(&openai_decode_state_of(d)->sources);
    ch_buf_release(&openai_decode_state_of(d)->executed);
    ch_buf_release(&openai_decode_state_of(d)->calls.scratch);
    ch_free(openai_decode_state_of(d)->calls.list);
}

const struct ch_codec ch_codec_openai = {
    .name = "openai",
    .state_size = sizeof(struct state),
    .takes_cache_key = true,
    .http = ch_openai_http,
    .head = ch_openai_head,
    .message = ch_openai_message,
    .tail = ch_openai_tail,
    .close = ch_openai_close,
    .takes_schema = ch_openai_takes_schema,
    .effort = ch_openai_sent_effort,
    .ids = ch_openai_ids,
    .event = openai_decode_on_event,
    .body = openai_decode_on_body,
    .end = openai_decode_on_end,
    .findings = ch_openai_findings,
    .release = openai_decode_on_release,
};
