/* model_request.h -- a request to a model, independent of the wire protocol.
 *
 * A request refers to an endpoint (address and quirks of the server), the tools, the
 * transcript and the parameters. All pointers are borrowed. */
#ifndef CH_MODEL_MODEL_REQUEST_H
#define CH_MODEL_MODEL_REQUEST_H
#include "base/mem.h"
#include "base/sv.h"
#include "model/message/message.h"
#include "net/transport.h"

struct ch_codec;
struct ch_model_facts;

struct ch_tool_def {
    struct ch_sv name, description;
    struct ch_sv schema; /* JSON Schema of the arguments, compact text */
    bool strict;
    /* The service sets the definition aside until its own search of tools, or a call, asks for
     * it; a protocol without `searches_tools` describes the tool like any other. */
    bool deferred;
    struct ch_sv callers; /* who may call it beside the model: JSON array in the vendor's form */
};

enum ch_tool_choice { CH_CHOICE_AUTO, CH_CHOICE_ANY, CH_CHOICE_NONE, CH_CHOICE_ONE };
enum ch_effort {
    CH_EFFORT_DEFAULT,
    CH_EFFORT_OFF,
    CH_EFFORT_MINIMAL,
    CH_EFFORT_LOW,
    CH_EFFORT_MEDIUM,
    CH_EFFORT_HIGH,
    CH_EFFORT_XHIGH,
    CH_EFFORT_MAX
};

/* How long the vendor shall cache the prefix of the conversation. */
enum ch_cache {
    CH_CACHE_SHORT, /* minutes: the vendor's default, or the usual marks */
    CH_CACHE_OFF,   /* no marks, no key */
    CH_CACHE_LONG,  /* an hour, if the vendor supports it */
};

/* What the refusals of a service have taught about one model there (catalog/learnt.h). All zeros:
 * nothing. */
struct ch_learnt {
    uint64_t rules;                /* bits of the rules that were learnt (codec/refusals.h) */
    unsigned quirks_on, quirks_off; /* CH_Q_* */
    unsigned flags_on, flags_off;  /* CH_M_* */
    unsigned efforts; /* bits 1 << enum ch_effort that the service accepts; 0: as the facts say */
    unsigned omit;    /* CH_PART_* that a request leaves out */
    unsigned api;     /* enum ch_learnt_api */
};

/* Address and properties of a server. Built from the provider table and configuration
 * (provider.h); outlives every request. */
struct ch_endpoint {
    const struct ch_codec *codec;
    const char *provider;  /* "anthropic", "my-llm" */
    const char *base_url;  /* without a trailing slash */
    const char *api_key;   /* NULL or "": no credential is sent */
    unsigned quirks;       /* CH_Q_*: deviations of this server from its protocol */
    const struct ch_header *headers; /* additional, from configuration */
    size_t nheaders;
    struct ch_sv extra_body; /* members added to the body: `"a":1,"b":2` */
    const struct ch_model_facts *facts; /* of the model here; NULL: the built-in ones */
    struct ch_learnt learnt; /* the facts are corrected by it already */
};

/* Deviations of OpenAI-compatible servers (and options of others). provider.h maps them to
 * names in the configuration. */
