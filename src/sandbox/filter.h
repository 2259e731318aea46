/* filter.h -- the seccomp filter: system calls that a command may not make.
 *
 * One table and one generator make the program for each machine, so the program
 * for another machine is built and checked by the same code. The filter is a
 * deny list: an allow list would break compilers, language runtimes and future
 * versions of libc, and namespaces and Landlock already restrict what a call
 * can reach. Denied are calls that bypass them (other processes, mounts,
 * namespaces, the keyring, devices) and calls with a bad security record
 * (io_uring, bpf). */
#ifndef CH_SANDBOX_FILTER_H
#define CH_SANDBOX_FILTER_H
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ch_machine { CH_X86_64, CH_ARM64, CH_MACHINES };

/* This machine, or CH_MACHINES if the filter does not support it. */
enum ch_machine ch_machine_here(void);

enum ch_sockets {
    CH_SOCKETS_USUAL, /* unix, inet, inet6, netlink: a namespace contains them */
    CH_SOCKETS_INET,  /* not unix: such sockets lead to programs outside of the box */
    CH_SOCKETS_NONE   /* none; socketpair may make pairs of types that stay connected */
};

#define CH_FILTER_MAX 256
struct ch_filter {
    struct sock_filter code[CH_FILTER_MAX];
    unsigned short n;
    unsigned denied; /* number of system calls denied completely */
};
/* bare: without namespaces. Then calls that reach other processes by a number, and that
 * Landlock does not restrict, are denied, too. */
void ch_filter_build(struct ch_filter *f, enum ch_machine machine, enum ch_sockets sockets,
                     bool bare);

/* A filter that stops calls which rename a file until a listener has answered; all else is
 * allowed. */
void ch_filter_build_renames(struct ch_filter *f, enum ch_machine machine);

/* As ch_filter_apply, for a filter that stops calls: returns the listener, or -errno. */
int ch_filter_listen(const struct ch_filter *f);

/* Apply f to this process and its descendants. no_new_privs must be set.
 * Returns 0 or -errno. */
int ch_filter_apply(const struct ch_filter *f);

#endif
