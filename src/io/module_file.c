/* module_file.c -- modules are files; see module.h.
 *
 * The dynamic linker is the registry: loading a module again returns the same
 * handle, under the linker's lock, so this file keeps no table. A module is
 * never unloaded: its libraries keep threads, exit handlers and pointers that
 * would outlive it. */
#include <dlfcn.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/module.h"

int ch_module_linked(const char *name CH_UNUSED, const struct chela_module **out CH_UNUSED,
                     struct chela_error *err CH_UNUSED) {
    return 1;
}

int ch_module_open(const char *path, const char *name, const struct chela_module **out,
                   struct chela_error *err) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return ch_fail(err, CHELA_EMODULE, "module %s cannot be loaded: %s", name, dlerror());
    *out = dlsym(handle, "chela_module");
    return CHELA_OK;
}
