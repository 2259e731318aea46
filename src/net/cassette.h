/* cassette.h -- calls recorded to a file, or played back from one.
 *
 * A transport that sits between the agent and the network, so that any
 * protocol can be recorded. Playing back touches no network and needs no key:
 * every request must be one that was recorded; one that is not fails, and the
 * error says what differs. The format is tape.h's. */
#ifndef CH_NET_CASSETTE_H
#define CH_NET_CASSETTE_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_cassette;

/* inner: where recorded calls go. The file is made anew, readable by its owner
 * alone. */
int ch_cassette_record(struct ch_loop *loop, const char *path, struct ch_transport *inner,
                       struct ch_cassette **out, struct chela_error *err);
/* CHELA_ECONFIG with the line for a file that is no cassette. */
int ch_cassette_replay(struct ch_loop *loop, const char *path, struct ch_cassette **out,
                       struct chela_error *err);
/* Calls still open are dropped; what was not played is worth a warning. */
void ch_cassette_close(struct ch_cassette *c);

struct ch_transport *ch_cassette_transport(struct ch_cassette *c);
bool ch_cassette_plays(const struct ch_cassette *c); /* NULL: no */

/* A text of this machine alone, and the word that stands for it in the file. */
void ch_cassette_hide(struct ch_cassette *c, const char *text, const char *word);

#endif
