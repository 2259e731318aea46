/* openai_usage.c -- see openai_usage.h.
 *
 * prompt_tokens includes cached tokens; the members for cached tokens, and for tokens written
 * to the cache, depend on the vendor. completion_tokens includes reasoning at OpenAI, but not
 * at xAI or in front of Gemini, which the total shows. More reasoning than completion tokens
 * proves nothing, because some servers count reasoning differently. */
#include "model/vendor/openai/openai_usage.h"

#include "json/pull.h"

enum figure {
    PROMPT,
    COMPLETION,
    TOTAL,
    CACHED,
    HIT,
    CACHED_TOP,
    NUM_CACHED,
    READ_TOP,
    WRITE,
    CREATION,
    CREATION_INPUT,
    CREATED,
    CREATION_TOP,
    REASONING,
    REASONING_TOP,
    FIGURES
};

static const struct {
    const char *outer, *key; /* outer NULL: a member of usage itself */
} places[FIGURES] = {
    [PROMPT] = {NULL, "prompt_tokens"},
    [COMPLETION] = {NULL, "completion_tokens"},
    [TOTAL] = {NULL, "total_tokens"},
    [CACHED] = {"prompt_tokens_details", "cached_tokens"},
    [HIT] = {NULL, "prompt_cache_hit_tokens"},
    [CACHED_TOP] = {NULL, "cached_tokens"},
    [NUM_CACHED] = {NULL, "num_cached_tokens"},
    [READ_TOP] = {NULL, "cache_read_input_tokens"},
    [WRITE] = {"prompt_tokens_details", "cache_write_tokens"},
    [CREATION] = {"prompt_tokens_details", "cache_creation_tokens"},              /* LiteLLM */
    [CREATION_INPUT] = {"prompt_tokens_details", "cache_creation_input_tokens"}, /* Alibaba */
    [CREATED] = {"prompt_tokens_details", "cached_creation_tokens"},             /* new-api */
    [CREATION_TOP] = {NULL, "cache_creation_input_tokens"},
    [REASONING] = {"completion_tokens_details", "reasoning_tokens"},
    [REASONING_TOP] = {NULL, "reasoning_tokens"},
};

static bool is_place(int i, const char *outer, struct ch_sv key) {
    bool same_level = places[i].outer == outer ||
                      (outer && places[i].outer && strcmp(outer, places[i].outer) == 0);
    return same_level && ch_sv_is(key, places[i].key);
}

/* Store the value if it is one of the figures of this level, else skip it. */
static void take_figure(struct ch_pull *p, const char *outer, struct ch_sv key,
                        int64_t figures[FIGURES]) {
    for (int i = 0; i < FIGURES; i++)
        if (is_place(i, outer, key)) {
            ch_pull_int(p, &figures[i]);
            return;
        }
    ch_pull_skip(p);
}

static void read_figures(struct ch_sv json, struct ch_buf *scratch, int64_t figures[FIGURES]) {
    static const char *const details[] = {"prompt_tokens_details", "completion_tokens_details"};
    struct ch_pull p;
    struct ch_sv key;
    ch_pull_init(&p, json, scratch);
    if (!ch_pull_enter(&p, '{'))
        return;
    while (ch_pull_key(&p, &key)) {
        const char *outer = ch_sv_is(key, details[0])   ? details[0]
                            : ch_sv_is(key, details[1]) ? details[1]
                                                        : NULL;
        if (!outer)
            take_figure(&p, NULL, key, figures);
        else if (ch_pull_enter(&p, '{'))
            while (ch_pull_key(&p, &key))
                take_figure(&p, outer, key, figures);
    }
}

/* The first reported figure; 0 counts as reported. */
static int64_t openai_usage_first_of(const int64_t figures[FIGURES], const enum figure *order,
                                     size_t n) {
    for (size_t i = 0; i < n; i++)
        if (figures[order[i]] >= 0)
            return ch_token_count(figures[order[i]]);
    return 0;
}

struct ch_usage ch_openai_usage(struct ch_sv json, struct ch_buf *scratch) {
    static const enum figure cached[] = {CACHED, HIT, CACHED_TOP, NUM_CACHED, READ_TOP};
    static const enum figure written[] = {WRITE, CREATION, CREATION_INPUT, CREATED, CREATION_TOP};
    static const enum figure reasoning[] = {REASONING, REASONING_TOP};
    int64_t figures[FIGURES];
    for (int i = 0; i < FIGURES; i++)
        figures[i] = -1;
    read_figures(json, scratch, figures);

    struct ch_usage u = {
        .input = ch_token_count(figures[PROMPT]),
        .output = ch_token_count(figures[COMPLETION]),
        .cache_read = openai_usage_first_of(figures, cached, CH_LEN(cached)),
        .cache_write = openai_usage_first_of(figures, written, CH_LEN(written)),
        .reasoning = openai_usage_first_of(figures, reasoning, CH_LEN(reasoning)),
    };
    int64_t total = ch_token_count(figures[TOTAL]);
    if (u.reasoning && u.input + u.output + u.reasoning == total)
        u.output += u.reasoning;
    return u;
}
