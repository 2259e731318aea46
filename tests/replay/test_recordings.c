/* test_recordings.c -- play recorded exchanges with real services.
 *
 *     test_recordings [DIRECTORY]
 *
 * The directory holds a folder for each protocol with NAME.meta.json (status,
 * headers, what the reply should be) and NAME.resp.sse or .json (the body). It
 * is not part of the source: where it is missing, the run says so and is
 * skipped. What was learnt about single recordings is in README.md. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "support/replay.h"
#include "json/writer.h"

#define DEFAULT_DIR "../shared/data/recordings"

static const struct {
    const char *folder, *api;
} protocols[] = {
    {"anthropic_messages", "anthropic"},
    {"openai_chat", "openai"},
    {"openai_responses", "openai-responses"},
    {"gemini", "gemini"},
    {"bedrock_converse", "bedrock"},
};

/* What is compared, in words of a difference. */
struct recording {
    const char *name;
    const struct ch_codec *codec;
    const struct ch_json *meta, *expect, *reply;
    struct ch_arena *arena;
    struct ch_buf why; /* one line for each difference */
};

static void differ(struct recording *r, const char *what, struct ch_sv want, struct ch_sv got) {
    ch_buf_addf(&r->why, "%s: expected %.*s, got %.*s\n", what, CH_SV_FMT(ch_utf8_cut(want, 300)),
                CH_SV_FMT(ch_utf8_cut(got, 300)));
}

static struct ch_sv shown(struct recording *r, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (v)
        ch_jw_value(&w, v);
    return ch_arena_sv(r->arena, v ? ch_buf_sv(&out) : CH_SV("nothing"));
}

static void check_int(struct recording *r, const char *what, int64_t want, int64_t got) {
    if (want == got)
        return;
    ch_buf_addf(&r->why, "%s: expected %lld, got %lld\n", what, (long long)want, (long long)got);
}

