/* reply_findings.c -- see reply_findings.h. */
#include "model/wire/reply_findings.h"

#include "json/json.h"
#include "model/codec/codec.h"

void ch_findings_read(struct ch_findings *f, const struct ch_msg *m) {
    const struct ch_codec *codec = m->api ? ch_codec_find(ch_sv_str(m->api)) : NULL;
    if (codec && codec->inner)
        codec = codec->inner;
    if (!codec || !codec->findings)
        return;
    f->msg = m;
    f->begin = f->end = 0;
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span) {
        const struct ch_block *b = &m->blocks[i];
        bool text = b->type == CH_BLOCK_TEXT;
        if (!(text && b->extra.n) && b->type != CH_BLOCK_OPAQUE) {
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
