/* picture.c -- checks whether bytes are an image that a model can read.
 *
 * An image that the model's service cannot read fails the request and all later requests of
 * the conversation, and anybody in a chat may send one. Therefore the image must have a
 * format and a size that all services accept, and must be complete as far as its framing
 * shows: PNG by its chunk checksums, others by their headers and ends. The file name is
 * ignored. Pixels are not decoded. Pure. */
#include "channel/picture.h"

#include "base/crc32.h"
#include "base/limits.h"
#include "channel/files.h"

static uint32_t big(const unsigned char *p, size_t n) {
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static uint32_t little(const unsigned char *p, size_t n) {
    uint32_t v = 0;
    for (size_t i = n; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

static bool is_size(uint32_t width, uint32_t height) {
    return width >= 1 && height >= 1 && width <= CH_LIMIT_PICTURE_SIDE &&
           height <= CH_LIMIT_PICTURE_SIDE;
}

static bool picture_begins(struct ch_sv b, const char *with, size_t n) {
    return b.n >= n && memcmp(b.p, with, n) == 0;
}

/* Check the chunks and their checksums from IHDR to IEND. */
static bool is_png(const unsigned char *p, size_t n) {
    if (n < 24 || memcmp(p + 12, "IHDR", 4) != 0 || !is_size(big(p + 16, 4), big(p + 20, 4)))
        return false;
    for (size_t at = 8; n - at >= 12;) {
        size_t size = big(p + at, 4);
        const unsigned char *type = p + at + 4;
        if (size > n - at - 12 ||
            ch_crc32(0, type, size + 4) != big(type + 4 + size, 4))
            return false;
        if (memcmp(type, "IEND", 4) == 0)
            return true;
        at += 12 + size;
    }
    return false;
}

static bool is_frame_header(unsigned marker) {
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Check the segments up to the pixel data, including the size, and the end. */
static bool is_jpeg(const unsigned char *p, size_t n) {
    bool sized = false;
    for (size_t at = 2; n - at >= 4 && p[at] == 0xff;) {
        unsigned marker = p[at + 1];
        size_t size = big(p + at + 2, 2);
        if (marker == 0xff) { /* fill byte */
            at++;
            continue;
        }
        if (size < 2 || size > n - at - 2)
            return false;
        if (is_frame_header(marker))
            sized = size >= 7 && is_size(big(p + at + 7, 2), big(p + at + 5, 2));
        at += 2 + size;
        if (marker == 0xda)
            return sized && memmem(p + at, n - at, "\xff\xd9", 2) != NULL;
    }
    return false;
}

static bool is_gif(const unsigned char *p, size_t n) {
    while (n > 13 && p[n - 1] == 0) /* some programs append zeros */
        n--;
    return n > 13 && p[n - 1] == 0x3b && is_size(little(p + 6, 2), little(p + 8, 2));
}

static bool is_webp(const unsigned char *p, size_t n) {
    if (n < 30 || little(p + 4, 4) > n - 8)
        return false;
    if (memcmp(p + 12, "VP8X", 4) == 0)
        return is_size(1 + little(p + 24, 3), 1 + little(p + 27, 3));
    if (memcmp(p + 12, "VP8L", 4) == 0)
        return p[20] == 0x2f && is_size(1 + (little(p + 21, 4) & 0x3fff),
                                        1 + (little(p + 21, 4) >> 14 & 0x3fff));
    return memcmp(p + 12, "VP8 ", 4) == 0 && memcmp(p + 23, "\x9d\x01\x2a", 3) == 0 &&
           is_size(little(p + 26, 2) & 0x3fff, little(p + 28, 2) & 0x3fff);
}

static const struct kind {
    const char *type, *ending, *magic;
    size_t n;
    bool (*is_whole)(const unsigned char *p, size_t n);
} kinds[] = {
    {"image/png", ".png", "\x89PNG\r\n\x1a\n", 8, is_png},
    {"image/jpeg", ".jpg", "\xff\xd8\xff", 3, is_jpeg},
    {"image/gif", ".gif", "GIF87a", 6, is_gif},
    {"image/gif", ".gif", "GIF89a", 6, is_gif},
    {"image/webp", ".webp", "RIFF", 4, is_webp},
};

static const struct kind *picture_kind_of(struct ch_sv bytes) {
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        bool riff = kinds[i].is_whole == is_webp;
        if (picture_begins(bytes, kinds[i].magic, kinds[i].n) &&
            (!riff || (bytes.n >= 12 && memcmp(bytes.p + 8, "WEBP", 4) == 0)))
            return &kinds[i];
    }
    return NULL;
}

const char *ch_picture_ending(struct ch_sv bytes) {
    const struct kind *k = picture_kind_of(bytes);
    return k ? k->ending : NULL;
}

struct ch_picture ch_picture_look(struct ch_sv bytes) {
    const struct kind *k = picture_kind_of(bytes);
    if (!k)
        return (struct ch_picture){0};
    if (bytes.n > CH_LIMIT_IMAGE_READ)
        return (struct ch_picture){k->type, "it is too large"};
    bool whole = k->is_whole((const unsigned char *)bytes.p, bytes.n);
    return (struct ch_picture){k->type, whole ? NULL : "it is damaged, or has too many pixels"};
}
