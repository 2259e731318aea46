/* tape.h -- how calls look in a cassette: one line of JSON each.
 *
 *   {"chela_cassette":1}
 *   {"request":{"method","url","headers":{},"body":any},
 *    "response":{"status","headers":{},"body":[texts]|{"base64"}},
 *    "error":{"code","message"},"cancelled":true}
 *
 * response is absent when none came, error and cancelled are there when they
 * apply. A body that is JSON stands as such, so that people can read and
 * compare it; the texts of a streamed answer are its events.
 *
 * No secret gets in: headers and members that carry one are masked by their
 * name, keys this process knows wherever they stand, and what looks like a key
 * in requests. What belongs to one machine alone (the workspace's path) is
 * replaced by a word and put back when the tape is played. */
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
/* Words for texts, or back. */
void ch_tape_hide(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out);
void ch_tape_show(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out);

/* Likewise in bytes that are no text, and in the messages of an event stream;
 * hidden are also the keys that are known. */
void ch_tape_hide_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out);
void ch_tape_show_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out);

/* Append the "request" object. */
void ch_tape_request(const struct ch_tape_words *w, const struct ch_http_request *req,
                     struct ch_buf *out);
/* Append the "response" object. */
void ch_tape_response(const struct ch_tape_words *w, int status, struct ch_sv headers,
                      struct ch_sv body, struct ch_buf *out);
/* Append the "headers" object of an answer: those that matter and tell nothing. */
void ch_tape_headers(const struct ch_http_head *head, struct ch_buf *out);

/* Do two "request" objects ask for the same? Headers do not count. If not,
 * what differs first is appended to why. */
bool ch_tape_same(const struct ch_json *recorded, const struct ch_json *now, struct ch_buf *why);

#endif
