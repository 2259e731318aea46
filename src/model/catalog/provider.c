/* provider.c -- the providers known by name, and limits of models.
 *
 * Only data: a new OpenAI-compatible server is one row. Behavior that a row cannot express
 * is a quirk (model_request.h), implemented by the codec. */
#include "model/catalog/provider.h"

#include <stdio.h>

#include "model/catalog/model_facts.h"
#include "net/url.h"

#define MODEL(...)
#define FAMILY(...)
#define NAME_BEGINS(text)
#define DEFAULT_MODEL(provider, model) static const char default_##provider[] = model;
#include "model/catalog/model_facts.def"

/* Quirks of nearly every OpenAI-compatible server other than OpenAI's own. */
#define COMPATIBLE (CH_Q_MAX_TOKENS | CH_Q_NO_DEVELOPER | CH_Q_NO_STRICT)

const struct ch_provider ch_provider_table[] = {
    {.name = "anthropic",
     .api = "anthropic",
     .base_url = "https://api.anthropic.com",
     .key_env = "ANTHROPIC_API_KEY",
     .default_model = default_anthropic},
    {.name = "openai",
     .api = "openai",
     .base_url = "https://api.openai.com/v1",
     .key_env = "OPENAI_API_KEY",
     .default_model = default_openai},
    {.name = "openai-responses",
     .api = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .key_env = "OPENAI_API_KEY",
     .default_model = default_openai},
    {.name = "gemini",
     .api = "gemini",
     .base_url = "https://generativelanguage.googleapis.com/v1beta",
     .key_env = "GEMINI_API_KEY",
     .default_model = default_gemini},
    {.name = "gemini-interactions",
     .api = "interactions",
     .base_url = "https://generativelanguage.googleapis.com/v1beta",
     .key_env = "GEMINI_API_KEY",
     .default_model = default_gemini},
    {.name = "vertex", .api = "gemini", .key_env = "VERTEX_ACCESS_TOKEN", .quirks = CH_Q_BEARER},
    {.name = "bedrock",
     .api = "bedrock",
     .base_url = "https://bedrock-runtime.$AWS_REGION.amazonaws.com",
     .key_env = "AWS_BEARER_TOKEN_BEDROCK",
     .also_env = "AWS_ACCESS_KEY_ID",
     .default_model = default_bedrock},
    {.name = "deepseek",
     .api = "openai",
     .base_url = "https://api.deepseek.com/v1",
     .key_env = "DEEPSEEK_API_KEY",
     .quirks = COMPATIBLE | CH_Q_STRING_CONTENT | CH_Q_REPLAY_REASONING | CH_Q_THINKING |
               CH_Q_NO_OUTPUT_SCHEMA,
     .default_model = default_deepseek},
    {.name = "mistral",
     .api = "openai",
     .base_url = "https://api.mistral.ai/v1",
     .key_env = "MISTRAL_API_KEY",
     .quirks = COMPATIBLE | CH_Q_NO_STREAM_USAGE | CH_Q_ID9 | CH_Q_ALTERNATE |
               CH_Q_NO_DOCUMENTS,
     .default_model = default_mistral},
    {.name = "xai",
     .api = "openai",
     .base_url = "https://api.x.ai/v1",
     .key_env = "XAI_API_KEY",
     .quirks = COMPATIBLE | CH_Q_NO_EFFORT | CH_Q_NO_DOCUMENTS,
     .default_model = default_xai},
    {.name = "groq",
     .api = "openai",
     .base_url = "https://api.groq.com/openai/v1",
     .key_env = "GROQ_API_KEY",
     .quirks = CH_Q_NO_DEVELOPER | CH_Q_NO_DOCUMENTS,
     .default_model = default_groq},
    {.name = "cerebras",
     .api = "openai",
     .base_url = "https://api.cerebras.ai/v1",
     .key_env = "CEREBRAS_API_KEY",
     .quirks = CH_Q_NO_DEVELOPER | CH_Q_NO_STREAM_USAGE | CH_Q_NO_DOCUMENTS,
     .default_model = default_cerebras},
    {.name = "openrouter",
     .api = "openai",
     .base_url = "https://openrouter.ai/api/v1",
     .key_env = "OPENROUTER_API_KEY",
     .quirks = CH_Q_MAX_TOKENS | CH_Q_NO_DEVELOPER | CH_Q_REASONING_OBJECT,
     .default_model = "openrouter/auto"},
    {.name = "together",
     .api = "openai",
     .base_url = "https://api.together.xyz/v1",
     .key_env = "TOGETHER_API_KEY",
     .quirks = COMPATIBLE | CH_Q_REASONING_SWITCH | CH_Q_THINK_TAGS | CH_Q_NO_DOCUMENTS,
     .hosts = "api.together.ai"},
    {.name = "fireworks",
     .api = "openai",
     .base_url = "https://api.fireworks.ai/inference/v1",
     .key_env = "FIREWORKS_API_KEY",
     .quirks = COMPATIBLE | CH_Q_THINK_TAGS | CH_Q_NO_DOCUMENTS},
    {.name = "azure",
     .api = "openai",
     .key_env = "AZURE_OPENAI_API_KEY",
     .quirks = CH_Q_API_KEY,
     .hosts = ".openai.azure.com .services.ai.azure.com .cognitiveservices.azure.com"},
    {.name = "azure-responses",
     .api = "openai-responses",
     .key_env = "AZURE_OPENAI_API_KEY",
     .quirks = CH_Q_API_KEY,
     .hosts = ".openai.azure.com .services.ai.azure.com .cognitiveservices.azure.com"},
    {.name = "zai",
     .api = "openai",
     .base_url = "https://api.z.ai/api/paas/v4",
     .key_env = "ZAI_API_KEY",
     .quirks = COMPATIBLE | CH_Q_THINKING | CH_Q_TOOL_STREAM | CH_Q_NO_OUTPUT_SCHEMA |
               CH_Q_NO_FORCED_CHOICE | CH_Q_NO_DOCUMENTS,
     .hosts = "open.bigmodel.cn",
     .default_model = default_zai},
    {.name = "moonshot",
     .api = "openai",
     .base_url = "https://api.moonshot.ai/v1",
     .key_env = "MOONSHOT_API_KEY",
     .quirks = COMPATIBLE | CH_Q_THINKING | CH_Q_REPLAY_REASONING | CH_Q_NO_OUTPUT_SCHEMA |
               CH_Q_NO_DOCUMENTS,
     .hosts = "api.moonshot.cn",
     .default_model = default_moonshot},
    {.name = "ollama",
     .api = "openai",
     .base_url = "http://127.0.0.1:11434/v1",
     .quirks = COMPATIBLE | CH_Q_NO_TOOL_CHOICE | CH_Q_THINK_TAGS | CH_Q_NO_DOCUMENTS,
     .hosts = "ollama.com :11434",
     .local = true},
    {.name = "llamacpp",
     .api = "openai",
     .base_url = "http://127.0.0.1:8080/v1",
     .quirks = COMPATIBLE | CH_Q_TEMPLATE_THINKING | CH_Q_THINK_TAGS | CH_Q_CHOICE_WORD |
               CH_Q_NO_DOCUMENTS,
     .local = true},
    {.name = "vllm",
     .api = "openai",
     .base_url = "http://127.0.0.1:8000/v1",
     .quirks = COMPATIBLE | CH_Q_TEMPLATE_THINKING | CH_Q_THINK_TAGS | CH_Q_NO_DOCUMENTS,
     .local = true},
    {.name = "lmstudio",
     .api = "openai",
     .base_url = "http://127.0.0.1:1234/v1",
     .quirks = COMPATIBLE | CH_Q_THINK_TAGS | CH_Q_CHOICE_WORD | CH_Q_NO_DOCUMENTS,
     .hosts = ":1234",
     .local = true},
    {.name = "scripted",
     .api = "scripted",
     .quirks = CH_Q_NO_CACHE_MARKS,
     .local = true,
     .default_model = "demo"},
    {0},
};

