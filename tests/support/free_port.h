/* free_port.h -- a port for a server that a test starts. */
#ifndef TEST_SUPPORT_FREE_PORT_H
#define TEST_SUPPORT_FREE_PORT_H

/* A port of loopback that nobody has; 0: there is none. */
int free_port(void);

#endif
