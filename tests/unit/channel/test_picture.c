/* test_picture.c -- pictures that a model can be shown, and those that only
 * look like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "base/crc32.h"
#include "base/limits.h"
#include "base/mem.h"
#include "channel/files.h"
#include "channel/picture.h"

#define BYTES(s) {s, sizeof(s) - 1}

#define SOF(w, h) "\xff\xc0\x00\x0b\x08" h w "\x01\x01\x11\x00"
#define SOS "\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
#define APP0 "\xff\xe0\x00\x04JF"

static const char damaged[] = "it is damaged, or has too many pixels";

static const struct {
    const char *name;
    struct ch_sv bytes;
    const char *type, *why_not;
} cases[] = {
    {"nothing", BYTES(""), NULL, NULL},
    {"words", BYTES("hello"), NULL, NULL},
    {"a sound", BYTES("RIFF\x24\x00\x00\x00WAVEfmt ........................."), NULL, NULL},
    {"a PNG that is only said to be one", BYTES("\x89PNG\r\n\x1a\n, or so"), "image/png", damaged},
    {"a JPEG",
     BYTES("\xff\xd8" APP0 SOF("\x00\x02", "\x00\x01") SOS "xyz\xff\xd9"),
     "image/jpeg", NULL},
    {"filled",
     BYTES("\xff\xd8\xff\xff" APP0 SOF("\x00\x02", "\x00\x01") SOS "\xff\xd9"),
     "image/jpeg", NULL},
    {"without an end",
     BYTES("\xff\xd8" APP0 SOF("\x00\x02", "\x00\x01") SOS "xyz"),
     "image/jpeg", damaged},
    {"without a size", BYTES("\xff\xd8" APP0 SOS "xyz\xff\xd9"), "image/jpeg", damaged},
    {"without a width",
     BYTES("\xff\xd8" SOF("\x00\x00", "\x00\x01") SOS "\xff\xd9"),
     "image/jpeg", damaged},
    {"too wide",
     BYTES("\xff\xd8" SOF("\x1f\x41", "\x00\x01") SOS "\xff\xd9"),
     "image/jpeg", damaged},
    {"a segment that is too long",
     BYTES("\xff\xd8\xff\xe0\xff\xff....\xff\xd9"),
     "image/jpeg", damaged},
    {"a segment of no size", BYTES("\xff\xd8\xff\xe0\x00\x00....\xff\xd9"), "image/jpeg", damaged},
    {"a GIF", BYTES("GIF89a\x01\x00\x01\x00\x00\x00\x00,;"), "image/gif", NULL},
    {"with zeros behind it",
     BYTES("GIF87a\x01\x00\x01\x00\x00\x00\x00,;\x00\x00"),
     "image/gif", NULL},
    {"cut", BYTES("GIF89a\x01\x00\x01\x00\x00\x00\x00,"), "image/gif", damaged},
    {"just its header", BYTES("GIF89a\x01\x00"), "image/gif", damaged},
    {"WebP",
     BYTES("RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x02\x00\x01\x00"),
     "image/webp", NULL},
    {"without loss",
     BYTES("RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x00\x00\x00\x00.....\x00"),
     "image/webp", NULL},
    {"extended",
     BYTES("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00"),
     "image/webp", NULL},
    {"too high",
     BYTES("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x01"),
     "image/webp", damaged},
    {"cut, too",
     BYTES("RIFF\x17\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00"),
     "image/webp", damaged},
};

static void expect(const char *name, struct ch_sv bytes, const char *type, const char *why_not) {
    /* in a place of its exact size, so that reading past its end is found */
    char *copy = ch_alloc(bytes.n ? bytes.n : 1);
    memcpy(copy, bytes.p, bytes.n);
    struct ch_picture p = ch_picture_look(ch_sv(copy, bytes.n));
    ch_free(copy);
    if ((p.type && type ? strcmp(p.type, type) != 0 : p.type != type) ||
        (p.why_not && why_not ? strcmp(p.why_not, why_not) != 0 : p.why_not != why_not))
        fail_msg("%s: %s, %s", name, p.type ? p.type : "none", p.why_not ? p.why_not : "shown");
}

static void test_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        expect(cases[i].name, cases[i].bytes, cases[i].type, cases[i].why_not);
}

static void add_number(struct ch_buf *out, uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(v >> shift));
}

