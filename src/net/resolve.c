/* resolve.c -- see resolve.h.
 *
 * One record per name. During a lookup libuv uses the record too: if the
 * resolver is freed first, the record is freed when its lookup ends. */
#include "net/resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <strings.h>
#include <uv.h>

#include "base/mem.h"

#define UV_THREADS 4 /* of libuv, unless UV_THREADPOOL_SIZE is set */

struct record {
    uv_getaddrinfo_t req;
    struct ch_resolver *owner; /* NULL: the resolver is freed */
    struct record *next;
    char *host; /* owned */
    struct ch_name_lookup *waiting;
    bool busy; /* lookup in progress, or callbacks being called */
    int64_t known_since;
    struct ch_addresses list;
};

struct ch_resolver {
    struct ch_loop *loop;
    struct record *records; /* owned, newest first */
    bool able;              /* libuv can start its threads, or has started them */
};

static void free_record(struct record *rec) {
    ch_free(rec->host);
    ch_free(rec);
}

struct ch_resolver *ch_resolver_new(struct ch_loop *loop) {
    struct ch_resolver *r = ch_alloc(sizeof(*r));
    r->loop = loop;
    return r;
}

void ch_resolver_free(struct ch_resolver *r) {
    if (!r)
        return;
    for (struct record *rec; (rec = r->records);) {
        r->records = rec->next;
        rec->owner = NULL;
        if (rec->busy)
            uv_cancel((uv_req_t *)&rec->req);
        else
            free_record(rec);
    }
    ch_free(r);
}

static void resolve_wait_for(struct record *rec, struct ch_name_lookup *l) {
    l->link = &rec->waiting;
    l->next = rec->waiting;
    if (l->next)
        l->next->link = &l->next;
    rec->waiting = l;
}

void ch_lookup_cancel(struct ch_name_lookup *l) {
    if (!l->link)
        return;
    *l->link = l->next;
    if (l->next)
        l->next->link = l->link;
    l->link = NULL;
}

static bool resolve_usable(const struct addrinfo *a) {
    return a->ai_family == AF_INET || a->ai_family == AF_INET6;
}

static const struct addrinfo *resolve_next_of(const struct addrinfo *a, bool same, int family) {
    while (a && !(resolve_usable(a) && (a->ai_family == family) == same))
        a = a->ai_next;
    return a;
}

/* Keep the system's order within a family, and alternate between the two
 * families. */
static void resolve_keep(struct ch_addresses *list, const struct addrinfo *all) {
    int first = all->ai_family;
    const struct addrinfo *side[2] = {resolve_next_of(all, true, first),
                                      resolve_next_of(all, false, first)};

    list->n = 0;
    for (unsigned turn = 0; list->n < CH_LIMIT_ADDRESSES && (side[0] || side[1]); turn++) {
        const struct addrinfo **from = &side[turn % 2];
        if (!*from)
            continue;
        memcpy(&list->at[list->n++], (*from)->ai_addr, (*from)->ai_addrlen);
        *from = resolve_next_of((*from)->ai_next, turn % 2 == 0, first);
    }
}

/* Remove the record from the list; it may still be busy. */
static void resolve_drop(struct ch_resolver *r, struct record *rec) {
    struct record **at = &r->records;
    while (*at != rec)
        at = &(*at)->next;
    *at = rec->next;
    rec->owner = NULL;
    if (!rec->busy)
        free_record(rec);
}

static void resolve_tell(struct record *rec, int error) {
    for (struct ch_name_lookup *l; (l = rec->waiting);) {
        ch_lookup_cancel(l);
        l->fn(l, error ? NULL : &rec->list, error);
    }
}

static void resolve_on_answer(uv_getaddrinfo_t *req, int status, struct addrinfo *all) {
    struct record *rec = CH_CONTAINER(req, struct record, req);
    CH_LOOP_CALLBACK(rec->owner ? rec->owner->loop : NULL);

    if (status == 0 && all)
        resolve_keep(&rec->list, all);
    uv_freeaddrinfo(all);
    if (status == 0 && rec->list.n == 0)
        status = UV_EAI_NODATA;
    if (rec->owner)
        rec->known_since = ch_mono_ms(ch_loop_clock(rec->owner->loop));
    resolve_tell(rec, status);
    rec->busy = false;
    if (!rec->owner)
        free_record(rec);
    else if (status < 0)
        resolve_drop(rec->owner, rec);
}

static struct record *resolve_find(struct ch_resolver *r, const char *host) {
    struct record *rec = r->records;
    while (rec && strcasecmp(rec->host, host) != 0)
        rec = rec->next;
    return rec;
}

static bool fresh(const struct ch_resolver *r, const struct record *rec) {
    return ch_mono_ms(ch_loop_clock(r->loop)) - rec->known_since < CH_DEFAULT_DNS_MS;
}

static void resolve_make_room(struct ch_resolver *r) {
    struct record *oldest = NULL;
    size_t n = 0;
    for (struct record *rec = r->records; rec; rec = rec->next, n++)
        if (!rec->busy)
            oldest = rec;
    if (n >= CH_LIMIT_DNS_NAMES && oldest)
        resolve_drop(r, oldest);
}

static void *resolve_pass(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* libuv starts its threads with the first lookup of the process, and aborts if one of them cannot
 * be started: a limit of processes or tasks counts threads. */
static bool resolve_can_start_threads(void) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[UV_THREADS];
    size_t n = 0, wanted = UV_THREADS;

    pthread_mutex_lock(&gate);
    while (n < wanted && pthread_create(&threads[n], NULL, resolve_pass, &gate) == 0)
        n++;
    pthread_mutex_unlock(&gate);
    wanted -= n;
    while (n > 0)
        pthread_join(threads[--n], NULL);
    return wanted == 0;
}

static int resolve_begin(struct ch_resolver *r, const char *host, struct record **out) {
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    r->able = r->able || resolve_can_start_threads();
    if (!r->able)
        return UV_EAGAIN;
    struct record *rec = ch_alloc(sizeof(*rec));
    rec->host = ch_strdup(host);
    int rc = uv_getaddrinfo(ch_loop_uv(r->loop), &rec->req, resolve_on_answer, host, NULL, &hints);
    if (rc < 0) {
        free_record(rec);
        return rc;
    }
    resolve_make_room(r);
    rec->busy = true;
    rec->owner = r;
    rec->next = r->records;
    r->records = rec;
    *out = rec;
    return 0;
}

int ch_resolver_ask(struct ch_resolver *r, const char *host, struct ch_name_lookup *l,
                    const struct ch_addresses **out) {
    struct record *rec = resolve_find(r, host);

    *out = NULL;
    if (rec && !rec->busy && !fresh(r, rec)) {
        resolve_drop(r, rec);
        rec = NULL;
    }
    if (rec && !rec->busy) {
        *out = &rec->list;
        return 0;
    }
    int rc = rec ? 0 : resolve_begin(r, host, &rec);
    if (rc == 0)
        resolve_wait_for(rec, l);
    return rc;
}

void ch_resolver_forget(struct ch_resolver *r, const char *host) {
    struct record *rec = resolve_find(r, host);
    if (rec && !rec->busy)
        resolve_drop(r, rec);
}
