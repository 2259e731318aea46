/* discord_rest.c -- the REST API.
 *
 * The service limits calls by route and in total. The headers of a response give the
 * remaining calls of its route and the time until the limit resets; a call that would exceed
 * the limit waits here. If the service refuses a call with 429 nevertheless, the call is
 * reported as uncertain, with the delay. */
#include "channel/discord/discord_rest.h"

#include "base/checksum.h"
#include "json/number.h"

#define A_SECOND 45 /* calls; the service permits 50 */

struct rest_call {
    struct ch_link link; /* in calls, or in waiting */
    struct ch_discord *d;
    uint32_t key;               /* of the route */
    char *method, *path, *type; /* owned */
    struct ch_buf body;
    bool once;
    ch_discord_fn *fn;
    void *user;
};

static void rest_free(struct rest_call *c) {
    ch_list_del(&c->link);
    ch_buf_release(&c->body);
    ch_free(c->method);
    ch_free(c->path);
    ch_free(c->type);
    ch_free(c);
}

/* --- limits */

/* The method and the path up to its third part: "channels/1/messages". */
static uint32_t rest_key(const char *method, const char *path) {
    size_t n = 0;
    CH_BUF_AUTO text = {0};
    for (unsigned parts = 0; path[n] && path[n] != '?'; n++)
        if (path[n] == '/' && ++parts == 3)
            break;
    ch_buf_addf(&text, "%s %.*s", method, (int)n, path);
    return ch_checksum(0, text.p, text.n) | 1;
}

static struct ch_discord_route *rest_route(struct ch_discord *d, uint32_t key) {
    for (size_t i = 0; i < CH_DISCORD_ROUTES; i++)
        if (d->routes[i].key == key)
            return &d->routes[i];
    return NULL;
}

static struct ch_discord_route *rest_make_route(struct ch_discord *d, uint32_t key) {
    struct ch_discord_route *r = rest_route(d, key);
    int64_t now = ch_discord_now(d);
    for (size_t i = 0; !r && i < CH_DISCORD_ROUTES; i++)
        if (d->routes[i].reset <= now)
            r = &d->routes[i];
    r = r ? r : &d->routes[d->next_route++ % CH_DISCORD_ROUTES];
    if (r->key != key)
        *r = (struct ch_discord_route){.key = key};
    return r;
}

/* How long a call of the route must wait, in ms. */
static int64_t rest_wait(struct ch_discord *d, uint32_t key) {
    struct ch_discord_route *r = rest_route(d, key);
    int64_t now = ch_discord_now(d), until = d->all_until;
    if (d->second != now / 1000) {
        d->second = now / 1000;
        d->in_second = 0;
    }
    if (d->in_second >= A_SECOND)
        until = CH_MAX(until, 1000 * (d->second + 1));
    if (r && r->reset <= now)
        r->left = r->limit;
    if (r && r->reset > now && r->left <= 0)
        until = CH_MAX(until, r->reset);
    return CH_MAX(until - now, 0);
}

static double rest_number(const struct chela_channel_response *r, const char *name) {
    struct ch_sv s = ch_kit_sv(r->header(r, name));
    char digits[32];
    if (!s.n || s.n >= sizeof(digits))
        return -1;
    memcpy(digits, s.p, s.n);
    digits[s.n] = '\0';
    double n = ch_number_strtod(digits, NULL);
    return n >= 0 && n < 1e6 ? n : -1;
}

/* The delay that a response asks for, and the limit of its route. */
static int64_t rest_learn(struct ch_discord *d, uint32_t key,
                          const struct chela_channel_response *r, const struct ch_json *json) {
    double left = rest_number(r, "x-ratelimit-remaining"),
           after = rest_number(r, "x-ratelimit-reset-after"),
           limit = rest_number(r, "x-ratelimit-limit");
    int64_t now = ch_discord_now(d), wait_ms = ch_kit_retry_after(r);
    if (left >= 0 && after >= 0) {
        struct ch_discord_route *route = rest_make_route(d, key);
        route->limit = CH_MAX((int64_t)limit, 1);
        route->left = (int64_t)left;
        route->reset = now + (int64_t)(1000 * after) + 1;
    }
    if (r->status != 429)
        return wait_ms;
    double said = ch_json_double(ch_json_get(json, "retry_after"), -1);
    if (said >= 0 && said < 1e6)
        wait_ms = (int64_t)(1000 * said) + 1;
    wait_ms = CH_MAX(wait_ms, 250);
    if (ch_json_bool(ch_json_get(json, "global"), false) || r->header(r, "x-ratelimit-global").p) {
        d->all_until = now + wait_ms;
    } else {
        struct ch_discord_route *route = rest_make_route(d, key);
        route->limit = CH_MAX(route->limit, 1);
        route->left = 0;
        route->reset = now + wait_ms;
    }
    return wait_ms;
}

