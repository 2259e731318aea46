/* message.h -- the neutral message format, independent of vendors.
 *
 * A message is immutable and a single allocation: header, blocks and texts. `type` selects
 * the meaning of a block's four texts:
 *
 *       type         text              id            name          extra
 *       TEXT         the text          -             -             annotations (JSON) or signature
 *       REASONING    the reasoning     item id       vendor field  signature or encrypted form
 *       REFUSAL      the refusal text  -             -             -
 *       IMAGE AUDIO  base64, or a URL  file name     media type    detail
 *       DOCUMENT     if F_URL
 *       TOOL_CALL    arguments, JSON   call id       tool          signature or item id
 *       TOOL_RESULT  text for model    call id       tool          -
 *       OPAQUE       the block, JSON   -             its type      -
 *       CONTEXT      the text          -             -             -
 *
 * A CONTEXT block is text of the runtime about the message that holds it: metadata before
 * the user's text, a note after it. Models get it as part of the message (codec/adapt.h);
 * whoever looks for the words of a user reads TEXT blocks only.
 *
 * `extra` and OPAQUE blocks are valid only for the vendor that made them (ch_msg_author);
 * codecs of other vendors omit them. A TOOL_RESULT owns the `span` blocks after it (images,
 * documents). All results of one batch of calls are one message, in call order. */
#ifndef CH_MODEL_MESSAGE_H
#define CH_MODEL_MESSAGE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

enum ch_msg_kind {
    CH_MSG_USER,
    CH_MSG_ASSISTANT,
    CH_MSG_RESULTS, /* the results of one batch of tool calls */
    CH_MSG_EVENT,   /* a system event */
    CH_MSG_TIMER,   /* a schedule fired */
    CH_MSG_WEBHOOK, /* a webhook was called */
    CH_MSG_KINDS
};

enum ch_block_type {
    CH_BLOCK_TEXT,
    CH_BLOCK_REASONING,
    CH_BLOCK_REFUSAL,
    CH_BLOCK_IMAGE,
    CH_BLOCK_AUDIO,
    CH_BLOCK_DOCUMENT,
    CH_BLOCK_TOOL_CALL,
    CH_BLOCK_TOOL_RESULT,
    CH_BLOCK_OPAQUE,
    CH_BLOCK_CONTEXT,
    CH_BLOCK_TYPES
};

enum ch_block_flags {
    CH_F_ERROR = 1,    /* TOOL_RESULT: is_error */
    CH_F_URL = 2,      /* media: text is a URL */
    CH_F_REDACTED = 4, /* REASONING: extra holds the encrypted form, text is empty */
    CH_F_CUT = 8,      /* TOOL_CALL: not closed by the protocol, or cut by length */
    CH_F_INVALID = 16, /* TOOL_CALL: closed, but its arguments are not a JSON object;
                        * media of a reply: the data is not base64 */
    CH_F_REPAIRED = 32, /* TOOL_CALL: arguments parse after the allowed repair */
    CH_F_DENIED = 64,   /* TOOL_RESULT: not run, because the call was denied */
    CH_F_FAILED = 128   /* TOOL_RESULT: no error, but the work did not succeed, such as a
                           command with an exit code other than 0 */
};

/* Who runs a call. The codec that reads a reply decides it; everything else asks this field. */
enum ch_runner {
    CH_RUN_TOOL,    /* a tool of the agent, by its name */
    CH_RUN_RUNTIME, /* the runtime, for a tool that the vendor defined (tool/call/vendor_call.h) */
    CH_RUN_VENDOR,  /* the service, which has run it or still does: an OPAQUE block */
    CH_RUNNERS
};

struct ch_block {
    uint8_t type, flags;
    uint16_t span;
    uint8_t runner; /* enum ch_runner; of TOOL_CALL and OPAQUE */
    struct ch_sv text, id, name, extra;
};

struct ch_msg {
    uint8_t kind;
    bool has_author, has_api, shares_model; /* for ch_msg_author */
    uint32_t nblocks;
    int64_t ts;  /* ms, wall clock */
    size_t size; /* bytes of this allocation */
    struct ch_block blocks[];
};

/* Who wrote an ASSISTANT message. */
struct ch_msg_author {
    const char *api; /* codec that decoded the message, or NULL; compare as text */
    struct ch_sv model; /* the vendor's name of the model */
    /* The provider and the model that were asked, "provider/model"; empty if unknown. Vendors
     * may report another name in `model`. */
    struct ch_sv asked;
};

/* Copy blocks into one new message without an author. All texts are copied and
 * NUL-terminated; an empty text is "". */
struct ch_msg *ch_msg_new(enum ch_msg_kind kind, const struct ch_block *blocks, size_t n,
                          int64_t ts);
