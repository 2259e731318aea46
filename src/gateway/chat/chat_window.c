/* chat_window.c -- see chat_window.h.
 *
 * The age of a line counts from its arrival, on the monotonic clock: the clock of a service may be
 * wrong. One timer for each service forgets lines that no message asks for. */
#include "gateway/chat/chat_window.h"

#include "base/utf8.h"
#include "channel/arrival.h"

struct said_line {
    struct ch_link link;
    char *id, *sender_id, *sender, *text; /* owned; the first three may be NULL */
    size_t size;                          /* bytes of these texts */
    int64_t ts, heard;                    /* of the service; of our monotonic clock */
};

struct chat_window {
    struct ch_link link;  /* in the service's windows, the latest line last */
    char *chat, *thread;  /* owned; thread may be NULL */
    struct ch_list lines; /* oldest first */
    size_t nlines, size;
};

static int64_t window_mono(const struct ch_chat_service *chat) {
    return ch_mono_ms(ch_loop_clock(chat->gw->rt->loop));
}

static struct said_line *first_line(const struct chat_window *w) {
    return CH_LIST_FIRST(&w->lines, struct said_line, link);
}

static void forget_line(struct chat_window *w, struct said_line *l) {
    ch_list_del(&l->link);
    w->nlines--;
    w->size -= l->size;
    ch_free(l->id);
    ch_free(l->sender_id);
    ch_free(l->sender);
    ch_free(l->text);
    ch_free(l);
}

static void free_window(struct ch_chat_service *chat, struct chat_window *w) {
    for (struct said_line *l; (l = first_line(w));)
        forget_line(w, l);
    ch_list_del(&w->link);
    chat->nwindows--;
    ch_free(w->chat);
    ch_free(w->thread);
    ch_free(w);
}

void ch_chat_windows_release(struct ch_chat_service *chat) {
    ch_timer_stop(chat->gw->rt->loop, &chat->window_timer);
    for (struct chat_window *w; (w = CH_LIST_FIRST(&chat->windows, struct chat_window, link));)
        free_window(chat, w);
}

/* --- age */

static void drop_old_lines(const struct ch_chat_service *chat, struct chat_window *w) {
    int64_t oldest = window_mono(chat) - chat->channel->said_ms;
    for (struct said_line *l; (l = first_line(w)) && l->heard <= oldest;)
        forget_line(w, l);
}

static void window_on_timer(struct ch_timer *t) {
    struct ch_chat_service *chat = CH_CONTAINER(t, struct ch_chat_service, window_timer);
    int64_t first = INT64_MAX;
    struct ch_link *k = chat->windows.head.next, *next;
    for (; k != &chat->windows.head; k = next) {
        struct chat_window *w = CH_CONTAINER(k, struct chat_window, link);
        next = k->next;
        drop_old_lines(chat, w);
        if (!w->nlines)
            free_window(chat, w);
        else
            first = CH_MIN(first, first_line(w)->heard);
    }
    if (first != INT64_MAX)
        ch_timer_start(chat->gw->rt->loop, t,
                       CH_MAX(first + chat->channel->said_ms - window_mono(chat), 1),
                       window_on_timer);
}

/* --- hearing */

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A message that begins a topic of its own stands outside of topics. */
static const char *place_in(const struct chela_inbound *about) {
    return is_same(about->thread_id, about->message_id) ? NULL : about->thread_id;
}

static struct chat_window *window_find(const struct ch_chat_service *chat,
                                       const struct chela_inbound *about) {
    for (CH_LIST_EACH(k, &chat->windows)) {
        struct chat_window *w = CH_CONTAINER(k, struct chat_window, link);
        if (is_same(w->chat, about->chat_id) && is_same(w->thread, place_in(about)))
            return w;
    }
    return NULL;
}

