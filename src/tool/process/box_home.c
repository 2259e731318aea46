/* box_home.c -- see box_home.h. */
#include "tool/process/box_home.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "layer/layer.h"

#define DIGITS 24 /* of the digest in the name of a home */

static const char *name_of(struct ch_arena *a, const char *workspace) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_AUTOFREE char *real = realpath(workspace, NULL);
    const char *path = real ? real : workspace, *last = strrchr(path, '/');
    struct ch_sha256 h;

    ch_sha256_init(&h);
    ch_sha256_add(&h, path, strlen(path));
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    return ch_arena_printf(a, "%.60s-%.*s", last && last[1] ? last + 1 : "root", DIGITS, hex);
}

int ch_box_home(struct ch_arena *a, const char *workspace, const char **out,
                struct chela_error *err) {
    const char *homes = ch_state_part(a, "homes");

    if (!homes)
        return ch_fail(err, CHELA_EPERM,
                       "a home that stays (sandbox.home) needs XDG_STATE_HOME or HOME");
    const char *path = ch_arena_printf(a, "%s/%s", homes, name_of(a, workspace));
    int rc = ch_state_make(path);
    CH_AUTOFREE char *real = rc < 0 ? NULL : realpath(path, NULL);
    if (!real)
        return ch_fail(err, CHELA_EIO, "the home of commands %s: %s", path,
                       strerror(rc < 0 ? -rc : errno));
    *out = ch_arena_str(a, ch_sv_str(real));
    return 0;
}