/* As ch_msg_new, with an author, whose texts are copied too. */
struct ch_msg *ch_msg_by(enum ch_msg_kind kind, const struct ch_block *blocks, size_t n,
                         const struct ch_msg_author *by, int64_t ts);
/* The author of m; the texts are in m. Empty for the messages of others than models. */
struct ch_msg_author ch_msg_author(const struct ch_msg *m);
/* A message with the author and the time of m. */
struct ch_msg *ch_msg_like(const struct ch_msg *m, enum ch_msg_kind kind,
                           const struct ch_block *blocks, size_t n);
void ch_msg_free(struct ch_msg *m);

/* A message of one text block. */
struct ch_msg *ch_msg_text(enum ch_msg_kind kind, struct ch_sv text, int64_t ts);
#define CH_F_UNDONE (CH_F_ERROR | CH_F_DENIED | CH_F_FAILED)
/* True if the result is an error, the call was denied, or the work did not succeed. */
static inline bool ch_result_failed(const struct ch_block *result) {
    return result->flags & CH_F_UNDONE;
}
/* The index of the call block `call`, or of the call with its id, among the message's calls. */
size_t ch_msg_call_index(const struct ch_msg *m, const struct ch_block *call);
/* The first TEXT block; empty if there is none. */
struct ch_sv ch_msg_words(const struct ch_msg *m);
/* True if m contains a call. */
bool ch_msg_has_calls(const struct ch_msg *m);
/* A service's compaction of the messages before it (codec/compacted.h). */
static inline bool ch_block_is_compaction(const struct ch_block *b) {
    return b->type == CH_BLOCK_OPAQUE && ch_sv_is(b->name, "compaction");
}
static inline bool ch_block_is_media(const struct ch_block *b) {
    return b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO || b->type == CH_BLOCK_DOCUMENT;
}

const char *ch_msg_kind_name(enum ch_msg_kind k);     /* "user", "results", ... */
const char *ch_block_type_name(enum ch_block_type t); /* "text", "tool_call", ... */

/* Prefix that marks other kinds than user input for the model, such as "[timer] ..."; NULL
 * for user, assistant and results. Codecs send these kinds as user text. */
const char *ch_msg_kind_prefix(enum ch_msg_kind k);

/* --- a transcript: the session's messages in order, append-only */
struct ch_transcript {
    struct ch_msg **msgs; /* owned array of owned messages */
    size_t n, cap;
    size_t bytes; /* sum of sizes */
    size_t compacted;  /* 1 + index of the last message with a compaction; 0: none */
    unsigned counting; /* the tokenizer family for counting: enum ch_counting */
};
void ch_transcript_release(struct ch_transcript *t);
/* Takes ownership of m. CHELA_ELIMIT (m is freed) past CH_LIMIT_HISTORY. */
int ch_transcript_add(struct ch_transcript *t, struct ch_msg *m);
/* The same, with m before the message `at`. */
int ch_transcript_insert(struct ch_transcript *t, size_t at, struct ch_msg *m);
/* As ch_transcript_add for the results of the last message's calls. Past the limit the last
 * message is removed, because no vendor accepts a call without a result. */
int ch_transcript_add_results(struct ch_transcript *t, struct ch_msg *m);
/* Add a CONTEXT block to the end of the newest message; t is not empty. CHELA_ELIMIT past
 * CH_LIMIT_HISTORY. */
int ch_transcript_amend(struct ch_transcript *t, struct ch_sv text);
/* remove all messages after the first n */
void ch_transcript_cut(struct ch_transcript *t, size_t n);

/* --- neutral JSON, as in `chela wire encode`, sessions and exports (one row
 * for each block type; members in brackets only where they hold something):
 *
 * {"role":"user|assistant|tool|event|timer|webhook","content":[..],
 *  ["ts":ms,"api","model","asked"]}
 * {"type":"text","text",["extra"]}           {"type":"refusal","text"}
 * {"type":"context","text"}
 * {"type":"reasoning","text",["id","field","extra","redacted":true]}
 * {"type":"image|audio|document","media_type","data"|"url",["name","detail"]}
 * {"type":"tool_call","id","name","arguments":{},["arguments_raw","extra",
 *  "cut":true,"invalid":true,"repaired":true,"runner":"runtime"]}
 * {"type":"tool_result","id","name","content":"text"|[blocks],["is_error":true,
 *  "denied":true]}
 * {"type":"opaque","name","json":"the block's text"}
 *
 * arguments_raw is there when the text that the model wrote is not the compact
 * form of `arguments`, so that reading gives back the very same bytes. */
struct ch_json;
struct ch_jw;
struct ch_arena;
struct chela_error;

#endif
