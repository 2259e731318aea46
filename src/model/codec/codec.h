/* codec.h -- a wire protocol as two pure functions.
 *
 * encode: a neutral request becomes an HTTP request. decode: response bytes become neutral
 * events and one reply. A codec opens no socket, reads no clock and never retries; net/
 * transfers the bytes and agent/ decides. Therefore codecs can be replayed from recordings,
 * fuzzed, and tested with input split at every byte.
 *
 * A request body is head + messages + tail, and `messages` only ever grows by appending, so
 * that vendors can cache the prefix. ch_encoder keeps `messages`, so encoding turn N costs
 * only the new part of turn N. */
#ifndef CH_MODEL_CODEC_H
#define CH_MODEL_CODEC_H
#include "chela/choice.h"
#include "base/arena.h"
#include "base/buf.h"
#include "model/catalog/model_request.h"
#include "model/message/ids.h"
#include "net/eventstream.h"
#include "net/sse.h"
#include "net/transport.h"

/* --- the reply ---------------------------------------------------------- */

enum ch_stop {
    CH_STOP_NONE = CHELA_STOP_NONE,
    CH_STOP_STOP = CHELA_STOP_STOP,
    CH_STOP_LENGTH = CHELA_STOP_LENGTH,
    CH_STOP_TOOL_USE = CHELA_STOP_TOOL_USE,
    CH_STOP_REFUSAL = CHELA_STOP_REFUSAL,
    CH_STOP_PAUSE = CHELA_STOP_PAUSE,
    CH_STOP_ERROR = CHELA_STOP_ERROR
};
const char *ch_stop_name(enum ch_stop s); /* "stop", "tool_use", ... */

enum ch_error_class {
    CH_ERR_NONE,
    CH_ERR_AUTH,
    CH_ERR_BILLING,
    CH_ERR_RATE_LIMIT,
    CH_ERR_OVERLOADED,
    CH_ERR_SERVER,
    CH_ERR_TIMEOUT,
    CH_ERR_NETWORK,
    CH_ERR_OVERFLOW, /* "context_overflow" */
    CH_ERR_MODEL_NOT_FOUND,
    CH_ERR_REFUSED,
    CH_ERR_FORMAT, /* the request or the response violates the protocol */
};

struct ch_reply {
    struct ch_msg *msg; /* owned; NULL for an empty reply. api and model are set */
    enum ch_stop stop;
    struct ch_sv stop_raw; /* in the decoder's arena */
    struct ch_sv stop_sequence; /* that ended the reply, if the service says so; likewise */
    struct ch_sv model;    /* the vendor's name of the model; in the decoder's arena */
    struct ch_usage usage;
    struct ch_usage beside; /* the part of usage that the service reports apart from the reply's:
                             * its compactions */
    bool complete; /* the end marker was received */
    /* The service makes the reply in the background: the id by which it can be asked for. There is
     * an error beside it. Empty: no. */
    struct ch_sv pending;
    /* The same id as soon as a stream names it, and the number of its last event that was read;
     * -1: unknown. */
    struct ch_sv job;
    int64_t cursor;
    struct {
        enum ch_error_class cls; /* CH_ERR_NONE: no error */
        bool retryable;
        int status;
        long retry_after_ms;
        struct ch_sv message; /* one line, in the decoder's arena */
    } error;
};

enum ch_model_event_type {
    CH_MEV_TEXT,       /* text: a piece; so_far: the block's text including it */
    CH_MEV_REASONING,  /* like CH_MEV_TEXT */
    /* index; id and name when first known; text: a piece of the arguments */
    CH_MEV_CALL_DELTA,
    /* index, id, name, runner; so_far: the arguments. The reply may still fail */
    CH_MEV_CALL_CLOSED,
};
struct ch_model_event {
    enum ch_model_event_type type;
    unsigned index; /* index of the call in the reply */
    enum ch_runner runner;
    struct ch_sv text, id, name;
    struct ch_sv so_far;
};
typedef void ch_model_event_fn(const struct ch_model_event *ev, void *user);

/* Accumulates a reply while a codec decodes: emits events and builds the message (fold.c).
 * A block is opened by a key that the codec chooses (its index on the wire), filled, and
 * closed. */
struct ch_fold;
struct ch_findings;
struct ch_json;

struct ch_decoder;

/* --- the codec ---------------------------------------------------------- */

