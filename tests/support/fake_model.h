/* fake_model.h -- a model service inside the test: a transport that plays a list of replies
 * and records the requests. */
#ifndef TESTS_FAKE_MODEL_H
#define TESTS_FAKE_MODEL_H
#include "base/arena.h"
#include "base/buf.h"
#include "io/loop.h"
#include "net/transport.h"

/* Pieces of a reply in the wire format of the anthropic codec. */
#define A_BEGIN                                                                              \
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"," \
    "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"fake-1\",\"content\":[],"       \
    "\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n"
#define A_BLOCK(i, block)                                                               \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":" #i \
    ",\"content_block\":" block "}\n\n"
#define A_DELTA(i, delta)                                                               \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":" #i \
    ",\"delta\":" delta "}\n\n"
#define A_CLOSE(i) \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":" #i "}\n\n"
#define A_END(stop)                                                                              \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" stop \
    "\"},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: "                        \
    "{\"type\":\"message_stop\"}\n\n"
#define A_TEXT(i, text)                             \
    A_BLOCK(i, "{\"type\":\"text\",\"text\":\"\"}") \
    A_DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" text "\"}") A_CLOSE(i)
#define A_THINK(i, text)                                    \
    A_BLOCK(i, "{\"type\":\"thinking\",\"thinking\":\"\"}") \
    A_DELTA(i, "{\"type\":\"thinking_delta\",\"thinking\":\"" text "\"}") A_CLOSE(i)
#define A_CALL_OPEN(i, id, name, json)                                                         \
    A_BLOCK(i, "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}") \
    A_DELTA(i, "{\"type\":\"input_json_delta\",\"partial_json\":\"" json "\"}")
#define A_CALL(i, id, name, json) A_CALL_OPEN(i, id, name, json) A_CLOSE(i)
#define A_SAY(text) A_BEGIN A_TEXT(0, text) A_END("end_turn")
#define A_USE(id, name, json) A_BEGIN A_CALL(0, id, name, json) A_END("tool_use")

struct fake_reply {
    const char *body;         /* NULL: none */
    int status;               /* 0: 200 */
    const char *retry_after;  /* a header, or NULL */
    const char *content_type; /* NULL: text/event-stream, or JSON with a status */
    bool hang;                /* after the body no more data comes */
    const char *fail;         /* after the body the transport fails, CHELA_ENET */
};

struct fake_model {
    struct ch_transport transport; /* first */
    struct ch_loop *loop;
    const struct fake_reply *replies; /* played in order; then status 500 */
    size_t nreplies, next;
    /* Replaces the list: chooses the reply to this request body. */
    const struct fake_reply *(*choose)(struct ch_sv body, void *user);
    void *user;
    size_t chunk;               /* bytes in one piece; 0: all at once */
    struct ch_buf requests[64]; /* bodies, as sent */
    size_t nrequests, open;     /* open: calls that were started and have not ended */
};

void fake_model_init(struct fake_model *m, struct ch_loop *loop, const struct fake_reply *replies,
                     size_t n);
void fake_model_release(struct fake_model *m);
/* A reply with this text, which may hold any character. The body is in the arena. */
struct fake_reply fake_say(struct ch_arena *a, const char *text);

#endif
