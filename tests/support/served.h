/* served.h -- what only a server can do to a store (freeze, die, lose an answer,
 * serve others too) and what the store makes of it, as tests. */
#ifndef TEST_SUPPORT_SERVED_H
#define TEST_SUPPORT_SERVED_H
#include <stdbool.h>

#include "chela.h"

struct served {
    const char *name;
    const char *module_path;
    int port;
    const char *(*url_at)(int port); /* of the store, by way of that port of ours */
    void (*reset)(void);             /* make it empty */
    void (*freeze)(void), (*thaw)(void), (*kill)(void);
    bool (*start)(void);      /* after kill */
    void (*throw_out)(void);  /* all connections of chela */
    const char *commit;       /* what is in the bytes that commit a transaction */
    bool counts_tokens;       /* 1, 2, 3 ... */
};

/* Runs them; the number of failures. With CRASH_ALL set the server is frozen
 * for half a minute instead of a moment. */
int served_run(const struct served *s);

/* Open a store; modules: where its module is. *rc: what chela_store_open returned. */
chela_store *served_open(const char *modules, const char *url, int read_only, int *rc,
                         struct chela_error *err);
chela_store *served_must_open(const char *modules, const char *url);
/* The holder of a session hears of an event that another process accepts. */
void served_check_news(const char *modules, const char *url);
/* Opening fails with this code and these words, and without the password. */
void served_check_refused(const char *modules, const char *url, int read_only, int code,
                          const char *words);

#endif
