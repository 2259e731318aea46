/* listen.h -- the main loop of the stand-ins: a port on loopback, and a thread for
 * each connection. It shares no code with src/. */
#ifndef LISTEN_H
#define LISTEN_H
#include <stdnoreturn.h>

/* A socket that listens on loopback, and its port; name is for the message with
 * which the program ends if there is none. */
int listen_on_loopback(const char *name, unsigned *port);

/* Call serve for each connection, on a thread of its own. serve closes fd. */
typedef void listen_fn(int fd, void *user);
noreturn void listen_accept(int listener, listen_fn *serve, void *user);

/* The program ends when the one that started it does. */
void listen_end_with_parent(void);

#endif
