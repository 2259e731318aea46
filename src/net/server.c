/* server.c -- see server.h: listening, and which clients may stay connected.
 *
 * The limit on open files is shared with the whole process, so some descriptors
 * are reserved: many clients must not keep an agent from opening a file. */
#include "net/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/exchange.h"

#define BACKLOG 511
#define FD "fd:" /* prefix of an address */
#define RELAYED 1 /* the byte of a connection that another worker passed on */
#define TURN 2    /* a byte without a connection: this worker accepts connections */
#define TURN_OVER 't' /* to the other process: another worker shall accept them */
#define TURN_CONNECTIONS 16 /* accepted in a turn, at most */
#define TURN_SHARE 8 /* a turn has at most this part of the connections accepted before */
#define FILES_KEPT 128 /* descriptors not used for clients; half of them if there are few */

/* --- which clients may stay */

static size_t room_for_clients(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur > CH_LIMIT_CLIENTS + FILES_KEPT)
        return CH_LIMIT_CLIENTS;
    size_t n = (size_t)files.rlim_cur;
    return n > 2 * FILES_KEPT ? n - FILES_KEPT : n / 2;
}

static void client_stand(struct ch_client *c, enum ch_standing to) {
    struct ch_server *s = c->server;
    if (c->standing == to)
        return;
    ch_list_del(&c->among);
    s->nunknown -= c->standing == CH_CLIENT_UNKNOWN;
    s->nbusy -= c->standing == CH_CLIENT_BUSY;
    c->standing = to;
    s->nunknown += to == CH_CLIENT_UNKNOWN;
    s->nbusy += to == CH_CLIENT_BUSY;
    if (to != CH_CLIENT_APART)
        ch_list_add(to == CH_CLIENT_BUSY ? &s->busy : &s->unknown, &c->among);
}

void ch_server_known(struct ch_client *c) {
    client_stand(c, c->trusted ? CH_CLIENT_APART : CH_CLIENT_BUSY);
}

void ch_exchange_trust(struct ch_exchange *x) {
    x->client->trusted = true;
    if (x->client->standing == CH_CLIENT_BUSY)
        client_stand(x->client, CH_CLIENT_APART);
}

bool ch_client_has_unread(const struct ch_client *c) {
    uv_os_fd_t fd;
    int n = 0;
    return uv_fileno((const uv_handle_t *)&c->wire.tcp, &fd) == 0 && ioctl(fd, FIONREAD, &n) == 0 &&
           n > 0;
}

bool ch_server_admit(struct ch_client *c) {
    const struct ch_server *s = c->server;
    struct ch_client *oldest = NULL;
    size_t n = 0;
    if (c->trusted || s->nbusy < CH_LIMIT_CLIENTS_ADDRESS)
        return true;
    for (CH_LIST_EACH(k, &s->busy)) {
        struct ch_client *other = CH_CONTAINER(k, struct ch_client, among);
        if (other == c || memcmp(other->network, c->network, sizeof(c->network)) != 0)
            continue;
        oldest = oldest || other->served || ch_client_has_unread(other) ? oldest : other;
        n++;
    }
    if (n < CH_LIMIT_CLIENTS_ADDRESS)
        return true;
    if (oldest)
        oldest->ops->drop(oldest);
    return oldest != NULL;
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
        struct ch_client *c = CH_CONTAINER(k, struct ch_client, among);
        if (c->trusted || memcmp(c->network, network, sizeof(c->network)) != 0)
            continue;
        n++;
        if (!oldest && !ch_client_has_unread(c))
            oldest = c;
    }
    return n > CH_LIMIT_CLIENTS_ADDRESS ? oldest : NULL;
}

/* The oldest client from which everything was read; else, if descriptors are
 * short, the oldest one. */
static struct ch_client *oldest_unknown(const struct ch_server *s) {
    for (CH_LIST_EACH(k, &s->unknown)) {
        struct ch_client *c = CH_CONTAINER(k, struct ch_client, among);
        if (!ch_client_has_unread(c))
            return c;
    }
    return s->nclients > s->room ? CH_LIST_FIRST(&s->unknown, struct ch_client, among) : NULL;
}

/* Clients without a request in progress may stay while there is room; otherwise
 * the oldest of them is dropped. After a pause of the process many requests lie
 * unread: these clients stay until their requests were read. */
