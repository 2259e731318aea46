/* service.h -- integration with a service manager: systemd or a compatible one. No-op
 * without one. */
#ifndef CH_CLI_SERVICE_H
#define CH_CLI_SERVICE_H
#include <stdbool.h>

/* The socket passed by the service manager, in the form of the gateway's `listen`: "fd:3".
 * Static; NULL: none. The environment variables are removed, so that children do not use
 * them. */
const char *ch_service_socket(void);

/* Restart the program in this process, with the same command line and, if given, the
 * socket. Returns only on failure. */
void ch_service_exec(bool socket);

/* Report the state: "READY=1", "RELOADING=1", "STOPPING=1". */
void ch_service_tell(const char *state);

#endif
