/* curl.c -- the module libchela-mail.so: MIME and SMTP through libcurl.
 *
 * TLS is required unless the operator disables it, and the server's certificate is always
 * verified. The process environment is not used: no proxy, no netrc. */
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
    int64_t due;
    curl_socket_t socket;
    int gave_up;         /* CHELA_E*: the transfer was ended by this module */
    struct ch_buf reply; /* last line from the server */
    char why[CURL_ERROR_SIZE];
};

static void curl_begin(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Replies of the server arrive line by line. After a failure, the last line is the reply to
 * QUIT. */
static size_t curl_on_reply(char *line, size_t size, size_t n, void *user) {
    struct run *r = user;
    struct ch_sv text = ch_sv_trim(ch_sv(line, CH_MIN(size * n, (size_t)400)));

    if (ch_sv_starts(text, "221"))
        return size * n;
    ch_buf_clear(&r->reply);
    ch_buf_add_sv(&r->reply, text);
    return size * n;
}

static size_t curl_on_body(char *data, size_t size, size_t n, void *user) {
    (void)data, (void)user;
    return size * n;
}

static int on_socket(void *user, curl_socket_t fd, curlsocktype purpose) {
    (void)purpose;
    ((struct run *)user)->socket = fd;
    return CURL_SOCKOPT_OK;
}

/* Called about once a second, also while waiting for a reply. To give up, the function
 * shuts the socket down; otherwise libcurl would send QUIT first and wait two minutes for
 * the reply. */
static int curl_on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
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

/* The SMTP code of the server's refusal; 0 if the last reply was no refusal. */
static int curl_refusal(const struct run *r) {
    const char *line = ch_buf_str(&r->reply);
    int code = strlen(line) >= 3 ? (int)strtol(line, NULL, 10) : 0;

    return code >= 400 && code < 600 ? code : 0;
}

static int curl_explain(const struct run *r, CURLcode rc, struct chela_error *err) {
    const char *text = r->why[0] ? r->why : curl_easy_strerror(rc);
    int code = curl_refusal(r);

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

static struct curl_slist *list_of(const char *const *texts) {
    struct curl_slist *list = NULL;

    for (; *texts; texts++)
        list = curl_slist_append(list, *texts);
    return list;
}

static CURLcode curl_add_part(curl_mime *mime, const struct chela_mail_part *p) {
    curl_mimepart *part = curl_mime_addpart(mime);
    CURLcode rc = curl_mime_type(part, p->type);
    CH_BUF_AUTO line = {0};

    if (rc == CURLE_OK)
        rc = curl_mime_encoder(part, p->encoding);
    if (rc == CURLE_OK)
        rc = curl_mime_data(part, p->data, p->length);
    if (rc != CURLE_OK || !p->disposition)
        return rc;
    ch_buf_addf(&line, "Content-Disposition: %s", p->disposition);
    return curl_mime_headers(part, curl_slist_append(NULL, ch_buf_str(&line)), 1);
}

static CURLcode curl_add_parts(curl_mime *mime, const struct chela_mail *m) {
    CURLcode rc = CURLE_OK;

    for (size_t i = 0; i < m->nparts && rc == CURLE_OK; i++)
        rc = curl_add_part(mime, &m->parts[i]);
    return rc;
}

static void set_options(CURL *curl, struct run *r, const char *url) {
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
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, curl_on_body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, curl_on_reply);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, curl_on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
}

/* True if the whole message was sent and no reply to it was received. */
static bool is_unknown(CURL *curl, const struct run *r, int64_t sent) {
    curl_off_t all = -1; /* known once the server has accepted DATA */

    curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_UPLOAD_T, &all);
    return all >= 0 && sent >= all && !curl_refusal(r);
}

static int send_mail(const struct chela_mail *mail, struct chela_mail_outcome *out,
                     struct chela_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct run r = {.mail = mail,
                    .socket = CURL_SOCKET_BAD,
                    .due = ch_mono_ms(&ch_clock_system) + mail->timeout_ms};
    CH_BUF_AUTO url = {0};

    pthread_once(&once, curl_begin);
    CURL *curl = curl_easy_init();
    if (!curl)
        return ch_fail(err, CHELA_ELIMIT, "libcurl cannot be used");
    struct curl_slist *to = list_of(mail->to), *headers = list_of(mail->headers);
    curl_mime *mime = curl_mime_init(curl);
    CURLcode code = curl_add_parts(mime, mail);
    ch_buf_addf(&url, "%s/%s", mail->server, mail->helo); /* the path is the HELO name */
    set_options(curl, &r, ch_buf_str(&url));
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, mime);
    if (code == CURLE_OK)
        code = curl_easy_perform(curl);
    int rc = code == CURLE_OK ? 0 : curl_explain(&r, code, err);
    curl_off_t sent = 0;
    curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &sent);
    out->bytes = sent;
    out->unknown = rc < 0 && is_unknown(curl, &r, sent);
    curl_easy_cleanup(curl);
    curl_mime_free(mime);
    curl_slist_free_all(headers);
    curl_slist_free_all(to);
    ch_buf_release(&r.reply);
    return rc;
}

static const struct chela_mail_ops ops = {.name = "curl", .send = send_mail};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "mail", "mail", &ops};
