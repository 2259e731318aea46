/* decode.c -- what one delta of a stream costs, from bytes to event.
 *
 * For each protocol a reply of many text deltas is decoded: framing, JSON,
 * fold and event; with "prompted" in the name, calls in the text too. Beside it
 * stands a plain ch_json_parse of the same JSON, the least that any reader could
 * do. Two ratios of the two: for each byte that came and was read, of the stream
 * here and of the JSON there (the figure to hold: 2); and for each delta, where
 * a protocol pays for what it wraps around its JSON. Best of several rounds, on
 * one core. The last line is the worst of the first ratio.
 *
 *     decode [DELTAS [NAME]]   default 2000; those shapes whose name has NAME in it */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/crc32.h"
#include "model/codec/codec.h"
#include "json/json.h"
#include "model/codec/decoder.h"

#define ROUNDS 300
#define CHUNK 16384 /* what a socket hands over */

/* A stream: its first events, an event many times over, its last. "%s" is
 * where the text goes, "%u" a number that rises from event to event. A name that
 * begins with "prompted" is that layer over the codec. */
static const struct shape {
    const char *name;
    const struct ch_codec *codec;
    const char *begin, *delta, *end;
    const char *piece;
} shapes[] = {
    {"anthropic text", &ch_codec_anthropic,
     "event: message_start\ndata: "
     "{\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"content\":"
     "[],\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":"
     "\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
     "{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
     "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
     "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
     " and so the story goes"},
    {"anthropic text, escapes", &ch_codec_anthropic, NULL, NULL, NULL,
     "line\\n\\n- \\\"item\\\" 1"},
    {"anthropic text, Chinese", &ch_codec_anthropic, NULL, NULL, NULL, "代码助手在这里"},
    {"anthropic arguments", &ch_codec_anthropic,
     "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
     "\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"f\",\"input\":{}}}"
     "\n\n",
     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
     "{\"type\":\"input_json_delta\",\"partial_json\":\"%s\"}}\n\n",
     "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "\\\"key\\\": \\\"va"},
    {"anthropic text, spaced", &ch_codec_anthropic, "",
     "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"index\": 0, "
     "\"delta\": {\"type\": \"text_delta\", \"text\": \"%s\"}}\n\n",
     "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n", " and so the story goes"},
    {"anthropic text, sorted", &ch_codec_anthropic, "",
     "event: content_block_delta\ndata: {\"delta\":{\"text\":\"%s\",\"type\":\"text_delta\"},"
     "\"index\":0,\"type\":\"content_block_delta\"}\n\n",
     "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n", " and so the story goes"},
    {"responses text", &ch_codec_responses,
     "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,"
     "\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5-2025-08-07\",\"output\":[]}}\n\n",
     "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
     "\"sequence_number\":%u,\"item_id\":\"msg_68cae5a4c61c81a1b35ba5b7e87f4ab60c5a52d3f7a1b4f2\","
     "\"output_index\":1,\"content_index\":0,\"delta\":\"%s\",\"logprobs\":[],"
     "\"obfuscation\":\"aB3xY9\"}\n\n",
     "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{"
     "\"status\":\"completed\",\"output\":[]}}\n\n",
     " and so the story goes"},
    {"responses text, other ids", &ch_codec_responses, "",
     "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
     "\"sequence_number\":%u,\"item_id\":\"msg_68cae5a4c61c81a1b35ba5b7e87f4ab60c5a52d3f7a1%u\","
     "\"output_index\":1,\"content_index\":0,\"delta\":\"%s\",\"logprobs\":[],"
     "\"obfuscation\":\"aB3xY9\"}\n\n",
     "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{"
     "\"status\":\"completed\",\"output\":[]}}\n\n",
     " and so the story goes"},
    {"responses arguments", &ch_codec_responses, "",
     "event: response.function_call_arguments.delta\ndata: {\"type\":"
     "\"response.function_call_arguments.delta\",\"sequence_number\":%u,\"item_id\":"
     "\"fc_68cae5a4c61c81a1b35ba5b7e87f4ab60c5a52d3f7a1b4f2\",\"output_index\":2,\"delta\":\"%s\","
     "\"obfuscation\":\"aB3xY9\"}\n\n",
     "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{"
     "\"status\":\"completed\",\"output\":[]}}\n\n",
     "\\\"key\\\": \\\"va"},
    {"openai text", &ch_codec_openai, "",
     "data: "
     "{\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":\"chat.completion.chunk\","
     "\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\","
     "\"system_fingerprint\":\"fp_f33640a400\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
     "\"%s\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"openai text, padded", &ch_codec_openai, "",
     "data: "
     "{\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":\"chat.completion.chunk\","
     "\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\",\"choices\":[{\"index\":0,\"delta\":"
     "{\"content\":\"%s\"},\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"aB3xY9\"}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"openai text, usage", &ch_codec_openai, "",
     "data: "
     "{\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":\"chat.completion.chunk\","
     "\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\",\"choices\":[{\"index\":0,\"delta\":"
     "{\"content\":\"%s\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":7,"
     "\"completion_tokens\":%u,\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"openai text, other ids", &ch_codec_openai, "",
     "data: "
     "{\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxz%u\",\"object\":\"chat.completion.chunk\","
     "\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\",\"choices\":[{\"index\":0,\"delta\":"
     "{\"content\":\"%s\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":7}}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"openai text, new members", &ch_codec_openai, "",
     "data: {\"n\":%u,\"object\":\"chat.completion.chunk\",\"created\":1758128768,\"model\":"
     "\"gpt-4o-2024-08-06\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
     "\"finish_reason\":null}],\"timings\":{\"predicted_n\":%u,\"predicted_ms\":1%u.5}}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"openai arguments", &ch_codec_openai, "",
     "data: "
     "{\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":\"chat.completion.chunk\","
     "\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\","
     "\"system_fingerprint\":\"fp_f33640a400\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":"
     "[{\"index\":0,\"function\":{\"arguments\":\"%s\"}}]},\"logprobs\":null,\"finish_reason\":"
     "null}],"
     "\"usage\":null}\n\n",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     "\\\"key\\\": \\\"va"},
