/* send_email.c -- the tool `send_email`: one message through the operator's mail server.
 *
 * Sender, server and, optionally, the permitted recipients are settings; the model supplies
 * the text and names files of the workspace. A sent message cannot be undone, so the
 * runtime never retries it, and if the server's reply is lost, the result says so. Runs on
 * a worker thread. */
#include "tool/call/call_path.h"
#include "tool/builtin/chat/send_email.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/sys/mail.h"
#include "guard/leak.h"
#include "io/module.h"
#include "egress/egress.h"
#include "tool/builtin/files/file.h"
#include "tool/builtin/chat/mail_message.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/registry/settings.h"
#include "json/writer.h"

struct job {
    chela_call *call;
    const struct ch_tool_settings *settings;
    struct ch_mail mail;
    struct ch_mailboxes from;
    const char *paths[CH_LIMIT_MAIL_FILES];
    struct ch_mail_file files[CH_LIMIT_MAIL_FILES];
    struct ch_buf data[CH_LIMIT_MAIL_FILES]; /* owned; `files` points into these buffers */
    size_t nfiles;
};

static void send_email_release(struct job *j) {
    ch_mailboxes_release(&j->from);
    ch_mailboxes_release(&j->mail.to);
    ch_mailboxes_release(&j->mail.cc);
    for (size_t i = 0; i < CH_LIMIT_MAIL_FILES; i++)
        ch_buf_release(&j->data[i]);
    ch_free(j);
}

/* --- arguments -------------------------------------------------------------------------- */

/* Call fn for a string argument, or for each string of an array. */
static int each_text(chela_call *call, const char *name,
                     int (*use)(struct job *j, struct ch_sv text), struct job *j) {
    const struct ch_json *v = ch_json_get(call->args, name);

    if (!v || v->type == CH_JSON_NULL)
        return 0;
    if (v->type == CH_JSON_STRING)
        return use(j, ch_json_str(v));
    if (v->type != CH_JSON_ARRAY) {
        chela_result_error(call, "invalid_arguments",
                           "The argument \"%s\" must be text or an array of texts.", name);
        return CHELA_EINVAL;
    }
    for (CH_JSON_EACH(e, v)) {
        int rc = e->type == CH_JSON_STRING ? use(j, ch_json_str(e)) : CHELA_EPARSE;
        if (rc == CHELA_EPARSE)
            chela_result_error(call, "invalid_arguments",
                               "The argument \"%s\" must hold texts only.", name);
        if (rc < 0)
            return CHELA_EINVAL;
    }
    return 0;
}

static int add_recipient(struct job *j, struct ch_mailboxes *list, struct ch_sv text) {
    struct chela_error err = {0};

    if (ch_mailboxes_add(list, text, &err) == 0)
        return 0;
    chela_result_error(j->call, "invalid_arguments", "%s.", err.message);
    return CHELA_EINVAL;
}

static int add_to(struct job *j, struct ch_sv text) {
    return add_recipient(j, &j->mail.to, text);
}

static int add_cc(struct job *j, struct ch_sv text) {
    return add_recipient(j, &j->mail.cc, text);
}

static int send_email_add_path(struct job *j, struct ch_sv text) {
    if (j->nfiles == CH_LIMIT_MAIL_FILES)
        return ch_result_invalid(j->call, "At most 10 files can be attached.");
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return ch_result_invalid(j->call,
                                 "The path of an attachment is empty or holds a NUL character.");
    j->paths[j->nfiles++] = ch_arena_str(&j->call->arena, text);
    return 0;
}

