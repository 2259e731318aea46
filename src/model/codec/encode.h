/* encode.h -- what the encoding half of every codec needs. */
#ifndef CH_MODEL_ENCODE_H
#define CH_MODEL_ENCODE_H
#include "model/codec/codec.h"
#include "schema/schema_clean.h"
#include "json/writer.h"

/* base_url with path appended, before its query if it has one. A part that
 * both have ("/v1") is there once. */
const char *ch_encode_url(struct ch_arena *a, const char *base_url, const char *path);

/* Method, URL and headers. A header of the configuration replaces the default
 * of the same name; defaults with an empty value are left out. */
void ch_encode_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                    const struct ch_header *defaults, size_t n, struct ch_http_request *out);

/* The value of an Authorization header. */
struct ch_sv ch_encode_bearer(struct ch_arena *a, const char *key);

/* The same for OpenAI's protocols: the key as a bearer, or as Azure wants it. */
void ch_encode_openai_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                           struct ch_http_request *out);

/* A call's arguments as a JSON object, whatever they are: what is no object
 * becomes {"_invalid":"the text"}. */
void ch_encode_arguments(struct ch_jw *w, struct ch_sv arguments);

/* A schema in the words that a vendor's strict mode takes; false: it cannot be
 * said so, out is as it was. */
bool ch_encode_strict(struct ch_sv schema, enum ch_clean vendor, struct ch_buf *out);

/* A JSON text of the given type and nothing else. */
bool ch_is_json(struct ch_sv text, enum ch_json_type type);

/* White space or nothing: vendors refuse such a text. */
static inline bool ch_is_blank(struct ch_sv s) {
    return ch_sv_trim(s).n == 0;
}

/* Begin a wire message in out: a comma unless it is the first. Returns where
 * it began, for taking it back. */
size_t ch_encode_begin(struct ch_buf *out, bool first);
void ch_encode_undo(struct ch_buf *out, size_t mark);

/* The text of a document that is text, from its base64; false: it is not. */
bool ch_encode_document_text(const struct ch_block *b, struct ch_buf *out);

/* Past the last block that Claude lets stand at the end of a message: thinking
 * may not, and blank text is not sent. */
uint32_t ch_encode_end_of(const struct ch_msg *m);

/* How a part is described to a model that cannot be shown it. */
void ch_encode_note(const struct ch_block *b, struct ch_buf *out);

/* One text block of a message: the prefix of its kind first, if it has one.
 * *prefix is used up by the first text. */
struct ch_sv ch_encode_prefixed(const char **prefix, struct ch_sv text, struct ch_buf *room);

#endif
