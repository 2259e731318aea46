/* module.h -- find and load modules (libchela-NAME.so). */
#ifndef CH_IO_MODULE_H
#define CH_IO_MODULE_H
#include "base/buf.h"
#include "chela/sys/module.h"

/* Load module `name`, which must be of `kind`. search_path is a colon-separated
 * list of directories that are tried first (NULL: none). Modules stay loaded.
 * Returns the module's functions in *ops, or CHELA_EMODULE with a message that
 * names the tried paths and the package to install. Thread safe; cheap if
 * already loaded. */
int ch_module_load(const char *name, const char *kind, const char *search_path, const void **ops,
                   struct chela_error *err);

/* Whether there is a file of this module. */
bool ch_module_is_installed(const char *name, const char *search_path);

/* The two parts that differ in a static program (packaging/static_modules.c). _linked: a module
 * that is part of the program; 1: modules are files. _open: load a file. */
int ch_module_linked(const char *name, const struct chela_module **out, struct chela_error *err);
int ch_module_open(const char *path, const char *name, const struct chela_module **out,
                   struct chela_error *err);

/* Append the directory that contains libchela, or the program that links it
 * statically: files built together are there. CHELA_ENOENT: unknown. */
int ch_module_directory(struct ch_buf *out);

#endif
