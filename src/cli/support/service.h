/* service.h -- integration with a service manager: systemd or a compatible one. No-op
 * without one. */
#ifndef CH_CLI_SERVICE_H
#define CH_CLI_SERVICE_H
#include <stdbool.h>

#include "chela/error.h"

/* The socket passed by the service manager, in the form of the gateway's `listen`: "fd:3".
 * Static; NULL: none. The environment variables are removed, so that children do not use
 * them. */
const char *ch_service_socket(void);

/* Restart the program in this process, with the same command line, except the option `without`,
 * and, if given, the socket. Returns only on failure. */
void ch_service_exec(bool socket, const char *without);

/* err: why the gateway cannot listen. If the address is in use, it may still belong to the workers
 * of a process that was killed: they give it up when they have accepted what waits there. True,
 * after a pause: try again. False: for another reason, or after 10 s. *tries: 0 at first. */
bool ch_service_await_address(const struct chela_error *err, unsigned *tries);

/* Report the state: "READY=1", "RELOADING=1", "STOPPING=1". */
void ch_service_tell(const char *state);

#endif
