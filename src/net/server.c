/* server.c -- see server.h: listening, and which clients may stay connected.
 *
 * The limit on open files is shared with the whole process, so some descriptors
 * are reserved: many clients must not keep an agent from opening a file. */
#include "net/server.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/exchange.h"

#define BACKLOG 511
#define FILES_KEPT 128 /* descriptors not used for clients; half of them if there are few */

/* --- which clients may stay */

static size_t room_for_clients(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur > CH_LIMIT_CLIENTS + FILES_KEPT)
        return CH_LIMIT_CLIENTS;
    size_t n = (size_t)files.rlim_cur;
    return n > 2 * FILES_KEPT ? n - FILES_KEPT : n / 2;
}

void ch_server_known(struct ch_client *c) {
    if (!c->waiting.next)
        return;
    ch_list_del(&c->waiting);
    c->server->nunknown--;
}

/* Has the client sent bytes that were not read yet? Its request may be among them. */
static bool has_unread(const struct ch_client *c) {
    uv_os_fd_t fd;
    int n = 0;
    return uv_fileno((const uv_handle_t *)&c->wire.tcp, &fd) == 0 && ioctl(fd, FIONREAD, &n) == 0 &&
           n > 0;
}

/* The oldest client of the address without an accepted request, if there are
 * too many of them; else NULL. Clients with an accepted request do not count:
 * the address may be a proxy for many. */
static struct ch_client *one_too_many(const struct ch_server *s, const unsigned char network[16]) {
    struct ch_client *oldest = NULL;
    size_t n = 0;
    if (s->nunknown <= CH_LIMIT_CLIENTS_ADDRESS)
        return NULL;
    for (CH_LIST_EACH(k, &s->unknown)) {
        struct ch_client *c = CH_CONTAINER(k, struct ch_client, waiting);
        if (c->trusted || memcmp(c->network, network, sizeof(c->network)) != 0)
            continue;
        n++;
        if (!oldest && !has_unread(c))
            oldest = c;
    }
    return n > CH_LIMIT_CLIENTS_ADDRESS ? oldest : NULL;
}

/* The oldest client from which everything was read; else, if descriptors are
 * short, the oldest one. */
static struct ch_client *oldest_unknown(const struct ch_server *s) {
    for (CH_LIST_EACH(k, &s->unknown)) {
        struct ch_client *c = CH_CONTAINER(k, struct ch_client, waiting);
        if (!has_unread(c))
            return c;
    }
    return s->nclients > s->room ? CH_LIST_FIRST(&s->unknown, struct ch_client, waiting) : NULL;
}

/* Clients without a request in progress may stay while there is room; otherwise
 * the oldest of them is dropped. After a pause of the process many requests lie
 * unread: these clients stay until their requests were read. */
void ch_server_unknown(struct ch_client *c) {
    struct ch_server *s = c->server;
    ch_list_add(&s->unknown, &c->waiting);
    s->nunknown++;
    for (int i = 0; i < 2; i++) { /* two, so that a surplus shrinks */
        struct ch_client *goes = one_too_many(s, c->network);
        if (s->nunknown > CH_LIMIT_CLIENTS_UNKNOWN || s->nclients > s->room)
            goes = oldest_unknown(s);
        if (!goes)
            return;
        bool itself = goes == c;
        goes->ops->drop(goes);
        if (itself)
            return;
    }
}

void ch_server_forget(struct ch_client *c) {
    ch_server_known(c);
    ch_list_del(&c->link);
    c->server->nclients--;
}

/* --- accepting */

static bool is_mapped(const unsigned char ip[16]) {
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(ip, mapped, sizeof(mapped)) == 0;
}

static void keep_address(struct ch_client *c) {
    struct sockaddr_storage a = {0};
    int n = sizeof(a);
    const struct sockaddr_in6 *six = (const void *)&a;
    const struct sockaddr_in *four = (const void *)&a;
    if (uv_tcp_getpeername(&c->wire.tcp, (struct sockaddr *)&a, &n) < 0)
        return;
    if (a.ss_family == AF_INET6) {
        memcpy(c->from, &six->sin6_addr, 16);
    } else {
        memset(c->from + 10, 0xff, 2);
        memcpy(c->from + 12, &four->sin_addr, 4);
    }
    memcpy(c->network, c->from, is_mapped(c->from) ? 16 : 8);
}

const char *ch_server_peer(struct ch_client *c) {
    char *to = c->server->peer;
    bool four = is_mapped(c->from);
    if (!inet_ntop(four ? AF_INET : AF_INET6, c->from + (four ? 12 : 0), to, INET6_ADDRSTRLEN))
        *to = '\0';
    return to;
}

const char *ch_exchange_peer(struct ch_exchange *x) {
    return ch_server_peer(x->client);
}

const unsigned char *ch_exchange_network(const struct ch_exchange *x) {
    return x->client->network;
}

static void on_connection(uv_stream_t *listener, int status) {
    struct ch_server *s = listener->data;
    CH_LOOP_CALLBACK(s->loop);
    struct chela_error err = {0};
    if (status < 0) {
        ch_log(CH_LOG_WARN, "server", "cannot accept a connection: %s", uv_strerror(status));
        return;
    }
    if (s->draining)
        return;
    struct ch_client *c = ch_h1_new(s);
    s->handles++;
    s->nclients++;
    ch_list_add(&s->clients, &c->link);
    if (ch_h1_accept(c, &err) < 0) {
        ch_log(CH_LOG_WARN, "server", "cannot serve a connection: %s", err.message);
        return;
    }
    keep_address(c);
    ch_server_unknown(c);
}

