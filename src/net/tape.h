/* tape.h -- the file format of cassettes: one line of JSON per call.
 *
 *   {"chela_cassette":1}
 *   {"request":{"method","url","headers":{},"body":any},
 *    "response":{"status","headers":{},"body":[texts]|{"base64"}},
 *    "error":{"code","message"},"cancelled":true}
 *
 * response is absent if none came; error and cancelled are present if they
 * apply. A JSON body is stored as JSON, so that people can read and compare it.
 * The texts of a streamed answer are its events.
 *
 * Secrets are not recorded: headers and members with secret names are masked,
 * registered keys are masked everywhere, and text that looks like a key is
 * masked in requests. Machine-specific text (the workspace's path) is replaced
 * by a placeholder and restored on replay. */
#ifndef CH_NET_TAPE_H
#define CH_NET_TAPE_H
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include "net/transport.h"

struct ch_tape_words {
    struct {
        char *text, *word; /* owned */
    } list[CH_LIMIT_CASSETTE_WORDS];
    size_t n;
};
void ch_tape_words_add(struct ch_tape_words *w, const char *text, const char *word);
void ch_tape_words_release(struct ch_tape_words *w);
/* Replace machine-specific texts by placeholders, or restore them. */
void ch_tape_hide(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out);
void ch_tape_show(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out);

/* As above for binary data and for messages of an event stream. Hiding also
 * masks registered keys. */
void ch_tape_hide_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out);
void ch_tape_show_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out);

/* Append the "request" object. */
void ch_tape_request(const struct ch_tape_words *w, const struct ch_http_request *req,
                     struct ch_buf *out);
/* Append the "response" object. */
void ch_tape_response(const struct ch_tape_words *w, int status, struct ch_sv headers,
                      struct ch_sv body, struct ch_buf *out);
/* Append the "headers" object of an answer: relevant headers without secrets. */
void ch_tape_headers(const struct ch_http_head *head, struct ch_buf *out);

/* Whether two "request" objects match; headers are ignored. If not, the first
 * difference is appended to why. */
bool ch_tape_same(const struct ch_json *recorded, const struct ch_json *now, struct ch_buf *why);

#endif
