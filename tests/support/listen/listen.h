/* listen.h -- the main loop of the fake services: a port on loopback, and a thread for each
 * connection. It shares no code with src/. */
#ifndef LISTEN_H
#define LISTEN_H
#include <stdnoreturn.h>

/* Opens a socket that listens on loopback, and returns its port; on failure the program ends
 * with a message that contains name. */
int listen_on_loopback(const char *name, unsigned *port);

/* Call serve for each connection, on a separate thread. serve closes fd. */
typedef void listen_fn(int fd, void *user);
noreturn void listen_accept(int listener, listen_fn *serve, void *user);

/* The program ends when its parent process ends. */
void listen_end_with_parent(void);

#endif
