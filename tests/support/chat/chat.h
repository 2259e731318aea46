/* chat.h -- shared code of the fake chat services: a small HTTP server, and files in a
 * folder through which a test reads the requests and causes faults.
 *
 * One thread per connection. It shares no code with src/. */
#ifndef CHAT_H
#define CHAT_H
#include <pthread.h>
#include <stddef.h>
#include <stdnoreturn.h>

#define CHAT_MOST (24 * 1024 * 1024) /* bytes of a request */

struct request {
    char method[16], path[1024], auth[512], key[64]; /* key: WebSocket key */
    char *body; /* owned by the server */
    size_t nbody;
};

extern pthread_mutex_t lock; /* protects data that connections share; the server does not take
                              * the lock */

/* Answer a request; 0: the connection has ended. */
typedef int serve_fn(int fd, const struct request *r);

/* Print the port and serve. dir: for note and take_line. */
noreturn void chat_serve(const char *dir, serve_fn *serve);
unsigned chat_port(void);

/* Add a line to a file. */
void note(const char *file, const char *text);
/* The first line of a file; 0: no such file. take: the file is removed. */
int peek_line(const char *file, char *out, size_t max);
int take_line(const char *file, char *out, size_t max);

/* The file DIR/IN/NAME, whose name has n bytes; NULL: no such file. The bytes are followed
 * by a NUL that is not counted; free the result. */
char *read_stored(const char *in, const char *name, size_t n, size_t *size);

void put(int fd, const void *p, size_t n); /* sends all bytes, unless the client left */
void answer(int fd, int status, const char *json);
/* more: headers, each with its line end; "". */
void answer_with(int fd, int status, const char *more, const void *bytes, size_t n);

#endif