#define OPENAI_CHUNK                                                                    \
    "data: {\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":"              \
    "\"chat.completion.chunk\",\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\"," \
    "\"choices\":[{\"index\":0,\"delta\":"
#define OPENAI_CHUNK_END ",\"finish_reason\":null,\"logprobs\":null}]}\n\n"
#define OPENAI_END                                                                    \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" \
    "data: [DONE]\n\n"
    {"openai text, \\u", &ch_codec_openai, "", OPENAI_CHUNK "{\"content\":\"%s\"}" OPENAI_CHUNK_END,
     OPENAI_END, "\\u4ee3\\u7801\\u52a9\\u624b"},
    {"openai reasoning, details", &ch_codec_openai, "",
     OPENAI_CHUNK "{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"%s\","
                  "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"%s\",\"format\":"
                  "\"anthropic-claude-v1\",\"index\":0}]}" OPENAI_CHUNK_END,
     OPENAI_END, " and so the story goes"},
    {"openai reasoning, twice", &ch_codec_openai, "",
     OPENAI_CHUNK
     "{\"content\":null,\"reasoning\":\"%s\",\"reasoning_content\":\"%s\"}" OPENAI_CHUNK_END,
     OPENAI_END, " and so the story goes"},
    {"openai reasoning, parts", &ch_codec_openai, "",
     OPENAI_CHUNK "{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
                  "\"text\":\"%s\"}]}]}" OPENAI_CHUNK_END,
     OPENAI_END, " and so the story goes"},
    {"openai text, log probs", &ch_codec_openai, "",
     OPENAI_CHUNK
     "{\"content\":\"%s\"},\"finish_reason\":null,\"logprobs\":{\"content\":["
     "{\"token\":\"%s\",\"logprob\":-0.%u,\"bytes\":[32,97,110,100],\"top_logprobs\":[]}]}}]}\n\n",
     OPENAI_END, " and so the story goes"},
    {"openai arguments, ids", &ch_codec_openai, "",
     OPENAI_CHUNK "{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\","
                  "\"function\":{\"name\":\"f\",\"arguments\":\"%s\"}}]}" OPENAI_CHUNK_END,
     OPENAI_END, "\\\"key\\\": \\\"va"},
    {"gemini text", &ch_codec_gemini, "",
     "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\"}],\"role\": \"model\"},"
     "\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 15,\"candidatesTokenCount\": %u,"
     "\"totalTokenCount\": 1556,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": "
     "15}],\"thoughtsTokenCount\": 742},\"modelVersion\": \"gemini-2.5-pro\",\"responseId\": "
     "\"6hkqaYC5BbGEz7IPwb3ggA8\"}\n\n",
     "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},"
     "\"finishReason\":\"STOP\"}]}\n\n",
     " and so the story goes"},
    {"gemini text, escapes", &ch_codec_gemini, NULL, NULL, NULL, "line\\n\\n- \\\"item\\\" 1"},
    {"gemini text, Chinese", &ch_codec_gemini, NULL, NULL, NULL, "代码助手在这里"},
    {"gemini thoughts", &ch_codec_gemini, "",
     "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"%s\",\"thought\": true}],"
     "\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 15,"
     "\"totalTokenCount\": 1556,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": "
     "15}],\"thoughtsTokenCount\": %u},\"modelVersion\": \"gemini-2.5-pro\",\"responseId\": "
     "\"6hkqaYC5BbGEz7IPwb3ggA8\"}\n\n",
     "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},"
     "\"finishReason\":\"STOP\"}]}\n\n",
     " and so the story goes"},
    {"bedrock text", &ch_codec_bedrock,
     "event: messageStart\ndata: {\"p\":\"abcdefgh\",\"role\":\"assistant\"}\n\n",
     "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":\"%s\"},"
     "\"p\":\"abcdefghijklmnopqrst\"}\n\n",
     "event: contentBlockStop\ndata: {\"contentBlockIndex\":0,\"p\":\"abc\"}\n\n"
     "event: messageStop\ndata: {\"p\":\"abcdef\",\"stopReason\":\"end_turn\"}\n\n"
     "event: metadata\ndata: {\"usage\":{\"inputTokens\":7,\"outputTokens\":9}}\n\n",
     " and so the story goes"},
    {"bedrock text, escapes", &ch_codec_bedrock, NULL, NULL, NULL, "line\\n\\n- \\\"item\\\" 1"},
    {"bedrock text, Chinese", &ch_codec_bedrock, NULL, NULL, NULL, "代码助手在这里"},
    {"bedrock arguments", &ch_codec_bedrock,
     "event: contentBlockStart\ndata: {\"contentBlockIndex\":0,\"p\":\"ab\",\"start\":{\"toolUse\":"
     "{\"name\":\"f\",\"toolUseId\":\"tooluse_1\"}}}\n\n",
     "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":"
     "\"%s\"}},\"p\":\"abcdefghijklmnopqrst\"}\n\n",
     "event: contentBlockStop\ndata: {\"contentBlockIndex\":0,\"p\":\"abc\"}\n\n"
     "event: messageStop\ndata: {\"p\":\"abcdef\",\"stopReason\":\"tool_use\"}\n\n",
     "\\\"key\\\": \\\"va"},
