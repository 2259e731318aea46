/* codec.h -- a wire protocol as two pure halves.
 *
 * encode: our request becomes an HTTP request; decode: their bytes become
 * neutral events and one reply. A codec opens no socket, reads no clock and
 * never retries; net/ moves the bytes and agent/ decides. So each codec is
 * replayed from recordings, fuzzed, and tested split at every byte.
 *
 * The prefix is sacred: a request body is head + messages + tail, where
 * `messages` only ever grows by appending. ch_encoder keeps it, so encoding
 * turn N costs what is new in turn N. */
#ifndef CH_MODEL_CODEC_H
#define CH_MODEL_CODEC_H
#include "base/arena.h"
#include "base/buf.h"
#include "model/catalog/model_request.h"
#include "model/message/ids.h"
#include "net/eventstream.h"
#include "net/sse.h"
#include "net/transport.h"

/* --- what comes back ---------------------------------------------------- */

enum ch_stop {
    CH_STOP_NONE,
    CH_STOP_STOP,
    CH_STOP_LENGTH,
    CH_STOP_TOOL_USE,
    CH_STOP_REFUSAL,
    CH_STOP_PAUSE,
    CH_STOP_ERROR
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
    CH_ERR_FORMAT, /* our request, or their answer, is not as the protocol has it */
};

struct ch_reply {
    struct ch_msg *msg; /* owned; NULL when nothing came. api, model are set */
    enum ch_stop stop;
    struct ch_sv stop_raw; /* in the decoder's arena */
    struct ch_sv model;    /* as the vendor named it; in the decoder's arena */
    struct ch_usage usage;
    bool complete; /* the terminal marker was seen */
    struct {
        enum ch_error_class cls; /* CH_ERR_NONE: no error */
        bool retryable;
        int status;
        long retry_after_ms;
        struct ch_sv message; /* one line, in the decoder's arena */
    } error;
};

enum ch_model_event_type {
    CH_MEV_TEXT,       /* text: a piece; so_far: the block's text with it */
    CH_MEV_REASONING,  /* likewise */
    CH_MEV_CALL_DELTA, /* index; id and name when first known; text: a piece of
                          the arguments */
};
struct ch_model_event {
    enum ch_model_event_type type;
    unsigned index; /* of the call within the reply */
    struct ch_sv text, id, name;
    struct ch_sv so_far;
};
typedef void ch_model_event_fn(const struct ch_model_event *ev, void *user);

/* The accumulator that codecs write into while decoding: it emits events and
 * builds the reply (fold.c). A block is opened by a key that the codec
 * chooses (its index on the wire), filled, and closed. */
struct ch_fold;

struct ch_decoder;

/* --- the codec ---------------------------------------------------------- */

struct ch_codec {
    const char *name;        /* "anthropic": users type it, stable */
    const char *path_stream; /* appended to base_url */
    size_t state_size;       /* decoder state, zeroed, in struct ch_decoder */
    bool bare_errors;        /* JSON in the stream that is no event is one */
    /* NULL, or the protocol this one is a layer over (prompted.h): then a
     * decoder uses that one, and none of the hooks for reading are here. */
    const struct ch_codec *inner;
    const char *aws_service; /* requests without a key are signed for it; may be NULL */
    bool binary;             /* its streams are of net/eventstream.h */
    bool tail_follows;       /* the tail depends on the last message */

