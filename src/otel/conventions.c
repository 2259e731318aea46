/* conventions.c -- see conventions.h. */
#include "otel/conventions.h"

#include "base/mem.h"

#define BEFORE_NAME "{\"key\":\""
#define AFTER_NAME "\",\"value\":{"

#define OTEL_NAME_SIZE(key, name)                                                              \
    _Static_assert(sizeof(BEFORE_NAME name AFTER_NAME) - 1 <= CH_OTEL_BEGIN, name " is long");
CH_OTEL_KEYS(OTEL_NAME_SIZE)
#undef OTEL_NAME_SIZE

const struct ch_otel_name *ch_otel_name(enum ch_otel_key key) {
    static const struct ch_otel_name names[CH_OTEL_KEY_COUNT] = {
#define OTEL_NAME(key, name)                                                                   \
    [CH_OTEL_##key] = {sizeof(BEFORE_NAME name AFTER_NAME) - 1, BEFORE_NAME name AFTER_NAME},
        CH_OTEL_KEYS(OTEL_NAME)
#undef OTEL_NAME
    };
    return &names[key];
}

struct ch_sv ch_otel_name_text(const struct ch_otel_name *name) {
    const size_t before = sizeof(BEFORE_NAME) - 1, after = sizeof(AFTER_NAME) - 1;
    return ch_sv(name->begin + before, name->n - before - after);
}

struct word {
    const char *ours, *theirs;
};

static const struct word providers[] = {
    {"bedrock", "aws.bedrock"},   {"azure", "azure.ai.openai"}, {"gemini", "gcp.gemini"},
    {"google", "gcp.gemini"},     {"vertex", "gcp.vertex_ai"},  {"mistral", "mistral_ai"},
    {"moonshot", "moonshot_ai"},  {"kimi", "moonshot_ai"},      {"xai", "x_ai"},
    {"watsonx", "ibm.watsonx.ai"}, {"openai-responses", "openai"},
    {"gemini-interactions", "gcp.gemini"},
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
