/* http1.c -- see http1.h.
 *
 * A line is collected in `text` and parsed when it is complete; all other parts are read a
 * byte at a time. Each fault belongs to one byte, so the first fault is the same for every
 * split of the input. */
#include "net/http1.h"

#include "base/chars.h"
#include "base/word.h"
#include "base/limits.h"
#include "base/mem.h"

/* Places in a message. */
enum {
    FIRST_LINE,
    HEADERS,
    END_OF_HEAD, /* before the last LF of the head */
    FIXED,       /* in a body of a given length */
    CHUNK_SIZE,
    CHUNK_SPACE, /* white space after a chunk size */
    CHUNK_EXTENSION,
    CHUNK_LF,
    CHUNK_DATA,
    CHUNK_CR, /* after the data of a chunk */
    CHUNK_END,
    TRAILERS,
    UNTIL_CLOSE,
    COMPLETE
};

/* In `at`: a CR was read, an LF must follow. */
#define AFTER_CR 0x80

#define BLANK_LINES 2    /* empty lines before a message that are skipped */
#define FIRST_REST 64    /* bytes of a first line beside its target */
#define CHUNK_DIGITS 15  /* digits of a chunk size: below 2^60 */
#define LENGTH_DIGITS 18 /* digits of a length: below 2^60 */
#define TYPICAL_HEAD 512 /* one allocation instead of five */

struct span {
    uint32_t name, name_n, value, value_n;
};

static struct span *http1_span(const struct ch_http1 *m, size_t i) {
    return (struct span *)(void *)m->spans.p + i;
}

static enum ch_http1_state fault(struct ch_http1 *m, int status, const char *why) {
    m->fault = status;
    m->why = why;
    return CH_HTTP1_FAULT;
}

/* --- characters */

bool ch_http1_is_token(struct ch_sv text) {
    return text.n > 0 && ch_char_run(text, CH_CHAR_TOKEN) == text.n;
}

/* True if a byte of the word is a control character; a tab counts. */
static bool has_control(uint64_t w) {
    uint64_t low = (w - CH_WORD_OF(' ')) & ~w, del = w ^ CH_WORD_OF(0x7f);
    return (low | ((del - CH_WORD_OF(1)) & ~del)) & CH_WORD_HIGH;
}

/* The number of text characters at the beginning. Every head is read by this function: eight
 * bytes at a time, and byte by byte from the first control character on. */
static size_t text_run(struct ch_sv s) {
    size_t n = 0;
    while (s.n - n >= 8 && !has_control(ch_word_load(s.p + n)))
        n += 8;
    return n + ch_char_run(ch_sv(s.p + n, s.n - n), CH_CHAR_TEXT);
}

bool ch_http1_is_value(struct ch_sv text) {
    return text_run(text) == text.n;
}

bool ch_http1_is_method(struct ch_sv text) {
    static const char *const methods[] = {
        "GET",   "HEAD",     "POST",      "PUT",   "DELETE", "CONNECT", "OPTIONS", "TRACE",
        "PATCH", "PROPFIND", "PROPPATCH", "MKCOL", "COPY",   "MOVE",    "LOCK",    "UNLOCK"};
    for (size_t i = 0; i < CH_LEN(methods); i++)
        if (ch_sv_is(text, methods[i]))
            return true;
    return false;
}

bool ch_http1_read_length(struct ch_sv text, uint64_t *out) {
    uint64_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        n = 10 * n + (uint64_t)(text.p[i] - '0');
    }
    *out = n;
    return text.n > 0 && text.n <= LENGTH_DIGITS;
}

/* --- life */

void ch_http1_init(struct ch_http1 *m, bool response, size_t max_text, size_t max_headers) {
    *m = (struct ch_http1){
        .response = response, .max_text = max_text, .max_headers = max_headers};
}

void ch_http1_drop_head(struct ch_http1 *m) {
    ch_buf_release(&m->text);
    ch_buf_release(&m->spans);
    m->line = 0;
}

void ch_http1_release(struct ch_http1 *m) {
    ch_http1_drop_head(m);
}

void ch_http1_next(struct ch_http1 *m) {
    ch_http1_drop_head(m);
    ch_http1_init(m, m->response, m->max_text, m->max_headers);
}

/* --- headers */

size_t ch_http1_count(const struct ch_http1 *m) {
    return m->spans.n / sizeof(struct span);
}

