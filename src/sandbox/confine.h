/* confine.h -- the last steps in the process that becomes the command. */
#ifndef CH_SANDBOX_CONFINE_H
#define CH_SANDBOX_CONFINE_H
#include "sandbox/box.h"

/* Set limits, drop rights, restrict files and system calls, and exec the
 * command. Does not return; failures are reported. */
_Noreturn void ch_confine_exec(const struct ch_box *box);

/* Restrict this process as a command is restricted, except for its system calls: it works for a
 * command, on what the command names. */
void ch_confine_helper(const struct ch_box *box);

/* Create the command's directory for temporary files, with a home directory in
 * it. */
void ch_confine_home(const struct ch_box *box);

#endif
