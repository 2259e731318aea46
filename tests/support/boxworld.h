/* boxworld.h -- a sandbox and its surroundings: a workspace with an attacker in it, canaries
 * outside, servers that must not be contacted.
 *
 * A test takes a machine (box.h) and is run on each of them, as the user that
 * runs the tests and, if that is root, as nobody too. */
#ifndef TEST_SUPPORT_BOXWORLD_H
#define TEST_SUPPORT_BOXWORLD_H
#include "support/box.h"
#include "support/toolkit.h"
#include "tool/process/sandbox_policy.h"

#define SENTINEL "hunter2-sentinel" /* in the environment of the runtime */

struct world {
    struct kit k;
    struct ch_sandbox_policy policy;
    char *out; /* a directory outside, with canary, secret, sock and datagram */
    char *helper;
    int tcp, udp, sock, datagram, abstract; /* listening */
    int shm, terminal;                      /* shared memory; the master of a terminal */
    char port[8], udp_port[8], abstract_name[40];
    bool boxed, limited; /* namespaces are effective; the number of processes is limited */
    int abi;             /* of Landlock */
};
extern struct world w;

void world_open(enum box_machine machine);
void world_close(void);
const struct ch_sandbox_layer *world_layer(const char *name);

/* Returns whether any server was contacted, and resets the record. */
bool world_was_asked(void);
void world_put_canaries(void);
void world_check_canaries(const char *what);

/* Run a command that finds OUT, TCP_PORT, UDP_PORT, NAME, RUNTIME, SHM and TERMINAL in its
 * environment, with more arguments: ",\"pty\":true". The result is in w.k. */
const char *world_run(const char *command, const char *more);
/* The same arguments, for kit_start. */
void world_arguments(struct ch_buf *out, const char *command, const char *more);

/* Returns whether a process has this word on its command line. Waits for the process to end. */
bool world_is_running(const char *mark);
void world_wait_until_gone(const char *what, const char *mark);

/* main: runs the attacker in the box, the replacement for chela-sandbox, or the tests. */
int world_main(int argc, char **argv, int (*tests)(void));

#define ON(machine, name)                        \
    static void name##_##machine(void **state) { \
        (void)state;                             \
        name(machine);                           \
    }
#define ON_ALL(name)            \
    ON(BOX_AS_IT_IS, name)      \
    ON(BOX_WITH_BWRAP, name) \
    ON(BOX_WITHOUT_NAMESPACES, name)
#define TESTS_OF(name)                                                                 \
    cmocka_unit_test(name##_BOX_AS_IT_IS), cmocka_unit_test(name##_BOX_WITH_BWRAP), \
        cmocka_unit_test(name##_BOX_WITHOUT_NAMESPACES)

#endif