static void add_chunk(struct ch_buf *out, const char *type, struct ch_sv data) {
    size_t from = out->n + 4;
    add_number(out, (uint32_t)data.n);
    ch_buf_add(out, type, 4);
    ch_buf_add_sv(out, data);
    add_number(out, ch_crc32(0, out->p + from, out->n - from));
}

static void make_png(struct ch_buf *out, uint32_t width) {
    CH_BUF_AUTO head = {0};
    add_number(&head, width);
    add_number(&head, 1);
    ch_buf_add(&head, "\x08\x00\x00\x00\x00", 5);
    ch_buf_add(out, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(out, "IHDR", ch_buf_sv(&head));
    add_chunk(out, "IDAT", CH_SV("pixels"));
    add_chunk(out, "IEND", CH_SV(""));
}

static void test_png(void **state) {
    (void)state;
    CH_BUF_AUTO whole = {0}, wide = {0}, none = {0};
    make_png(&whole, 8000);
    make_png(&wide, 8001);
    make_png(&none, 0);
    expect("whole", ch_buf_sv(&whole), "image/png", NULL);
    expect("too wide", ch_buf_sv(&wide), "image/png", damaged);
    expect("no pixels", ch_buf_sv(&none), "image/png", damaged);
    for (size_t n = 8; n < whole.n; n++)
        expect("cut anywhere", ch_sv(whole.p, n), "image/png", damaged);
    for (size_t i = 8; i < whole.n; i++) {
        whole.p[i] ^= 1;
        expect("a bit of it is wrong", ch_buf_sv(&whole), "image/png", damaged);
        whole.p[i] ^= 1;
    }
}

static void test_large(void **state) {
    (void)state;
    struct ch_sv large = {ch_alloc(CH_LIMIT_IMAGE_READ + 1), CH_LIMIT_IMAGE_READ + 1};
    memcpy((char *)large.p, "GIF89a", 6);
    expect("more than services take", large, "image/gif", "it is too large");
    ch_free((char *)large.p);
}

static void on_filed(void *tag) {
    *(bool *)tag = true;
}

/* The model gets the words alone of what it overhears: no bytes are kept. */
static void test_overheard(void **state) {
    (void)state;
    CH_BUF_AUTO png = {0};
    chela_runtime *rt;
    make_png(&png, 1);
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    for (int overheard = 0; overheard < 2; overheard++) {
        CH_ARENA_AUTO a = {0};
        bool done = false;
        struct chela_channel_arrival in = {.text = "look", .overheard = overheard};
        struct ch_file file = {.stem = "m-1", .bytes = ch_buf_sv(&png)};
        ch_file_take(rt, &in, &a, NULL, &file, on_filed, &done);
        assert_int_equal(ch_loop_run(rt->loop, &done), 0);
        assert_int_equal(in.nmedia, overheard ? 0 : 1);
        assert_string_equal(in.text, "look");
    }
    chela_runtime_close(rt);
}

/* A session that has many is shown no more of them, and told. */
static void test_fit(void **state) {
    (void)state;
    static const struct {
        struct ch_media_total held;
        size_t lens[3], fit;
    } rows[] = {
        {{0, 0}, {9, 9, 9}, 3},
        {{CH_LIMIT_SESSION_PICTURES - 2, 0}, {9, 9, 9}, 2},
        {{CH_LIMIT_SESSION_PICTURES + 5, 0}, {9, 9, 9}, 0},
        {{1, CH_LIMIT_SESSION_PICTURE_BYTES - 16}, {9, 9, 1}, 2},
        {{1, CH_LIMIT_SESSION_PICTURE_BYTES - 4}, {9, 4, 3}, 1},
        {{1, CH_LIMIT_SESSION_PICTURE_BYTES + 99}, {1, 1, 1}, 0},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO a = {0};
        size_t notes = 0;
        struct chela_media media[3] = {{.len = rows[i].lens[0]}, {.len = rows[i].lens[1]},
                                       {.len = rows[i].lens[2]}};
        struct chela_channel_arrival in = {.text = "look", .media = media, .nmedia = 3};
        ch_pictures_fit(&in, rows[i].held, &a);
        assert_int_equal(in.nmedia, rows[i].fit);
        for (const char *p = in.text; (p = strstr(p, "\n[a picture cannot be shown")); p++)
            notes++;
        assert_int_equal(notes, 3 - rows[i].fit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_png),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_overheard),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
