/* news.c -- see news.h. */
#include "store/news.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

#define RETRY_MS 2000

struct news_item {
    struct ch_link link;
    bool released;
    char key[];
};

struct ch_store_news {
    struct ch_loop *loop;
    chela_store *store;
    void (*fn)(const char *key, bool released, void *user);
    void *user;
    pthread_t thread;
    int stop; /* eventfd */
    pthread_mutex_t lock; /* protects the following members */
    struct ch_list items;
    size_t n;
    bool posted;
    struct ch_post post;
};

/* --- the thread */

/* Notifications beyond the limit are dropped: the next poll of the store finds the events. */
static void news_add(const char *key, int released, void *user) {
    struct ch_store_news *n = user;
    size_t size = strlen(key) + 1;

    pthread_mutex_lock(&n->lock);
    if (n->n < CH_LIMIT_NEWS && size <= CH_LIMIT_SESSION_KEY + 1) {
        struct news_item *i = ch_alloc(sizeof(*i) + size);
        i->released = released;
        memcpy(i->key, key, size);
        ch_list_add(&n->items, &i->link);
        n->n++;
    }
    if (!n->posted)
        ch_loop_post(n->loop, &n->post);
    n->posted = true;
    pthread_mutex_unlock(&n->lock);
}

static bool news_pause(const struct ch_store_news *n, int ms) {
    struct pollfd p = {.fd = n->stop, .events = POLLIN};

    return poll(&p, 1, ms) == 0;
}

static void *news_main(void *arg) {
    struct ch_store_news *n = arg;
    struct chela_store_db *db = NULL;
    CH_LOG_SCOPE(ch_loop_log(n->loop));

    while (news_pause(n, 0)) {
        struct chela_error err = {0};
        const char *note = NULL;
        int rc = db ? 0 : n->store->ops->open(n->store->target, 1, &db, &note, &err);
        if (rc == 0)
            rc = n->store->ops->hear(db, n->stop, news_add, n, &err);
        if (rc == 0)
            continue;
        ch_log(CH_LOG_INFO, "store", "no news: %s", err.message);
        news_pause(n, RETRY_MS);
    }
    if (db)
        n->store->ops->close(db);
    return NULL;
}

/* --- the loop's side */

static void news_deliver(struct ch_post *post) {
    struct ch_store_news *n = CH_CONTAINER(post, struct ch_store_news, post);
    struct news_item *i;

    do {
        pthread_mutex_lock(&n->lock);
        n->posted = false;
        i = CH_LIST_FIRST(&n->items, struct news_item, link);
        if (i) {
            ch_list_del(&i->link);
            n->n--;
            n->posted = n->n > 0;
        }
        bool more = n->posted;
        pthread_mutex_unlock(&n->lock);
        if (i)
            n->fn(i->key, i->released, n->user);
        ch_free(i);
        if (!more)
            return;
    } while (i);
}

struct ch_store_news *ch_store_news_new(struct ch_loop *loop, chela_store *store,
                                        void (*fn)(const char *key, bool released, void *user),
                                        void *user) {
    sigset_t all, before;

    if (!store->ops->hear)
        return NULL;
    struct ch_store_news *n = ch_alloc(sizeof(*n));
    n->loop = loop;
    n->store = store;
    n->fn = fn;
    n->user = user;
    n->post.fn = news_deliver;
    n->stop = eventfd(0, EFD_CLOEXEC);
    ch_list_init(&n->items);
    pthread_mutex_init(&n->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool started = n->stop >= 0 && pthread_create(&n->thread, NULL, news_main, n) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        return n;
    if (n->stop >= 0)
        close(n->stop);
    pthread_mutex_destroy(&n->lock);
    ch_free(n);
    return NULL;
}

void ch_store_news_free(struct ch_store_news *n) {
    uint64_t one = 1;

    if (!n)
        return;
    if (write(n->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
        pthread_join(n->thread, NULL);
    ch_loop_unpost(n->loop, &n->post);
    for (struct news_item *i; (i = CH_LIST_FIRST(&n->items, struct news_item, link));) {
        ch_list_del(&i->link);
        ch_free(i);
    }
    close(n->stop);
    pthread_mutex_destroy(&n->lock);
    ch_free(n);
}
