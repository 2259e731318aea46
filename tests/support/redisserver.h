/* redisserver.h -- a Redis server for one test, on a loopback port and below TMPDIR. */
#ifndef TEST_SUPPORT_REDISSERVER_H
#define TEST_SUPPORT_REDISSERVER_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define REDISSERVER_PASSWORD "open-sesame"

struct redisserver {
    char dir[128];
    int port;
    pid_t pid;
};

bool redisserver_installed(void);
/* Starts the server. The server syncs data to disk before it answers. */
bool redisserver_open(struct redisserver *s);
bool redisserver_start(struct redisserver *s); /* again, after redisserver_kill */
void redisserver_freeze(struct redisserver *s);
void redisserver_thaw(struct redisserver *s);
void redisserver_kill(struct redisserver *s);
/* Send one command; returns the first line of the answer, or "" */
void redisserver_tell(struct redisserver *s, const char *command, char *out, size_t n);
void redisserver_close(struct redisserver *s);

#endif
