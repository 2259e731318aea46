/* line.c -- the long connection of the fake platform: a minimal WebSocket server with frames
 * in protobuf.
 *
 * DIR/line has a line for each received frame: "ping" and its bytes in hexadecimal, or
 * "ack", the message_id and the payload. */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "larkserver.h"

#define MOST (1024 * 1024)
#define SERVICE 33554678

static int line_fd = -1; /* the newest connection */
static unsigned events;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;
static char ack_id[64], ack_payload[4096];

/* --- WebSocket */

static int get(int fd, void *out, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)out + at, n - at);
        if (got <= 0)
            return 0;
        at += (size_t)got;
    }
    return 1;
}

static void send_frame(int fd, int opcode, const void *p, size_t n) {
    unsigned char head[10] = {(unsigned char)(0x80 | opcode)};
    size_t size = n < 126 ? 2 : n < 65536 ? 4 : 10;
    head[1] = n < 126 ? (unsigned char)n : n < 65536 ? 126 : 127;
    for (size_t i = 2; i < size; i++)
        head[i] = (unsigned char)(n >> (8 * (size - 1 - i)));
    put(fd, head, size);
    put(fd, p, n);
}

/* Returns the opcode, or -1: the client left, or sent an invalid frame. */
static int read_frame(int fd, unsigned char *out, size_t *n) {
    unsigned char head[2], more[8] = {0}, mask[4];
    if (!get(fd, head, 2) || !(head[1] & 0x80) || !(head[0] & 0x80))
        return -1;
    size_t wide = (head[1] & 127) == 126 ? 2 : (head[1] & 127) == 127 ? 8 : 0;
    *n = wide ? 0 : head[1] & 127;
    if (!get(fd, more, wide))
        return -1;
    for (size_t i = 0; i < wide; i++)
        *n = *n << 8 | more[i];
    if (*n > MOST || !get(fd, mask, 4) || !get(fd, out, *n))
        return -1;
    for (size_t i = 0; i < *n; i++)
        out[i] ^= mask[i % 4];
    return head[0] & 15;
}

static void accept_client(int fd, const char *key) {
    unsigned char digest[SHA_DIGEST_LENGTH];
    char text[256], accept[64];
    snprintf(text, sizeof(text), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof(digest));
    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                     "Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                     accept);
    put(fd, text, (size_t)n);
}

/* --- protobuf */

struct out {
    unsigned char *p;
    size_t n;
};

static void add_varint(struct out *o, unsigned long long v) {
    for (; v > 127; v >>= 7)
        o->p[o->n++] = (unsigned char)(v | 128);
    o->p[o->n++] = (unsigned char)v;
}

static void add_bytes(struct out *o, unsigned field, const void *p, size_t n) {
    add_varint(o, field << 3 | 2);
    add_varint(o, n);
    memcpy(o->p + o->n, p, n);
    o->n += n;
}

static void add_header(struct out *o, const char *key, const char *value) {
    unsigned char text[512];
    struct out inner = {text, 0};
    add_bytes(&inner, 1, key, strlen(key));
    add_bytes(&inner, 2, value, strlen(value));
    add_bytes(o, 5, inner.p, inner.n);
}

static void add_start(struct out *o, unsigned method) {
    static const unsigned char seq[] = {0x08, 0x07, 0x10, 0x96, 0x01, 0x18};
    memcpy(o->p, seq, sizeof(seq));
    o->n = sizeof(seq);
    add_varint(o, SERVICE);
    add_varint(o, 4 << 3);
    add_varint(o, method);
}

/* The bytes of the first field with this number that contains `with`. */
static const unsigned char *find_field(const unsigned char *p, size_t n, unsigned field,
                                       const char *with, size_t *size) {
    for (size_t at = 0; at < n;) {
        unsigned tag = p[at++];
        unsigned long long v = 0;
        for (unsigned i = 0; at < n; i += 7) {
            v |= (unsigned long long)(p[at] & 127) << i;
            if (!(p[at++] & 128))
                break;
        }
        if ((tag & 7) != 2)
            continue;
        if (v > n - at)
            return NULL;
        if (tag >> 3 == field && (!with || memmem(p + at, v, with, strlen(with)))) {
            *size = v;
            return p + at;
        }
        at += v;
    }
    return NULL;
}

/* --- the platform's side */