#define PROMPTED_OPENAI                                                                 \
    "data: {\"id\":\"chatcmpl-CGxfA0x0xg8aYmv3bMIhE0tPxzBBc\",\"object\":"              \
    "\"chat.completion.chunk\",\"created\":1758128768,\"model\":\"gpt-4o-2024-08-06\"," \
    "\"choices\":"                                                                      \
    "[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"finish_reason\":null}],\"usage\":null}\n\n"
    {"prompted openai text", &ch_codec_openai, "", PROMPTED_OPENAI,
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
     "data: [DONE]\n\n",
     " and so the story goes"},
    {"prompted openai, a < b", &ch_codec_openai, NULL, NULL, NULL, " if a <b then <i>c</i>"},
    {"prompted call, held back", &ch_codec_openai,
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<tool_call>{\\\"name\\\":"
     "\\\"f\\\",\\\"arguments\\\":{\\\"text\\\":\\\"\"}}]}\n\n",
     PROMPTED_OPENAI,
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\\"}}</tool_call>\"},"
     "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
     " and so the story goes"},
    {"prompted anthropic text", &ch_codec_anthropic,
     "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
     "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
     "{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
     "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
     "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
     " and so the story goes"},
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t events;

static void on_event(const struct ch_model_event *ev, void *user) {
    (void)user;
    events += ev->text.n > 0;
}

static const struct ch_codec *codec_of(const struct shape *s) {
    bool prompted = ch_sv_starts(ch_sv_str(s->name), "prompted");
    return prompted ? ch_codec_prompted(s->codec) : s->codec;
}

static double decode_ns(const struct shape *s, struct ch_sv body, size_t deltas) {
    struct ch_decoder d;
    double start = now_ns();
    ch_decoder_init(&d, codec_of(s), on_event, NULL);
    for (size_t at = 0; at < body.n; at += CHUNK)
        ch_decoder_feed(&d, ch_sv(body.p + at, CH_MIN(CHUNK, body.n - at)));
    ch_decoder_end(&d, NULL, 0);
    double ns = (now_ns() - start) / (double)deltas;
    bool shown = events >= deltas || strstr(s->name, "held back");
    if (!d.reply.complete || !shown || d.reply.error.cls != CH_ERR_NONE) {
        fprintf(stderr, "the reply was not decoded: %zu events of %zu\n", events, deltas);
        exit(1);
    }
    events = 0;
    ch_decoder_release(&d);
    return ns;
}

/* Parse one delta's JSON as often; the text is the same, the work too. */
static double parse_ns(struct ch_sv json, size_t deltas) {
    CH_ARENA_AUTO arena = {0};
    double start = now_ns();
    for (size_t i = 0; i < deltas; i++) {
        const struct ch_json *v;
        ch_arena_clear(&arena);
        if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
            exit(1);
    }
    return (now_ns() - start) / (double)deltas;
}

static void add_delta(struct ch_buf *out, const char *delta, const char *piece, unsigned n) {
    for (const char *at; (at = strchr(delta, '%')); delta = at + 2) {
        ch_buf_add(out, delta, (size_t)(at - delta));
        if (at[1] == 's')
            ch_buf_add_str(out, piece);
        else
            ch_buf_addf(out, "%u", n);
    }
    ch_buf_add_str(out, delta);
}

/* --- server-sent events as frames of a binary stream */

static void add_u32(struct ch_buf *out, uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(n >> shift));
}

