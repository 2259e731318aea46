/* encode.c -- what a turn costs to encode, early and late in a conversation.
 *
 * A conversation of tool calls grows turn by turn, and after each the request
 * is brought up to date, as an agent does. Only what is new is encoded, so the
 * last turns must cost what the first did; beside them stands what encoding
 * the whole history anew would cost. Best of several rounds, on one core.
 *
 *     encode [TURNS]   default 200 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/codec/codec.h"
#include "model/codec/encoder.h"

#define ROUNDS 30
#define EDGE 20 /* turns at either end that are looked at */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A call and its result of about 1 KB each turn. */
static void add_turn(struct ch_transcript *t, const char *api, unsigned i) {
    char id[24], arguments[64], result[1024];
    snprintf(id, sizeof(id), "call_%u", i);
    snprintf(arguments, sizeof(arguments), "{\"file_path\":\"src/file_%u.c\"}", i);
    memset(result, 'x', sizeof(result));
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL,
                            .id = ch_sv_str(id),
                            .name = CH_SV("read"),
                            .text = ch_sv_str(arguments)};
    struct ch_block answer = {.type = CH_BLOCK_TOOL_RESULT,
                              .id = ch_sv_str(id),
                              .name = CH_SV("read"),
                              .text = ch_sv(result, sizeof(result))};
    ch_transcript_add(t, ch_msg_by(CH_MSG_ASSISTANT, &call, 1,
                                   &(struct ch_msg_author){.api = api, .model = CH_SV("m")}, 0));
    ch_transcript_add(t, ch_msg_new(CH_MSG_RESULTS, &answer, 1, 0));
}

struct figures {
    double first, last, anew; /* microseconds a turn */
    size_t bytes;
};

static struct figures play(const struct ch_endpoint *ep, unsigned turns) {
    static const struct ch_tool_def tool = {.name = CH_SV("read"),
                                            .schema = CH_SV("{\"type\":\"object\"}")};
    struct ch_transcript t = {0};
    struct ch_encoder e = {0}, fresh = {0};
    struct figures f = {0};
    struct ch_model_request req = {.endpoint = ep,
                                   .model = CH_SV("m"),
                                   .system = CH_SV("You read files."),
                                   .tools = &tool,
                                   .ntools = 1,
                                   .revision = 1};
    ch_transcript_add(&t, ch_msg_text(CH_MSG_USER, CH_SV("go"), 0));
    for (unsigned i = 0; i < turns; i++) {
        add_turn(&t, ep->codec->name, i);
        req.messages = (const struct ch_msg *const *)t.msgs;
        req.nmessages = t.n;
        double from = now_us();
        ch_encoder_update(&e, &req, NULL);
        double us = now_us() - from;
        f.first += i < EDGE ? us / EDGE : 0;
        f.last += i + EDGE >= turns ? us / EDGE : 0;
    }
    double from = now_us();
    ch_encoder_update(&fresh, &req, NULL);
    f.anew = now_us() - from;
    f.bytes = e.head.n + e.messages.n + e.tail.n;
    ch_encoder_release(&e);
    ch_encoder_release(&fresh);
    ch_transcript_release(&t);
    return f;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

int main(int argc, char **argv) {
    unsigned turns = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    if (turns < 2 * EDGE)
        turns = 2 * EDGE;
    for (size_t i = 0; ch_codec_at(i); i++) {
        const struct ch_codec *codec = ch_codec_at(i);
        struct ch_endpoint ep = {.codec = codec, .provider = codec->name, .base_url = "http://x"};
        struct figures best = play(&ep, turns);
        for (int k = 1; k < ROUNDS; k++) {
            struct figures f = play(&ep, turns);
            best.first = least(best.first, f.first);
            best.last = least(best.last, f.last);
            best.anew = least(best.anew, f.anew);
        }
        printf("%-26s %u turns, %zu bytes: %.2f us a turn at first, %.2f at the end (x%.2f); all "
               "anew %.0f us\n",
               codec->name, turns, best.bytes, best.first, best.last, best.last / best.first,
               best.anew);
    }
    return 0;
}
