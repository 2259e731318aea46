/* cassette.h -- record HTTP calls to a file, or replay them from one.
 *
 * A transport between the agent and the network, so that any protocol can be
 * recorded. Replaying uses no network and needs no key. Every request must
 * match a recorded one; a request that does not match fails with an error that
 * names the difference. tape.h describes the format. */
#ifndef CH_NET_CASSETTE_H
#define CH_NET_CASSETTE_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_cassette;

/* Record: calls go to the transport `inner`. The file is created anew, readable
 * only by its owner. */
int ch_cassette_record(struct ch_loop *loop, const char *path, struct ch_transport *inner,
                       struct ch_cassette **out, struct chela_error *err);
/* CHELA_ECONFIG: the file is not a cassette; the message names the line. */
int ch_cassette_replay(struct ch_loop *loop, const char *path, struct ch_cassette **out,
                       struct chela_error *err);
/* Drops open calls. Logs a warning if recorded calls were not replayed. */
void ch_cassette_close(struct ch_cassette *c);

struct ch_transport *ch_cassette_transport(struct ch_cassette *c);
/* Recording: calls that start from now on go to `inner`. Returns the transport before. */
struct ch_transport *ch_cassette_reach(struct ch_cassette *c, struct ch_transport *inner);
bool ch_cassette_plays(const struct ch_cassette *c); /* NULL: no */
/* True if c is played and holds a request to this URL. */
bool ch_cassette_has(const struct ch_cassette *c, const char *url);

/* Replace `text`, which is specific to this machine, by `word` in the file. */
void ch_cassette_hide(struct ch_cassette *c, const char *text, const char *word);

#endif
