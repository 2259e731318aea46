/* error.h -- one error value for the whole library.
 *
 * A call that can fail returns 0 or a negative CHELA_E* code and, when given a
 * struct chela_error, says why in one line. The place that detects a failure
 * fills it; callers hand it on unchanged. Secrets never appear in it. */
#ifndef CHELA_ERROR_H
#define CHELA_ERROR_H
#include <stddef.h>

#ifdef __cplusplus
#define CHELA_BEGIN_DECLS extern "C" {
#define CHELA_END_DECLS }
#else
#define CHELA_BEGIN_DECLS
#define CHELA_END_DECLS
#endif
#define CHELA_API __attribute__((visibility("default")))
#define CHELA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

CHELA_BEGIN_DECLS

/* X(name, value, text) */
#define CHELA_ERRORS(X)                                                        \
    X(EINVAL, -1, "invalid argument")                                          \
    X(ELIMIT, -2, "a limit was reached")                                       \
    X(EBUSY, -3, "busy")                                                       \
    X(ESTATE, -4, "not possible in this state")                                \
    X(ECANCELED, -5, "cancelled")                                              \
    X(ETIMEOUT, -6, "timed out")                                               \
    X(ENET, -7, "network failure")                                             \
    X(ETLS, -8, "TLS failure")                                                 \
    X(EPROTO, -9, "protocol violation")                                        \
    X(EPARSE, -10, "malformed input")                                          \
    X(ECONFIG, -11, "bad configuration")                                       \
    X(EEXIST, -12, "already exists")                                           \
    X(ENOENT, -13, "not found")                                                \
    X(EPERM, -14, "not permitted")                                             \
    X(EIO, -15, "input/output error")                                          \
    X(EAUTH, -16, "authentication failed")                                     \
    X(EMODEL, -17, "the model service reported an error")                      \
    X(EMODULE, -18, "module not available")                                    \
    X(EINTERNAL, -19, "internal error")

enum chela_errcode {
    CHELA_OK = 0,
#define CHELA_ERROR_ENUM(name, value, text) CHELA_##name = value,
    CHELA_ERRORS(CHELA_ERROR_ENUM)
#undef CHELA_ERROR_ENUM
};

#define CHELA_ERROR_MAX 512

/* Zero-initialise it before the first use: `struct chela_error err = {0};` */
struct chela_error {
    int code;                      /* 0 or CHELA_E* */
    int http_status;               /* 0 unless a peer answered */
    long retry_after_ms;           /* what the peer asked for, 0 if nothing */
    char message[CHELA_ERROR_MAX]; /* one line, UTF-8, no secret */
};

/* "EINVAL" for CHELA_EINVAL; "OK" for 0; "E?" for an unknown code. */
CHELA_API const char *chela_error_name(int code);

/* The table's text for a code. */
CHELA_API const char *chela_error_text(int code);

/* Blank out what looks like a key or a bearer token, and every key that this
 * process has used, in place: for texts that others are to see. */
CHELA_API void chela_redact(char *text);

/* For messages that guess what was meant: how many letters two names are apart
 * (inserted, dropped, changed, or swapped with a neighbour; case is ignored).
 * Only the first 64 bytes of each count. */
CHELA_API unsigned chela_edits(const char *a, size_t na, const char *b, size_t nb);

CHELA_END_DECLS
#endif
