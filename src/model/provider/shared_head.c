/* shared_head.c -- see shared_head.h. */
#include "model/provider/shared_head.h"

#include "base/arena.h"

struct ch_shared_head {
    size_t refs;
    const char *url;
    struct ch_header *headers;
    size_t n;
    struct ch_arena arena; /* all of the above */
};

static bool is_same(const struct ch_shared_head *h, const struct ch_http_request *req) {
    if (!h || h->n != req->nheaders || strcmp(h->url, req->url) != 0)
        return false;
    for (size_t i = 0; i < h->n; i++)
        if (!ch_sv_eq(h->headers[i].name, req->headers[i].name) ||
            !ch_sv_eq(h->headers[i].value, req->headers[i].value))
            return false;
    return true;
}

static struct ch_shared_head *copy(const struct ch_http_request *req) {
    struct ch_shared_head *h = ch_alloc(sizeof(*h));

    h->refs = 1;
    h->n = req->nheaders;
    h->headers = ch_arena_alloc(&h->arena, h->n * sizeof(*h->headers));
    for (size_t i = 0; i < h->n; i++)
        h->headers[i] = (struct ch_header){ch_arena_sv(&h->arena, req->headers[i].name),
                                           ch_arena_sv(&h->arena, req->headers[i].value)};
    h->url = ch_arena_str(&h->arena, ch_sv_str(req->url));
    return h;
}

void ch_shared_head(struct ch_shared_head **own, struct ch_shared_head **last,
                    struct ch_http_request *req) {
    if (!is_same(*last, req)) {
        ch_shared_head_release(*last);
        *last = copy(req);
    }
    (*last)->refs++;
    ch_shared_head_release(*own);
    *own = *last;
    req->url = (*last)->url;
    req->headers = (*last)->headers;
}

void ch_shared_head_release(struct ch_shared_head *h) {
    if (!h || --h->refs)
        return;
    ch_arena_release(&h->arena);
    ch_free(h);
}
