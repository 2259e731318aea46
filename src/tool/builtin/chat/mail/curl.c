/* curl.c -- the module libchela-mail.so: SMTP by libcurl.
 *
 * TLS is asked for and insisted on unless the operator said otherwise, and the
 * server's certificate is always verified. Nothing of the process's environment
 * is used: no proxy, no netrc. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "chela/sys/mail.h"
#include "chela/sys/module.h"

#define CONNECT_MS 15000

struct run {
    const struct chela_mail *mail;
    size_t sent; /* bytes of the message that libcurl has taken */
    bool ended;  /* it has asked for more than there is */
    int64_t due;
    curl_socket_t socket;
    int gave_up;         /* CHELA_E*: we ended it */
    struct ch_buf reply; /* the server's last line */
    char why[CURL_ERROR_SIZE];
};

static void begin(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t on_read(char *to, size_t size, size_t n, void *user) {
    struct run *r = user;
    size_t k = CH_MIN(size * n, r->mail->length - r->sent);

    memcpy(to, r->mail->message + r->sent, k);
    r->sent += k;
    r->ended = r->ended || k == 0;
    return k;
}

/* Replies of the server come line by line; after a failure the last of them is
 * its answer to our goodbye. */
static size_t on_reply(char *line, size_t size, size_t n, void *user) {
    struct run *r = user;
    struct ch_sv text = ch_sv_trim(ch_sv(line, CH_MIN(size * n, (size_t)400)));

    if (ch_sv_starts(text, "221"))
        return size * n;
    ch_buf_clear(&r->reply);
    ch_buf_add_sv(&r->reply, text);
    return size * n;
}

static size_t on_body(char *data, size_t size, size_t n, void *user) {
    (void)data, (void)user;
    return size * n;
}

static int on_socket(void *user, curl_socket_t fd, curlsocktype purpose) {
    (void)purpose;
    ((struct run *)user)->socket = fd;
    return CURL_SOCKOPT_OK;
}

/* Called about once a second, also while a reply is waited for. Giving up shuts
 * the connection, because libcurl would say goodbye first and wait two minutes
 * for the answer. */
static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    struct run *r = user;

    (void)a, (void)b, (void)c, (void)d;
    if (r->mail->stop && r->mail->stop(r->mail->user_data))
        r->gave_up = CHELA_ECANCELED;
    else if (ch_mono_ms(&ch_clock_system) >= r->due)
        r->gave_up = CHELA_ETIMEOUT;
    if (r->gave_up && r->socket != CURL_SOCKET_BAD)
        shutdown(r->socket, SHUT_RDWR);
    return r->gave_up != 0;
}

/* The server's code: 0 if the last thing it said was no refusal. */
static int refusal(const struct run *r) {
    const char *line = ch_buf_str(&r->reply);
    int code = strlen(line) >= 3 ? (int)strtol(line, NULL, 10) : 0;

    return code >= 400 && code < 600 ? code : 0;
}

static int explain(const struct run *r, CURLcode rc, struct chela_error *err) {
    const char *text = r->why[0] ? r->why : curl_easy_strerror(rc);
    int code = refusal(r);

    if (r->gave_up == CHELA_ECANCELED)
        return ch_fail(err, CHELA_ECANCELED, "cancelled");
    if (r->gave_up || rc == CURLE_OPERATION_TIMEDOUT)
        return ch_fail(err, CHELA_ETIMEOUT, "the mail server took too long");
    switch (rc) {
    case CURLE_LOGIN_DENIED:
        return ch_fail(err, CHELA_EAUTH, "the mail server did not accept the login: %s",
                       code ? ch_buf_str(&r->reply) : text);
    case CURLE_USE_SSL_FAILED:
        return ch_fail(err, CHELA_ETLS,
                       "the mail server offers no TLS, and mail is not sent without");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return ch_fail(err, CHELA_ETLS, "%s", text);
    default:
        break;
    }
    if (code)
        return ch_fail(err, code < 500 ? CHELA_EBUSY : CHELA_EPERM, "the mail server refused: %s",
                       ch_buf_str(&r->reply));
    return ch_fail(err, CHELA_ENET, "%s", text);
}

static struct curl_slist *list_recipients(const char *const *to) {
    struct curl_slist *list = NULL;

    for (; *to; to++)
        list = curl_slist_append(list, *to);
    return list;
}

static void set_options(CURL *curl, struct run *r, const char *url, struct curl_slist *to) {
    const struct chela_mail *m = r->mail;

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, r->why);
    curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(curl, CURLOPT_SOCKOPTDATA, r);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CH_MIN(m->timeout_ms, CONNECT_MS));
    curl_easy_setopt(curl, CURLOPT_USE_SSL, (long)(m->plain ? CURLUSESSL_TRY : CURLUSESSL_ALL));
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (m->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, m->ca_file);
    if (m->user) {
        curl_easy_setopt(curl, CURLOPT_USERNAME, m->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, m->password ? m->password : "");
    }
    curl_easy_setopt(curl, CURLOPT_MAIL_FROM, m->from);
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, r);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_reply);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
}

static int send_mail(const struct chela_mail *mail, struct chela_mail_outcome *out,
                     struct chela_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct run r = {.mail = mail,
                    .socket = CURL_SOCKET_BAD,
                    .due = ch_mono_ms(&ch_clock_system) + mail->timeout_ms};
    CH_BUF_AUTO url = {0};

    pthread_once(&once, begin);
    CURL *curl = curl_easy_init();
    if (!curl)
        return ch_fail(err, CHELA_ELIMIT, "libcurl cannot be used");
    struct curl_slist *to = list_recipients(mail->to);
    ch_buf_addf(&url, "%s/%s", mail->server, mail->helo); /* the path is what we call ourselves */
    set_options(curl, &r, ch_buf_str(&url), to);
    CURLcode code = curl_easy_perform(curl);
    int rc = code == CURLE_OK ? 0 : explain(&r, code, err);
    /* All of it is on its way and no answer to it came: who knows. */
    out->unknown = rc < 0 && r.ended && !refusal(&r);
    curl_slist_free_all(to);
    curl_easy_cleanup(curl);
    ch_buf_release(&r.reply);
    return rc;
}

static const struct chela_mail_ops ops = {.name = "curl", .send = send_mail};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "mail", "mail", &ops};
