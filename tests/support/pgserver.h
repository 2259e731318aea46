/* pgserver.h -- a PostgreSQL server for one test, on a loopback port and below TMPDIR. A
 * test that runs as root starts it as another user, because the server refuses to run as
 * root. */
#ifndef TEST_SUPPORT_PGSERVER_H
#define TEST_SUPPORT_PGSERVER_H
#include <stdbool.h>
#include <sys/types.h>

#define PGSERVER_PASSWORD "open-sesame"

struct pgserver {
    char bin[128], dir[128], data[160];
    int port;
    pid_t pid;
};

bool pgserver_installed(void);
/* Create a database cluster and start the server; false: a line on stderr states the
 * failure. The user of the database is "chela". */
bool pgserver_open(struct pgserver *s);
bool pgserver_start(struct pgserver *s); /* again, after pgserver_kill */
void pgserver_freeze(struct pgserver *s);
void pgserver_thaw(struct pgserver *s);
void pgserver_kill(struct pgserver *s); /* kills all of its processes with SIGKILL */
/* Run SQL with psql; returns the first line of the output, or "" */
void pgserver_sql(struct pgserver *s, const char *sql, char *out, size_t n);
void pgserver_close(struct pgserver *s);

#endif
