/* modules.h -- the directory of the modules of this build. */
#ifndef TEST_SUPPORT_MODULES_H
#define TEST_SUPPORT_MODULES_H
#include <stdbool.h>

/* The build directory, of a test program in BUILD/tests/unit/LAYER/ or
 * BUILD/tests/fuzz/; ch_free. */
char *modules_dir(void);

/* Was libchela-NAME.so built? */
bool modules_have(const char *name);

#endif
