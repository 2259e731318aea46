/* entry.h -- how a public function begins: without its object it refuses.
 *
 * A function of an object that only the loop thread may use begins as in io/loop_entry.h. */
#ifndef CH_BASE_ENTRY_H
#define CH_BASE_ENTRY_H
#include "chela/error.h"

/* CHELA_EINVAL; the message names the function. */
int ch_entry_null(const char *fn, struct chela_error *err) __attribute__((cold));

/* object NULL: the function returns CHELA_EINVAL. */
#define CH_NEEDS(object, err)                       \
    do {                                            \
        if (!(object))                              \
            return ch_entry_null(__func__, err);    \
    } while (0)

int ch_entry_null_arg(const char *fn, const char *arg, struct chela_error *err)
    __attribute__((cold));

/* An argument that every call needs: NULL: the function returns CHELA_EINVAL. */
#define CH_NEEDS_ARG(arg, err)                               \
    do {                                                     \
        if (!(arg))                                          \
            return ch_entry_null_arg(__func__, #arg, err);   \
    } while (0)

/* object NULL: the function returns `value`, which may be empty. */
#define CH_NEEDS_OR(object, err, value)    \
    do {                                   \
        if (!(object)) {                   \
            ch_entry_null(__func__, err);  \
            return value;                  \
        }                                  \
    } while (0)

#endif
