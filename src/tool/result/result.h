/* result.h -- converts a tool's answer to the result that a model sees.
 *
 * A tool builds a struct ch_answer on any thread. ch_answer_conclude turns the answer into
 * a struct ch_outcome: valid UTF-8 without terminal escapes, bounded in size; an error
 * becomes JSON text {"error","error_type","retryable","details"}. */
#ifndef CH_TOOL_RESULT_H
#define CH_TOOL_RESULT_H
#include <stdint.h>

#include "base/buf.h"
#include "tool/result/shape.h"

/* X(name, may the same call succeed later?) */
#define CH_ERROR_TYPES(X)       \
    X(timeout, true)            \
    X(rate_limited, true)       \
    X(network, true)            \
    X(invalid_arguments, false) \
    X(not_found, false)         \
    X(permission_denied, false) \
    X(unavailable, true)        \
    X(cancelled, false)         \
    X(interrupted, false)       \
    X(internal, false)

struct ch_media {
    char *type; /* owned: "image/png" */
    char *data; /* owned: base64 */
    size_t n;   /* bytes of data */
};

/* The answer of a tool so far. Zeroed: empty. */
struct ch_answer {
    struct ch_shape shape; /* how the text is truncated; kept by _release */
    bool later;            /* leave a long text for ch_outcome_shape; kept by _release */
    struct ch_buf text;
    uint64_t text_lost;     /* bytes dropped because text was full */
    struct ch_buf details;  /* JSON, or empty */
    const char *error_type; /* NULL: no error; static */
    struct ch_buf error;    /* error message */
    int64_t retry_after_ms; /* delay that the remote side asked for; 0: none */
    bool unknown;           /* an error after which the call may have taken effect */
    bool untouched;         /* an error before which the call took no effect, for certain */
    bool authorised;        /* a secret of its source was used: the result is private */
    bool failed;            /* no error, but the work did not succeed (CH_F_FAILED) */
    struct ch_media *media; /* owned */
    size_t nmedia, media_bytes;
};

/* A final result. Zeroed: an empty text. */
struct ch_outcome {
    struct ch_buf content; /* text for the model */
    struct ch_buf raw;     /* text that ch_outcome_shape will turn into content; or empty */
    uint64_t raw_lost;     /* bytes dropped because raw was full */
    struct ch_buf details; /* JSON, or empty */
    struct ch_media *media;
    size_t nmedia;
    const char *error_type; /* static, or NULL */
    bool is_error, truncated, denied, retryable, failed;
    bool untouched;         /* the call took no effect, for certain */
    bool authorised;        /* as in struct ch_answer */
    int64_t retry_after_ms; /* 0: none given */
};

void ch_answer_release(struct ch_answer *a);
void ch_answer_text(struct ch_answer *a, struct ch_sv text);
void ch_answer_details(struct ch_answer *a, struct ch_sv json);
void ch_answer_media(struct ch_answer *a, const char *type, const void *data, size_t len);
/* Replace the answer by an error; an unknown type counts as internal. */
void ch_answer_error(struct ch_answer *a, const char *type, const char *fmt, va_list ap);

/* Move a into *out (zeroed) and leave a empty. rc is the tool's return value: a negative rc
 * turns an answer that is not an error into one. */
void ch_answer_conclude(struct ch_answer *a, int rc, struct ch_outcome *out);

/* Shape raw into content, if raw is not empty. May take long and may write a file. */
void ch_outcome_shape(struct ch_outcome *o, const struct ch_shape *how);

/* Mark an error after which the call may have taken effect: nobody should repeat the call. */
void ch_outcome_unknown(struct ch_outcome *o);

void ch_outcome_release(struct ch_outcome *o);
/* Set an error result when no tool has run. *o is zeroed, or replaced. */
void ch_outcome_error(struct ch_outcome *o, const char *type, const char *fmt, ...)
    CHELA_PRINTF(3, 4);

#endif
