/* codec.c -- the list of wire protocols, and names of what they decode to. */
#include "model/codec.h"

static const struct ch_codec *const codecs[] = {&ch_codec_anthropic, &ch_codec_openai,
                                                 &ch_codec_responses};

const struct ch_codec *ch_codec_find(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(codecs); i++)
        if (ch_sv_is(name, codecs[i]->name))
            return codecs[i];
    return NULL;
}

const char *ch_codec_names(void) {
    return "anthropic openai openai-responses";
}

const char *ch_stop_name(enum ch_stop s) {
    static const char *const names[] = {
        [CH_STOP_NONE] = "none",         [CH_STOP_STOP] = "stop",       [CH_STOP_LENGTH] = "length",
        [CH_STOP_TOOL_USE] = "tool_use", [CH_STOP_REFUSAL] = "refusal", [CH_STOP_PAUSE] = "pause",
        [CH_STOP_ERROR] = "error",
    };
    return names[s];
}
