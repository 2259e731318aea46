/* loop_entry.c -- see loop_entry.h. */
#include "io/loop_entry.h"

#include "base/error.h"

int ch_loop_entry(const void *object, const struct ch_loop *loop, const char *fn,
                  struct chela_error *err) {
    static const char wrong[] =
        "%s: called from a thread that is not the loop thread: only the thread that created the "
        "runtime, or that runs the host's loop, may call it";
    if (!object)
        return ch_entry_null(fn, err);
    if (!loop || ch_loop_is_here(loop))
        return 0;
    if (err)
        return ch_fail(err, CHELA_ESTATE, wrong, fn);
    CH_LOG_SCOPE(ch_loop_log(loop));
    ch_log(CH_LOG_ERROR, "runtime", wrong, fn);
    return CHELA_ESTATE;
}