const struct ch_provider *ch_provider_find(struct ch_sv name) {
    for (const struct ch_provider *p = ch_provider_table; p->name; p++)
        if (ch_sv_is(name, p->name))
            return p;
    return NULL;
}

const struct ch_provider *ch_provider_of_api(const char *api) {
    for (const struct ch_provider *p = ch_provider_table; p->name; p++)
        if (strcmp(p->api, api) == 0)
            return p;
    return NULL;
}

bool ch_provider_same(const char *a, const char *b) {
    const struct ch_provider *x = ch_provider_find(ch_sv_str(a)),
                             *y = ch_provider_find(ch_sv_str(b));
    return strcmp(a, b) == 0 || (x && y && x->base_url && y->base_url &&
                                 strcmp(x->base_url, y->base_url) == 0);
}

/* True if host (and port) is in the space-separated list. */
static bool provider_is_one_of(const struct ch_url *u, struct ch_sv places) {
    while (places.n) {
        struct ch_sv place = ch_sv_split(&places, ' ');
        char port[8];
        snprintf(port, sizeof(port), ":%u", u->port);
        bool below = *place.p == '.' && u->host.n > place.n;
        struct ch_sv end = below ? ch_sv(u->host.p + u->host.n - place.n, place.n) : u->host;
        if (ch_sv_eq_nocase(end, place) || ch_sv_is(place, port))
            return true;
    }
    return false;
}

