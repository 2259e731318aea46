/* listing.c -- see listing.h. */
#include "model/catalog/listing.h"

#include "base/error.h"
#include "base/mem.h"

/* In order of precedence: the size of the loaded model before the model's maximum. */
static const char *const window_members[] = {
    "loaded_context_length", /* LM Studio, /api/v0 */
    "max_model_len",         /* vLLM */
    "context_window",        /* Groq */
    "context_length",        /* OpenRouter, Together, Moonshot */
    "max_context_length",    /* Mistral, LM Studio */
    "max_input_tokens",      /* Anthropic */
    "inputTokenLimit",       /* Gemini */
    NULL,
};
static const char *const output_members[] = {
    "max_output_length", "max_completion_tokens", "max_tokens", "outputTokenLimit", NULL,
};

/* *wrong becomes the name of a member that holds something else. */
static int64_t first_size(const struct ch_json *v, const char *const *names, const char **wrong) {
    int64_t n = 0;
    for (; *names && n <= 0; names++) {
        const struct ch_json *size = ch_json_get(v, *names);
        n = ch_json_int(size, size && size->type != CH_JSON_NULL ? -1 : 0);
        if (n < 0)
            *wrong = *names;
    }
    return CH_MAX(n, 0);
}

static struct ch_sv listing_id_of(const struct ch_json *v) {
    struct ch_sv id = ch_json_get_str(v, "id");
    if (!id.n)
        id = ch_json_get_str(v, "name");
    if (ch_sv_starts(id, "models/")) /* Gemini */
        id = ch_sv(id.p + 7, id.n - 7);
    return id;
}

/* llama.cpp reports the training size under meta and the actual size in /props.
 * OpenRouter's top_provider contains the output limit. */
struct ch_listed ch_listing_one(const struct ch_json *v) {
    struct ch_listed m = {.id = listing_id_of(v)};
    m.context_window = first_size(v, window_members, &m.wrong);
    m.max_output = first_size(v, output_members, &m.wrong);
    if (!m.max_output)
        m.max_output = first_size(ch_json_get(v, "top_provider"), output_members, &m.wrong);
    return m;
}

int ch_listing_read(struct ch_sv body, void (*fn)(const struct ch_listed *m, void *user),
                    void *user, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, body, CH_JSON_REPLACE, &v, NULL, NULL);
    const struct ch_json *list = ch_json_is(v, CH_JSON_ARRAY) ? v : ch_json_get(v, "data");
    if (!list)
        list = ch_json_get(v, "models");
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EPARSE, "the server's answer is no list of models");
    for (CH_JSON_EACH(e, list)) {
        struct ch_listed m = ch_listing_one(e);
        if (m.id.n)
            fn(&m, user);
    }
    return CHELA_OK;
}

int64_t ch_listing_props(struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, body, CH_JSON_REPLACE, &v, NULL, NULL);
    int64_t n = ch_json_int(ch_json_path(v, "default_generation_settings", "n_ctx", NULL), 0);
    if (n <= 0)
        n = ch_json_int(ch_json_get(v, "n_ctx"), 0);
    return CH_MAX(n, 0);
}

/* Find "num_ctx    8192" in the lines of parameters: the size that the model's file
 * requests. Without it the server's setting applies, and only the training size is known. */
static int64_t num_ctx(struct ch_sv lines) {
    while (lines.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&lines, '\n'));
        int64_t n = 0;
        if (!ch_sv_starts(line, "num_ctx"))
            continue;
        for (size_t i = strlen("num_ctx"); i < line.n; i++)
            if (line.p[i] >= '0' && line.p[i] <= '9' && n < INT64_C(1) << 40)
                n = 10 * n + (line.p[i] - '0');
        return n;
    }
    return 0;
}

int64_t ch_listing_show(struct ch_sv body) {
    static const char tail[] = ".context_length";
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, body, CH_JSON_REPLACE, &v, NULL, NULL);
    int64_t n = num_ctx(ch_json_get_str(v, "parameters"));
    for (CH_JSON_MEMBERS(k, x, ch_json_get(v, "model_info"))) {
        struct ch_sv key = ch_json_str(k);
        size_t len = sizeof(tail) - 1;
        if (n <= 0 && key.n > len && memcmp(key.p + key.n - len, tail, len) == 0)
            n = ch_json_int(x, 0);
    }
    return CH_MAX(n, 0);
}