static struct chat_window *window_need(struct ch_chat_service *chat,
                                       const struct chela_inbound *about) {
    struct chat_window *w = window_find(chat, about);
    if (w) {
        ch_list_del(&w->link);
        ch_list_add(&chat->windows, &w->link);
        return w;
    }
    if (chat->nwindows == CH_LIMIT_SAID_PLACES)
        free_window(chat, CH_LIST_FIRST(&chat->windows, struct chat_window, link));
    w = ch_alloc(sizeof(*w));
    w->chat = ch_strdup(about->chat_id);
    w->thread = ch_strdup(place_in(about));
    ch_list_init(&w->lines);
    ch_list_add(&chat->windows, &w->link);
    chat->nwindows++;
    return w;
}

static char *cut_dup(const char *text, size_t most, size_t *size) {
    if (!text || !*text)
        return NULL;
    struct ch_sv s = ch_utf8_cut(ch_sv_str(text), most);
    *size += s.n + 1;
    return ch_strndup(s.p, s.n);
}

static struct said_line *line_of(const struct chela_channel_arrival *in, int64_t now) {
    struct said_line *l = ch_alloc(sizeof(*l));
    const struct chela_inbound *about = &in->about;
    l->id = cut_dup(about->message_id, CH_LIMIT_INBOUND_ID, &l->size);
    l->sender_id = cut_dup(about->sender_id, CH_LIMIT_INBOUND_ID, &l->size);
    l->sender = cut_dup(about->sender, CH_LIMIT_INBOUND_NAME, &l->size);
    l->text = cut_dup(in->text, CH_LIMIT_SAID_TEXT, &l->size);
    l->ts = about->ts;
    l->heard = now;
    return l;
}

void ch_chat_window_hear(const struct chela_channel_arrival *in, void *user) {
    struct ch_chat_service *chat = user;
    const struct ch_channel *c = chat->channel;
    if (!c || !c->said_lines || !c->said_ms || !in->text || !*in->text || !in->about.chat_id)
        return;
    struct chat_window *w = window_need(chat, &in->about);
    struct said_line *l = line_of(in, window_mono(chat));
    while (w->nlines && (w->nlines >= c->said_lines || w->size + l->size > CH_LIMIT_SAID_BYTES))
        forget_line(w, first_line(w));
    ch_list_add(&w->lines, &l->link);
    w->nlines++;
    w->size += l->size;
    if (!ch_timer_armed(&chat->window_timer))
        ch_timer_start(chat->gw->rt->loop, &chat->window_timer, c->said_ms, window_on_timer);
}

/* --- taking */

static const char *window_keep(struct ch_chat_event *e, const char *text) {
    return text ? ch_arena_str(&e->arena, ch_sv_str(text)) : NULL;
}

/* Lines that were said after the event stay. */
void ch_chat_window_take(struct ch_chat_event *e) {
    const struct chela_inbound *about = &e->in.about;
    struct chat_window *w = window_find(e->chat, about);
    if (!w || (about->group && about->group->said))
        return;
    drop_old_lines(e->chat, w);
    struct chela_said *said = ch_arena_zalloc(&e->arena, (w->nlines + 1) * sizeof(*said));
    size_t n = 0;
    struct ch_link *k = w->lines.head.next, *next;
    for (; k != &w->lines.head; k = next) {
        struct said_line *l = CH_CONTAINER(k, struct said_line, link);
        next = k->next;
        if (about->ts && l->ts > about->ts)
            continue;
        said[n++] = (struct chela_said){.message_id = window_keep(e, l->id),
                                        .sender_id = window_keep(e, l->sender_id),
                                        .sender = window_keep(e, l->sender),
                                        .text = window_keep(e, l->text),
                                        .ts = l->ts};
        forget_line(w, l);
    }
    if (!w->nlines)
        free_window(e->chat, w);
    if (!n)
        return;
    struct chela_group *g = ch_arrival_group(&e->in, &e->arena);
    g->said = said;
    g->nsaid = n;
}
