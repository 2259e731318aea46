/* reply_findings.c -- see reply_findings.h. */
#include "model/wire/reply_findings.h"

#include "json/json.h"
#include "model/codec/codec.h"

/* A text with citations, or a block of the vendor's own. */
static bool holds_findings(const struct ch_block *b) {
    return (b->type == CH_BLOCK_TEXT && b->extra.n) || b->type == CH_BLOCK_OPAQUE;
}

/* Most replies have none, and then their characters need not be counted. */
static bool any_findings(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        if (holds_findings(&m->blocks[i]))
            return true;
    return false;
}

void ch_findings_read(struct ch_findings *f, const struct ch_msg *m) {
    const char *api = ch_msg_author(m).api;
    const struct ch_codec *codec = api ? ch_codec_find(ch_sv_str(api)) : NULL;
    if (codec && codec->inner)
        codec = codec->inner;
    if (!codec || !codec->findings)
        return;
    f->msg = m;
    f->begin = f->end = 0;
    if (!any_findings(m))
        return;
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span) {
        const struct ch_block *b = &m->blocks[i];
        bool text = b->type == CH_BLOCK_TEXT;
        if (!holds_findings(b)) {
            f->end += text ? ch_findings_chars(b->text) : 0;
            continue;
        }
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v;
        f->begin = f->end;
        f->end += text ? ch_findings_chars(b->text) : 0;
        if (ch_json_parse(&arena, text ? b->extra : b->text, CH_JSON_REPLACE, &v, NULL, NULL) ==
            CHELA_OK)
            codec->findings(f, b, v);
    }
}
