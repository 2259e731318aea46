/* acp_content.c -- see acp_content.h. */
#include "acp/acp_content.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/uri.h"

void ch_acp_input_free(struct ch_acp_input *in) {
    if (!in)
        return;
    for (size_t i = 0; i < in->nmedia; i++)
        ch_free((char *)in->media[i].url);
    ch_free(in->media);
    ch_buf_release(&in->text);
    ch_free(in);
}

/* A block begins on a new line, so that names and texts do not run together. */
static void separate(struct ch_buf *text) {
    if (text->n > 0 && text->p[text->n - 1] != '\n')
        ch_buf_addc(text, '\n');
}

/* A name of a file, which is text of a repository: it stays in its line and its quotes. */
static void add_name(struct ch_buf *out, const char *before, struct ch_sv name, const char *after) {
    ch_buf_add_str(out, before);
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || strchr("\"<>", c))
            ch_buf_addf(out, "%%%02X", c);
        else
            ch_buf_add(out, &name.p[i], 1);
    }
    ch_buf_add_str(out, after);
}

/* The text of a block that ends with </file>. A closing mark inside is broken up. */
static void add_text(struct ch_buf *out, struct ch_sv text) {
    for (const char *at; text.n && (at = memmem(text.p, text.n, "</file", 6));) {
        size_t n = (size_t)(at - text.p) + 2;
        ch_buf_add(out, text.p, n);
        ch_buf_add_str(out, " ");
        text = ch_sv(text.p + n, text.n - n);
    }
    ch_buf_add_sv(out, text);
}

static int add_media(struct ch_acp_input *in, struct ch_sv data, struct ch_sv type,
                     struct chela_error *err) {
    struct ch_buf url = {0};
    if (in->nmedia == CH_LIMIT_INPUT_MEDIA)
        return ch_fail(err, CHELA_ELIMIT, "a prompt has at most %d images and documents",
                       CH_LIMIT_INPUT_MEDIA);
    if (!data.n || !type.n)
        return ch_fail(err, CHELA_EINVAL, "an image needs data and mimeType");
    ch_buf_addf(&url, "data:%.*s;base64,", CH_SV_FMT(type));
    ch_buf_add_sv(&url, data);
    in->media = ch_realloc(in->media, (in->nmedia + 1) * sizeof(*in->media));
    in->media[in->nmedia++] = (struct chela_media){.url = ch_buf_take(&url)};
    return CHELA_OK;
}

/* A file that the editor refers to. The model reads the file with its tools if needed. */
static int add_link(struct ch_acp_input *in, const struct ch_json *b, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_sv uri = ch_json_get_str(b, "uri"), name = ch_json_get_str(b, "name");
    if (!uri.n)
        return ch_fail(err, CHELA_EINVAL, "a resource_link needs uri");
    if (ch_sv_starts(uri, "file://")) {
        struct ch_sv path = ch_uri_decode(&arena, ch_sv(uri.p + 7, uri.n - 7));
        uri = path.n && !memchr(path.p, '\0', path.n) ? path : uri;
    }
    if (!name.n)
        name = uri;
    add_name(&in->text, "[", name, "](");
    add_name(&in->text, "", uri, ")");
    return CHELA_OK;
}

/* The content of a file or buffer that the editor has sent with the prompt. */
static int add_resource(struct ch_acp_input *in, const struct ch_json *r, struct chela_error *err) {
    struct ch_sv uri = ch_json_get_str(r, "uri"), type = ch_json_get_str(r, "mimeType");
    const struct ch_json *text = ch_json_get(r, "text"), *blob = ch_json_get(r, "blob");

    if (ch_json_is(blob, CH_JSON_STRING))
        return add_media(in, ch_json_str(blob), type, err);
    if (!ch_json_is(text, CH_JSON_STRING))
        return ch_fail(err, CHELA_EINVAL, "a resource needs text or blob");
    separate(&in->text);
    add_name(&in->text, "<file uri=\"", uri, "\">\n");
    add_text(&in->text, ch_json_str(text));
    separate(&in->text);
    ch_buf_add_str(&in->text, "</file>\n");
    return CHELA_OK;
}

static int add_block(struct ch_acp_input *in, const struct ch_json *b, struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(b, "type");
    const struct ch_json *text = ch_json_get(b, "text");

    if (ch_sv_is(type, "text") && ch_json_is(text, CH_JSON_STRING)) {
        ch_buf_add_sv(&in->text, ch_json_str(text));
        return CHELA_OK;
    }
    if (ch_sv_is(type, "resource_link"))
        return add_link(in, b, err);
    if (ch_sv_is(type, "resource"))
        return add_resource(in, ch_json_get(b, "resource"), err);
    if (ch_sv_is(type, "image"))
        return add_media(in, ch_json_get_str(b, "data"), ch_json_get_str(b, "mimeType"), err);
    return ch_fail(err, CHELA_EINVAL, "prompt: a block of type '%.*s' is not supported",
                   (int)CH_MIN(type.n, (size_t)40), type.p ? type.p : "");
}

int ch_acp_input_read(const struct ch_json *blocks, struct ch_acp_input **out,
                      struct chela_error *err) {
    struct ch_acp_input *in = ch_alloc(sizeof(*in));
    int rc = CHELA_OK;

    ch_buf_init(&in->text, CH_LIMIT_INPUT);
    if (!ch_json_is(blocks, CH_JSON_ARRAY) || blocks->n == 0)
        rc = ch_fail(err, CHELA_EINVAL, "prompt must be a list of content blocks");
    for (CH_JSON_EACH(b, blocks)) {
        if (rc == CHELA_OK)
            rc = add_block(in, b, err);
    }
    if (rc == CHELA_OK && in->text.overflow)
        rc = ch_fail(err, CHELA_ELIMIT, "the prompt is too long");
    else if (rc == CHELA_OK && in->text.n && memchr(in->text.p, '\0', in->text.n))
        rc = ch_fail(err, CHELA_EINVAL, "the prompt contains a NUL character");
    if (rc < 0) {
        ch_acp_input_free(in);
        return rc;
    }
    *out = in;
    return CHELA_OK;
}