void ch_http1_header_at(const struct ch_http1 *m, size_t i, struct ch_sv *name,
                        struct ch_sv *value) {
    const struct span *s = http1_span(m, i);
    *name = ch_sv(m->text.p + s->name, s->name_n);
    *value = ch_sv(m->text.p + s->value, s->value_n);
}

int ch_http1_add(struct ch_http1 *m, struct ch_sv name, struct ch_sv value) {
    struct span s = {.name = (uint32_t)m->text.n,
                     .name_n = (uint32_t)name.n,
                     .value = (uint32_t)(m->text.n + name.n),
                     .value_n = (uint32_t)value.n};
    if (ch_http1_count(m) >= m->max_headers || name.n + value.n > m->max_text - m->text.n)
        return -1;
    ch_buf_add_sv(&m->text, name);
    ch_buf_add_sv(&m->text, value);
    ch_buf_add(&m->spans, &s, sizeof(s));
    return 0;
}

/* A header or a trailer; only headers are kept. */
static enum ch_http1_state take_header(struct ch_http1 *m, struct ch_sv line, bool trailer) {
    struct ch_sv value = line, name = ch_sv_split(&value, ':');
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return fault(m, 400, "a header spans two lines");
    if (!value.p || !ch_http1_is_token(name))
        return fault(m, 400, "a header's name is invalid");
    if (trailer && !m->response)
        return fault(m, 400, "trailers are not supported");
    if (trailer) {
        m->text.n = m->line;
        return CH_HTTP1_MORE;
    }
    if (ch_http1_count(m) == m->max_headers)
        return fault(m, 431, "too many headers");
    value = ch_sv_trim(value);
    struct span s = {.name = (uint32_t)m->line,
                     .name_n = (uint32_t)name.n,
                     .value = (uint32_t)(value.n ? value.p - m->text.p : 0),
                     .value_n = (uint32_t)value.n};
    for (char *p = m->text.p + m->line; *p != ':'; p++)
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    ch_buf_add(&m->spans, &s, sizeof(s));
    m->line = m->text.n;
    return CH_HTTP1_MORE;
}

/* --- the first line */

/* "HTTP/1.0" and "HTTP/1.1". */
static enum ch_http1_state take_version(struct ch_http1 *m, struct ch_sv text) {
    bool valid = text.n == 8 && ch_sv_starts(text, "HTTP/") && text.p[5] >= '0' &&
                 text.p[5] <= '9' && text.p[6] == '.' && text.p[7] >= '0' && text.p[7] <= '9';
    if (!valid)
        return fault(m, 400, "the version of HTTP is invalid");
    if (text.p[5] != '1' || text.p[7] > '1')
        return fault(m, 505, "only HTTP/1.1 is supported");
    m->old = text.p[7] == '0';
    return CH_HTTP1_MORE;
}

/* The target is a path, or "*". A full URL names a second host, beside the header Host. */
static enum ch_http1_state take_target(struct ch_http1 *m, struct ch_sv text) {
    m->target = (uint32_t)(text.p - m->text.p);
    m->target_n = (uint32_t)text.n;
    if (text.n > CH_LIMIT_URL)
        return fault(m, 414, "the address is too long");
    if (memchr(text.p, '\t', text.n))
        return fault(m, 400, "the address holds a tab");
    if (!m->proxied && text.p[0] != '/' && !ch_sv_is(text, "*"))
        return fault(m, 400, "the address is not a path");
    return CH_HTTP1_MORE;
}

static enum ch_http1_state take_request_line(struct ch_http1 *m, struct ch_sv line) {
    struct ch_sv rest = line, method = ch_sv_split(&rest, ' '), target = ch_sv_split(&rest, ' ');
    if (!ch_http1_is_token(method) || !target.n)
        return fault(m, 400, "the request line is invalid");
    if (!rest.p)
        return fault(m, 505, "only HTTP/1.1 is supported");
    if (take_version(m, rest) == CH_HTTP1_FAULT)
        return CH_HTTP1_FAULT;
    if (!ch_http1_is_method(method))
        return fault(m, 501, "unknown method");
    memcpy(m->method, method.p, method.n);
    if (ch_sv_is(method, "CONNECT") && !m->proxied)
        return fault(m, 501, "proxy requests are not supported");
    return take_target(m, target);
}

static enum ch_http1_state take_status_line(struct ch_http1 *m, struct ch_sv line) {
    struct ch_sv rest = line, version = ch_sv_split(&rest, ' '), code = ch_sv_split(&rest, ' ');
    uint64_t status;
    if (take_version(m, version) == CH_HTTP1_FAULT)
        return CH_HTTP1_FAULT;
    if (code.n != 3 || !ch_http1_read_length(code, &status) || status < 100)
        return fault(m, 400, "the status line is invalid");
    m->status = (int)status;
    return CH_HTTP1_MORE;
}

