/* gateway.h -- the way out of a box without a network: a socket for a proxy of the runtime.
 *
 * The socket listens in the network of the box, and the runtime, which gets it over the report,
 * accepts the connections. No process in between moves their bytes. */
#ifndef CH_SANDBOX_GATEWAY_H
#define CH_SANDBOX_GATEWAY_H

/* Listen on a port of the box's loopback and send the socket to the runtime. Returns the port; 0:
 * the command runs without a proxy. */
unsigned ch_gateway_open(void);

#endif
