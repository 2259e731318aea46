/* pgserver.h -- a PostgreSQL server of one's own, on a loopback port and below
 * TMPDIR. As root it runs as another user, because it refuses to run as root. */
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
/* Make a database cluster and start the server; false: a line on stderr says
 * what failed. Its user is "chela". */
bool pgserver_open(struct pgserver *s);
bool pgserver_start(struct pgserver *s); /* again, after pgserver_kill */
void pgserver_freeze(struct pgserver *s);
void pgserver_thaw(struct pgserver *s);
void pgserver_kill(struct pgserver *s); /* -9, all of its processes */
/* Run SQL with psql; the first line it prints, or "" */
void pgserver_sql(struct pgserver *s, const char *sql, char *out, size_t n);
void pgserver_close(struct pgserver *s);

#endif