static enum ch_http1_state take_first_line(struct ch_http1 *m, struct ch_sv line) {
    if (line.n == 0)
        return ++m->blank > BLANK_LINES ? fault(m, 400, "the message begins with empty lines")
                                        : CH_HTTP1_MORE;
    enum ch_http1_state state =
        m->response ? take_status_line(m, line) : take_request_line(m, line);
    m->at = HEADERS;
    m->line = m->text.n;
    return state;
}

/* --- the end of the head */

static struct ch_sv only_header(const struct ch_http1 *m, struct ch_sv wanted, size_t *count) {
    struct ch_sv name, value, found = {NULL, 0};
    *count = 0;
    for (size_t i = 0; i < ch_http1_count(m); i++) {
        ch_http1_header_at(m, i, &name, &value);
        if (!ch_sv_eq(name, wanted))
            continue;
        found = value;
        ++*count;
    }
    return found;
}

/* Is there such a word in the Connection headers? */
static bool connection_says(const struct ch_http1 *m, struct ch_sv word) {
    struct ch_sv name, value;
    for (size_t i = 0; i < ch_http1_count(m); i++) {
        ch_http1_header_at(m, i, &name, &value);
        while (ch_sv_is(name, "connection") && value.p)
            if (ch_sv_eq_nocase(ch_sv_trim(ch_sv_split(&value, ',')), word))
                return true;
    }
    return false;
}

/* Refuse a message with two ways to find its end (request smuggling). */
static enum ch_http1_state check_framing(struct ch_http1 *m) {
    size_t lengths, codings, hosts, upgrades;
    struct ch_sv length = only_header(m, CH_SV("content-length"), &lengths);
    struct ch_sv coding = only_header(m, CH_SV("transfer-encoding"), &codings);
    only_header(m, CH_SV("host"), &hosts);
    only_header(m, CH_SV("upgrade"), &upgrades);
    if (lengths > 1 || codings > 1 || (hosts > 1 && !m->response))
        return fault(m, 400, "a header came twice");
    if (codings && lengths)
        return fault(m, 400, "both Content-Length and Transfer-Encoding");
    if (codings && m->old)
        return fault(m, 400, "a transfer coding in HTTP/1.0");
    if (codings && !ch_sv_eq_nocase(coding, CH_SV("chunked")))
        return fault(m, 501, "only the transfer coding chunked is supported");
    if (lengths && !ch_http1_read_length(length, &m->length))
        return fault(m, 400, "the content length is not a number");
    m->has_length = lengths > 0;
    m->chunked = codings > 0;
    m->upgrade = upgrades > 0;
    m->keeps_alive = m->old ? connection_says(m, CH_SV("keep-alive"))
                            : !connection_says(m, CH_SV("close"));
    return CH_HTTP1_HEAD;
}

/* Where the body begins. */
static void begin_body(struct ch_http1 *m) {
    m->left = m->length;
    if (m->no_body || (!m->chunked && !m->has_length && !m->response))
        m->at = COMPLETE;
    else if (m->chunked)
        m->at = CHUNK_SIZE;
    else if (m->has_length)
        m->at = m->left ? FIXED : COMPLETE;
    else
        m->at = UNTIL_CLOSE;
}

/* --- lines */

static enum ch_http1_state take_line(struct ch_http1 *m) {
    struct ch_sv line = ch_sv(ch_buf_str(&m->text) + m->line, m->text.n - m->line);
    if (m->at == FIRST_LINE)
        return take_first_line(m, line);
    if (line.n)
        return take_header(m, line, m->at == TRAILERS);
    if (m->at == TRAILERS) {
        m->at = COMPLETE;
        return CH_HTTP1_DONE;
    }
    enum ch_http1_state state = check_framing(m);
    m->at = END_OF_HEAD;
    return state;
}

/* How many more bytes the current line may have. */
static size_t room_of_line(const struct ch_http1 *m) {
    size_t line = m->text.n - m->line, first = CH_LIMIT_URL + FIRST_REST;
    size_t room = m->max_text - m->text.n;
    if (m->at == FIRST_LINE)
        return CH_MIN(room, first - line);
    return m->at == TRAILERS ? CH_LIMIT_CHUNK_EXTRA - m->spent : room;
}

