/* link.c -- see link.h.
 *
 * hiredis resolves, connects and parses; this file reads and writes the socket,
 * so that every wait is bounded and a closed connection raises no signal. The
 * connection is closed if an answer takes longer than CH_LIMIT_STORE_ANSWER_MS,
 * and a call ends CH_LIMIT_STORE_CALL_MS after it began, whatever the server
 * does. The size of an answer is checked before it is stored. */
#include "store/redis/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/redis/db.h"

#define PAUSE_MS 50 /* before the second attempt; doubled each time, up to */
#define PAUSE_MAX_MS 1000

static int64_t redis_link_now(void) {
    return ch_mono_ms(&ch_clock_system);
}

void ch_redis_start(struct chela_store_db *db) {
    db->due = redis_link_now() + CH_LIMIT_STORE_CALL_MS;
}

void ch_redis_drop(struct chela_store_db *db) {
    if (db->conn)
        redisFree(db->conn);
    db->conn = NULL;
    db->hears = false;
}

bool ch_redis_try_again(struct chela_store_db *db, unsigned attempt) {
    int64_t ms = attempt < 5 ? PAUSE_MS << attempt : PAUSE_MAX_MS;

    if (!db->again || redis_link_now() + ms >= db->due)
        return false;
    poll(NULL, 0, (int)ms);
    return true;
}

/* --- commands ------------------------------------------------------------------ */

void ch_redis_add(struct ch_redis_cmd *cmd, const char *p, size_t n) {
    ch_buf_addf(&cmd->args, "$%zu\r\n", n);
    ch_buf_add(&cmd->args, p, n);
    ch_buf_add(&cmd->args, "\r\n", 2);
    cmd->count++;
}

void ch_redis_addf(struct ch_redis_cmd *cmd, const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;

    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    ch_redis_add(cmd, ch_buf_str(&text), text.n);
}

void ch_redis_add_words(struct ch_redis_cmd *cmd, const char *words) {
    struct ch_sv rest = ch_sv_str(words);

    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, ' ');
        ch_redis_add(cmd, word.p, word.n);
    }
}

/* --- errors -------------------------------------------------------------------- */

static const struct {
    const char *start; /* start of the server's message */
    int code;
    bool again, anew; /* worth a retry; with a new connection */
} errors[] = {
    {"LOADING", CHELA_ENET, true, true},
    {"MASTERDOWN", CHELA_ENET, true, true},
    {"NOREPLICAS", CHELA_ENET, true, false},
    {"BUSY", CHELA_EBUSY, true, false}, /* running another client's script */
    {"NOSCRIPT", CHELA_ENET, true, true}, /* script unknown; reconnecting loads it */
    {"ERR max number of clients", CHELA_EBUSY, true, true},
    {"NOAUTH", CHELA_EAUTH, false, true},
    {"WRONGPASS", CHELA_EAUTH, false, true},
    {"ERR invalid password", CHELA_EAUTH, false, true},
    {"ERR AUTH", CHELA_EAUTH, false, true},
    {"NOPERM", CHELA_EPERM, false, false},
    {"READONLY", CHELA_EPERM, false, true},
    {"OOM", CHELA_ELIMIT, false, false},
    {"MISCONF", CHELA_EIO, false, false}, /* the server cannot write to its disk */
    {"MOVED", CHELA_EPROTO, false, false},
    {"CLUSTERDOWN", CHELA_EPROTO, false, false},
    {"CROSSSLOT", CHELA_EPROTO, false, false},
    {"WRONGTYPE", CHELA_EPROTO, false, false}, /* keys of another program */
    {"ERR DB index", CHELA_ENOENT, false, true},
    {"ERR invalid DB index", CHELA_ENOENT, false, true},
};

static int redis_link_explain(struct chela_store_db *db, const redisReply *r,
                              struct chela_error *err) {
    for (size_t i = 0; i < CH_LEN(errors); i++) {
        if (strncmp(r->str, errors[i].start, strlen(errors[i].start)) != 0)
            continue;
        bool full = errors[i].code == CHELA_EIO && strstr(r->str, "No space");
        ch_fail(err, full ? CHELA_ELIMIT : errors[i].code, "store %s: %.300s", db->shown, r->str);
        db->again = errors[i].again;
        db->starting = strcmp(errors[i].start, "LOADING") == 0;
        if (errors[i].anew)
            ch_redis_drop(db);
        return err->code;
    }
    return ch_fail(err, CHELA_EIO, "store %s: %.300s", db->shown, r->str);
}

