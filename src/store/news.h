/* news.h -- what other processes did to a store that this one should look at.
 *
 * A thread listens on a connection of its own. News may be lost, when a connection breaks or
 * a pooler does not support them: who uses them looks from time to time, too. */
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