/* A local server is recognized by its default port only if its row lists the port, because
 * other servers use 8000 and 8080 too. */
const struct ch_provider *ch_provider_of_url(struct ch_sv api, const char *url) {
    struct ch_url u, base;
    if (!url || ch_url_parse(ch_sv_str(url), &u, NULL) < 0)
        return NULL;
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        if (!ch_sv_is(api, p->api))
            continue;
        if (p->hosts && provider_is_one_of(&u, ch_sv_str(p->hosts)))
            return p;
        if (p->base_url && !p->local && ch_url_parse(ch_sv_str(p->base_url), &base, NULL) == 0 &&
            ch_sv_eq_nocase(u.host, base.host))
            return p;
    }
    return NULL;
}

/* --- quirks */

static const struct {
    const char *name;
    unsigned bit;
} quirks[] = {
    {"max_tokens", CH_Q_MAX_TOKENS},
    {"no_stream_usage", CH_Q_NO_STREAM_USAGE},
    {"no_developer_role", CH_Q_NO_DEVELOPER},
    {"no_tool_choice", CH_Q_NO_TOOL_CHOICE},
    {"string_content", CH_Q_STRING_CONTENT},
    {"replay_reasoning", CH_Q_REPLAY_REASONING},
    {"short_ids", CH_Q_ID9},
    {"bearer", CH_Q_BEARER},
    {"no_cache_marks", CH_Q_NO_CACHE_MARKS},
    {"api_key_header", CH_Q_API_KEY},
    {"thinking", CH_Q_THINKING},
    {"reasoning_object", CH_Q_REASONING_OBJECT},
    {"template_thinking", CH_Q_TEMPLATE_THINKING},
    {"tool_stream", CH_Q_TOOL_STREAM},
    {"prompted", CH_Q_PROMPTED},
    {"think_tags", CH_Q_THINK_TAGS},
    {"no_images", CH_Q_NO_IMAGES},
    {"no_documents", CH_Q_NO_DOCUMENTS},
    {"no_strict", CH_Q_NO_STRICT},
    {"no_effort", CH_Q_NO_EFFORT},
    {"reasoning_switch", CH_Q_REASONING_SWITCH},
    {"no_forced_choice", CH_Q_NO_FORCED_CHOICE},
    {"choice_word", CH_Q_CHOICE_WORD},
    {"alternate_roles", CH_Q_ALTERNATE},
    {"no_output_schema", CH_Q_NO_OUTPUT_SCHEMA},
    {"reasons", CH_Q_REASONS},
    {"no_reasoning", CH_Q_NO_REASONING},
};

unsigned ch_quirk_find(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(quirks); i++)
        if (ch_sv_is(name, quirks[i].name))
            return quirks[i].bit;
    return 0;
}

const char *ch_quirk_name(size_t i, unsigned *bit) {
    if (i >= CH_LEN(quirks))
        return NULL;
    *bit = quirks[i].bit;
    return quirks[i].name;
}

unsigned ch_quirks_of_api(struct ch_sv api) {
    if (ch_sv_is(api, "openai-responses"))
        return CH_Q_NO_DEVELOPER;
    return ch_sv_is(api, "openai") ? COMPATIBLE : 0;
}

/* --- models */

/* Templates of Mistral's refuse a user message after results, whoever runs the model. */
unsigned ch_quirks_of_model(struct ch_sv api, const struct ch_model_facts *f) {
    return f->maker == CH_MAKER_MISTRAL && ch_sv_is(api, "openai") ? CH_Q_ALTERNATE : 0;
}

/* A local server serves the model that its owner loaded, with its own context size. */
struct ch_model_info ch_model_info(const char *provider, struct ch_sv model) {
    const struct ch_provider *p = provider ? ch_provider_find(ch_sv_str(provider)) : NULL;
    if (p && p->local)
        return (struct ch_model_info){0};
    const struct ch_model_facts *f = ch_model_facts(model);
    bool bare = f->match && ch_sv_is(model, f->match); /* only a bare name is an alias */
    return (struct ch_model_info){f->window, f->output, bare ? f->resolved : NULL};
}
