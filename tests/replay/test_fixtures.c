/* test_fixtures.c -- the bodies and requests of this folder.
 *
 * A folder for each protocol holds NAME.sse, NAME.json or NAME.events (a body;
 * the last as text, see support/events.h), NAME.head.json where status or
 * headers matter, and NAME.expect.json (what `chela wire
 * decode` prints). Each body is decoded whole, in two pieces split at every
 * byte, byte by byte, and, if it is a stream, with CRLF line ends: always the
 * same reply and the same events. Cut off at every byte it must give an error,
 * and no call to run, until the reply is complete.
 *
 * encode/ holds NAME.request.json (a neutral request) and NAME.anthropic.json,
 * NAME.openai.json, ... (the HTTP requests). */
#include <stdio.h>
#include <string.h>

#include "model/codec/decoder.h"
#include "model/wire/wire_encode.h"
#include "support/events.h"
#include "support/replay.h"
#include "json/writer.h"

#define ROOT "tests/replay"

struct fixture {
    const char *name;
    const struct ch_codec *codec;
    struct ch_http_head head;
    struct ch_sv body;
    bool stream;
    struct ch_buf reply, events; /* of the whole */
    struct ch_buf why;
};

/* JSON without white space, members in their order. */
static struct ch_sv compact(struct ch_arena *a, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (v)
        ch_jw_value(&w, v);
    return ch_arena_sv(a, ch_buf_sv(&out));
}

static struct ch_sv compact_text(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL);
    return compact(a, v);
}

static void check_same(struct fixture *f, struct ch_sv body, size_t split, size_t piece,
                       const char *how) {
    CH_BUF_AUTO reply = {0};
    CH_BUF_AUTO events = {0};
    if (split)
        replay_decode_split(f->codec, &f->head, body, split, &reply, &events);
    else
        replay_decode(f->codec, &f->head, body, piece, &reply, &events);
    if (ch_sv_eq(ch_buf_sv(&reply), ch_buf_sv(&f->reply)) &&
        ch_sv_eq(ch_buf_sv(&events), ch_buf_sv(&f->events)))
        return;
    ch_buf_addf(&f->why, "%s (%zu):\n%s%s\nbut whole:\n%s%s\n", how, split, ch_buf_str(&reply),
                ch_buf_str(&events), ch_buf_str(&f->reply), ch_buf_str(&f->events));
}

static void check_splits(struct fixture *f) {
    for (size_t i = 1; i < f->body.n && !f->why.n; i++)
        check_same(f, f->body, i, 0, "split at a byte");
    check_same(f, f->body, 0, 1, "byte by byte");
    check_same(f, f->body, 0, 3, "in threes");
}

static void check_crlf(struct fixture *f) {
    CH_BUF_AUTO crlf = {0};
    CH_BUF_AUTO cr = {0};
    if (!f->stream || memchr(f->body.p, '\r', f->body.n))
        return;
    for (size_t i = 0; i < f->body.n; i++) {
        if (f->body.p[i] == '\n')
            ch_buf_addc(&crlf, '\r');
        ch_buf_addc(&crlf, f->body.p[i]);
        ch_buf_addc(&cr, f->body.p[i] == '\n' ? '\r' : f->body.p[i]);
    }
    check_same(f, ch_buf_sv(&crlf), 0, 0, "with CRLF");
    check_same(f, ch_buf_sv(&crlf), 0, 1, "with CRLF, byte by byte");
    check_same(f, ch_buf_sv(&cr), 0, 2, "with CR");
}

/* --- cut at every byte */

static void decode_into(struct fixture *f, struct ch_sv body, struct ch_decoder *d) {
    ch_decoder_init(d, f->codec, NULL, NULL);
    ch_decoder_head(d, &f->head);
    char *copy = ch_memdup(body.p ? body.p : "", body.n + 1);
    ch_decoder_feed(d, ch_sv(copy, body.n));
    ch_free(copy);
    ch_decoder_end(d, NULL, 0);
}

static bool is_runnable(const struct ch_block *b) {
    return b->type == CH_BLOCK_TOOL_CALL && !(b->flags & (CH_F_CUT | CH_F_INVALID));
}

static bool has_call(const struct ch_msg *m, const struct ch_block *call) {
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (is_runnable(&m->blocks[i]) && ch_sv_eq(m->blocks[i].id, call->id) &&
            ch_sv_eq(m->blocks[i].name, call->name) && ch_sv_eq(m->blocks[i].text, call->text))
            return true;
    return false;
}

static void check_cut(struct fixture *f, const struct ch_decoder *whole, size_t n) {
    struct ch_sv head = ch_sv(f->body.p, n);
    struct ch_decoder d;
    decode_into(f, head, &d);
    const struct ch_reply *r = &d.reply;
    if (!r->complete && (r->error.cls == CH_ERR_NONE || r->stop != CH_STOP_ERROR))
        ch_buf_addf(&f->why, "cut after %zu bytes: incomplete, but no error\n", n);
    if (r->complete && !whole->reply.complete)
        ch_buf_addf(&f->why, "cut after %zu bytes: complete, but the whole is not\n", n);
    for (uint32_t i = 0; r->msg && i < r->msg->nblocks; i++) {
        const struct ch_block *b = &r->msg->blocks[i];
        if (is_runnable(b) && (!has_call(whole->reply.msg, b) || !r->complete))
            ch_buf_addf(&f->why, "cut after %zu bytes: call %.*s(%.*s) may be run\n", n,
                        CH_SV_FMT(b->name), CH_SV_FMT(b->text));
    }
    ch_decoder_release(&d);
}

