/* fuzz_tape.c -- any bytes as a request, an answer and a binary answer that go
 * on a tape.
 *
 * Input: one byte of settings (whether to mend the checksums of an event stream,
 * whether the request is JSON), then the bytes, in which 0x01 stands for a key that
 * is known and 0x02 for the path of the workspace. On the tape there is neither;
 * its objects are JSON; and an event stream has the messages it had. */
#include <stdint.h>
#include <stdlib.h>

#include "base/crc32.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "net/eventstream.h"
#include "net/tape.h"
#include "json/json.h"

#define KEY "hunter2-hunter2"
#define PLACE "/a/work/space"

static void check(bool ok) {
    if (!ok)
        abort();
}

static bool has(struct ch_sv text, const char *word) {
    return text.n && memmem(text.p, text.n, word, strlen(word)) != NULL;
}

static void check_clean(struct ch_sv text) {
    check(!has(text, KEY) && !has(text, PLACE));
}

static void check_object(struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL);
    check(ch_json_is(v, CH_JSON_OBJECT));
    check_clean(text);
}

static size_t u32(const char *p) {
    const unsigned char *u = (const unsigned char *)p;
    return (size_t)u[0] << 24 | (size_t)u[1] << 16 | (size_t)u[2] << 8 | u[3];
}

static void put_crc(char *at, const char *from) {
    uint32_t crc = ch_crc32(0, from, (size_t)(at - from));
    for (int i = 0; i < 4; i++)
        at[i] = (char)(crc >> (24 - 8 * i));
}

static void mend(char *p, size_t n) {
    for (size_t at = 0; n - at >= 16; at += u32(p + at)) {
        size_t size = u32(p + at);
        put_crc(p + at + 8, p + at);
        if (size < 16 || size > n - at)
            return;
        put_crc(p + at + size - 4, p + at);
    }
}

struct messages {
    size_t n;
    bool hidden;
};

static bool on_message(const struct ch_es_message *m, void *user) {
    struct messages *seen = user;
    seen->n++;
    if (seen->hidden) {
        check_clean(m->payload);
        check_clean(m->event);
        check_clean(m->text);
    }
    return true;
}

static size_t count(struct ch_sv bytes, bool hidden) {
    struct messages seen = {.hidden = hidden};
    struct ch_eventstream s;
    ch_eventstream_init(&s, on_message, &seen);
    ch_eventstream_feed(&s, bytes, NULL);
    ch_eventstream_release(&s);
    return seen.n;
}

/* Whole messages up to the first that is damaged stay whole messages. */
static void play_bytes(const struct ch_tape_words *w, struct ch_sv bytes) {
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO shown = {0};
    ch_tape_hide_bytes(w, bytes, &hidden);
    size_t n = count(bytes, false);
    if (!has(bytes, KEY) && !has(bytes, PLACE))
        check(count(ch_buf_sv(&hidden), true) == n);
    else
        count(ch_buf_sv(&hidden), true);
    ch_tape_show_bytes(w, ch_buf_sv(&hidden), &shown);
    if (!n)
        check_clean(ch_buf_sv(&hidden));
}

static void play_texts(const struct ch_tape_words *w, struct ch_sv text, bool quoted) {
    CH_BUF_AUTO out = {0};
    const struct ch_sv body[] = {CH_SV("{\"a\":["), text, CH_SV("]}")};
    struct ch_http_request req = {.method = "POST",
                                  .url = "https://x/y?key=1",
                                  .body = quoted ? body : &text,
                                  .nbody = quoted ? CH_LEN(body) : 1};
    ch_tape_request(w, &req, &out);
    check_object(ch_buf_sv(&out));
    ch_buf_clear(&out);
    ch_tape_response(w, 200, CH_SV("{\"content-type\":\"text/event-stream\"}"), text, &out);
    check_object(ch_buf_sv(&out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CH_BUF_AUTO bytes = {0};
    struct ch_tape_words words = {0};
    if (!size)
        return 0;
    ch_redact_add(KEY);
    ch_tape_words_add(&words, PLACE, "{workspace}");
    for (size_t i = 1; i < size; i++) {
        if (data[i] <= 2 && data[i])
            ch_buf_add_str(&bytes, data[i] == 1 ? KEY : PLACE);
        else
            ch_buf_addc(&bytes, (char)data[i]);
    }
    if (data[0] & 1)
        mend(bytes.p, bytes.n);
    play_bytes(&words, ch_buf_sv(&bytes));
    play_texts(&words, ch_buf_sv(&bytes), data[0] & 2);
    ch_tape_words_release(&words);
    return 0;
}
