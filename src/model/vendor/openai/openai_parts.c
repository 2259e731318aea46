/* openai_parts.c -- see openai_parts.h. */
#include "model/vendor/openai/openai_parts.h"

#include "model/codec/encode.h"

void ch_openai_text_part(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "text");
    ch_jw_kstr(w, "text", text);
    ch_jw_end(w, '}');
}

/* "data:image/png;base64,...": written in place, because it is long. */
static void openai_parts_write_data_url(struct ch_jw *w, const char *key,
                                        const struct ch_block *b) {
    CH_BUF_AUTO url = {0};
    if (b->flags & CH_F_URL) {
        ch_jw_kstr(w, key, b->text);
        return;
    }
    ch_buf_addf(&url, "data:%.*s;base64,", CH_SV_FMT(b->name));
    ch_buf_add_sv(&url, b->text);
    ch_jw_kstr(w, key, ch_buf_sv(&url));
}

static void openai_parts_write_image(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "image_url");
    ch_jw_kbegin(w, "image_url", '{');
    openai_parts_write_data_url(w, "url", b);
    if (b->extra.n)
        ch_jw_kstr(w, "detail", b->extra);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void write_audio(struct ch_jw *w, const struct ch_block *b) {
    bool mp3 = ch_sv_is(b->name, "audio/mpeg") || ch_sv_is(b->name, "audio/mp3");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "input_audio");
    ch_jw_kbegin(w, "input_audio", '{');
    ch_jw_kstr(w, "data", b->text);
    ch_jw_kcstr(w, "format", mp3 ? "mp3" : "wav");
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void openai_parts_write_file(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "file");
    ch_jw_kbegin(w, "file", '{');
    ch_jw_kstr(w, "filename", b->id.n ? b->id : CH_SV("document.pdf"));
    openai_parts_write_data_url(w, "file_data", b);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* Text for a part where only text is supported; false: the part must be sent. */
static bool part_as_text(const struct ch_model_request *req, const struct ch_block *b,
                         struct ch_buf *text) {
    bool url = b->flags & CH_F_URL;
    unsigned quirks = req->endpoint->quirks;
    bool file = b->type == CH_BLOCK_DOCUMENT && ch_sv_is(b->name, "application/pdf") && !url &&
                !(quirks & CH_Q_NO_DOCUMENTS);
    bool sendable =
        !(quirks & CH_Q_STRING_CONTENT) &&
        (b->type == CH_BLOCK_IMAGE || (b->type == CH_BLOCK_AUDIO && !url) || file);
    if (sendable)
        return false;
    if (b->id.n)
        ch_buf_addf(text, "[%.*s]\n", CH_SV_FMT(b->id));
    if (b->type != CH_BLOCK_DOCUMENT || !ch_encode_document_text(b, text)) {
        ch_buf_clear(text);
        ch_encode_note(b, text);
    }
    return true;
}

static void openai_parts_write_part(const struct ch_model_request *req, struct ch_jw *w,
                                    const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    if (part_as_text(req, b, &text))
        ch_openai_text_part(w, ch_buf_sv(&text));
    else if (b->type == CH_BLOCK_IMAGE)
        openai_parts_write_image(w, b);
    else if (b->type == CH_BLOCK_AUDIO)
        write_audio(w, b);
    else
        openai_parts_write_file(w, b);
}

bool ch_openai_is_content(const struct ch_block *b) {
    return ch_block_is_media(b) || (b->type == CH_BLOCK_TEXT && !ch_is_blank(b->text));
}

void ch_openai_join(const struct ch_model_request *req, const struct ch_msg *m,
                    struct ch_buf *text) {
    CH_BUF_AUTO part = {0};
    const char *prefix = ch_msg_kind_prefix(m->kind);
    if (prefix)
        ch_buf_add_str(text, prefix);
    for (uint32_t i = 0, n = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (ch_openai_is_content(b)) {
            if (n++)
                CH_BUF_LIT(text, "\n\n");
            ch_buf_clear(&part);
            ch_buf_add_sv(text, ch_block_is_media(b) && part_as_text(req, b, &part)
                                    ? ch_buf_sv(&part)
                                    : b->text);
        }
        i += b->span;
    }
}

void ch_openai_parts(const struct ch_model_request *req, const struct ch_msg *m, struct ch_jw *w) {
    CH_BUF_AUTO room = {0};
    const char *prefix = ch_msg_kind_prefix(m->kind);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (ch_block_is_media(b))
            openai_parts_write_part(req, w, b);
        else if (ch_openai_is_content(b))
            ch_openai_text_part(w, ch_encode_prefixed(&prefix, b->text, &room));
        i += b->span;
    }
}
