/* workers.h -- the processes of `chela serve` with several workers.
 *
 *   parent   listens; tells the workers in turn to accept connections; starts a worker again
 *            that ends; passes signals on
 *   worker   a gateway (chela/gateway.h), forked by the parent before there are threads
 *
 * A worker sends the parent messages of one byte. A byte with a socket attached is the number
 * of the worker that shall get the socket (chela_gateway_opts.workers). */
#ifndef CH_CLI_WORKERS_H
#define CH_CLI_WORKERS_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"
#include "cli/term/console.h"

struct ch_workers_opts {
    size_t n;
    const char *listen; /* NULL: the default */
    bool tls;
    struct ch_console *console;
};

/* The place of this process among the workers. */
struct ch_worker {
    size_t number, of; /* number 0: not a worker */
    int parent;        /* socket to the parent */
    char listen[32];   /* the same socket, for the gateway */
    void *board;       /* chela_gateway_opts.board */
};

enum ch_worker_message {
    CH_WORKER_READY = 'r',    /* it serves */
    CH_WORKER_TURN_OVER = 't', /* another worker shall accept connections (net/server.c) */
    CH_WORKER_RELOADED = 'h', /* after SIGHUP of the parent */
    CH_WORKER_CHANGED = 'c',  /* it has reloaded because a client changed the file */
    CH_WORKER_ANEW = 'a',     /* the whole program shall begin anew */
};

/* Signals of the parent to a worker: SIGTERM lets work finish, SIGHUP reloads. A further SIGTERM
 * changes nothing: service managers send it to all processes. */
#define CH_WORKER_STOP_NOW SIGUSR1

/* In the parent: runs until all workers have ended, and returns 0. *code becomes the exit code;
 * *anew: a worker asked for a restart. In a worker: returns 1, and sets *me.
 * Errors: as chela_gateway_listen; CHELA_EIO: no process can be started. */
int ch_workers_run(const struct ch_workers_opts *o, struct ch_worker *me, int *code, bool *anew,
                   struct chela_error *err);

void ch_worker_tell(const struct ch_worker *me, enum ch_worker_message m);

#endif