static void check_cuts(struct fixture *f) {
    struct ch_decoder whole;
    decode_into(f, f->body, &whole);
    for (size_t n = 0; n < f->body.n && f->why.n < 2000; n++)
        check_cut(f, &whole, n);
    ch_decoder_release(&whole);
}

/* --- one fixture */

static void check_expect(struct fixture *f, struct ch_arena *a, const struct ch_json *expect) {
    struct ch_sv want = compact(a, expect), got = compact_text(a, ch_buf_sv(&f->reply));
    if (!ch_sv_eq(want, got))
        ch_buf_addf(&f->why, "expected:\n%.*s\ngot:\n%.*s\n", CH_SV_FMT(want), CH_SV_FMT(got));
}

static void read_head(struct fixture *f, struct ch_arena *a, const char *path) {
    const struct ch_json *v = replay_json(a, path), *headers = ch_json_get(v, "headers");
    size_t n = ch_json_is(headers, CH_JSON_OBJECT) ? headers->n : 0;
    struct ch_header *list = ch_arena_alloc(a, (n + 1) * sizeof(*list));
    f->head.status = (int)ch_json_int(ch_json_get(v, "status"), 200);
    for (CH_JSON_MEMBERS(k, x, headers))
        list[f->head.nheaders++] = (struct ch_header){ch_json_str(k), ch_json_str(x)};
    f->head.headers = list;
}

/* NAME.sse, NAME.events or NAME.json. */
static void read_body(struct fixture *f, struct ch_arena *a, const char *base) {
    CH_BUF_AUTO events = {0};
    f->body = replay_file(a, ch_arena_printf(a, "%s.sse", base));
    f->stream = f->body.p != NULL;
    if (f->stream)
        return;
    struct ch_sv text = replay_file(a, ch_arena_printf(a, "%s.events", base));
    events_assemble(&events, text);
    f->body = text.p ? ch_arena_sv(a, ch_buf_sv(&events))
                     : replay_file(a, ch_arena_printf(a, "%s.json", base));
}

static void play(const char *api, const char *name) {
    CH_ARENA_AUTO arena = {0};
    const char *base = ch_arena_printf(&arena, ROOT "/%s/%s", api, name);
    struct fixture f = {.name = name, .codec = ch_codec_find(ch_sv_str(api))};
    read_body(&f, &arena, base);
    read_head(&f, &arena, ch_arena_printf(&arena, "%s.head.json", base));
    replay_decode(f.codec, &f.head, f.body, 0, &f.reply, &f.events);
    check_expect(&f, &arena, replay_json(&arena, ch_arena_printf(&arena, "%s.expect.json", base)));
    check_splits(&f);
    check_crlf(&f);
    check_cuts(&f);
    tap_ok(!f.why.n && f.body.p, "%s/%s", api, name);
    if (f.why.n)
        tap_note("%s", ch_buf_str(&f.why));
    ch_buf_release(&f.reply);
    ch_buf_release(&f.events);
    ch_buf_release(&f.why);
}

/* --- requests */

static void encode(const char *name, const char *api) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO again = {0};
    struct chela_error err = {0};
    const struct ch_codec *codec = ch_codec_find(ch_sv_str(api));
    const struct ch_json *want =
        replay_json(&arena, ch_arena_printf(&arena, ROOT "/encode/%s.%s.json", name, api));
    if (!want)
        return; /* a request for the other protocol only */
    struct ch_sv request =
        replay_file(&arena, ch_arena_printf(&arena, ROOT "/encode/%s.request.json", name));
    int rc = ch_wire_encode(codec, CH_SV(""), request, &out, &err);
    ch_wire_encode(codec, CH_SV(""), request, &again, &err);
    struct ch_sv expected = compact(&arena, want), got = compact_text(&arena, ch_buf_sv(&out));
    bool stable = ch_sv_eq(ch_buf_sv(&out), ch_buf_sv(&again));
    bool ok = rc == CHELA_OK && ch_sv_eq(expected, got) && stable;
    tap_ok(ok, "encode/%s for %s", name, api);
    if (!ok)
        tap_note("%s\nexpected:\n%.*s\ngot:\n%.*s\n%s", err.message, CH_SV_FMT(expected),
                 CH_SV_FMT(got), stable ? "" : "the second time the bytes differ");
}

int main(void) {
    char apis[16][32];
    size_t napis = 0;
    for (struct ch_sv rest = ch_sv_str(ch_codec_names()); rest.n && napis < CH_LEN(apis);) {
        struct ch_sv name = ch_sv_split(&rest, ' ');
        snprintf(apis[napis++], sizeof(apis[0]), "%.*s", CH_SV_FMT(name));
    }
    size_t n;
    for (size_t i = 0; i < napis; i++) {
        CH_ARENA_AUTO arena = {0};
        char **names =
            replay_names(ch_arena_printf(&arena, ROOT "/%s", apis[i]), ".expect.json", &n);
        for (size_t k = 0; k < n; k++)
            play(apis[i], names[k]);
        replay_free_names(names, n);
    }
    char **names = replay_names(ROOT "/encode", ".request.json", &n);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < napis; i++)
            encode(names[k], apis[i]);
    replay_free_names(names, n);
    return tap_end();
}