/* Bytes of a first line that cannot be the beginning of a response: do not wait for its end. */
static bool is_foreign(const struct ch_http1 *m, struct ch_sv run) {
    struct ch_sv want = CH_SV("HTTP/1.");
    size_t at = m->text.n - m->line;
    if (m->at != FIRST_LINE || !m->response || at >= want.n)
        return false;
    return memcmp(want.p + at, run.p, CH_MIN(run.n, want.n - at)) != 0;
}

static enum ch_http1_state add_to_line(struct ch_http1 *m, struct ch_sv run) {
    if (!run.n)
        return CH_HTTP1_MORE;
    if (is_foreign(m, run))
        return fault(m, 400, "the status line is invalid");
    if (run.n > room_of_line(m))
        return m->at == FIRST_LINE && !m->response ? fault(m, 414, "the address is too long")
                                                   : fault(m, 431, "the headers are too large");
    if (m->at == TRAILERS)
        m->spent += run.n;
    if (m->text.cap == 0)
        ch_buf_reserve(&m->text, TYPICAL_HEAD);
    ch_buf_add_sv(&m->text, run);
    return CH_HTTP1_MORE;
}

/* Collect bytes of a line up to its CR. */
static enum ch_http1_state feed_line(struct ch_http1 *m, struct ch_sv bytes, size_t *taken) {
    size_t n = text_run(bytes);
    *taken = n;
    if (add_to_line(m, ch_sv(bytes.p, n)) == CH_HTTP1_FAULT)
        return CH_HTTP1_FAULT;
    if (n == bytes.n)
        return CH_HTTP1_MORE;
    if (bytes.p[n] == '\n')
        return fault(m, 400, "a line feed without a carriage return");
    if (bytes.p[n] != '\r')
        return fault(m, 400, "a control character");
    m->at |= AFTER_CR;
    ++*taken;
    return CH_HTTP1_MORE;
}

static enum ch_http1_state feed_lf(struct ch_http1 *m, char c, size_t *taken) {
    if (c != '\n')
        return fault(m, 400, "a carriage return without a line feed");
    m->at &= (unsigned char)~AFTER_CR;
    *taken = 1;
    enum ch_http1_state state = take_line(m);
    if (state == CH_HTTP1_HEAD)
        *taken = 0; /* comes again */
    return state;
}

/* --- chunks */

/* The byte after the digits of a chunk size. A client that pads it is refused; some old
 * servers do. */
static enum ch_http1_state end_chunk_size(struct ch_http1 *m, char c) {
    if (c == '\r' && m->digits)
        m->at = CHUNK_LF;
    else if (c == ';' && m->digits)
        m->at = CHUNK_EXTENSION;
    else if (c == ' ' && m->digits && m->response)
        m->at = CHUNK_SPACE;
    else
        return fault(m, 400, "a chunk's size is invalid");
    return CH_HTTP1_MORE;
}

static enum ch_http1_state feed_chunk_size(struct ch_http1 *m, char c) {
    int digit = ch_hex_digit(c);
    if (digit < 0)
        return end_chunk_size(m, c);
    if (m->digits == 0)
        m->left = 0;
    if (++m->digits > CHUNK_DIGITS)
        return fault(m, 400, "a chunk's size is invalid");
    m->left = 16 * m->left + (uint64_t)digit;
    return CH_HTTP1_MORE;
}

static enum ch_http1_state feed_extension(struct ch_http1 *m, char c) {
    if (c == '\r') {
        m->at = CHUNK_LF;
        return CH_HTTP1_MORE;
    }
    if (m->at == CHUNK_SPACE && c == ';')
        m->at = CHUNK_EXTENSION;
    if (!ch_char_is(c, CH_CHAR_TEXT) || (m->at == CHUNK_SPACE && c != ' '))
        return fault(m, 400, "a chunk's extension is invalid");
    return ++m->spent > CH_LIMIT_CHUNK_EXTRA ? fault(m, 431, "the chunk extensions are too large")
                                             : CH_HTTP1_MORE;
}

static enum ch_http1_state end_chunk_line(struct ch_http1 *m, char c) {
    if (c != '\n')
        return fault(m, 400, "a carriage return without a line feed");
    m->digits = 0;
    m->at = m->left ? CHUNK_DATA : TRAILERS;
    m->line = m->text.n;
    return CH_HTTP1_MORE;
}

/* The whole line of a chunk's size: digits, CR, LF. Returns the position after it. NULL: the
 * line is incomplete, invalid or has an extension. */
