/* media.c -- see media.h.
 *
 * The type of a file is determined by its first bytes, not by its name. A service refuses a
 * request with a picture whose type differs from the declared type. The conversation could
 * not continue. */
#include "agent/machine/media.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

static const struct kind {
    const char *type, *magic;
    size_t n;
    enum ch_block_type block;
    size_t most;
} kinds[] = {
    {"image/png", "\x89PNG\r\n\x1a\n", 8, CH_BLOCK_IMAGE, CH_LIMIT_IMAGE_READ},
    {"image/jpeg", "\xff\xd8\xff", 3, CH_BLOCK_IMAGE, CH_LIMIT_IMAGE_READ},
    {"image/gif", "GIF8", 4, CH_BLOCK_IMAGE, CH_LIMIT_IMAGE_READ},
    {"image/webp", "RIFF", 4, CH_BLOCK_IMAGE, CH_LIMIT_IMAGE_READ},
    {"application/pdf", "%PDF-", 5, CH_BLOCK_DOCUMENT, CH_LIMIT_DOCUMENT},
};

static const struct kind *kind_of(struct ch_sv data) {
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        bool begins = data.n >= kinds[i].n && memcmp(data.p, kinds[i].magic, kinds[i].n) == 0;
        bool riff = strcmp(kinds[i].magic, "RIFF") == 0;
        if (begins && (!riff || (data.n >= 12 && memcmp(data.p + 8, "WEBP", 4) == 0)))
            return &kinds[i];
    }
    return NULL;
}

static const char *media_name_of(const struct chela_media *m) {
    return m->name ? m->name : m->url && strncmp(m->url, "data:", 5) != 0 ? m->url : "media";
}

static int add_data(const struct chela_media *m, struct ch_sv data, struct ch_arena *a,
                    struct ch_block *out, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    const struct kind *k = kind_of(data);
    if (!k)
        return ch_fail(err, CHELA_EINVAL, "%s: neither a PNG, JPEG, GIF or WebP image nor a PDF",
                       media_name_of(m));
    if (m->media_type && strcmp(m->media_type, k->type) != 0)
        return ch_fail(err, CHELA_EINVAL, "%s: it is %s, not %s", media_name_of(m), k->type,
                       m->media_type);
    if (data.n > k->most)
        return ch_fail(err, CHELA_ELIMIT, "%s: %zu bytes, and services take no more than %zu",
                       media_name_of(m), data.n, k->most);
    ch_base64_add(&text, data);
    *out = (struct ch_block){.type = (uint8_t)k->block,
                             .text = ch_arena_sv(a, ch_buf_sv(&text)),
                             .name = ch_sv_str(k->type),
                             .id = ch_sv_str(m->name)};
    return 0;
}

/* "data:image/png;base64,..." */
static int add_data_url(const struct chela_media *m, struct ch_arena *a, struct ch_block *out,
                        struct chela_error *err) {
    CH_BUF_AUTO data = {.max = CH_LIMIT_DOCUMENT + 1};
    struct ch_sv rest = ch_sv_str(m->url);
    struct ch_sv head = ch_sv_split(&rest, ',');
    bool is_base64 = head.n > 7 && ch_sv_is(ch_sv(head.p + head.n - 7, 7), ";base64");
    if (!is_base64 || !rest.n || !ch_base64_read(rest, &data))
        return ch_fail(err, CHELA_EINVAL, "expected data:TYPE;base64,DATA");
    return add_data(m, ch_buf_sv(&data), a, out, err);
}

static int add_one(const struct chela_media *m, struct ch_arena *a, struct ch_block *out,
                   struct chela_error *err) {
    if (!m->url)
        return add_data(m, ch_sv(m->data, m->len), a, out, err);
    if (strncmp(m->url, "data:", 5) == 0)
        return add_data_url(m, a, out, err);
    if (strncmp(m->url, "https://", 8) != 0 && strncmp(m->url, "http://", 7) != 0)
        return ch_fail(err, CHELA_EINVAL, "%s: expected an http(s) or data URL", m->url);
    if (strlen(m->url) > CH_LIMIT_URL)
        return ch_fail(err, CHELA_ELIMIT, "the URL of an image has more than %zu bytes",
                       CH_LIMIT_URL);
    bool pdf = m->media_type && strcmp(m->media_type, "application/pdf") == 0;
    *out = (struct ch_block){.type = pdf ? CH_BLOCK_DOCUMENT : CH_BLOCK_IMAGE,
                             .flags = CH_F_URL,
                             .text = ch_sv_str(m->url),
                             .name = ch_sv_str(m->media_type),
                             .id = ch_sv_str(m->name)};
    return 0;
}

void ch_media_count(const struct ch_msg *m, struct ch_media_total *sum) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_IMAGE && b->type != CH_BLOCK_DOCUMENT)
            continue;
        sum->n++;
        sum->bytes += b->text.n;
    }
}

int ch_media_message(const struct ch_media_input *in, const struct chela_media *media, size_t n,
                     struct ch_msg **out, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    if (n > CH_LIMIT_INPUT_MEDIA)
        return ch_fail(err, CHELA_ELIMIT, "more than %d images and documents",
                       CH_LIMIT_INPUT_MEDIA);
    struct ch_block *blocks = ch_arena_zalloc(&arena, (n + 2) * sizeof(*blocks));
    size_t used = 0;
    if (in->context.n)
        blocks[used++] = (struct ch_block){.type = CH_BLOCK_CONTEXT, .text = in->context};
    blocks[used++] = (struct ch_block){.type = CH_BLOCK_TEXT, .text = in->text};
    for (size_t i = 0; i < n; i++) {
        int rc = add_one(&media[i], &arena, &blocks[used++], err);
        if (rc < 0)
            return rc;
    }
    *out = ch_msg_new(in->kind, blocks, used, in->ts);
    return 0;
}