static void add_header(struct ch_buf *out, const char *name, struct ch_sv value) {
    ch_buf_addc(out, (char)strlen(name));
    ch_buf_add_str(out, name);
    ch_buf_add(out, "\7\0", 2);
    ch_buf_addc(out, (char)value.n);
    ch_buf_add_sv(out, value);
}

static void add_frame(struct ch_buf *out, struct ch_sv name, struct ch_sv data) {
    CH_BUF_AUTO headers = {0};
    size_t start = out->n;
    add_header(&headers, ":event-type", name);
    add_header(&headers, ":content-type", CH_SV("application/json"));
    add_header(&headers, ":message-type", CH_SV("event"));
    add_u32(out, (uint32_t)(16 + headers.n + data.n));
    add_u32(out, (uint32_t)headers.n);
    add_u32(out, ch_crc32(0, out->p + start, 8));
    ch_buf_add_sv(out, ch_buf_sv(&headers));
    ch_buf_add_sv(out, data);
    add_u32(out, ch_crc32(0, out->p + start, out->n - start));
}

/* "event: NAME\ndata: DATA\n\n", again and again. */
static void frame(struct ch_buf *body) {
    struct ch_buf out = {0};
    struct ch_sv rest = ch_buf_sv(body);
    while (rest.n) {
        struct ch_sv name = ch_sv_split(&rest, '\n'), data = ch_sv_split(&rest, '\n');
        add_frame(&out, ch_sv(name.p + 7, name.n - 7), ch_sv(data.p + 6, data.n - 6));
        ch_sv_split(&rest, '\n');
    }
    ch_buf_release(body);
    *body = out;
}

static struct {
    const char *name;
    double ratio;
} worst;

static void print(const struct shape *s, size_t json, double decode, double parse, double stream) {
    double a_byte = decode / stream / (parse / (double)json);
    printf("%-26s %6.1f %6zu %8.1f %8.1f %8.2fx %8.2fx\n", s->name, stream, json, decode, parse,
           a_byte, decode / parse);
    if (a_byte > worst.ratio) {
        worst.name = s->name;
        worst.ratio = a_byte;
    }
}

static void run(const struct shape *s, const char *begin, const char *delta, const char *end,
                size_t deltas) {
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO one = {0};
    add_delta(&one, delta, s->piece, 1000);
    ch_buf_add_str(&body, begin);
    for (size_t i = 0; i < deltas; i++)
        add_delta(&body, delta, s->piece, 1000 + (unsigned)i);
    ch_buf_add_str(&body, end);
    if (s->codec->binary)
        frame(&body);

    const char *json = strstr(ch_buf_str(&one), "data: ") + 6;
    struct ch_sv text = ch_sv(json, strlen(json) - 2);
    double decode = 1e18, parse = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        decode = CH_MIN(decode, decode_ns(s, ch_buf_sv(&body), deltas));
        parse = CH_MIN(parse, parse_ns(text, deltas));
    }
    print(s, text.n, decode, parse, (double)body.n / (double)deltas);
}

int main(int argc, char **argv) {
    size_t deltas = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    const struct shape *last = shapes;
    printf("%-26s %13s %17s %19s\n", "", "bytes a delta", "ns a delta", "decode to parse");
    printf("%-26s %6s %6s %8s %8s %9s %9s\n", "", "stream", "json", "decode", "parse", "a byte",
           "a delta");
    for (size_t i = 0; i < CH_LEN(shapes); i++) {
        if (shapes[i].delta)
            last = &shapes[i];
        if (argc < 3 || strstr(shapes[i].name, argv[2]))
            run(&shapes[i], last->begin, last->delta, last->end, deltas ? deltas : 1);
    }
    if (worst.name)
        printf("worst a byte: %s, %.2fx\n", worst.name, worst.ratio);
    return 0;
}
