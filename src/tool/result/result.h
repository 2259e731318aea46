/* result.h -- from what a tool said to what a model is shown.
 *
 * A tool builds a struct ch_answer, on whatever thread it runs. Concluding it
 * gives a struct ch_outcome: valid UTF-8 without terminal escapes, capped, an
 * error as JSON text {"error","error_type","retryable","details"}. */
#ifndef CH_TOOL_RESULT_H
#define CH_TOOL_RESULT_H
#include <stdint.h>

#include "base/buf.h"
#include "tool/result/shape.h"

/* X(name, may the same call work later?) */
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

/* What a tool has said so far. Zeroed: nothing. */
struct ch_answer {
    struct ch_shape shape; /* how it is cut; outlives _release */
    bool later;            /* leave a long text for ch_outcome_shape; likewise */
    struct ch_buf text;
    uint64_t text_lost;     /* bytes that found no room in text */
    struct ch_buf details;  /* JSON, or empty */
    const char *error_type; /* NULL: no error; static */
    struct ch_buf error;    /* its message */
    int64_t retry_after_ms; /* what the other side asked for, 0: nothing */
    struct ch_media *media; /* owned */
    size_t nmedia, media_bytes;
};

/* A result, decided. Zeroed: an empty text. */
struct ch_outcome {
    struct ch_buf content; /* what the model sees */
    struct ch_buf raw;     /* what it will be made of, by ch_outcome_shape; or empty */
    uint64_t raw_lost;     /* bytes that found no room in raw */
    struct ch_buf details; /* JSON, or empty */
    struct ch_media *media;
    size_t nmedia;
    const char *error_type; /* static, or NULL */
    bool is_error, truncated, denied, retryable;
    int64_t retry_after_ms; /* 0: nobody said */
};

void ch_answer_release(struct ch_answer *a);
void ch_answer_text(struct ch_answer *a, struct ch_sv text);
void ch_answer_details(struct ch_answer *a, struct ch_sv json);
void ch_answer_media(struct ch_answer *a, const char *type, const void *data, size_t len);
/* Replaces what was said; an unknown type counts as internal. */
void ch_answer_error(struct ch_answer *a, const char *type, const char *fmt, va_list ap);

/* Shape a into *out (zeroed) and leave a empty. rc is what the tool returned:
 * a negative code makes an error of an answer that is none. */
void ch_answer_conclude(struct ch_answer *a, int rc, struct ch_outcome *out);

/* Make content of raw, if there is any. May take long, and write a file. */
void ch_outcome_shape(struct ch_outcome *o, const struct ch_shape *how);

void ch_outcome_release(struct ch_outcome *o);
/* An error without a tool having run. *o is zeroed, or replaced. */
void ch_outcome_error(struct ch_outcome *o, const char *type, const char *fmt, ...)
    CHELA_PRINTF(3, 4);

/* ch_shape_text with the defaults: no window is known, nothing is spilled. */
bool ch_text_shape(struct ch_buf *out, struct ch_sv text, uint64_t lost);

#endif
