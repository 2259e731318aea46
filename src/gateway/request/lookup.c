/* lookup.c -- see lookup.h. */
#include "gateway/request/lookup.h"

static void free_lookup(struct ch_lookup *l) {
    ch_buf_release(&l->out);
    ch_buf_release(&l->more);
    ch_free(l->found);
    ch_free(l->key);
    ch_free(l);
}

static void run(struct ch_work *w) {
    struct ch_lookup *l = CH_CONTAINER(w, struct ch_lookup, work);
    l->rc = l->ask(l, &l->err);
}

static void dropped(struct ch_work *w) {
    free_lookup(CH_CONTAINER(w, struct ch_lookup, work));
}

static void done(struct ch_work *w) {
    struct ch_lookup *l = CH_CONTAINER(w, struct ch_lookup, work);
    struct ch_visit *v = l->visit;
    if (v) {
        v->left = NULL;
        if (l->rc < 0)
            ch_visit_error(v, &l->err);
        else
            l->told(v, l);
    }
    free_lookup(l);
}

static void on_left(struct ch_visit *v) {
    struct ch_lookup *l = v->user;
    l->visit = NULL;
}

void ch_lookup(struct ch_visit *v, struct ch_sv key, int64_t number,
               int (*ask)(struct ch_lookup *l, struct chela_error *err),
               void (*told)(struct ch_visit *v, struct ch_lookup *l)) {
    if (!v->gw->store) {
        ch_visit_fail(v, 501, NULL, "this gateway keeps no sessions");
        return;
    }
    struct ch_lookup *l = ch_alloc(sizeof(*l));
    l->work = (struct ch_work){.run = run, .done = done, .dropped = dropped};
    l->visit = v;
    l->store = v->gw->store;
    l->key = key.p ? ch_strndup(key.p, key.n) : NULL;
    l->number = number;
    l->now = ch_now_ms(ch_loop_clock(v->gw->rt->loop));
    l->ask = ask;
    l->told = told;
    v->user = l;
    v->left = on_left;
    ch_work_submit(v->gw->rt->workers, &l->work);
}
