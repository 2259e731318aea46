/* fuzz_codec.c -- any bytes as the body of a model's answer.
 *
 * Input: one byte of settings (codec, status, content type, size of the
 * pieces), then the body. In whatever pieces the bytes come, the reply and its
 * events are the same; a reply is complete or an error; what may be run is a
 * JSON object; and the message survives being stored, and gives valid requests
 * for every protocol. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "model/codec/decoder.h"
#include "model/codec/encoder.h"
#include "model/message/message_json.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/wire/wire_decode.h"

struct outcome {
    struct ch_decoder d;
    struct ch_buf events;
    int last; /* type and index of the last event */
};

static void check(bool ok) {
    if (!ok)
        abort();
}

/* Pieces of the same block that follow each other are one entry. */
static void on_event(const struct ch_model_event *ev, void *user) {
    struct outcome *o = user;
    int now = (int)(ev->type * 1000 + ev->index);
    if (o->last != now)
        ch_buf_addf(&o->events, "\n%d:", now);
    o->last = now;
    ch_buf_addf(&o->events, "%.*s%.*s", CH_SV_FMT(ev->id), CH_SV_FMT(ev->name));
    ch_buf_add_sv(&o->events, ev->text);
    check(ev->so_far.n >= ev->text.n);
}

static void decode(struct outcome *o, const struct ch_codec *codec, const struct ch_http_head *head,
                   struct ch_sv body, size_t piece) {
    *o = (struct outcome){.last = -1};
    ch_decoder_init(&o->d, codec, on_event, o);
    ch_decoder_head(&o->d, head);
    for (size_t at = 0; at < body.n; at += piece)
        if (!ch_decoder_feed(&o->d, ch_sv(body.p + at, CH_MIN(piece, body.n - at))))
            break;
    ch_decoder_end(&o->d, NULL, 1);
}

static void release(struct outcome *o) {
    ch_decoder_release(&o->d);
    ch_buf_release(&o->events);
}

static bool is_object(struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL);
    return ch_json_is(v, CH_JSON_OBJECT);
}

static void check_message(const struct ch_reply *r) {
    for (uint32_t i = 0; i < r->msg->nblocks; i++) {
        const struct ch_block *b = &r->msg->blocks[i];
        check(ch_utf8_valid(b->text) && ch_utf8_valid(b->id) && ch_utf8_valid(b->name));
        if (b->type != CH_BLOCK_TOOL_CALL || b->flags & (CH_F_CUT | CH_F_INVALID))
            continue;
        check(r->complete && r->error.cls == CH_ERR_NONE && b->id.n && is_object(b->text));
    }
}

/* The agent drops such a block before it stores the message. */
static bool has_invalid_media(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].flags & CH_F_INVALID && m->blocks[i].type != CH_BLOCK_TOOL_CALL)
            return true;
    return false;
}

static void check_storage(const struct ch_msg *m) {
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO again = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_msg *back = NULL;
    struct ch_jw w = ch_jw(&json);
    ch_msg_write(m, &w);
    check(ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_STRICT, &v, NULL, NULL) == 0);
    check(ch_msg_read(v, &back, NULL) == 0);
    check(back->size == m->size && back->nblocks == m->nblocks);
    w = ch_jw(&again);
    ch_msg_write(back, &w);
    check(ch_sv_eq(ch_buf_sv(&json), ch_buf_sv(&again)));
    ch_msg_free(back);
}

static void check_request(const struct ch_msg *m, const struct ch_codec *codec, unsigned quirks) {
    struct ch_endpoint ep = {.codec = codec, .base_url = "http://x", .quirks = quirks};
    struct ch_model_request req = {
        .endpoint = &ep, .model = ch_msg_author(m).model, .messages = &m, .nmessages = 1,
        .system = CH_SV("s")};
    struct ch_encoder e = {0};
    CH_BUF_AUTO body = {0};
    check(ch_encoder_update(&e, &req, NULL) == 0);
    ch_buf_add_sv(&body, ch_buf_sv(&e.head));
    ch_buf_add_sv(&body, ch_buf_sv(&e.messages));
    ch_buf_add_sv(&body, ch_buf_sv(&e.tail));
    check(is_object(ch_buf_sv(&body)));
    ch_encoder_release(&e);
}

static void play(const struct ch_codec *codec, const struct ch_http_head *head, struct ch_sv body,
                 size_t piece) {
    struct outcome whole, split;
    CH_BUF_AUTO a = {0};
    CH_BUF_AUTO b = {0};
    decode(&whole, codec, head, body, body.n + 1);
    decode(&split, codec, head, body, piece);
    ch_wire_write_reply(&whole.d, &a);
    ch_wire_write_reply(&split.d, &b);
    check(ch_sv_eq(ch_buf_sv(&a), ch_buf_sv(&b)));
    check(ch_sv_eq(ch_buf_sv(&whole.events), ch_buf_sv(&split.events)));
    check(is_object(ch_buf_sv(&a)));

    const struct ch_reply *r = &whole.d.reply;
    check(r->complete || r->error.cls != CH_ERR_NONE);
    check((r->error.cls != CH_ERR_NONE) == (r->stop == CH_STOP_ERROR));
    if (r->msg) {
        check_message(r);
        if (!has_invalid_media(r->msg))
            check_storage(r->msg);
        for (size_t i = 0; ch_codec_at(i); i++)
            check_request(r->msg, ch_codec_at(i), 0);
        check_request(r->msg, &ch_codec_openai,
                      CH_Q_ID9 | CH_Q_REPLAY_REASONING | CH_Q_NO_IMAGES | CH_Q_ALTERNATE);
    }
    release(&whole);
    release(&split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {200, 200, 429, 500};
    static const size_t pieces[] = {1, 2, 7, 64};
    if (!size)
        return 0;
    /* Amazon's events are named here as server-sent ones are; how they are framed
     * is fuzz_eventstream's. */
    const struct ch_codec *const codecs[] = {data[0] & 1 ? &ch_codec_openai : &ch_codec_anthropic,
                                             &ch_codec_responses, &ch_codec_bedrock,
                                             data[0] & 1 ? &ch_codec_interactions
                                                         : &ch_codec_gemini};
    const struct ch_codec *codec = codecs[data[0] >> 6];
    struct ch_header type = {CH_SV("content-type"),
                             data[0] & 2 ? CH_SV("text/event-stream") : CH_SV("application/json")};
    struct ch_http_head head = {
        .status = statuses[data[0] >> 2 & 3], .headers = &type, .nheaders = 1};
    struct ch_sv body = ch_sv((const char *)data + 1, size - 1);

    size_t piece = pieces[data[0] >> 4 & 3];
    play(codec, &head, body, piece);
    play(ch_codec_prompted(codec), &head, body, piece); /* its text is read for calls */
    return 0;
}
