/* news.h -- notifications about changes that other processes make in a store.
 *
 * A thread listens on a separate connection. Notifications may be lost, if a connection
 * breaks or a pooler does not support them, so users also poll from time to time. */
#ifndef CH_STORE_NEWS_H
#define CH_STORE_NEWS_H
#include "io/loop.h"
#include "store/store.h"

struct ch_store_news;

/* fn is called on the loop: another process stored an event for the session, or released the
 * session while events wait. NULL: the store has no news. */
struct ch_store_news *ch_store_news_new(struct ch_loop *loop, chela_store *store,
                                        void (*fn)(const char *key, bool released, void *user),
                                        void *user);
void ch_store_news_free(struct ch_store_news *n); /* n may be NULL */

#endif