void ch_server_unknown(struct ch_client *c) {
    struct ch_server *s = c->server;
    client_stand(c, CH_CLIENT_UNKNOWN);
    c->served = false;
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
    client_stand(c, CH_CLIENT_APART);
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
    struct sockaddr_in *four = (void *)&a;
    if (c->relayed)
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (uv_tcp_getpeername(&c->wire.tcp, (struct sockaddr *)&a, &n) < 0)
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

/* fd -1: the connection that libuv has accepted */
static void server_take_connection(struct ch_server *s, int fd, bool relayed) {
    struct chela_error err = {0};
    struct ch_client *c = ch_h1_new(s);
    c->relayed = c->trusted = relayed;
    s->handles++;
    s->nclients++;
    ch_list_add(&s->clients, &c->link);
    if (s->opts.taken)
        atomic_fetch_add(s->opts.taken, 1);
    if (ch_h1_accept(c, fd, &err) < 0) {
        ch_log(CH_LOG_WARN, "server", "cannot serve a connection: %s", err.message);
        return;
    }
    keep_address(c);
    ch_server_unknown(c);
}

static void on_connection(uv_stream_t *listener, int status) {
    struct ch_server *s = listener->data;
    CH_LOOP_CALLBACK(s->loop);
    if (status < 0)
        ch_log(CH_LOG_WARN, "server", "cannot accept a connection: %s", uv_strerror(status));
    else if (!s->draining)
        server_take_connection(s, -1, false);
}

/* --- turns of workers that share a listening socket
 *
 * One worker watches the socket at a time. A turn has several connections, because a worker whose
 * code and data are in the processor's caches serves a run with less time. The first turns have
 * one connection, so that few connections are spread over the workers as well as many. A turn ends
 * early if its connections stay open. */

static void server_end_turn(struct ch_server *s) {
    const char byte = TURN_OVER;
    uv_os_fd_t parent;
    uv_poll_stop(&s->shared);
    if (uv_fileno((const uv_handle_t *)&s->listener, &parent) == 0 &&
        send(parent, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* the other process ends the turn when a connection waits for long */
    }
}

static void server_on_waiting(uv_poll_t *shared, int status, int events) {
    struct ch_server *s = shared->data;
    CH_LOOP_CALLBACK(s->loop);
    (void)status;
    (void)events;
    if (s->nclients > s->turn_clients + s->turn_clients / 2) {
        server_end_turn(s);
        return;
    }
    int fd = accept4(s->shared_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        server_take_connection(s, fd, false);
        s->accepted++;
        if (--s->turn_left == 0)
            server_end_turn(s);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        ch_log(CH_LOG_WARN, "server", "cannot accept a connection: %s", strerror(errno));
        uv_poll_stop(shared); /* no descriptors, for instance: the next turn tries again */
    }
}

static void server_begin_turn(struct ch_server *s) {
    if (s->shared_fd < 0 || s->draining)
        return;
    s->turn_clients = s->nclients;
    s->turn_left = (unsigned)CH_MIN(s->accepted / TURN_SHARE + 1, TURN_CONNECTIONS);
    uv_poll_start(&s->shared, UV_READABLE, server_on_waiting);
}

/* --- connections that another process passes on */

/* Room for one byte: libuv then reads again at once. One read never returns two connections, and
 * after a read that leaves room libuv waits for the next turn of the loop. */
static void server_on_room(uv_handle_t *h, size_t wanted, uv_buf_t *buf) {
    struct ch_server *s = h->data;
    (void)wanted;
    *buf = uv_buf_init(s->bytes, 1);
}

static void server_on_passed(uv_stream_t *listener, ssize_t n, const uv_buf_t *buf) {
    struct ch_server *s = listener->data;
    CH_LOOP_CALLBACK(s->loop);
    if (n < 0) { /* the other process has ended: no more connections come */
        uv_read_stop(listener);
        return;
    }
    if (n == 1 && buf->base[0] == TURN)
        server_begin_turn(s);
    while (uv_pipe_pending_count(&s->listener.pipe) > 0)
        server_take_connection(s, -1, n == 1 && buf->base[0] == RELAYED);
}

bool ch_server_pass(struct ch_server *s, unsigned char to, int fd) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room = {0};
    struct iovec part = {&to, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = room.bytes,
                       .msg_controllen = sizeof(room.bytes)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    uv_os_fd_t parent;
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    return s->listener.stream.type == UV_NAMED_PIPE &&
           uv_fileno((const uv_handle_t *)&s->listener, &parent) == 0 &&
           sendmsg(parent, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
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

/* The descriptor number of an inherited socket, such as "fd:3" with this prefix;
 * -1 if listen has another form. `after`: a character that may follow the number. */
static int handed_down(const char *listen, const char *prefix, char after) {
    size_t n = strlen(prefix);
    char *end;
    long fd = strncmp(listen, prefix, n) == 0 ? strtol(listen + n, &end, 10) : -1;
    return fd > 2 && fd < CH_LIMIT_CLIENTS && (!*end || *end == after) ? (int)fd : -1;
}

static int begin_listening(struct ch_server *s, const struct sockaddr_storage *a,
                           struct chela_error *err) {
    struct sockaddr_storage real = {0};
    uv_tcp_t *tcp = &s->listener.tcp;
    int n = sizeof(real);
    int fd = handed_down(s->opts.listen, FD, '\0');
    uv_tcp_init(ch_loop_uv(s->loop), tcp);
    int rc = fd < 0 ? uv_tcp_bind(tcp, (const struct sockaddr *)a, 0) : uv_tcp_open(tcp, fd);
    if (rc == 0)
        rc = uv_listen(&s->listener.stream, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(tcp, (struct sockaddr *)&real, &n);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "cannot listen at %s: %s", s->opts.listen, uv_strerror(rc));
    s->address = server_name_of(&real);
    return 0;
}

/* shared: the listening socket of all workers; -1: none */
static int begin_receiving(struct ch_server *s, int fd, int shared, struct chela_error *err) {
    uv_pipe_init(ch_loop_uv(s->loop), &s->listener.pipe, 1);
    int rc = uv_pipe_open(&s->listener.pipe, fd);
    if (rc == 0 && shared >= 0) {
        fcntl(shared, F_SETFD, FD_CLOEXEC);
        rc = uv_poll_init(ch_loop_uv(s->loop), &s->shared, shared);
    }
    if (rc == 0 && shared >= 0) {
        s->shared.data = s;
        s->shared_fd = shared;
        s->handles++;
    }
    if (rc == 0)
        rc = uv_read_start(&s->listener.stream, server_on_room, server_on_passed);
    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "cannot receive connections from %s: %s", s->opts.listen,
                       uv_strerror(rc));
    s->address = ch_strdup(s->opts.listen);
    return 0;
}

/* Binds a listener with the options that libuv sets. */
static int server_bind(int fd, const struct sockaddr_storage *a) {
    int on = 1;
    socklen_t n = a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : sizeof(struct sockaddr_in);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -1;
    return bind(fd, (const struct sockaddr *)a, n);
}

int ch_server_check_address(const char *listen_at, struct chela_error *err) {
    struct sockaddr_storage a;
    return handed_down(listen_at, FD, '\0') >= 0 ? 0 : server_read_address(listen_at, &a, err);
}

int ch_server_listen(const char *listen_at, int *out, char **address, struct chela_error *err) {
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof(a);
    int fd = handed_down(listen_at, FD, '\0');
    bool bound = fd >= 0;
    *address = NULL;
    int rc = bound ? 0 : server_read_address(listen_at, &a, err);
    if (rc < 0)
        return rc;
    if (!bound)
        fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (!bound && server_bind(fd, &a) < 0) || listen(fd, BACKLOG) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
        rc = ch_fail(err, CHELA_EIO, "cannot listen at %s: %s", listen_at, strerror(errno));
        if (fd >= 0 && !bound)
            close(fd);
        return rc;
    }
    *out = fd;
    *address = server_name_of(&a);
    return 0;
}

int ch_server_new(struct ch_loop *loop, const struct ch_server_opts *opts, struct ch_server **out,
                  struct chela_error *err) {
    struct sockaddr_storage address = {0};
    const char *plus = strchr(opts->listen, '+');
    int lent = plus ? handed_down(plus, "+" FD, '\0') : handed_down(opts->listen, FD, '\0');
    int shared = !plus ? -1 : lent >= 0 ? lent : handed_down(plus, "+", '\0');
    int passed = !plus || shared >= 0 ? handed_down(opts->listen, "pipe:", '+') : -1;
    bool bound = passed >= 0 || (!plus && lent >= 0);
    int rc = bound ? 0 : server_read_address(opts->listen, &address, err);
    if (rc < 0)
        return rc;
    struct ch_server *s = ch_alloc(sizeof(*s));
    s->loop = loop;
    s->opts = *opts;
    s->room = room_for_clients();
    s->bytes = ch_malloc(CH_WIRE_READ);
    ch_list_init(&s->clients);
    ch_list_init(&s->unknown);
    ch_list_init(&s->busy);
    s->handles = 1;
    s->shared_fd = -1;
    s->lent = lent >= 0;
    rc = passed < 0 ? begin_listening(s, &address, err) : begin_receiving(s, passed, shared, err);
    s->listener.stream.data = s;
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
    if (uv_is_closing((uv_handle_t *)&s->listener))
        return;
    uv_close((uv_handle_t *)&s->listener, on_listener_closed);
    if (s->shared_fd >= 0) {
        uv_close((uv_handle_t *)&s->shared, on_listener_closed);
        close(s->shared_fd);
    }
}

/* To the client these connections exist: it may have sent a request already, and would not know
 * whether the request was accepted. Connections of a lent socket wait for the next process. */
static void server_accept_rest(struct ch_server *s) {
    uv_os_fd_t listener = s->shared_fd;
    int fd;
    if (s->lent || uv_is_closing((uv_handle_t *)&s->listener) ||
        (s->listener.stream.type == UV_TCP &&
         uv_fileno((const uv_handle_t *)&s->listener, &listener) < 0) || listener < 0)
        return;
    for (int i = 0; i <= BACKLOG; i++)
        if ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
            server_take_connection(s, fd, false);
        else if (errno != ECONNABORTED && errno != EINTR)
            return;
}

bool ch_server_asked(const struct ch_server *s) {
    for (CH_LIST_EACH(k, &s->clients)) {
        const struct ch_client *c = CH_CONTAINER(k, struct ch_client, link);
        if (c->ops->asks && c->ops->asks(c))
            return true;
    }
    return false;
}

void ch_server_drain(struct ch_server *s) {
    s->draining = true;
    server_accept_rest(s);
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

