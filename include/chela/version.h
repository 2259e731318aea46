/* version.h -- the version of the headers and the version of the library.
 *
 * The macros state the version of the headers that a program was compiled with. The
 * functions return the version of the library that the program runs with. They may be
 * called before any other function.
 *
 * Unless a function says otherwise:
 *   Ownership: a result is static text.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_VERSION_H
#define CHELA_VERSION_H
#include "chela/error.h"
CHELA_BEGIN_DECLS

#define CHELA_VERSION_MAJOR 0
#define CHELA_VERSION_MINOR 1
#define CHELA_VERSION_PATCH 0
/* The version as a number, for #if: 1000 for 0.1.0, 1002003 for 1.2.3. */
#define CHELA_VERSION_NUMBER \
    (CHELA_VERSION_MAJOR * 1000000 + CHELA_VERSION_MINOR * 1000 + CHELA_VERSION_PATCH)

/* The version of the library as text: "0.1.0". */
CHELA_API const char *chela_version(void);

/* CHELA_VERSION_NUMBER of the library. */
CHELA_API int chela_version_number(void);

CHELA_END_DECLS
#endif
