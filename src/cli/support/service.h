/* service.h -- living under a service manager: systemd, or one that speaks as it
 * does. Without one nothing happens. */
#ifndef CH_CLI_SERVICE_H
#define CH_CLI_SERVICE_H
#include <stdbool.h>

/* The socket that was opened for us, as `listen` of a gateway has it: "fd:3".
 * Static; NULL: there is none. The variables that say so are taken away, so that
 * no child thinks they are meant for it. */
const char *ch_service_socket(void);

/* Begin the program anew in this process, with the command line and, if it has one, the
 * socket that it was given. Returns only if that fails. */
void ch_service_exec(bool socket);

/* Tell it how we are: "READY=1", "RELOADING=1", "STOPPING=1". */
void ch_service_tell(const char *state);

#endif
