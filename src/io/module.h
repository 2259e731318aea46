/* module.h -- finding and opening libchela-NAME.so. */
#ifndef CH_IO_MODULE_H
#define CH_IO_MODULE_H
#include "base/buf.h"
#include "chela/sys/module.h"

/* Open module `name`, which must be of `kind`; search_path is a colon list of
 * directories tried first (NULL: none). Modules stay loaded. Returns the
 * module's ops through *ops, or CHELA_EMODULE with a message that names what
 * was tried and what to install. Thread safe, cheap when already loaded. */
int ch_module_load(const char *name, const char *kind, const char *search_path, const void **ops,
                   struct chela_error *err);

/* Append the directory that libchela is in, or the program it is linked into:
 * where what was built together lies. CHELA_ENOENT: unknown. */
int ch_module_directory(struct ch_buf *out);

#endif
