/* free_port.h -- a port for a server that a test starts. */
#ifndef TEST_SUPPORT_FREE_PORT_H
#define TEST_SUPPORT_FREE_PORT_H

/* A free port of loopback; 0: none found. */
int free_port(void);

#endif
