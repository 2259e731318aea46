/* encode.h -- shared helpers of the encoding halves of codecs. */
#ifndef CH_MODEL_ENCODE_H
#define CH_MODEL_ENCODE_H
#include "model/codec/codec.h"
#include "schema/schema_clean.h"
#include "json/writer.h"

/* Append path to base_url, before its query. A component that both contain ("/v1") occurs
 * once. */
const char *ch_encode_url(struct ch_arena *a, const char *base_url, const char *path);

/* Set method, URL and headers. A configured header replaces the default of the same name;
 * defaults with an empty value are omitted. */
void ch_encode_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                    const struct ch_header *defaults, size_t n, struct ch_http_request *out);

/* Add a header to a request; the texts are borrowed. */
void ch_encode_add_header(struct ch_arena *a, struct ch_http_request *h, struct ch_header header);

/* The value of an Authorization header. */
struct ch_sv ch_encode_bearer(struct ch_arena *a, const char *key);

/* The same for OpenAI's protocols: the key as a bearer token, or in Azure's header. */
void ch_encode_openai_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                           struct ch_http_request *out);

/* Write a call's arguments as a JSON object; anything else becomes {"_invalid":"the text"}. */
void ch_encode_arguments(struct ch_jw *w, struct ch_sv arguments);

/* Convert a schema to the subset of a vendor's strict mode; false if impossible, out is
 * unchanged. */
bool ch_encode_strict(struct ch_sv schema, enum ch_clean vendor, struct ch_buf *out);

/* True if text is one JSON text of this type. */
bool ch_is_json(struct ch_sv text, enum ch_json_type type);

/* True for empty or white-space text, which vendors reject. */
static inline bool ch_is_blank(struct ch_sv s) {
    return ch_sv_trim(s).n == 0;
}

/* Begin a wire message in out, with a comma unless it is the first. Returns its offset, for
 * removing it again. */
size_t ch_encode_begin(struct ch_buf *out, bool first);
void ch_encode_undo(struct ch_buf *out, size_t mark);

/* Decode a text document from base64; false if it is not text. */
bool ch_encode_document_text(const struct ch_block *b, struct ch_buf *out);

/* Index past the last block that may end a message of Claude: thinking and blank text may
 * not. */
uint32_t ch_encode_end_of(const struct ch_msg *m);

/* True if a request with these server tools to the endpoint declares a tool of this type and
 * name. */
bool ch_encode_declares(const struct ch_endpoint *ep, struct ch_sv server_tools, const char *type,
                        struct ch_sv name);
/* The tool of this type (a pattern with '*') that such a request declares, in the vendor's form;
 * name empty: any. It is in the arena. NULL: none. */
const struct ch_json *ch_encode_declared(const struct ch_endpoint *ep, struct ch_sv server_tools,
                                         const char *type, struct ch_sv name, struct ch_arena *a);
/* True if the request defers tools and does not itself declare a search of this type. */
bool ch_encode_defers(const struct ch_model_request *req, const char *search);
/* Write the members of a tool that are the same in all protocols that defer tools. */
void ch_encode_deferral(const struct ch_tool_def *t, struct ch_jw *w);
/* True if the endpoint's extra body has this member. */
bool ch_encode_extra_has(const struct ch_model_request *req, const char *member);
/* True if the request has tools: of the agent, of the service, or in the extra body. */
bool ch_encode_has_tools(const struct ch_model_request *req);
/* Write the vendor's own tools into the open array of tools: those of the agent, then the
 * "tools" of the endpoint's extra body. */
void ch_encode_extra_tools(const struct ch_model_request *req, struct ch_jw *w);
/* Add the other members of the extra body to a tail whose closing brace is missing. `from` is
 * the offset after the end of the messages. Objects are merged; another value replaces the
 * value that chela wrote. CHELA_ECONFIG for a member of the head, such as "messages". */
int ch_encode_extra(const struct ch_model_request *req, struct ch_buf *tail, size_t from,
                    struct chela_error *err);

/* True if m came from the service that the request goes to, or from another provider of its models,
 * so that blocks which only this service understands may be sent back. */
bool ch_encode_is_own(const struct ch_model_request *req, const struct ch_msg *m, const char *api);
/* True if, in addition, the requested model takes the reasoning and the signatures of m: the same
 * name was asked for, the names are the same, or the facts of both models name the same group. A
 * message that does not record who was asked is judged by the model's name alone. */
bool ch_encode_wrote(const struct ch_model_request *req, const struct ch_msg *m, const char *api);

/* True for a reasoning model of OpenAI's, which takes an effort, but neither stop sequences nor,
 * unless its effort is none, sampling parameters. The quirks of an endpoint go before the facts,
 * because a deployment's own name says nothing (Azure). */
bool ch_encode_reasons(const struct ch_model_request *req);

/* The effort that a request sends: the nearest to the wanted one that the model accepts at its
 * endpoint (catalog/model_facts.h). */
enum ch_effort ch_encode_effort(const struct ch_model_request *req);

/* Append a description of a media block for a model that cannot read it. */
void ch_encode_note(const struct ch_block *b, struct ch_buf *out);

/* The user's text before a history that begins with a reply, where services reject that. */
#define CH_ENCODE_CONTINUED "(The conversation begins earlier.)"

/* The text of a block, preceded by the prefix of the message kind if any. The first text
 * consumes *prefix. */
struct ch_sv ch_encode_prefixed(const char **prefix, struct ch_sv text, struct ch_buf *room);

#endif