enum ch_quirk {
    CH_Q_MAX_TOKENS = 1 << 0,        /* max_tokens, not max_completion_tokens */
    CH_Q_NO_STREAM_USAGE = 1 << 1,   /* rejects stream_options */
    CH_Q_NO_DEVELOPER = 1 << 2,      /* system, not developer role */
    CH_Q_NO_TOOL_CHOICE = 1 << 3,    /* rejects tool_choice and parallel_tool_calls */
    CH_Q_STRING_CONTENT = 1 << 4,    /* user content as a string only */
    CH_Q_REPLAY_REASONING = 1 << 5,  /* reasoning_content must be sent back */
    CH_Q_ID9 = 1 << 6,               /* tool call ids are nine alphanumerics */
    CH_Q_BEARER = 1 << 7,            /* anthropic, gemini: Authorization: Bearer */
    CH_Q_NO_CACHE_MARKS = 1 << 8,    /* anthropic: no cache_control */
    CH_Q_API_KEY = 1 << 10,          /* openai: header api-key: KEY, as on Azure */
    CH_Q_THINKING = 1 << 11,         /* reasoning through thinking:{type}; not with a forced tool */
    CH_Q_REASONING_OBJECT = 1 << 12, /* reasoning through reasoning:{effort} */
    CH_Q_TEMPLATE_THINKING = 1 << 13, /* reasoning through chat_template_kwargs:{enable_thinking} */
    CH_Q_TOOL_STREAM = 1 << 14,      /* arguments stream only with tool_stream:true */
    CH_Q_PROMPTED = 1 << 15,         /* no native tools: prompted.h */
    CH_Q_THINK_TAGS = 1 << 16,       /* reasoning may arrive as <think> at the start of the text */
    CH_Q_NO_IMAGES = 1 << 17,        /* text notes replace images */
    CH_Q_NO_STRICT = 1 << 18,        /* omit strict from tools */
    CH_Q_NO_EFFORT = 1 << 19,        /* no reasoning_effort or equivalent */
    CH_Q_REASONING_SWITCH = 1 << 20, /* reasoning through reasoning:{enabled} */
    CH_Q_NO_FORCED_CHOICE = 1 << 21, /* tool_choice supports only auto and none */
    CH_Q_CHOICE_WORD = 1 << 22,      /* tool_choice is a string; a named tool becomes "any" */
    CH_Q_ALTERNATE = 1 << 23,        /* user and assistant must alternate: see openai_turns.h */
    CH_Q_NO_OUTPUT_SCHEMA = 1 << 24, /* no structured output */
    CH_Q_REASONS = 1 << 25,          /* a reasoning model, whatever its name */
    CH_Q_NO_REASONING = 1 << 26,     /* not a reasoning model, whatever its name */
    CH_Q_NO_DOCUMENTS = 1 << 27,     /* text notes replace PDF documents */
};

/* The journal stores a request to make it again (agent/journal/request_record.c): a new
 * member that changes the bytes is stored there and read by model/wire/wire_encode.c. */
struct ch_model_request {
    const struct ch_endpoint *endpoint;
    struct ch_sv model;             /* the vendor's model id */
    struct ch_sv system;            /* may be empty */
    const struct ch_tool_def *tools;
    size_t ntools;
    const struct ch_msg *const *messages;
    size_t nmessages;
    size_t unbound; /* messages from the start whose reasoning no longer binds: it is not sent */
    size_t from; /* messages from the start that are not sent: see `compacted` */
    bool compacted; /* the message `from` holds a compaction, which stands for those before it */
    int64_t compact_at; /* tokens from which the service shall condense it; 0: never */
    bool compact_now;   /* the service shall condense the conversation, not answer */
    bool without_reasoning; /* set by the encoder while it encodes these messages */
    /* Set by the encoder while it encodes results: the message with their calls, as it was sent;
     * NULL: none. */
    const struct ch_msg *answered;
    /* Tools that the service runs, as a JSON array in the vendor's form; may be empty. */
    struct ch_sv server_tools;
    bool no_calls;                  /* send calls and results of the history as text */
    enum ch_tool_choice choice;
    struct ch_sv choice_name;       /* used with CH_CHOICE_ONE */
    bool no_parallel;
    bool no_stream;
    int64_t max_output_tokens;      /* 0: kept_free, where the protocol requires a limit */
    int64_t kept_free;              /* tokens reserved for the reply; 0: CH_DEFAULT_OUTPUT_TOKENS */
    bool has_temperature;
    double temperature;
    bool has_top_p;
    double top_p;
    int64_t top_k;                  /* 0: not set; omitted where unsupported */
    int64_t logprobs;               /* alternatives per token; 0: none; omitted where unsupported */
    bool has_seed;                  /* omitted where unsupported */
    int64_t seed;
    enum ch_effort effort;
    const struct ch_sv *stop;       /* stop sequences */
    size_t nstop;
    struct ch_sv output_schema;     /* native structured output; empty: none */
    struct ch_sv passed;            /* members of a client's request for this protocol: `"a":1` */
    enum ch_cache cache;
    /* Text for this request alone, such as the time; sent as user text after all messages
     * and after the last cache mark. May be empty. */
    struct ch_sv note;
    /* constant for one conversation, at most 64 ASCII characters; may be empty */
    struct ch_sv cache_key;
    /* The owner increments it whenever anything but the messages changed; an encoder with
     * the same value keeps its head and tail. */
    uint64_t revision;
};

struct ch_usage { /* input includes cached, output includes reasoning */
    int64_t input, output, cache_read, cache_write, reasoning;
    /* cache_write by lifetime of the entries; both 0 if the vendor does not report it */
    int64_t cache_write_5m, cache_write_1h;
};

/* Clamp a token count from the wire, so that sums cannot overflow. */
static inline int64_t ch_token_count(int64_t n) {
    return n < 0 ? 0 : CH_MIN(n, INT64_C(1) << 48);
}

#endif
