/* conformance.h -- tests of the requirements that every store must meet (chela/sys/store.h). */
#ifndef TEST_SUPPORT_CONFORMANCE_H
#define TEST_SUPPORT_CONFORMANCE_H
#include <stdbool.h>

struct conformance {
    const char *name;
    const char *url;         /* URL of an empty store */
    const char *module_path; /* may be NULL */
    void (*reset)(void);     /* empties the store; may be NULL */
    bool lasting;            /* a second chela_store_open sees the data that the first wrote */
};

/* Runs the tests; returns the number of failures. */
int conformance_run(const struct conformance *c);

#endif