static int redis_link_lost(struct chela_store_db *db, const char *why, struct chela_error *err) {
    int rc = ch_fail(err, CHELA_ENET, "store %s: the connection was lost: %s", db->shown, why);

    db->again = true;
    ch_redis_drop(db);
    return rc;
}

int ch_redis_strange(struct chela_store_db *db, struct chela_error *err) {
    ch_redis_drop(db); /* the state of the connection is unknown */
    return ch_fail(err, CHELA_EPROTO, "store %s: an answer that is not one of Redis", db->shown);
}

static int redis_link_too_large(struct chela_store_db *db, struct chela_error *err) {
    ch_redis_drop(db);
    return ch_fail(err, CHELA_ELIMIT, "store %s: an answer of more than %u MB or %u items",
                   db->shown, (unsigned)(CH_LIMIT_STORE_REPLY / CH_MB),
                   (unsigned)CH_LIMIT_STORE_REPLY_ITEMS);
}

/* --- waiting ------------------------------------------------------------------- */

/* Wait until the socket is ready: 0, or the connection is closed and an error
 * returned. */
static int redis_link_await(struct chela_store_db *db, short events, int64_t until,
                            struct chela_error *err) {
    struct pollfd p = {.fd = db->conn->fd, .events = events};

    for (;;) {
        int64_t ms = CH_MIN(until, db->due) - redis_link_now();
        int n = ms > 0 ? poll(&p, 1, (int)ms) : 0;
        if (n > 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        ch_redis_drop(db);
        db->again = true;
        return ch_fail(err, CHELA_ENET, "store %s: the server does not answer", db->shown);
    }
}

static int send_all(struct chela_store_db *db, const char *p, size_t n, struct chela_error *err) {
    while (n > 0) {
        ssize_t sent = send(db->conn->fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return redis_link_lost(db, strerror(errno), err);
        if (sent < 0) {
            int rc =
                redis_link_await(db, POLLOUT, redis_link_now() + CH_LIMIT_STORE_ANSWER_MS, err);
            if (rc < 0)
                return rc;
            continue;
        }
        p += sent;
        n -= (size_t)sent;
    }
    return 0;
}

int ch_redis_send(struct chela_store_db *db, struct ch_redis_cmd *cmd, struct chela_error *err) {
    char head[32];
    int n = snprintf(head, sizeof(head), "*%zu\r\n", cmd->count);

    if (!db->conn)
        return redis_link_lost(db, "no connection", err);
    /* Send one packet, unless the data is large: copying would cost more. */
    if (cmd->args.n > 65536) {
        int rc = send_all(db, head, (size_t)n, err);
        return rc < 0 ? rc : send_all(db, ch_buf_str(&cmd->args), cmd->args.n, err);
    }
    CH_BUF_AUTO all = {0};
    ch_buf_add(&all, head, (size_t)n);
    ch_buf_add(&all, ch_buf_str(&cmd->args), cmd->args.n);
    return send_all(db, ch_buf_str(&all), all.n, err);
}

/* Read more bytes for the parser. */
static int redis_link_feed(struct chela_store_db *db, size_t *total, struct chela_error *err) {
    char bytes[16384];
    int rc = redis_link_await(db, POLLIN, redis_link_now() + CH_LIMIT_STORE_ANSWER_MS, err);

    if (rc < 0)
        return rc;
    ssize_t n = recv(db->conn->fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return redis_link_lost(db, n == 0 ? "the server closed it" : strerror(errno), err);
    *total += (size_t)n;
    if (*total > CH_LIMIT_STORE_REPLY)
        return redis_link_too_large(db, err);
    if (redisReaderFeed(db->conn->reader, bytes, (size_t)n) != REDIS_OK)
        return ch_redis_strange(db, err);
    return 0;
}

int ch_redis_receive(struct chela_store_db *db, redisReply **out, struct chela_error *err) {
    size_t total = 0;
    void *reply = NULL;

    if (!db->conn)
        return redis_link_lost(db, "no connection", err);
    for (;;) {
        if (redisReaderGetReply(db->conn->reader, &reply) != REDIS_OK)
            return db->conn->reader->err == REDIS_ERR_OOM ? redis_link_too_large(db, err)
                                                          : ch_redis_strange(db, err);
        if (reply)
            break;
        int rc = redis_link_feed(db, &total, err);
        if (rc < 0)
            return rc;
    }
    redisReply *r = reply;
    if (r->type == REDIS_REPLY_ERROR) {
        int rc = redis_link_explain(db, r, err);
        freeReplyObject(r);
        return rc;
    }
    *out = r;
    return 0;
}

int ch_redis_call(struct chela_store_db *db, struct ch_redis_cmd *cmd, redisReply **out,
                  struct chela_error *err) {
    redisReply *r = NULL;
    int rc = ch_redis_send(db, cmd, err);

    ch_buf_release(&cmd->args);
    if (rc == 0)
        rc = ch_redis_receive(db, &r, err);
    if (rc == 0 && out)
        *out = r;
    else
        freeReplyObject(r);
    return rc;
}

int ch_redis_ask(struct chela_store_db *db, const char *words, redisReply **out,
                 struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};

    ch_redis_add_words(&cmd, words);
    return ch_redis_call(db, &cmd, out, err);
}

/* --- connecting ------------------------------------------------------------------ */

#if HIREDIS_MAJOR >= 1
typedef size_t array_length;
#else
typedef int array_length;
#endif

/* The parser would allocate as many elements as the server announces: limit
 * them. */
static void *make_array(const redisReadTask *task, array_length n) {
    const struct chela_store_db *db = task->privdata;

    return n > CH_LIMIT_STORE_REPLY_ITEMS ? NULL : db->plain->createArray(task, n);
}

static int await_connection(struct chela_store_db *db, struct chela_error *err) {
    int failed = 0,
        rc = redis_link_await(db, POLLOUT, redis_link_now() + CH_LIMIT_STORE_ANSWER_MS, err);
    socklen_t n = sizeof(failed);

    if (rc < 0)
        return rc;
    if (getsockopt(db->conn->fd, SOL_SOCKET, SO_ERROR, &failed, &n) == 0 && failed == 0)
        return 0;
    db->again = true;
    ch_redis_drop(db);
    return ch_fail(err, CHELA_ENET, "store %s: %s", db->shown, strerror(failed));
}

static int redis_link_open_socket(struct chela_store_db *db, struct chela_error *err) {
    db->conn = redisConnectNonBlock(db->url.host, db->url.port);
    if (!db->conn || db->conn->err) {
        ch_fail(err, CHELA_ENET, "store %s: %s", db->shown,
                db->conn ? db->conn->errstr : "no memory");
        ch_redis_drop(db);
        db->again = true;
        return CHELA_ENET;
    }
    db->plain = db->conn->reader->fn;
    db->bounded = *db->plain;
    db->bounded.createArray = make_array;
    db->conn->reader->fn = &db->bounded;
    db->conn->reader->privdata = db;
    return await_connection(db, err);
}

static int log_in(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};

    if (!*db->url.password)
        return 0;
    ch_redis_add_words(&cmd, "AUTH");
    if (*db->url.user)
        ch_redis_add(&cmd, db->url.user, strlen(db->url.user));
    ch_redis_add(&cmd, db->url.password, strlen(db->url.password));
    return ch_redis_call(db, &cmd, NULL, err);
}

static int load_script(struct chela_store_db *db, struct chela_error *err) {
    struct ch_redis_cmd cmd = {0};
    redisReply *r = NULL;

    ch_redis_add_words(&cmd, "SCRIPT LOAD");
    ch_redis_add(&cmd, ch_redis_script, strlen(ch_redis_script));
    int rc = ch_redis_call(db, &cmd, &r, err);
    if (rc < 0)
        return rc;
    if (r->type != REDIS_REPLY_STRING || r->len != sizeof(db->script) - 1)
        rc = ch_redis_strange(db, err);
    else
        memcpy(db->script, r->str, sizeof(db->script));
    freeReplyObject(r);
    return rc;
}

int ch_redis_connect(struct chela_store_db *db, struct chela_error *err) {
    char select[32];

    if (db->conn)
        return 0;
    int rc = redis_link_open_socket(db, err);
    if (rc == 0)
        rc = log_in(db, err);
    snprintf(select, sizeof(select), "SELECT %d", db->url.index);
    if (rc == 0 && db->url.index)
        rc = ch_redis_ask(db, select, NULL, err);
    if (rc == 0 && !db->read_only)
        rc = load_script(db, err);
    if (rc < 0)
        ch_redis_drop(db);
    return rc;
}