/* Lengths are counted in characters. */
static int64_t characters(struct ch_sv s) {
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static void check_text(struct recording *r, const char *what, const char *len_key,
                       const char *sha_key) {
    struct ch_sv text = ch_json_get_str(r->reply, what), sha = ch_json_get_str(r->expect, sha_key);
    char hex[41];
    replay_sha1(text, hex);
    check_int(r, len_key, ch_json_int(ch_json_get(r->expect, len_key), -1), characters(text));
    if (!ch_sv_is(sha, hex))
        differ(r, sha_key, sha, text);
}

static void check_call(struct recording *r, const struct ch_json *want, const struct ch_json *got) {
    struct ch_sv id = ch_json_get_str(want, "id"), name = ch_json_get_str(want, "name");
    const struct ch_json *args = ch_json_get(want, "args"), *have = ch_json_get(got, "arguments");
    if (id.n && !ch_sv_eq(id, ch_json_get_str(got, "id")))
        differ(r, "call id", id, ch_json_get_str(got, "id"));
    if (!ch_sv_eq(name, ch_json_get_str(got, "name")))
        differ(r, "call name", name, ch_json_get_str(got, "name"));
    bool same = ch_json_is(args, CH_JSON_STRING)
                    ? ch_sv_eq(ch_json_str(args), ch_json_get_str(have, "_invalid"))
                    : args && have && ch_json_equal(args, have);
    if (!same)
        differ(r, "arguments", shown(r, args), shown(r, have));
}

static void check_calls(struct recording *r) {
    const struct ch_json *want = ch_json_get(r->expect, "tool_calls");
    const struct ch_json *got = ch_json_get(r->reply, "tool_calls");
    size_t n = ch_json_is(want, CH_JSON_ARRAY) ? want->n : 0;
    check_int(r, "number of tool calls", (int64_t)n, (int64_t)got->n);
    for (size_t i = 0; i < n && i < got->n; i++)
        check_call(r, ch_json_at(want, i), ch_json_at(got, i));
}

/* The canonical stop for what was sent, by the tables of the protocols. */
static const char *stop_for(struct recording *r, struct ch_sv raw) {
    static const char *const rows[][2] = {
        {"end_turn", "stop"},      {"stop_sequence", "stop"},
        {"tool_use", "tool_use"},  {"max_tokens", "length"},
        {"refusal", "refusal"},    {"pause_turn", "pause"},
        {"compaction", "pause"},   {"model_context_window_exceeded", "length"},
        {"stop", "stop"},          {"eos", "stop"},
        {"end", "stop"},           {"tool_calls", "tool_use"},
        {"tool_call", "tool_use"}, {"function_call", "tool_use"},
        {"length", "length"},      {"content_filter", "refusal"},
        {"error", "error"},        {"network_error", "error"},
        {"completed", "stop"},     {"incomplete", "length"},
        {"failed", "error"},       {"incomplete.max_output_tokens", "length"},
        {"cancelled", "error"},    {"incomplete.content_filter", "refusal"},
        {"STOP", "stop"},          {"MAX_TOKENS", "length"},
        {"SAFETY", "refusal"},     {"RECITATION", "refusal"},
        {"malformed_tool_use", "error"}, {"guardrail_intervened", "refusal"},
        {"malformed_model_output", "error"}, {"content_filtered", "refusal"},
    };
    const char *stop = "stop";
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (ch_sv_is(raw, rows[i][0]))
            stop = rows[i][1];
    bool plain = strcmp(stop, "stop") == 0;
    if (plain && ch_json_get_str(r->expect, "refusal").n)
        return "refusal";
    const struct ch_json *calls = ch_json_get(r->expect, "tool_calls");
    return plain && ch_json_is(calls, CH_JSON_ARRAY) && calls->n ? "tool_use" : stop;
}

static void check_stop(struct recording *r) {
    const struct ch_json *raw = ch_json_get(r->expect, "stop_raw");
    if (!ch_json_is(raw, CH_JSON_STRING))
        return;
    struct ch_sv got = ch_json_get_str(r->reply, "stop_raw");
    if (!ch_sv_eq(ch_json_str(raw), got))
        differ(r, "stop_raw", ch_json_str(raw), got);
    const char *stop = stop_for(r, ch_json_str(raw));
    if (!ch_sv_is(ch_json_get_str(r->reply, "stop"), stop))
        differ(r, "stop", ch_sv_str(stop), ch_json_get_str(r->reply, "stop"));
}

static int64_t figure(const struct ch_json *usage, const char *key) {
    return ch_json_int(ch_json_get(usage, key), 0);
}

static struct ch_usage usage_of_messages(const struct ch_json *u) {
    struct ch_usage n = {.output = figure(u, "output_tokens"),
                         .cache_read = figure(u, "cache_read_input_tokens"),
                         .cache_write = figure(u, "cache_creation_input_tokens")};
    n.input = figure(u, "input_tokens") + n.cache_read + n.cache_write;
    n.reasoning = figure(ch_json_get(u, "output_tokens_details"), "thinking_tokens");
    return n;
}

static struct ch_usage usage_of_chat(const struct ch_json *u) {
    const struct ch_json *prompt = ch_json_get(u, "prompt_tokens_details");
    struct ch_usage n = {.input = figure(u, "prompt_tokens"),
                         .output = figure(u, "completion_tokens"),
                         .cache_write = figure(prompt, "cache_write_tokens")};
    n.cache_read = ch_json_get(prompt, "cached_tokens") ? figure(prompt, "cached_tokens")
                   : ch_json_get(u, "prompt_cache_hit_tokens")
                       ? figure(u, "prompt_cache_hit_tokens")
                       : figure(u, "cached_tokens");
    n.reasoning = figure(ch_json_get(u, "completion_tokens_details"), "reasoning_tokens");
    if (n.input + n.output + n.reasoning == figure(u, "total_tokens"))
        n.output += n.reasoning;
    return n;
}

static struct ch_usage usage_of_responses(const struct ch_json *u) {
    const struct ch_json *input = ch_json_get(u, "input_tokens_details");
    const struct ch_json *output = ch_json_get(u, "output_tokens_details");
    return (struct ch_usage){.input = figure(u, "input_tokens"),
                             .output = figure(u, "output_tokens"),
                             .cache_read = figure(input, "cached_tokens"),
                             .cache_write = figure(input, "cache_write_tokens"),
                             .reasoning = figure(output, "reasoning_tokens")};
}

static struct ch_usage usage_of_converse(const struct ch_json *u) {
    struct ch_usage n = {.output = figure(u, "outputTokens"),
                         .cache_read = figure(u, "cacheReadInputTokens"),
                         .cache_write = figure(u, "cacheWriteInputTokens")};
    n.input = figure(u, "inputTokens") + n.cache_read + n.cache_write;
    return n;
}

static struct ch_usage usage_of_gemini(const struct ch_json *u) {
    struct ch_usage n = {.input = figure(u, "promptTokenCount") +
                                  figure(u, "toolUsePromptTokenCount"),
                         .cache_read = figure(u, "cachedContentTokenCount"),
                         .reasoning = figure(u, "thoughtsTokenCount")};
    n.output = figure(u, "candidatesTokenCount") + n.reasoning;
    return n;
}

static struct ch_usage usage_of(const struct ch_codec *codec, const struct ch_json *u) {
    if (codec == &ch_codec_anthropic)
        return usage_of_messages(u);
    if (codec == &ch_codec_responses)
        return usage_of_responses(u);
    if (codec == &ch_codec_gemini)
        return usage_of_gemini(u);
    if (codec == &ch_codec_bedrock)
        return usage_of_converse(u);
    return usage_of_chat(u);
}

static void check_usage(struct recording *r) {
    const struct ch_json *raw = ch_json_get(r->expect, "usage_raw");
    const struct ch_json *got = ch_json_get(r->reply, "usage");
    if (!ch_json_is(raw, CH_JSON_OBJECT))
        return;
    struct ch_usage want = usage_of(r->codec, raw);
    check_int(r, "usage.input", want.input, figure(got, "input"));
    check_int(r, "usage.output", want.output, figure(got, "output"));
    check_int(r, "usage.cache_read", want.cache_read, figure(got, "cache_read"));
    check_int(r, "usage.cache_write", want.cache_write, figure(got, "cache_write"));
    check_int(r, "usage.reasoning", want.reasoning, figure(got, "reasoning"));
}

static bool has_feature(struct recording *r, const char *name) {
    for (CH_JSON_EACH(f, ch_json_get(r->meta, "features")))
        if (ch_sv_is(ch_json_str(f), name))
            return true;
    return false;
}

/* Without `expect` the reply is an error; the features say of which kind. */
static void check_error(struct recording *r) {
    static const char *const kinds[][2] = {
        {"auth_error", "auth"},
        {"context_overflow", "context_overflow"},
        {"rate_limit", "rate_limit"},
        {"http_404", "model_not_found"},
    };
    const struct ch_json *error = ch_json_get(r->reply, "error");
    struct ch_sv cls = ch_json_get_str(error, "class");
    if (!ch_json_is(error, CH_JSON_OBJECT))
        ch_buf_addf(&r->why, "error: expected one, got null\n");
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (has_feature(r, kinds[i][0]) && !ch_sv_is(cls, kinds[i][1]))
            differ(r, "error class", ch_sv_str(kinds[i][1]), cls);
}

static void check_reply(struct recording *r) {
    if (!ch_json_is(r->expect, CH_JSON_OBJECT)) {
        check_error(r);
        return;
    }
    const struct ch_json *error = ch_json_get(r->reply, "error");
    if (ch_json_is(error, CH_JSON_OBJECT))
        differ(r, "error", CH_SV("null"), shown(r, error));
    if (!ch_json_bool(ch_json_get(r->reply, "complete"), false))
        ch_buf_addf(&r->why, "complete: expected true, got false\n");
    check_text(r, "text", "text_len", "text_sha1");
    check_text(r, "reasoning", "reasoning_len", "reasoning_sha1");
    if (!ch_sv_eq(ch_json_get_str(r->expect, "refusal"), ch_json_get_str(r->reply, "refusal")))
        differ(r, "refusal", ch_json_get_str(r->expect, "refusal"),
               ch_json_get_str(r->reply, "refusal"));
    check_calls(r);
    check_stop(r);
    check_usage(r);
}

static struct ch_http_head head_of(const struct ch_json *meta, struct ch_arena *a) {
    const struct ch_json *headers = ch_json_get(meta, "resp_headers");
    struct ch_http_head head = {.status = (int)ch_json_int(ch_json_get(meta, "status"), 200)};
    size_t n = ch_json_is(headers, CH_JSON_OBJECT) ? headers->n : 0;
    struct ch_header *list = ch_arena_alloc(a, (n + 1) * sizeof(*list));
    for (CH_JSON_MEMBERS(k, v, headers))
        if (v->type == CH_JSON_STRING)
            list[head.nheaders++] = (struct ch_header){ch_json_str(k), ch_json_str(v)};
    head.headers = list;
    return head;
}

/* The same bytes in other pieces must give the same reply and events. */
static void check_pieces(struct recording *r, const struct ch_http_head *head, struct ch_sv body,
                         struct ch_sv reply, struct ch_sv events) {
    static const size_t pieces[] = {1, 7, 1000};
    for (size_t i = 0; i < CH_LEN(pieces); i++) {
        CH_BUF_AUTO other = {0};
        CH_BUF_AUTO log = {0};
        replay_decode(r->codec, head, body, pieces[i], &other, &log);
        if (!ch_sv_eq(reply, ch_buf_sv(&other)) || !ch_sv_eq(events, ch_buf_sv(&log)))
            ch_buf_addf(&r->why, "in pieces of %zu bytes the reply or its events differ\n",
                        pieces[i]);
    }
}

static void play(const char *dir, const char *name, const struct ch_codec *codec) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO reply = {0};
    CH_BUF_AUTO events = {0};
    struct recording r = {.name = name, .codec = codec, .arena = &arena};
    r.meta = replay_json(&arena, ch_arena_printf(&arena, "%s/%s.meta.json", dir, name));
    r.expect = ch_json_get(r.meta, "expect");
    struct ch_sv file = ch_json_get_str(r.meta, "resp_file");
    struct ch_sv body =
        replay_file(&arena, ch_arena_printf(&arena, "%s/%.*s", dir, CH_SV_FMT(file)));
    if (body.p) {
        struct ch_http_head head = head_of(r.meta, &arena);
        replay_decode(codec, &head, body, 0, &reply, &events);
        ch_json_parse(&arena, ch_buf_sv(&reply), CH_JSON_STRICT, &r.reply, NULL, NULL);
        check_reply(&r);
        check_pieces(&r, &head, body, ch_buf_sv(&reply), ch_buf_sv(&events));
    } else {
        ch_buf_addf(&r.why, "cannot be read\n");
    }
    tap_ok(!r.why.n, "%s %s", codec->name, name);
    if (r.why.n)
        tap_note("%s", ch_buf_str(&r.why));
    ch_buf_release(&r.why);
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : DEFAULT_DIR;
    int total = 0;
    for (size_t i = 0; i < CH_LEN(protocols); i++) {
        CH_ARENA_AUTO arena = {0};
        const char *path = ch_arena_printf(&arena, "%s/%s", dir, protocols[i].folder);
        const struct ch_codec *codec = ch_codec_find(ch_sv_str(protocols[i].api));
        size_t n;
        char **names = replay_names(path, ".meta.json", &n);
        int before = tap_passed();
        for (size_t k = 0; k < n; k++)
            play(path, names[k], codec);
        tap_note("%s: %d of %zu recordings as expected", protocols[i].folder, tap_passed() - before,
                 n);
        total += (int)n;
        replay_free_names(names, n);
    }
    if (!total)
        printf("ok 1 # SKIP no recordings in %s; the fixtures of this tree were played\n1..1\n",
               dir);
    return total ? tap_end() : 0;
}
