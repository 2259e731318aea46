/* filter.h -- the seccomp program: which system calls a command may not make.
 *
 * One table, one generator, a program for each machine: so the program for the
 * machine that is not at hand is made and checked by the same code. It is a
 * list of what is denied: a list of what is allowed would break compilers,
 * language runtimes and tomorrow's libc, and the views made by namespaces and
 * Landlock already decide what a call can reach. What is denied is what reaches
 * around them (other processes, mounts, namespaces, the keyring, devices) or
 * what has opened more holes in kernels than it is worth (io_uring, bpf). */
#ifndef CH_SANDBOX_FILTER_H
#define CH_SANDBOX_FILTER_H
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ch_machine { CH_X86_64, CH_ARM64, CH_MACHINES };

/* This one's, or CH_MACHINES if there is no program for it. */
enum ch_machine ch_machine_here(void);

enum ch_sockets {
    CH_SOCKETS_USUAL, /* unix, inet, inet6, netlink: a namespace contains them */
    CH_SOCKETS_NONE   /* not one; socketpair stays */
};

#define CH_FILTER_MAX 256
struct ch_filter {
    struct sock_filter code[CH_FILTER_MAX];
    unsigned short n;
    unsigned denied; /* system calls that are refused altogether */
};
void ch_filter_build(struct ch_filter *f, enum ch_machine machine, enum ch_sockets sockets);

/* Hold this process and its descendants to f. no_new_privs must be set. 0 or
 * -errno. */
int ch_filter_apply(const struct ch_filter *f);

#endif
