/* conformance.h -- what every store must do (chela/sys/store.h), as tests. */
#ifndef TEST_SUPPORT_CONFORMANCE_H
#define TEST_SUPPORT_CONFORMANCE_H
#include <stdbool.h>

struct conformance {
    const char *name;
    const char *url;         /* of an empty store */
    const char *module_path; /* may be NULL */
    void (*reset)(void);     /* make it empty again; may be NULL */
    bool lasting;            /* a second chela_store_open sees what the first wrote */
};

/* Runs them; the number of failures. */
int conformance_run(const struct conformance *c);

#endif