/* --- calls */

static void rest_judge(const struct chela_channel_response *r, struct ch_arena *a,
                       struct ch_discord_answer *out) {
    struct ch_sv said = ch_json_get_str(out->json, "message");
    int64_t code = ch_json_int(ch_json_get(out->json, "code"), 0);
    out->status = r->status;
    if (!r->why && r->status >= 200 && r->status <= 299) {
        out->what = CHELA_RECEIPT_SENT;
        return;
    }
    bool passes = r->why || r->status == 429 || r->status == 401 || r->status == 408 ||
                  r->status < 200 || r->status >= 500;
    out->what = passes ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED;
    out->why = r->why   ? r->why
               : said.n ? ch_arena_printf(a, "%.*s (%lld)", CH_SV_FMT(said), (long long)code)
                        : ch_arena_printf(a, "the service answered with status %d", r->status);
}

static void rest_release(void *tag);

static void rest_on_answer(const struct chela_channel_response *r, void *tag) {
    struct rest_call *c = tag;
    struct ch_discord *d = c->d;
    ch_discord_fn *fn = c->fn;
    void *user = c->user;
    uint32_t key = c->key;
    CH_ARENA_AUTO arena = {0};
    struct ch_discord_answer a = {0};
    rest_free(c);
    if (r->why || !r->body.n ||
        ch_json_parse(&arena, ch_kit_sv(r->body), CH_JSON_REPLACE, &a.json, NULL, NULL) < 0)
        a.json = NULL;
    a.wait_ms = rest_learn(d, key, r, a.json);
    rest_judge(r, &arena, &a);
    if (fn)
        fn(&a, user);
}

static void rest_send(struct rest_call *c) {
    struct ch_discord *d = c->d;
    struct ch_discord_route *route = rest_route(d, c->key);
    CH_BUF_AUTO url = {0};
    const char *headers[] = {"Authorization",
                             d->bearer,
                             "Content-Type",
                             c->type ? c->type : "application/json",
                             "User-Agent",
                             "DiscordBot (chela, " CHELA_VERSION ")",
                             NULL};
    if (route)
        route->left--;
    d->in_second++;
    ch_list_del(&c->link);
    ch_list_add(&d->calls, &c->link);
    ch_buf_addf(&url, "%s%s", d->api, c->path);
    d->host->http(&(struct chela_channel_request){.method = c->method,
                                                  .url = ch_buf_str(&url),
                                                  .headers = headers,
                                                  .body = c->body.p,
                                                  .n = c->body.n,
                                                  .wait_ms = c->body.n > 65536 ? 120000 : 0,
                                                  .once = c->once},
                  rest_on_answer, c, d->host->user);
}

/* Sends the calls that need not wait any more, in order. */
static void rest_release(void *tag) {
    struct ch_discord *d = tag;
    struct ch_link *k, *next;
    int64_t soonest = 0;
    for (k = d->waiting.head.next; k != &d->waiting.head; k = next) {
        struct rest_call *c = CH_CONTAINER(k, struct rest_call, link);
        int64_t ms = rest_wait(d, c->key);
        next = k->next;
        if (!ms)
            rest_send(c);
        else
            soonest = soonest ? CH_MIN(soonest, ms) : ms;
    }
    if (soonest)
        d->host->timer_start(&d->release, soonest, rest_release, d, d->host->user);
}

void ch_discord_call(struct ch_discord *d, const struct ch_discord_call *in, ch_discord_fn *fn,
                     void *user) {
    uint32_t key = rest_key(in->method, in->path);
    if (in->brief && rest_wait(d, key))
        return;
    struct rest_call *c = ch_alloc(sizeof(*c));
    bool get = strcmp(in->method, "GET") == 0;
    c->d = d;
    c->key = key;
    c->method = ch_strdup(in->method);
    c->path = ch_strdup(in->path);
    c->type = ch_strdup(in->type);
    ch_buf_init(&c->body, in->body.n + 2);
    ch_buf_add_sv(&c->body, in->body.n || get ? in->body : CH_SV("{}"));
    c->once = in->once;
    c->fn = fn;
    c->user = user;
    ch_list_add(&d->waiting, &c->link);
    rest_release(d);
}

void ch_discord_calls_release(struct ch_discord *d) {
    struct ch_list *lists[] = {&d->calls, &d->waiting};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        for (struct rest_call *c; (c = CH_LIST_FIRST(lists[i], struct rest_call, link));)
            rest_free(c);
}
