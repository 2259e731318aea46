/* static_modules.c -- the modules of a static program; takes the place of src/io/module_file.c.
 *
 * STATIC_MODULES(X), given by static.mk, lists what is linked in. No file is loaded: a module
 * needs shared libraries, and those a C library of their own. */
#include "base/error.h"
#include "base/mem.h"
#include "io/module.h"

#define MODULE_EXTERN(name) extern const struct chela_module chela_module_##name;
#define MODULE_ADDRESS(name) &chela_module_##name,
STATIC_MODULES(MODULE_EXTERN)

int ch_module_linked(const char *name, const struct chela_module **out, struct chela_error *err) {
    static const struct chela_module *const linked[] = {STATIC_MODULES(MODULE_ADDRESS) NULL};
    for (size_t i = 0; linked[i]; i++)
        if (strcmp(linked[i]->name, name) == 0) {
            *out = linked[i];
            return CHELA_OK;
        }
    return ch_fail(err, CHELA_EMODULE,
                   "this static program was built without the module %s (make static "
                   "STATIC_MODULES=...)",
                   name);
}

/* Not reached: ch_module_linked has an answer for every name. */
int ch_module_open(const char *path CH_UNUSED, const char *name,
                   const struct chela_module **out CH_UNUSED, struct chela_error *err) {
    return ch_fail(err, CHELA_EMODULE, "a static program loads no module %s", name);
}

/* Libraries that would load a file find none: a file would bring a C library of its own. */
__attribute__((visibility("default"))) void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path CH_UNUSED, int mode CH_UNUSED) {
    return NULL;
}