static void take_ping(int fd, const unsigned char *p, size_t n) {
    static const char config[] = "{\"ReconnectCount\":-1,\"ReconnectInterval\":120,"
                                 "\"ReconnectNonce\":30,\"PingInterval\":90}";
    char text[1024] = "ping ";
    unsigned char frame[1024];
    struct out o = {frame, 0};
    for (size_t i = 0; i < n && i < 400; i++)
        snprintf(text + 5 + 2 * i, 3, "%02x", p[i]);
    note("line", text);
    add_start(&o, 0);
    add_header(&o, "type", "pong");
    add_bytes(&o, 8, config, sizeof(config) - 1);
    send_frame(fd, 2, o.p, o.n);
}

static void take_ack(const unsigned char *p, size_t n) {
    char text[5000];
    size_t size, id_n;
    const unsigned char *payload = find_field(p, n, 8, NULL, &size);
    const unsigned char *header = find_field(p, n, 5, "message_id", &id_n);
    const unsigned char *id = header ? find_field(header, id_n, 2, NULL, &id_n) : NULL;
    if (!payload || !id || size >= sizeof(ack_payload))
        return;
    snprintf(ack_id, sizeof(ack_id), "%.*s", (int)id_n, (const char *)id);
    snprintf(ack_payload, sizeof(ack_payload), "%.*s", (int)size, (const char *)payload);
    snprintf(text, sizeof(text), "ack %s %s%s", ack_id, ack_payload,
             find_field(p, n, 5, "biz_rt", &size) ? " biz_rt" : "");
    note("line", text);
    pthread_cond_broadcast(&acked);
}

void line_serve(int fd, const struct request *r) {
    unsigned char *p = malloc(MOST);
    size_t n;
    accept_client(fd, r->key);
    pthread_mutex_lock(&lock);
    line_fd = fd;
    pthread_mutex_unlock(&lock);
    for (int opcode; (opcode = read_frame(fd, p, &n)) >= 0 && opcode != 8;) {
        size_t ping;
        pthread_mutex_lock(&lock);
        if (opcode == 2 && find_field(p, n, 5, "ping", &ping))
            take_ping(fd, p, n);
        else if (opcode == 2)
            take_ack(p, n);
        else if (opcode == 10)
            note("line", "pong");
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    if (line_fd == fd)
        line_fd = -1;
    pthread_cond_broadcast(&acked); /* wakes the waiters: no acknowledgement will come */
    pthread_mutex_unlock(&lock);
    free(p);
}

static unsigned number(const char *path, const char *key, unsigned otherwise) {
    const char *at = strstr(path, key);
    return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : otherwise;
}

static void send_part(const struct request *r, const char *id, unsigned parts, unsigned i) {
    unsigned char *p = malloc(r->nbody + 4096);
    struct out o = {p, 0};
    char text[32];
    size_t from = r->nbody * i / parts, to = r->nbody * (i + 1) / parts;
    add_start(&o, 1);
    add_header(&o, "type", "event");
    add_header(&o, "message_id", id);
    snprintf(text, sizeof(text), "%u", parts);
    add_header(&o, "sum", text);
    snprintf(text, sizeof(text), "%u", i);
    add_header(&o, "seq", text);
    add_header(&o, "trace_id", "trace");
    add_bytes(&o, 8, r->body + from, to - from);
    send_frame(line_fd, 2, o.p, o.n);
    free(p);
}

static void push(int fd, const struct request *r) {
    unsigned parts = number(r->path, "parts=", 1), cut = number(r->path, "cut=", 0);
    struct timespec until;
    char id[64];
    int line = line_fd;
    if (line < 0) {
        answer(fd, 503, "{\"error\":\"nobody is connected\"}");
        return;
    }
    snprintf(id, sizeof(id), "m%u", ++events);
    for (unsigned i = cut ? 2 : parts; i > (cut ? 1 : 0); i--)
        send_part(r, id, cut ? 2 : parts, i - 1);
    if (cut)
        shutdown(line_fd, SHUT_RDWR);
    else
        send_frame(line_fd, 9, "hi", 2);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += cut ? 0 : 30;
    while (strcmp(ack_id, id) != 0)
        if (line_fd != line || pthread_cond_timedwait(&acked, &lock, &until) != 0) {
            answer(fd, 504, "{\"error\":\"no acknowledgement\"}");
            return;
        }
    answer(fd, 200, ack_payload);
}

void line_test(int fd, const struct request *r) {
    if (strstr(r->path, "/test/push")) {
        push(fd, r);
        return;
    }
    if (line_fd >= 0)
        shutdown(line_fd, SHUT_RDWR);
    answer(fd, 200, "{}");
}
