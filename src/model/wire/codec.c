/* codec.c -- the list of wire protocols, and names of reply states. */
#include "model/codec/codec.h"

#include "model/codec/prompted.h"

/* X(identifier, name): a new protocol needs one line here. */
#define CODECS(X)             \
    X(anthropic, "anthropic") \
    X(openai, "openai")       \
    X(responses, "openai-responses") \
    X(gemini, "gemini") \
    X(interactions, "interactions") \
    X(bedrock, "bedrock")

static const struct ch_codec *const codecs[] = {
#define CODEC(id, name) &ch_codec_##id,
    CODECS(CODEC)
#undef CODEC
};

/* A prompted layer over each of them. Decoders use the inner codec and parse its text. */
static const struct ch_codec prompted[] = {
#define CODEC(id, called)                                                              \
    {.name = "prompted+" called,                                                       \
     .inner = &ch_codec_##id,                                                          \
     .http = ch_prompted_http,                                                         \
     .head = ch_prompted_head,                                                         \
     .message = ch_prompted_message,                                                   \
     .tail = ch_prompted_tail,                                                         \
     .note = ch_prompted_note,                                                         \
     .takes_schema = ch_prompted_takes_schema,                                         \
     .effort = ch_prompted_sent_effort},
    CODECS(CODEC)
#undef CODEC
};

const struct ch_codec *ch_codec_at(size_t i) {
    if (i < CH_LEN(codecs))
        return codecs[i];
    return i < 2 * CH_LEN(codecs) ? &prompted[i - CH_LEN(codecs)] : NULL;
}

const struct ch_codec *ch_codec_prompted(const struct ch_codec *codec) {
    for (size_t i = 0; i < CH_LEN(prompted); i++)
        if (prompted[i].inner == codec)
            return &prompted[i];
    return codec;
}

const struct ch_codec *ch_codec_find(struct ch_sv name) {
    if (ch_sv_is(name, "prompted"))
        return ch_codec_prompted(&ch_codec_openai);
    for (size_t i = 0; ch_codec_at(i); i++)
        if (ch_sv_is(name, ch_codec_at(i)->name))
            return ch_codec_at(i);
    return NULL;
}

const char *ch_codec_names(void) {
    return ""
#define CODEC(id, name) name " "
        CODECS(CODEC)
#undef CODEC
        "prompted";
}

const char *ch_stop_name(enum ch_stop s) {
    static const char *const names[] = {
        [CH_STOP_NONE] = "none",         [CH_STOP_STOP] = "stop",       [CH_STOP_LENGTH] = "length",
        [CH_STOP_TOOL_USE] = "tool_use", [CH_STOP_REFUSAL] = "refusal", [CH_STOP_PAUSE] = "pause",
        [CH_STOP_ERROR] = "error",
    };
    return names[s];
}
