/* wire.c -- public functions that encode and decode a vendor's protocol. */
#include "chela/wire.h"

#include "base/error.h"
#include "model/wire/wire_decode.h"
#include "model/wire/wire_encode.h"

static const struct ch_codec *api_wire_find(const char *api, struct chela_error *err) {
    const struct ch_codec *codec = api ? ch_codec_find(ch_sv_str(api)) : NULL;
    if (!codec)
        ch_fail(err, CHELA_EINVAL, "unknown api '%s' (known: %s)", api ? api : "",
                ch_codec_names());
    return codec;
}

static char *take_or_drop(struct ch_buf *out, int rc) {
    if (rc == 0)
        return ch_buf_take(out);
    ch_buf_release(out);
    return NULL;
}

char *chela_wire_decode(const char *api, int status, const char *content_type, const void *body,
                        size_t len, struct chela_error *err) {
    const struct ch_codec *codec = api_wire_find(api, err);
    struct ch_buf out = {0};
    if (!codec)
        return NULL;
    int rc = ch_wire_decode(codec, status, ch_sv_str(content_type), ch_sv(body, len), &out, err);
    return take_or_drop(&out, rc);
}

char *chela_wire_encode(const char *api, const char *model, const char *request, size_t len,
                        struct chela_error *err) {
    const struct ch_codec *codec = api_wire_find(api, err);
    struct ch_buf out = {0};
    if (!codec)
        return NULL;
    int rc = ch_wire_encode(codec, ch_sv_str(model), ch_sv(request, len), &out, err);
    return take_or_drop(&out, rc);
}

const char *chela_wire_apis(void) {
    return ch_codec_names();
}