static void send_email_lower(char *s) {
    for (; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s += 'a' - 'A';
}

/* egress.deny counts for the domain of a recipient, whatever mail server passes the mail on. */
static int check_denied(const struct job *j, const struct ch_mailboxes *list) {
    for (size_t i = 0; i < list->n; i++) {
        const char *at = strrchr(list->at[i].addr, '@');
        struct ch_url to;
        if (!at || ch_url_parse_host(ch_sv_str(at + 1), true, &to) < 0 ||
            ch_egress_judge(j->settings->egress, &to).verdict != CH_EGRESS_DENY)
            continue;
        chela_result_error(j->call, "permission_denied",
                           "Mail may not be sent to %s: egress.deny names the host.",
                           list->at[i].addr);
        return CHELA_EINVAL;
    }
    return 0;
}

static int check_allowed(const struct job *j, const struct ch_mailboxes *list) {
    if (check_denied(j, list) < 0)
        return CHELA_EINVAL;
    if (!j->settings->mail_allow_to)
        return 0;
    CH_AUTOFREE char *patterns = ch_strdup(j->settings->mail_allow_to);
    send_email_lower(patterns);
    for (size_t i = 0; i < list->n; i++) {
        CH_AUTOFREE char *addr = ch_strdup(list->at[i].addr);
        send_email_lower(addr);
        if (ch_tool_matches(ch_sv_str(patterns), ch_sv_str(addr)))
            continue;
        chela_result_error(j->call, "permission_denied",
                           "Mail may not be sent to %s. Possible recipients: %s.", list->at[i].addr,
                           j->settings->mail_allow_to);
        return CHELA_EINVAL;
    }
    return 0;
}

static int send_email_check_words(const struct job *j) {
    const struct ch_mail *m = &j->mail;

    for (size_t i = 0; i < m->subject.n; i++)
        if ((unsigned char)m->subject.p[i] < ' ' || m->subject.p[i] == 0x7f)
            return ch_result_invalid(j->call,
                                     "The subject must be one line, without control characters.");
    if (m->subject.n > CH_LIMIT_MAIL_SUBJECT)
        return ch_result_invalid(j->call, "The subject is longer than 1000 bytes.");
    if (m->body.n > CH_LIMIT_MAIL_BODY)
        return ch_result_invalid(j->call, "The body is longer than 1 MB; attach a file instead.");
    if (m->to.n == 0)
        return ch_result_invalid(j->call, "There is no recipient in \"to\".");
    if (m->to.n + m->cc.n > CH_LIMIT_MAIL_RECIPIENTS)
        return ch_result_invalid(j->call, "There are more than 50 recipients.");
    return 0;
}

static int send_email_read_arguments(struct job *j) {
    chela_call *call = j->call;
    const char *subject, *body;
    int rc = chela_arg_string(call, "subject", &subject);

    if (rc == 0)
        rc = chela_arg_string(call, "body", &body);
    if (rc == 0)
        rc = each_text(call, "to", add_to, j);
    if (rc == 0)
        rc = each_text(call, "cc", add_cc, j);
    if (rc == 0)
        rc = each_text(call, "attachments", send_email_add_path, j);
    if (rc < 0)
        return rc;
    j->mail.subject = ch_sv_str(subject);
    j->mail.body = ch_sv_str(body);
    rc = send_email_check_words(j);
    if (rc == 0)
        rc = check_allowed(j, &j->mail.to);
    return rc < 0 ? rc : check_allowed(j, &j->mail.cc);
}

static struct job *new_job(chela_call *call, void *user) {
    struct job *j = ch_alloc(sizeof(*j));

    j->call = call;
    j->settings = user;
    return j;
}

int ch_send_email_check(chela_call *call, void *user) {
    struct job *j = new_job(call, user);
    int rc = send_email_read_arguments(j);

    send_email_release(j);
    return rc;
}

/* --- sending ------------------------------------------------------------------------------ */

static const char *send_email_name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The arguments were looked at before the call (call/leaving.h). */
static bool send_email_leaks(const struct job *j, size_t i) {
    CH_BUF_AUTO name = {0};

    if (!ch_leak_find(chela_call_workspace(j->call), 0, ch_buf_sv(&j->data[i]), &name))
        return false;
    chela_result_error(j->call, "permission_denied", "Cannot attach %s: it holds a secret, %s.",
                       j->paths[i], ch_buf_str(&name));
    return true;
}

/* Returns 1 if the result is set already. */
static int read_files(struct job *j) {
    size_t left = CH_LIMIT_MAIL_BYTES;

    for (size_t i = 0; i < j->nfiles; i++) {
        struct stat st;
        int fd = ch_file_open(j->call, j->paths[i], &st);
        int rc = fd < 0 ? fd : ch_file_read(j->call, fd, left, &j->data[i]);
        if (fd >= 0)
            close(fd);
        if (rc == -EFBIG)
            chela_result_error(j->call, "invalid_arguments",
                               "Cannot attach %s: all files together may have 20 MB.", j->paths[i]);
        else if (rc < 0)
            ch_call_path_missing(j->call, "attach", j->paths[i], rc);
        if (rc < 0 || send_email_leaks(j, i))
            return 1;
        left -= j->data[i].n;
        j->files[i] =
            (struct ch_mail_file){send_email_name_of(j->paths[i]), ch_buf_sv(&j->data[i])};
    }
    j->mail.files = j->files;
    j->mail.nfiles = j->nfiles;
    return 0;
}

static void send_email_describe(const struct job *j, int64_t bytes) {
    CH_BUF_AUTO id = {0}, who = {0}, json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_mail_id(&j->mail, &id);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "messageId", ch_buf_str(&id));
    ch_jw_kint(&w, "bytes", bytes);
    ch_jw_kbegin(&w, "recipients", '[');
    for (size_t i = 0; i < j->mail.to.n + j->mail.cc.n; i++) {
        const struct ch_mailbox *m =
            i < j->mail.to.n ? &j->mail.to.at[i] : &j->mail.cc.at[i - j->mail.to.n];
        ch_buf_addf(&who, "%s%s", i ? ", " : "", m->addr);
        ch_jw_cstr(&w, m->addr);
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    chela_result_printf(j->call, "Sent to %s. Message-ID: %s\n", ch_buf_str(&who), ch_buf_str(&id));
    chela_result_details(j->call, ch_buf_str(&json));
}

static const char *send_email_type_of(int code) {
    switch (code) {
    case CHELA_EPERM:
    case CHELA_EAUTH:
        return "permission_denied";
    case CHELA_ETIMEOUT:
        return "timeout";
    case CHELA_ECANCELED:
        return "cancelled";
    case CHELA_ENET:
        return "network";
    case CHELA_EBUSY:
        return "unavailable";
    case CHELA_EINVAL:
    case CHELA_ELIMIT:
        return "invalid_arguments";
    }
    return "internal";
}

static int send_email_stop(void *user) {
    return chela_call_cancelled(user);
}

static int send_email_hand_over(struct job *j, struct chela_mail_outcome *out,
                                struct chela_error *err) {
    const struct ch_tool_settings *s = j->settings;
    const char *to[CH_LIMIT_MAIL_RECIPIENTS + 1] = {NULL};
    CH_BUF_AUTO server = {0};
    const void *ops;
    size_t n = 0;

    for (size_t i = 0; i < j->mail.to.n; i++)
        to[n++] = j->mail.to.at[i].addr;
    for (size_t i = 0; i < j->mail.cc.n; i++)
        to[n++] = j->mail.cc.at[i].addr;
    ch_buf_add_str(&server, s->smtp);
    while (server.n && server.p[server.n - 1] == '/')
        server.p[--server.n] = '\0';
    struct chela_mail mail = {.size = sizeof(mail),
                              .server = ch_buf_str(&server),
                              .user = s->mail_password ? s->mail_user : NULL,
                              .password = s->mail_password,
                              .ca_file = s->ca_file,
                              .plain = s->mail_no_tls,
                              .helo = strrchr(j->from.at->addr, '@') + 1,
                              .from = j->from.at->addr,
                              .to = to,
                              .timeout_ms = CH_DEFAULT_MAIL_MS,
                              .stop = send_email_stop,
                              .user_data = j->call};
    if (mail.password && !mail.user)
        mail.user = j->from.at->addr;
    int rc = ch_mail_compose(&j->mail, &j->call->arena, &mail, err);
    if (rc == 0)
        rc = ch_module_load("mail", "mail", s->module_path, &ops, err);
    return rc < 0 ? rc : ((const struct chela_mail_ops *)ops)->send(&mail, out, err);
}

static int send_email_deliver(struct job *j) {
    struct chela_mail_outcome outcome = {0};
    struct chela_error err = {0};

    if (getrandom(j->mail.id, sizeof(j->mail.id), 0) != (ssize_t)sizeof(j->mail.id))
        abort();
    j->mail.date_ms = ch_now_ms(&ch_clock_system);
    j->mail.from = j->from.at;
    int rc = send_email_hand_over(j, &outcome, &err);
    if (rc == 0) {
        send_email_describe(j, outcome.bytes);
        return 0;
    }
    j->call->answer.unknown = outcome.unknown;
    return chela_result_error(j->call, send_email_type_of(rc), "%s: %s.%s",
                              outcome.unknown ? "It is not known whether the message was sent"
                                              : "The message was not sent",
                              err.message,
                              outcome.unknown ? " Do not send it again without asking." : "");
}

int ch_send_email_run(chela_call *call, void *user) {
    struct job *j = new_job(call, user);
    struct chela_error err = {0};
    int rc = send_email_read_arguments(j);

    if (rc < 0)
        ;
    else if (j->settings->mail_password_env && !j->settings->mail_password)
        rc = chela_result_error(call, "internal",
                                "The mail server's password is missing: set the environment "
                                "variable %s.",
                                j->settings->mail_password_env);
    else if (ch_mailboxes_add(&j->from, ch_sv_str(j->settings->mail_from), &err) < 0)
        rc = chela_result_error(call, "internal", "mail.from: %s.", err.message);
    else if (!read_files(j))
        rc = send_email_deliver(j);
    send_email_release(j);
    return rc;
}