    /* Required. URL and headers of the request, into the arena. */
    int (*http)(const struct ch_model_request *req, struct ch_arena *a,
                struct ch_http_request *out, struct chela_error *err);
    /* Required. Everything before the messages, up to and including the '[';
     * with the system prompt where the protocol has it as a message. */
    int (*head)(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
    /* Required. One neutral message as zero or more wire messages, appended to
     * out with commas between; an empty out is the place after the head. Keeps
     * nothing: the bytes depend on m, the model and the quirks alone. Calls and
     * results are already paired (encoder.c). */
    int (*message)(const struct ch_model_request *req, const struct ch_msg *m, struct ch_buf *out,
                   struct chela_error *err);
    /* Optional. End the last message in out, if it was left open for what may
     * follow it. The bytes go to the tail. */
    void (*close)(const struct ch_model_request *req, struct ch_buf *out);
    /* Required. From the ']' on. */
    int (*tail)(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
    /* Optional. What ids of calls must look like; NULL: CH_ID_64. Messages then
     * come with ids that are still different when written so. */
    enum ch_id_rule (*ids)(const struct ch_model_request *req);
    /* Optional. A line for the model that holds for this request alone; it goes
     * out as the user's, after all messages. Empty: none. */
    struct ch_sv (*note)(const struct ch_model_request *req, struct ch_arena *a);
    /* Optional, for services that want to be told where what they may cache
     * ends: mark the end of the messages, for a note follows. Returns how many
     * of their last bytes are now in tail instead. */
    size_t (*mark)(const struct ch_model_request *req, struct ch_sv messages, struct ch_buf *tail);

    /* Required. One event of the stream: of server-sent events, or of a binary
     * framing whose event type is then `name`. Unknown names and fields are
     * skipped: vendors add new ones. A negative return ends the reply. */
    int (*event)(struct ch_decoder *d, struct ch_sv name, struct ch_sv data,
                 struct chela_error *err);
    /* Required. A whole body that is no stream: a reply or an error. Returns
     * CHELA_EPARSE if it is no JSON, and sets d->recognised if it is of this
     * protocol (event likewise). */
    int (*body)(struct ch_decoder *d, struct ch_sv body, struct chela_error *err);
    /* Optional. Can this model be held to output_schema by this protocol? NULL:
     * it can. If not, the agent asks by a tool or in words, and output_schema
     * stays empty. */
    bool (*takes_schema)(const struct ch_model_request *req);

    /* Optional. The reply ended: last chance to set stop reason and usage. */
    void (*end)(struct ch_decoder *d);
    /* Optional. Free what the state owns. */
    void (*release)(struct ch_decoder *d);
};

extern const struct ch_codec ch_codec_anthropic, ch_codec_openai, ch_codec_responses,
    ch_codec_gemini, ch_codec_bedrock;
/* By name; "prompted+openai" is the layer over one, "prompted" over openai.
 * NULL: unknown. */
const struct ch_codec *ch_codec_find(struct ch_sv name);
/* All of them, those with a layer after those without; NULL past the last. */
const struct ch_codec *ch_codec_at(size_t i);
/* The same protocol with tools in the prompt. */
const struct ch_codec *ch_codec_prompted(const struct ch_codec *codec);
const char *ch_codec_names(void);                        /* "anthropic openai .. prompted" */

/* --- encoding, incrementally -------------------------------------------- */

/* Ids of the calls that were written, as hashes (adapt.h). */
struct ch_call_ids {
    uint64_t *slots; /* owned; 0: free */
    size_t n, cap;   /* cap: a power of two */
};

/* A zeroed struct is an empty encoder. The body to send is head, messages but
 * for the last `cut` bytes, and tail, one after the other. */
struct ch_encoder {
    const struct ch_codec *codec;
    uint64_t revision;
    uint64_t shape; /* of model and quirks: what a message's bytes depend on */
    struct ch_buf head, messages, tail;
    size_t cut;       /* bytes of messages that are in the tail, with a mark */
    size_t nmessages; /* of the transcript, already in `messages` */
    size_t pending;   /* 1 + index of the message whose calls have no results */
    struct ch_msg *renewed; /* owned: that message, if it was sent with other ids */
    struct ch_call_ids ids;
    bool padded;      /* tail begins with messages: results made up for it, a note */
    uint64_t noted;   /* which one */
};

/* The whole body, in three pieces that are valid until the next update. */
static inline void ch_encoder_body(const struct ch_encoder *e, struct ch_sv body[3]) {
    body[0] = ch_buf_sv(&e->head);
    body[1] = ch_sv(ch_buf_sv(&e->messages).p, e->messages.n - e->cut);
    body[2] = ch_buf_sv(&e->tail);
}

/* --- decoding ------------------------------------------------------------ */

struct ch_tag_reader;

struct ch_decoder {
    const struct ch_codec *codec;
    struct ch_tag_reader *reader; /* owned; NULL: text is text */
    int tags;                     /* what it reads: enum ch_tags_mode */
    struct ch_sse sse;
    struct ch_eventstream events;
    struct ch_fold *fold; /* owned */
    struct ch_buf body;   /* a response that is no stream */
    struct ch_buf scratch; /* for pull parsing */
    struct ch_arena arena; /* texts of the reply */
    int status;
    long retry_after_ms; /* from the headers, 0 if nothing was said */
    int should_retry;    /* x-should-retry: 1 true, -1 false, 0 not there */
    struct ch_sv error_type; /* x-amzn-errortype, in the arena; may be empty */
    bool says_stream;    /* the content type; the bytes have the last word */
    enum { CH_FRAME_NONE, CH_FRAME_SSE, CH_FRAME_EVENTS, CH_FRAME_BODY } framing;
    bool stopped;    /* an error or the terminal marker: the rest is ignored */
    bool recognised; /* something of the protocol was seen */
    bool heard;      /* an event was read, of whatever protocol */
    bool ending;     /* no more bytes: a bad event is one that was cut short */
    void *state;  /* codec->state_size bytes, owned */
    struct ch_reply reply;
};

#endif
