/* error.h -- the error codes and the error struct of the library.
 *
 * A function that can fail returns 0 or a negative CHELA_E* code. If the caller passes a
 * struct chela_error, the function also writes a message of one line. Messages never
 * contain secrets.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; a result is static text.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
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

/* The error codes: X(name, value, text). The constant is CHELA_ and the name. */
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
    X(EINTERNAL, -19, "internal error")                                        \
    X(EOVERLOAD, -20, "overloaded: try again later")                           \
    X(EBUDGET, -21, "a budget is used up")

/* The codes as constants. */
enum chela_errcode {
    CHELA_OK = 0,
#define CHELA_ERROR_ENUM(name, value, text) CHELA_##name = value,
    CHELA_ERRORS(CHELA_ERROR_ENUM)
#undef CHELA_ERROR_ENUM
};

#define CHELA_ERROR_MAX 512

/* The reason for a failure. Initialise the struct with zeros before the first use:
 * `struct chela_error err = {0};`. The content is valid after a failure only. */
struct chela_error {
    int code;                      /* 0 or CHELA_E* */
    int http_status;               /* HTTP status of the peer's answer; 0: no answer */
    long retry_after_ms;           /* delay that the peer asked for; 0: none */
    char message[CHELA_ERROR_MAX]; /* one line of UTF-8 without secrets */
};

/* The name of a code: "EINVAL" for CHELA_EINVAL, "OK" for 0, "E?" for an unknown code. */
CHELA_API const char *chela_error_name(int code);

/* The text of a code in the table above; "unknown error" for an unknown code. */
CHELA_API const char *chela_error_text(int code);

/* Replace secrets in text by "***", in place: every key that this process has used, and
 * everything with the form of a key or a bearer token. For texts that other people will
 * read. */
CHELA_API void chela_redact(char *text);

/* The number of edits between two names: letters that are inserted, removed, changed or
 * exchanged with a neighbour. Case is ignored. Only the first 64 bytes of each name
 * count. For messages that suggest the nearest known name. */
CHELA_API unsigned chela_edits(const char *a, size_t na, const char *b, size_t nb);

CHELA_END_DECLS
#endif
