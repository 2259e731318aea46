/* entry.c -- see entry.h. */
#include "base/entry.h"

#include "base/error.h"

int ch_entry_null(const char *fn, struct chela_error *err) {
    return ch_fail(err, CHELA_EINVAL, "%s: the object is NULL", fn);
}

int ch_entry_null_arg(const char *fn, const char *arg, struct chela_error *err) {
    return ch_fail(err, CHELA_EINVAL, "%s: %s is NULL", fn, arg);
}
