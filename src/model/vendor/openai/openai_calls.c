/* openai_calls.c -- assigns fragments to calls; see openai_calls.h.
 *
 * A fragment names its call by index. If a server omits the index, the id identifies the
 * call. If a server uses one index for all calls, a different id (or, without ids, a
 * different name) begins a new call. So does a named fragment that begins an object after a
 * complete object. Ids and names may be repeated or empty; they are set once. */
#include "model/vendor/openai/openai_calls.h"

#include "base/grow.h"
#include "base/utf8.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "json/pull.h"

struct wire_call {
    int64_t index; /* -1: none */
    struct ch_sv id, name, arguments;
    struct ch_sv raw;   /* the undecoded arguments, if they are a string */
    struct ch_sv extra; /* JSON */
};

/* Read {"name","arguments"}; a custom tool has "input". Snowflake sends both forms, one of them
 * empty. */
static void read_function(struct ch_pull *p, struct wire_call *c) {
    struct ch_sv key, text = CH_SV(""), raw;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "name")) {
            if (ch_pull_str(p, &text) && text.n)
                c->name = text;
        } else if (!ch_sv_is(key, "arguments") && !ch_sv_is(key, "input")) {
            ch_pull_skip(p);
        } else if (ch_pull_peek(p) == '{') { /* an object instead of a string */
            ch_pull_raw(p, &c->arguments);
        } else if (ch_pull_str_raw(p, &text, &raw) && text.n) {
            c->arguments = text;
            c->raw = raw;
        }
    }
}

static void openai_calls_read_call(struct ch_pull *p, struct wire_call *c) {
    struct ch_sv key;
    *c = (struct wire_call){.index = -1};
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "index"))
            ch_pull_int(p, &c->index);
        else if (ch_sv_is(key, "id"))
            ch_pull_str(p, &c->id);
        else if (ch_sv_is(key, "function") || ch_sv_is(key, "custom"))
            read_function(p, c);
        else if (ch_sv_is(key, "extra_content") && ch_pull_peek(p) == '{')
            ch_pull_raw(p, &c->extra);
        else
            ch_pull_skip(p);
    }
}

static uint64_t openai_calls_hash_of(struct ch_sv s) {
    return s.n ? ch_hash(0, s) | 1 : 0;
}

/* True if a fragment at a used index begins a new call: it has a name and a different id,
 * or a different name if neither has an id. */
static bool is_another(const struct ch_openai_call *have, const struct wire_call *c) {
    uint64_t id = openai_calls_hash_of(c->id), name = openai_calls_hash_of(c->name);
    if (!name)
        return false;
    if (id && have->id)
        return id != have->id;
    return !id && !have->id && have->name && name != have->name;
}

/* Index of the call that a fragment continues, or -1. */
static int openai_calls_find_call(const struct ch_openai_calls *calls, const struct wire_call *c) {
    uint64_t id = openai_calls_hash_of(c->id);
    for (int i = (int)calls->n - 1; i >= 0; i--) {
        const struct ch_openai_call *have = &calls->list[i];
        if (c->index >= 0 && have->index == c->index)
            return is_another(have, c) ? -1 : i;
        if (c->index < 0 && id && have->id == id)
            return i;
    }
    /* Without index, id and name, the fragment continues the last call. */
    return c->index < 0 && !id && !c->name.n ? (int)calls->n - 1 : -1;
}

static struct ch_sv calls_text(const struct ch_fold *f, int at) {
    return ch_fold_block_text(f, CH_OPENAI_CALL_KEYS + (unsigned)at);
}

/* True if a fragment for a call with complete arguments begins other arguments. */
static bool begins_again(struct ch_sv have, const struct wire_call *c) {
    struct ch_sv piece = ch_sv_trim(c->arguments);
    return c->name.n && piece.n && *piece.p == '{' && ch_is_json(have, CH_JSON_OBJECT);
}

static int openai_calls_new_call(struct ch_openai_calls *calls, int64_t index) {
    if (calls->n == CH_LIMIT_CALLS_READ)
        return -1;
    CH_GROW(calls->list, calls->n, calls->cap, 8);
    calls->list[calls->n] = (struct ch_openai_call){.index = index};
    calls->fragments = CH_LIMIT_CALLS_READ; /* not a mere fragment */
    return (int)calls->n++;
}

static int openai_calls_fold_call(struct ch_openai_calls *calls, struct ch_fold *f,
                                  const struct wire_call *c, bool whole) {
    int at = whole ? -1 : openai_calls_find_call(calls, c);
    if (at >= 0 && begins_again(calls_text(f, at), c)) {
        if (c->id.n && ch_sv_eq(calls_text(f, at), c->arguments))
            return CHELA_OK; /* the whole call is repeated */
        at = -1;
    }
    if (at < 0 && (at = openai_calls_new_call(calls, c->index)) < 0)
        return CHELA_ELIMIT;
    struct ch_openai_call *call = &calls->list[at];
    call->id = call->id ? call->id : openai_calls_hash_of(c->id);
    call->name = call->name ? call->name : openai_calls_hash_of(c->name);
    calls->last_key = CH_OPENAI_CALL_KEYS + (unsigned)at;
    calls->fragments++;
    /* A template would not see where a call without an id ends. */
    bool by_name = c->name.n && !c->id.n;
    calls->sole = c->extra.n || by_name ? ch_sv(NULL, 0) : c->raw;
    CH_BUF_AUTO clean = {0};
    struct ch_sv arguments = c->arguments;
    if (!ch_utf8_valid(arguments)) { /* the bytes of an object were not validated yet */
        ch_utf8_add_valid(&clean, arguments);
        arguments = ch_buf_sv(&clean);
    }
    int rc = ch_fold_call(f, calls->last_key, c->id, c->name, arguments);
    return rc < 0 ? rc : ch_fold_extra(f, calls->last_key, c->extra);
}

int ch_openai_fold_calls(struct ch_openai_calls *calls, struct ch_fold *f, struct ch_sv array,
                         bool whole) {
    struct ch_pull p;
    struct wire_call c;
    int rc = CHELA_OK;
    ch_pull_init(&p, array, &calls->scratch);
    if (ch_pull_enter(&p, '['))
        while (rc == CHELA_OK && ch_pull_item(&p)) {
            if (ch_pull_peek(&p) != '{') { /* null is no call */
                ch_pull_skip(&p);
                continue;
            }
            openai_calls_read_call(&p, &c);
            rc = openai_calls_fold_call(calls, f, &c, whole);
        }
    return rc;
}
