/* entry.c -- see entry.h. */
#include "base/entry.h"

#include "base/error.h"

int ch_entry_null(const char *fn, struct chela_error *err) {
    return ch_fail(err, CHELA_EINVAL, "%s: the object is NULL", fn);
}
