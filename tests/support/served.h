/* served.h -- tests of stores with a server: the server freezes, dies, loses an answer or
 * serves other clients. */
#ifndef TEST_SUPPORT_SERVED_H
#define TEST_SUPPORT_SERVED_H
#include <stdbool.h>

#include "chela.h"

struct served {
    const char *name;
    const char *module_path;
    int port;
    const char *(*url_at)(int port); /* URL of the store through this port of the test */
    void (*reset)(void);             /* make it empty */
    void (*freeze)(void), (*thaw)(void), (*kill)(void);
    bool (*start)(void);      /* after kill */
    void (*throw_out)(void);  /* closes all connections of chela */
    const char *commit;       /* text that marks the bytes that commit a transaction */
    bool counts_tokens;       /* 1, 2, 3 ... */
};

/* Runs the tests; returns the number of failures. With CRASH_ALL set the server is frozen
 * for half a minute instead of a moment. */
int served_run(const struct served *s);

/* Open a store; modules: directory of its module. *rc: result of chela_store_open. */
chela_store *served_open(const char *modules, const char *url, int read_only, int *rc,
                         struct chela_error *err);
chela_store *served_must_open(const char *modules, const char *url);
/* The holder of a session is notified of an event that another process accepts. */
void served_check_news(const char *modules, const char *url);
/* A lease that its holder gave up reads as such for a process that measured another difference
 * to the server's clock. skew: the difference of the holder, to be set; NULL: it has one. Closes
 * both. */
void served_check_given_up(chela_store *holder, chela_store *other, int64_t *skew);
/* Opening fails with this code and this text, which does not contain the password. */
void served_check_refused(const char *modules, const char *url, int read_only, int code,
                          const char *words);

#endif
