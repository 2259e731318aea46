/* loop_entry.h -- how a public function begins that only the loop thread may call. */
#ifndef CH_IO_LOOP_ENTRY_H
#define CH_IO_LOOP_ENTRY_H
#include "base/entry.h"
#include "io/loop.h"

/* CHELA_EINVAL: there is no object. CHELA_ESTATE: another thread calls; without err the log is
 * told. The messages name the function. loop NULL: any thread may call. */
int ch_loop_entry(const void *object, const struct ch_loop *loop, const char *fn,
                  struct chela_error *err);

/* On a failure the function returns its code. loop: an expression that needs the object. */
#define CH_ENTER(object, loop, err)                                                       \
    do {                                                                                  \
        int entry_ = ch_loop_entry(object, (object) ? (loop) : NULL, __func__, err);      \
        if (entry_ < 0)                                                                   \
            return entry_;                                                                \
    } while (0)

/* On a failure the function returns `value`, which may be empty. */
#define CH_ENTER_OR(object, loop, err, value)                                             \
    do {                                                                                  \
        if (ch_loop_entry(object, (object) ? (loop) : NULL, __func__, err) < 0)           \
            return value;                                                                 \
    } while (0)

#endif
