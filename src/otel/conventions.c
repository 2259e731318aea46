/* conventions.c -- see conventions.h. */
#include "otel/conventions.h"

#include "base/mem.h"

struct ch_sv ch_otel_key_name(enum ch_otel_key key) {
    static const struct ch_sv names[CH_OTEL_KEY_COUNT] = {
#define OTEL_KEY_NAME(key, name) [CH_OTEL_##key] = {name, sizeof(name) - 1},
        CH_OTEL_KEYS(OTEL_KEY_NAME)
#undef OTEL_KEY_NAME
    };
    return names[key];
}

struct word {
    const char *ours, *theirs;
};

static const struct word providers[] = {
    {"bedrock", "aws.bedrock"},   {"azure", "azure.ai.openai"}, {"gemini", "gcp.gemini"},
    {"google", "gcp.gemini"},     {"vertex", "gcp.vertex_ai"},  {"mistral", "mistral_ai"},
    {"moonshot", "moonshot_ai"},  {"kimi", "moonshot_ai"},      {"xai", "x_ai"},
    {"watsonx", "ibm.watsonx.ai"}, {"openai-responses", "openai"},
};

struct ch_sv ch_otel_provider(struct ch_sv provider) {
    for (size_t i = 0; i < CH_LEN(providers); i++)
        if (ch_sv_is(provider, providers[i].ours))
            return ch_sv_str(providers[i].theirs);
    return provider;
}

const char *ch_otel_finish(const char *stop) {
    static const struct word words[] = {{"tool_use", "tool_call"}, {"refusal", "content_filter"}};
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (strcmp(stop, words[i].ours) == 0)
            return words[i].theirs;
    return stop;
}
