/* sound.c -- see sound.h. */
#include "model/message/sound.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"

const char *ch_sound_type(struct ch_sv base64) {
    static const struct {
        const char *magic, *type;
    } types[] = {
        {"RIFF", "audio/wav"}, {"ID3", "audio/mpeg"}, {"\xff\xfb", "audio/mpeg"},
        {"\xff\xf3", "audio/mpeg"}, {"OggS", "audio/ogg"}, {"fLaC", "audio/flac"},
    };
    CH_BUF_AUTO first = {0};
    ch_base64_read(ch_sv(base64.p, CH_MIN(base64.n, (size_t)8)), &first);
    for (size_t i = 0; i < CH_LEN(types); i++)
        if (ch_sv_starts(ch_buf_sv(&first), types[i].magic))
            return types[i].type;
    return NULL;
}