struct ch_codec {
    const char *name;        /* "anthropic": as users type it; stable */
    size_t state_size;       /* decoder state, zeroed, in struct ch_decoder */
    bool bare_errors;        /* JSON in the stream outside of an event counts as an event */
    /* NULL, or the protocol that this codec is a layer over (prompted.h). The decoder then
     * uses the inner codec, and the decoding hooks are not set here. */
    const struct ch_codec *inner;
    const char *aws_service; /* AWS service name for signing requests without a key; may be NULL */
    bool binary;             /* streams use the framing of net/eventstream.h */
    bool takes_cache_key;    /* the request has the key of the service's prompt cache */

    /* Required. URL and headers of the request, into the arena. */
    int (*http)(const struct ch_model_request *req, struct ch_arena *a,
                struct ch_http_request *out, struct chela_error *err);
    /* Required. Everything before the messages, up to and including the '['; includes the
     * system prompt if the protocol sends it as a message. */
    int (*head)(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
    /* Required. Append one neutral message as zero or more wire messages, separated by
     * commas; an empty out is the position after the head. Stateless: the bytes depend only
     * on m, the model, the quirks and the messages before. Calls and results are already
     * paired (encoder.c). */
    int (*message)(const struct ch_model_request *req, const struct ch_msg *m, struct ch_buf *out,
                   struct chela_error *err);
    /* Optional. Close the last message in out if the codec left it open for continuation.
     * The bytes go to the tail. */
    void (*close)(const struct ch_model_request *req, struct ch_buf *out);
    /* Required. Everything from the ']' on. */
    int (*tail)(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
    /* Optional. Whether the tail depends on the messages. */
    bool (*tail_follows)(const struct ch_model_request *req);
    /* Optional. The id format of the protocol; NULL: CH_ID_64. Messages are passed with ids
     * that remain unique in this format. */
    enum ch_id_rule (*ids)(const struct ch_model_request *req);
    /* Optional. A line for the model in this request alone, sent as user text after all
     * messages. Empty: none. */
    struct ch_sv (*note)(const struct ch_model_request *req, struct ch_arena *a);
    /* Optional, for services with explicit cache marks: mark the end of the messages,
     * because a note follows. Returns the number of bytes at the end of messages that are
     * now in tail. */
    size_t (*mark)(const struct ch_model_request *req, struct ch_sv messages, struct ch_buf *tail);

    /* Required. One event of the stream: a server-sent event, or an event of a binary
     * framing with its type in `name`. Unknown names and fields are skipped, because
     * vendors add new ones. A negative return ends the reply. */
    int (*event)(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                 struct chela_error *err);
    /* Optional. The fast path of `event` for a server-sent event whose data begins at `data` and
     * is followed by an empty line. Returns the position after this line; NULL: nothing was
     * done. */
    const char *(*quick)(struct ch_decoder *d, const char *data, const char *end);
    /* Required. A whole body that is not a stream: a reply or an error. Returns
     * CHELA_EPARSE if the body is not JSON. Sets d->recognised if the body belongs to this
     * protocol (event does the same). */
    int (*body)(struct ch_decoder *d, struct ch_sv body, struct chela_error *err);
    /* Optional. True if the protocol supports output_schema for this model; NULL: always.
     * Otherwise the agent asks for structured output through a tool or in the prompt, and
     * output_schema is empty. */
    bool (*takes_schema)(const struct ch_model_request *req);
    /* Optional. The effort of reasoning that has effect; NULL: ch_encode_effort. DEFAULT: no
     * measure of it is sent. */
    enum ch_effort (*effort)(const struct ch_model_request *req);

    /* Optional. Read the citations and server-side calls of a block of this protocol's
     * replies: `extra` of a TEXT block, or an OPAQUE block, as v. */
    void (*findings)(struct ch_findings *f, const struct ch_block *b, const struct ch_json *v);
    /* Optional. True if the service searches tools that the request defers; NULL: never. */
    bool (*searches_tools)(const struct ch_model_request *req);
    /* Optional. True if the service accepts nothing but the results of this reply's calls next,
     * because tools or code that it runs are not done. NULL: never. */
    bool (*wants_only_results)(const struct ch_msg *reply);
    /* Optional. True if the service made the compaction in m and reads it. NULL: never; such a
     * service is not asked to condense a conversation. */
    bool (*reads_compaction)(const struct ch_model_request *req, const struct ch_msg *m);
    /* The service gets the images of its own replies back. */
    bool returns_images;

    /* Optional. The reply ended: set stop reason and usage. */
    void (*end)(struct ch_decoder *d);
    /* Optional. Free the resources of the state. */
    void (*release)(struct ch_decoder *d);
};

extern const struct ch_codec ch_codec_anthropic, ch_codec_openai, ch_codec_responses,
    ch_codec_gemini, ch_codec_interactions, ch_codec_bedrock;
/* Find a codec by name; "prompted+openai" is the prompted layer over openai, and so is
 * "prompted". NULL: unknown. */
const struct ch_codec *ch_codec_find(struct ch_sv name);
/* All codecs, layered ones last; NULL past the last. */
const struct ch_codec *ch_codec_at(size_t i);
/* The prompted layer over this codec. */
const struct ch_codec *ch_codec_prompted(const struct ch_codec *codec);
const char *ch_codec_names(void);                        /* "anthropic openai .. prompted" */

/* --- encoding, incrementally -------------------------------------------- */

/* Ids of encoded calls, as hashes (adapt.h). */
struct ch_call_ids {
    uint32_t *slots; /* owned; 0: free */
    size_t n, cap;   /* cap: a power of two */
};

/* A zeroed struct is an empty encoder. The body is the concatenation of head, messages
 * without the last `cut` bytes, and tail. */
struct ch_encoder {
    const struct ch_codec *codec;
    uint64_t revision;
    uint64_t shape; /* hash of model and quirks, which determine the bytes of a message */
    uint64_t epoch; /* incremented when `messages` is cleared */
    struct ch_buf head, messages, tail;
    /* The text of head or tail, if encoders share it; NULL: head or tail owns it. */
    const char *shared_head, *shared_tail;
    size_t cut;       /* bytes at the end of messages that the tail replaces by marked ones */
    size_t nmessages; /* messages of the transcript encoded so far */
    size_t pending;   /* 1 + index of the message whose calls lack results */
    struct ch_msg *renewed; /* owned: copy of that message with other ids, if needed */
    struct ch_call_ids ids;
    bool padded;      /* tail begins with messages: substitute results, a note */
    uint64_t noted;   /* hash of the note */
};

/* The whole body in three pieces, valid until the next update. */
static inline void ch_encoder_body(const struct ch_encoder *e, struct ch_sv body[3]) {
    body[0] = ch_buf_sv(&e->head);
    body[1] = ch_sv(ch_buf_sv(&e->messages).p, e->messages.n - e->cut);
    body[2] = ch_buf_sv(&e->tail);
}

/* --- decoding ------------------------------------------------------------ */

struct ch_tag_reader;

struct ch_decoder {
    const struct ch_codec *codec;
    struct ch_tag_reader *reader; /* owned; NULL: text is not parsed for tags */
    int tags;                     /* mode of the reader: enum ch_tags_mode */
    struct ch_sse sse;
    struct ch_eventstream events;
    struct ch_fold *fold; /* owned */
    struct ch_buf body;   /* a response that is not a stream */
    struct ch_buf scratch; /* for pull parsing */
    struct ch_arena arena; /* texts of the reply */
    struct ch_buf logprobs; /* log probabilities, if the service sends them (logprobs.h) */
    int status;
    long retry_after_ms; /* value of the headers, 0 if absent */
    int should_retry;    /* x-should-retry: 1 true, -1 false, 0 absent */
    struct ch_sv error_type; /* x-amzn-errortype, in the arena; may be empty */
    struct ch_sv encoding;   /* Content-Encoding, in the arena; may be empty */
    enum { CH_FRAME_NONE, CH_FRAME_SSE, CH_FRAME_EVENTS, CH_FRAME_BODY } framing;
    bool stopped;    /* an error or the end marker was seen: ignore the rest */
    bool recognised; /* data of this protocol was seen */
    bool saw_event;  /* an event of any protocol was read */
    bool ending;     /* no more bytes: a malformed event was truncated */
    const char *provider; /* provider of the request, borrowed; NULL: unknown */
    const struct ch_endpoint *endpoint; /* likewise */
    struct ch_sv server_tools; /* of the request, borrowed */
    struct ch_sv requested_model; /* model of the request, borrowed */
    void *state;  /* codec->state_size bytes, in the arena */
    struct ch_reply reply;
};

#endif