/* --- creating and closing */

static void free_server(struct ch_server *s) {
    ch_identity_unref(s->identity);
    ch_free(s->address);
    ch_free(s->bytes);
    ch_free(s->frames);
    ch_free(s);
}

static void closed_one(struct ch_server *s) {
    if (--s->handles == 0 && s->closed)
        free_server(s);
}

void ch_server_closed(struct ch_client *c) {
    struct ch_server *s = c->server;
    ch_free(c);
    closed_one(s);
}

static int server_read_address(const char *text, struct sockaddr_storage *out,
                               struct chela_error *err) {
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port = colon && colon[1] ? strtol(colon + 1, &end, 10) : -1;
    if (port < 0 || port > 65535 || *end || colon == text)
        return ch_fail(err, CHELA_EINVAL, "'%s' is not a listen address: use HOST:PORT", text);
    bool bracketed = text[0] == '[' && colon[-1] == ']';
    CH_AUTOFREE char *host = bracketed ? ch_strndup(text + 1, (size_t)(colon - text) - 2)
                                       : ch_strndup(text, (size_t)(colon - text));
    const char *ip = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (bracketed ? uv_ip6_addr(ip, (int)port, (struct sockaddr_in6 *)out) == 0
                  : uv_ip4_addr(ip, (int)port, (struct sockaddr_in *)out) == 0)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "'%s' is not a listen address: the host is an IP address ([::1] for IPv6) "
                   "or localhost",
                   text);
}

static char *server_name_of(const struct sockaddr_storage *a) {
    char ip[INET6_ADDRSTRLEN] = "";
    CH_BUF_AUTO out = {0};
    const struct sockaddr_in6 *six = (const void *)a;
    const struct sockaddr_in *four = (const void *)a;
    if (a->ss_family == AF_INET6) {
        uv_ip6_name(six, ip, sizeof(ip));
        ch_buf_addf(&out, "[%s]:%d", ip, ntohs(six->sin6_port));
    } else {
        uv_ip4_name(four, ip, sizeof(ip));
        ch_buf_addf(&out, "%s:%d", ip, ntohs(four->sin_port));
    }
    return ch_buf_take(&out);
}

static void on_listener_closed(uv_handle_t *h) {
    closed_one(h->data);
}

/* The descriptor number of an inherited socket, "fd:3"; -1 if listen has
 * another form. */
static int handed_down(const char *listen) {
    char *end;
    long fd = strncmp(listen, "fd:", 3) == 0 ? strtol(listen + 3, &end, 10) : -1;
    return fd > 2 && fd < CH_LIMIT_CLIENTS && !*end ? (int)fd : -1;
}

static int begin_listening(struct ch_server *s, const struct sockaddr_storage *a,
                           struct chela_error *err) {
    struct sockaddr_storage real = {0};
    int n = sizeof(real);
    int fd = handed_down(s->opts.listen);
    int rc = fd < 0 ? uv_tcp_bind(&s->tcp, (const struct sockaddr *)a, 0)
                    : uv_tcp_open(&s->tcp, fd);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&s->tcp, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&real, &n);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "cannot listen at %s: %s", s->opts.listen, uv_strerror(rc));
    s->address = server_name_of(&real);
    return 0;
}

int ch_server_new(struct ch_loop *loop, const struct ch_server_opts *opts, struct ch_server **out,
                  struct chela_error *err) {
    struct sockaddr_storage address = {0};
    int rc = handed_down(opts->listen) < 0 ? server_read_address(opts->listen, &address, err) : 0;
    if (rc < 0)
        return rc;
    struct ch_server *s = ch_alloc(sizeof(*s));
    s->loop = loop;
    s->opts = *opts;
    s->room = room_for_clients();
    s->bytes = ch_malloc(CH_WIRE_READ);
    ch_list_init(&s->clients);
    ch_list_init(&s->unknown);
    uv_tcp_init(ch_loop_uv(loop), &s->tcp);
    s->tcp.data = s;
    s->handles = 1;
    rc = begin_listening(s, &address, err);
    if (rc < 0)
        ch_server_close(s);
    else
        *out = s;
    return rc;
}

const char *ch_server_address(const struct ch_server *s) {
    return s->address;
}

size_t ch_server_clients(const struct ch_server *s) {
    return s->nclients;
}

static int may_speak_h2(void *user) {
    return ch_h2_available(user);
}

void ch_server_identify(struct ch_server *s, struct ch_identity *id) {
    ch_identity_unref(s->identity);
    s->identity = id;
    if (id)
        ch_identity_offer_h2(id, may_speak_h2, s);
}

static void close_listener(struct ch_server *s) {
    if (!uv_is_closing((uv_handle_t *)&s->tcp))
        uv_close((uv_handle_t *)&s->tcp, on_listener_closed);
}

void ch_server_drain(struct ch_server *s) {
    s->draining = true;
    close_listener(s);
    struct ch_link *k = s->clients.head.next, *next;
    for (; k != &s->clients.head; k = next) {
        struct ch_client *c = CH_CONTAINER(k, struct ch_client, link);
        next = k->next;
        c->ops->drain(c);
    }
}

void ch_server_close(struct ch_server *s) {
    if (!s)
        return;
    s->closed = true;
    for (struct ch_client *c; (c = CH_LIST_FIRST(&s->clients, struct ch_client, link));)
        c->ops->drop(c);
    close_listener(s);
    if (s->handles == 0) /* already drained, and everything is closed */
        free_server(s);
}