__attribute__((always_inline)) static inline const char *
past_chunk_line(const char *at, const char *end, uint64_t *size) {
    const char *most = end - at > CHUNK_DIGITS ? at + CHUNK_DIGITS : end, *first = at;
    uint64_t n = 0;
    for (int digit; at < most && (digit = ch_hex_digit(*at)) >= 0; at++)
        n = 16 * n + (uint64_t)digit;
    if (at == first || end - at < 2 || memcmp(at, "\r\n", 2) != 0)
        return NULL;
    *size = n;
    return at + 2;
}

/* The fast path: bytes between the data of two chunks, read at once. Returns their number.
 * 0: the caller reads one byte. */
static size_t read_framing(struct ch_http1 *m, struct ch_sv bytes) {
    const char *at = bytes.p, *end = at + bytes.n, *next;
    if (m->at == CHUNK_CR && bytes.n >= 2 && at[0] == '\r' && at[1] == '\n') {
        m->at = CHUNK_SIZE;
        at += 2;
    }
    if (m->at == CHUNK_SIZE && m->digits == 0 && (next = past_chunk_line(at, end, &m->left))) {
        end_chunk_line(m, '\n');
        at = next;
    }
    return (size_t)(at - bytes.p);
}

static enum ch_http1_state feed_chunk_byte(struct ch_http1 *m, char c) {
    switch (m->at) {
    case CHUNK_SIZE:
        return feed_chunk_size(m, c);
    case CHUNK_SPACE:
    case CHUNK_EXTENSION:
        return feed_extension(m, c);
    case CHUNK_LF:
        return end_chunk_line(m, c);
    }
    if (c != (m->at == CHUNK_CR ? '\r' : '\n'))
        return fault(m, 400, "a chunk is longer than its size");
    m->at = m->at == CHUNK_CR ? CHUNK_END : CHUNK_SIZE;
    return CH_HTTP1_MORE;
}

/* --- the body */

static enum ch_http1_state feed_data(struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                                     struct ch_sv *data) {
    bool open = m->at == UNTIL_CLOSE;
    *taken = open || m->left > bytes.n ? bytes.n : (size_t)m->left;
    *data = ch_sv(bytes.p, *taken);
    m->left -= open ? 0 : *taken;
    if (!open && m->left == 0)
        m->at = m->at == FIXED ? COMPLETE : CHUNK_CR;
    return CH_HTTP1_DATA;
}

static enum ch_http1_state feed_part(struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                                     struct ch_sv *data) {
    if (m->at & AFTER_CR)
        return feed_lf(m, bytes.p[0], taken);
    switch (m->at) {
    case FIRST_LINE:
    case HEADERS:
    case TRAILERS:
        return feed_line(m, bytes, taken);
    case END_OF_HEAD:
        *taken = 1;
        begin_body(m);
        return CH_HTTP1_MORE;
    case FIXED:
    case CHUNK_DATA:
    case UNTIL_CLOSE:
        return feed_data(m, bytes, taken, data);
    }
    *taken = read_framing(m, bytes);
    if (*taken)
        return CH_HTTP1_MORE;
    *taken = 1;
    return feed_chunk_byte(m, bytes.p[0]);
}

enum ch_http1_state ch_http1_feed(struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                                  struct ch_sv *data) {
    enum ch_http1_state state = m->fault ? CH_HTTP1_FAULT : CH_HTTP1_MORE;
    *taken = 0;
    *data = ch_sv("", 0);
    while (state == CH_HTTP1_MORE && m->at != COMPLETE && *taken < bytes.n) {
        size_t n = 0;
        state = feed_part(m, ch_sv(bytes.p + *taken, bytes.n - *taken), &n, data);
        *taken += n;
    }
    return state == CH_HTTP1_MORE && m->at == COMPLETE ? CH_HTTP1_DONE : state;
}

size_t ch_http1_move_chunks(const struct ch_http1 *m, struct ch_sv bytes, size_t *taken,
                            char *out) {
    const char *at = bytes.p, *end = at + bytes.n, *data;
    char *to = out;
    uint64_t size;
    if (m->at != CHUNK_CR)
        end = at;
    while (end - at > 2 && memcmp(at, "\r\n", 2) == 0 &&
           (data = past_chunk_line(at + 2, end, &size)) && size &&
           size <= (uint64_t)(end - data)) {
        memmove(to, data, size);
        to += size;
        at = data + size;
    }
    *taken = (size_t)(at - bytes.p);
    return (size_t)(to - out);
}

bool ch_http1_eof(const struct ch_http1 *m) {
    return !m->fault && (m->at == UNTIL_CLOSE || m->at == COMPLETE);
}
