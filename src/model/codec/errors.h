/* errors.h -- what a vendor's complaint means for us.
 *
 * Vendors name the same trouble in many ways: by status, by a type or code in
 * the body, or in English only. Everything known about that is in the tables
 * of errors.c; codecs read the error out of their envelope and ask here. */
#ifndef CH_MODEL_ERRORS_H
#define CH_MODEL_ERRORS_H
#include "model/codec/codec.h"
#include "json/json.h"

struct ch_vendor_error {
    int status;              /* HTTP status, or as the body has it; 0: unknown */
    struct ch_sv type, code; /* the vendor's words, may be empty */
    struct ch_sv message;
    long retry_after_ms; /* as the body asks; 0: it does not */
    bool no_retry;       /* it would fail for hours */
};

struct ch_error_verdict {
    enum ch_error_class cls;
    bool retryable;
};

struct ch_error_verdict ch_classify(const struct ch_vendor_error *error);

/* Does a message complain about the schemas in a request: that they are too
 * much for strict mode, or not what it allows? */
bool ch_error_names_schema(struct ch_sv message);

/* Read an error body of any of the usual shapes; false: v is none. The texts
 * stay in v, or in the arena. */
bool ch_vendor_error_read(const struct ch_json *v, struct ch_arena *a, struct ch_vendor_error *out);

/* The reply failed: fill d->reply.error, unless something already did. A zero
 * status means the response's. */
void ch_decoder_fail(struct ch_decoder *d, const struct ch_vendor_error *e);
/* Likewise where the class is known. */
void ch_decoder_fail_as(struct ch_decoder *d, enum ch_error_class cls, bool retryable,
                        struct ch_sv message);

const char *ch_error_class_name(enum ch_error_class c);

#endif
