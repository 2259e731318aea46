/* errors.h -- classifies errors of vendors.
 *
 * Vendors report the same error in different ways: by HTTP status, by a type or code in the
 * body, or only in an English message. The tables of errors.c contain all known forms;
 * codecs extract the error from the response and call this module. */
#ifndef CH_MODEL_ERRORS_H
#define CH_MODEL_ERRORS_H
#include "model/codec/codec.h"
#include "json/json.h"

struct ch_vendor_error {
    int status;              /* HTTP status, or the status in the body; 0: unknown */
    struct ch_sv type, code; /* as the vendor reported them, may be empty */
    struct ch_sv message;
    struct ch_sv reason; /* in the details of Google's errors */
    long retry_after_ms; /* delay from the body; 0: none */
    bool no_retry;       /* a retry would fail for hours */
};

struct ch_error_verdict {
    enum ch_error_class cls;
    bool retryable;
};

struct ch_error_verdict ch_classify(const struct ch_vendor_error *error);

/* True if the pattern occurs in the text, whatever the case of letters: '*' matches any text, '#'
 * a number. The pattern is in lower case. */
bool ch_error_has(struct ch_sv text, const char *pattern);

/* True if a message complains about the schemas of a request: too large for strict mode, or
 * unsupported there. */
bool ch_error_names_schema(struct ch_sv message);

/* True if a message refuses reasoning of the history: a block that is bound to another
 * conversation, or that cannot be verified. */
bool ch_error_names_reasoning(struct ch_sv message);

/* Parse an error body of any common format; false if v is not an error. Texts are borrowed
 * from v or in the arena. */
bool ch_vendor_error_read(const struct ch_json *v, struct ch_arena *a, struct ch_vendor_error *out);

/* Fail the reply: set d->reply.error, unless it is set already. status 0: use the HTTP
 * status. */
void ch_decoder_fail(struct ch_decoder *d, const struct ch_vendor_error *e);
/* The same with a known class. */
void ch_decoder_fail_as(struct ch_decoder *d, enum ch_error_class cls, bool retryable,
                        struct ch_sv message);

const char *ch_error_class_name(enum ch_error_class c);

#endif
