/* module.h -- how parts of chela are loaded on use.
 *
 * libchela stays light; what only some users need lives in a shared object
 * `libchela-NAME.so` that is opened the first time it is wanted: from the
 * directories of CHELA_MODULE_PATH's value (handed over by the program), then
 * the directory libchela itself was loaded from, then its `chela/` folder.
 * A module exports one symbol, `chela_module`, of this type. The vtable it
 * points to is described in the header of its kind (chela/sys/tls.h, ...).
 * Third parties extend chela in the same way. */
#ifndef CHELA_SYS_MODULE_H
#define CHELA_SYS_MODULE_H
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* Raised when the meaning of a vtable changes; a module built for another
 * value is refused with a message that names both. */
#define CHELA_MODULE_ABI 5

struct chela_module {
    uint32_t abi;     /* CHELA_MODULE_ABI */
    const char *name; /* "tls" */
    const char *kind; /* "tls": which vtable `ops` is */
    const void *ops;  /* static const; lives as long as the process */
};

CHELA_END_DECLS
#endif
