/* module.h -- loadable modules.
 *
 * Parts of chela that only some programs need are shared objects, libchela-NAME.so. The
 * library opens a module when the module is needed first. It looks in the directories of
 * `module_path`, then in the directory of libchela, then in its subdirectory chela/. A
 * module exports one symbol, `chela_module`, of type struct chela_module. The header of
 * its kind describes the functions of the module: chela/sys/tls.h and so on. Other authors
 * can write modules in the same way. */
#ifndef CHELA_SYS_MODULE_H
#define CHELA_SYS_MODULE_H
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The version of the module interface. It is increased when a vtable changes. A module that
 * was built for another version is refused with a message that names both versions. */
#define CHELA_MODULE_ABI 10

/* A module. */
struct chela_module {
    uint32_t abi;     /* CHELA_MODULE_ABI */
    const char *name; /* "tls" */
    const char *kind; /* "tls": the type of the vtable */
    const void *ops;  /* the vtable; constant, valid until the process ends */
};

CHELA_END_DECLS
#endif
