/* test_mail.c -- addresses, messages, and sending them to a server of our own
 * that is friendly, strict, plain or broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/httpd_tls.h"
#include "support/modules.h"
#include "support/smtpd.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/chat/mail_message.h"
#include "tool/registry/settings.h"

#define PASSWORD "mail-password-SENTINEL"

/* --- addresses ------------------------------------------------------------------------- */

static const struct {
    const char *text, *want; /* "name|addr;" each; NULL: refused */
} addresses[] = {
    {"a@b.example", "|a@b.example;"},
    {" a@b.example ", "|a@b.example;"},
    {"A.B+c@b-2.example", "|A.B+c@b-2.example;"},
    {"a@localhost", "|a@localhost;"},
    {"Jane Doe <jane@b.example>", "Jane Doe|jane@b.example;"},
    {"\"Doe, Jane\" <jane@b.example>", "Doe, Jane|jane@b.example;"},
    {"\u5f20\u4e09 <z@b.example>", "\u5f20\u4e09|z@b.example;"},
    {"<a@b.example>", "|a@b.example;"},
    {"a@b.example, Jane <c@d.example>,e@f.example", "|a@b.example;Jane|c@d.example;|e@f.example;"},
    {"", NULL},
    {"a", NULL},
    {"@b.example", NULL},
    {"a@", NULL},
    {"a@b..example", NULL},
    {"a@.example", NULL},
    {"a@-b.example", NULL},
    {"a..b@c.example", NULL},
    {".a@c.example", NULL},
    {"a b@c.example", NULL},
    {"a@b@c.example", NULL},
    {"a@b.example,", NULL},
    {",a@b.example", NULL},
    {"a@b.example\r\nBcc: evil@e.example", NULL},
    {"a@b.example\nX: y", NULL},
    {"a@b.example\r", "|a@b.example;"}, /* white space around it */
    {"Jane\r\nBcc: x <a@b.example>", NULL},
    {"Jane\x01 <a@b.example>", NULL},
    {"Jane <a@b.example\r\n>", NULL},
    {"<a@b.example> <c@d.example>", "<a@b.example>|c@d.example;"},
    {"a@[127.0.0.1]", NULL},
    {"\"a b\"@c.example", NULL},
    {"\u5f20@b.example", NULL},
    {"a@b\u00fc.example", NULL},
    {"a@b.example> NOTIFY=NEVER", NULL},
    {"a@b.example SIZE=1", NULL},
    {"Jane \xff <a@b.example>", NULL},
};

static void test_addresses(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(addresses); i++) {
        struct ch_mailboxes list = {0};
        CH_BUF_AUTO got = {0};
        struct chela_error err = {0};
        int rc = ch_mailboxes_add(&list, ch_sv_str(addresses[i].text), &err);
        for (size_t k = 0; k < list.n; k++)
            ch_buf_addf(&got, "%s|%s;", list.at[k].name, list.at[k].addr);
        ch_mailboxes_release(&list);
        if ((rc == 0) != (addresses[i].want != NULL))
            fail_msg("%s: %d %s", addresses[i].text, rc, err.message);
        if (rc == 0 && strcmp(ch_buf_str(&got), addresses[i].want) != 0)
            fail_msg("%s: %s", addresses[i].text, got.p);
    }
}

/* --- messages ----------------------------------------------------------------------------- */

struct built {
    struct ch_arena arena;
    struct ch_buf headers; /* each line ended by CR LF */
    struct chela_mail mail;
};

static void built_release(struct built *b) {
    ch_buf_release(&b->headers);
    ch_arena_release(&b->arena);
}
#define BUILT __attribute__((cleanup(built_release))) struct built

static int build(const char *from, const char *to, const char *cc, const char *subject,
                 const char *body, const struct ch_mail_file *files, size_t nfiles,
                 struct built *out) {
    struct ch_mailboxes sender = {0};
    struct ch_mail m = {.subject = ch_sv_str(subject),
                        .body = ch_sv_str(body),
                        .files = files,
                        .nfiles = nfiles,
                        .date_ms = 1700000000000,
                        .id = {1, 2}};

    assert_int_equal(ch_mailboxes_add(&sender, ch_sv_str(from), NULL), 0);
    assert_int_equal(ch_mailboxes_add(&m.to, ch_sv_str(to), NULL), 0);
    if (cc)
        assert_int_equal(ch_mailboxes_add(&m.cc, ch_sv_str(cc), NULL), 0);
    m.from = sender.at;
    int rc = ch_mail_compose(&m, &out->arena, &out->mail, NULL);
    ch_mailboxes_release(&sender);
    ch_mailboxes_release(&m.to);
    ch_mailboxes_release(&m.cc);
    for (size_t i = 0; rc == 0 && out->mail.headers[i]; i++)
        ch_buf_addf(&out->headers, "%s\r\n", out->mail.headers[i]);
    return rc;
}

static void assert_part(const struct built *b, size_t i, const char *type, const char *encoding,
                        const char *data) {
    const struct chela_mail_part *p = &b->mail.parts[i];

    assert_true(i < b->mail.nparts);
    assert_string_equal(p->type, type);
    assert_string_equal(p->encoding, encoding);
    if (!ch_sv_is(ch_sv(p->data, p->length), data))
        fail_msg("part %zu: %.*s", i, (int)p->length, p->data);
}

static void test_plain_message(void **state) {
    BUILT got = {0};

    (void)state;
    assert_int_equal(build("Bot <bot@x.example>", "a@b.example", NULL, "Hello there",
                           "One\n.\nTwo\r\nThree\rFour\n", NULL, 0, &got),
                     0);
    assert_string_equal(got.headers.p,
                        "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"
                        "From: Bot <bot@x.example>\r\n"
                        "To: a@b.example\r\n"
                        "Subject: Hello there\r\n"
                        "Message-ID: <00000000000000010000000000000002@x.example>\r\n"
                        "Auto-Submitted: auto-generated\r\n");
    assert_int_equal(got.mail.nparts, 1);
    assert_part(&got, 0, "text/plain; charset=utf-8", "7bit",
                "One\r\n.\r\nTwo\r\nThree\r\nFour\r\n");
    assert_null(got.mail.parts[0].disposition);
}

static void test_other_alphabets(void **state) {
    BUILT got = {0};

    (void)state;
    assert_int_equal(build("\u5f20\u4e09 <bot@x.example>", "\"Doe, J.\" <a@b.example>",
                           "c@d.example", "\u4f60\u597d", "\u4f60\u597d\n", NULL, 0, &got),
                     0);
    assert_non_null(strstr(got.headers.p, "\r\nFrom: =?UTF-8?B?5byg5LiJ?= <bot@x.example>\r\n"));
    assert_non_null(strstr(got.headers.p, "\r\nTo: \"Doe, J.\" <a@b.example>\r\n"));
    assert_non_null(strstr(got.headers.p, "\r\nCc: c@d.example\r\n"));
    assert_non_null(strstr(got.headers.p, "\r\nSubject: =?UTF-8?B?5L2g5aW9?=\r\n"));
    assert_part(&got, 0, "text/plain; charset=utf-8", "base64", "\u4f60\u597d\r\n");
}

/* Headers of any length are folded, and nothing in them starts a line. */
static void test_folding(void **state) {
    CH_BUF_AUTO words = {0}, one = {0}, chars = {0};
    const char *subjects[3];

    (void)state;
    for (int i = 0; i < 60; i++) {
        ch_buf_addf(&words, "%sword%d", i ? " " : "", i);
        ch_buf_add_str(&one, "0123456789");
        ch_buf_add_str(&chars, "\u4f60");
    }
    subjects[0] = words.p;
    subjects[1] = one.p;
    subjects[2] = chars.p;
    for (size_t i = 0; i < CH_LEN(subjects); i++) {
        BUILT got = {0};
        assert_int_equal(build("b@x.example", "a@b.example", NULL, subjects[i], "x", NULL, 0, &got),
                         0);
        struct ch_sv rest = ch_buf_sv(&got.headers);
        while (rest.n) {
            struct ch_sv line = ch_sv_split(&rest, '\n');
            if (line.n > 78)
                fail_msg("%.*s", CH_SV_FMT(line));
            assert_true(line.p[0] == ' ' || memchr(line.p, ':', line.n));
        }
    }
}

static void test_injection(void **state) {
    static const char *const bad[] = {
        "a\r\nBcc: x@y.example", "a\nb", "a\rb", "\x1b[0m", "a\x7f", "a\tb"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        BUILT got = {0};
        assert_int_equal(build("b@x.example", "a@b.example", NULL, bad[i], "x", NULL, 0, &got),
                         CHELA_EINVAL);
    }
    /* What looks like an encoded word is encoded, not passed on. */
    BUILT got = {0};
    assert_int_equal(
        build("b@x.example", "a@b.example", NULL, "=?utf-8?q?=0D=0ABcc:_x?=", "x", NULL, 0, &got),
        0);
    assert_null(strstr(got.headers.p, "Bcc"));
}

static void test_files(void **state) {
    const struct ch_mail_file files[] = {
        {"r\u00e9sum\u00e9 \"1\"\r\nX: y.pdf", CH_SV("%PDF")},
        {"a.txt", CH_SV("0123456789")},
    };
    BUILT got = {0};

    (void)state;
    assert_int_equal(build("b@x.example", "a@b.example", NULL, "s", "hi", files, 2, &got), 0);
    assert_int_equal(got.mail.nparts, 3);
    assert_part(&got, 0, "text/plain; charset=utf-8", "7bit", "hi");
    assert_part(&got, 1, "application/pdf", "base64", "%PDF");
    assert_part(&got, 2, "text/plain; charset=utf-8", "base64", files[1].data.p);
    assert_string_equal(got.mail.parts[1].disposition,
                        "attachment; filename*=UTF-8''"
                        "r%C3%A9sum%C3%A9%20%221%22%0D%0AX%3A%20y.pdf");
    assert_string_equal(got.mail.parts[2].disposition, "attachment; filename*=UTF-8''a.txt");
}

/* --- sending -------------------------------------------------------------------------------- */

struct env {
    struct kit k;
    struct smtpd *server;
    struct test_ca *ca;
    void *identity;
    char *ca_file, *modules;
};

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));

    *state = e;
    kit_init(&e->k);
    e->modules = modules_dir();
    e->ca = test_ca_new();
    e->ca_file = test_ca_write(e->ca);
    e->identity = test_ca_issue(e->ca, "DNS:localhost,IP:127.0.0.1", 1);
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;

    smtpd_close(e->server);
    kit_free(&e->k);
    test_ca_issue_free(e->identity);
    test_ca_free(e->ca);
    unlink(e->ca_file);
    ch_free(e->ca_file);
    ch_free(e->modules);
    ch_free(e);
    return 0;
}

static const char *env_of(const char *name, void *user) {
    (void)user;
    return strcmp(name, "MAIL_PASSWORD") == 0 ? PASSWORD : NULL;
}

/* more: further settings, NULL-terminated. */
static void configure(struct env *e, const char *scheme, const char *const *more) {
    struct ch_tool_settings *settings = NULL;
    char smtp[64];
    const char *list[8] = {smtp, "mail.from=Bot <bot@x.example>"};
    struct chela_error err = {0};

    snprintf(smtp, sizeof(smtp), "mail.smtp=%s://127.0.0.1:%u/", scheme, smtpd_port(e->server));
    for (size_t i = 0; more && more[i]; i++)
        list[2 + i] = more[i];
    struct ch_settings_opts opts = {
        .list = list, .env = env_of, .module_path = e->modules, .ca_file = e->ca_file};
    if (ch_settings_new(&opts, &settings, &err) < 0)
        fail_msg("%s", err.message);
    ch_registry_release(&e->k.registry);
    assert_int_equal(ch_builtin_add_with(&e->k.registry, settings, "send_email", NULL, NULL), 0);
    ch_settings_unref(settings);
    if (!modules_have("mail"))
        skip();
}

static void serve(struct env *e, const struct smtpd_opts *opts) {
    smtpd_close(e->server);
    e->server = smtpd_new(ch_loop_uv(e->k.loop), opts);
}

#define HELLO "{\"to\":[\"a@b.example\"],\"subject\":\"Hi\",\"body\":\"Hello\"}"

/* The value of a header of the message or of a part; "" without it. */
static struct ch_sv header_in(struct ch_sv part, const char *name) {
    CH_BUF_AUTO line = {0};

    ch_buf_addf(&line, "%s: ", name);
    while (part.n) {
        struct ch_sv one = ch_sv_split(&part, '\n');
        if (ch_sv_starts(one, ch_buf_str(&line)))
            return ch_sv_trim(ch_sv(one.p + line.n, one.n - line.n));
    }
    return CH_SV("");
}

/* Part i of the last message that a server took, from its first header to before the
 * next boundary. */
static struct ch_sv part_of(const struct smtpd *server, size_t i) {
    const char *message = smtpd_message(server), *at = strstr(message, "boundary=");
    CH_BUF_AUTO edge = {0};

    assert_non_null(at);
    at += strlen("boundary=");
    ch_buf_addf(&edge, "\r\n--%.*s", (int)strcspn(at, "\r"), at);
    at = message;
    for (size_t k = 0; k <= i; k++) {
        at = strstr(at, ch_buf_str(&edge));
        assert_non_null(at);
        at += edge.n;
    }
    assert_true(strncmp(at, "\r\n", 2) == 0); /* the last boundary ends in -- */
    const char *end = strstr(at, ch_buf_str(&edge));
    assert_non_null(end);
    return ch_sv(at + 2, (size_t)(end - at) - 2);
}

static void assert_body(struct ch_sv part, const char *want) {
    const char *at = memmem(part.p, part.n, "\r\n\r\n", 4);

    assert_non_null(at);
    struct ch_sv body = ch_sv_trim(ch_sv(at + 4, (size_t)(part.p + part.n - at) - 4));
    if (!ch_sv_is(body, want))
        fail_msg("%.*s", CH_SV_FMT(body));
}

static void test_starttls(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {
        .tls = &httpd_tls_layer, .tls_arg = e->identity, .login = "bot@x.example\0" PASSWORD};
    const char *const more[] = {"mail.passwordEnv=MAIL_PASSWORD", NULL};

    serve(e, &opts);
    configure(e, "smtp", more);
    kit_put(&e->k, "report.txt", ".\nfigures\n");
    kit_call(&e->k, "send_email",
             "{\"to\":[\"Jane <a@b.example>\",\"c@d.example\"],\"cc\":[\"e@f.example\"],"
             "\"subject\":\"Hi\",\"body\":\".\\nHello\",\"attachments\":[\"report.txt\"]}");
    if (e->k.is_error)
        fail_msg("%s\n%s", e->k.content, smtpd_commands(e->server));
    assert_int_equal(smtpd_messages(e->server), 1);
    assert_true(smtpd_encrypted(e->server));
    const char *said = smtpd_commands(e->server);
    assert_non_null(strstr(said, "EHLO x.example\nSTARTTLS\nEHLO x.example\nAUTH PLAIN"));
    assert_non_null(strstr(said, "MAIL FROM:<bot@x.example>"));
    assert_non_null(strstr(said, "RCPT TO:<a@b.example>\nRCPT TO:<c@d.example>\n"
                                 "RCPT TO:<e@f.example>\nDATA\n"));
    const char *message = smtpd_message(e->server);
    assert_true(ch_sv_is(header_in(ch_sv_str(message), "Mime-Version"), "1.0"));
    assert_true(ch_sv_is(header_in(ch_sv_str(message), "Subject"), "Hi"));
    struct ch_sv text = part_of(e->server, 0), file = part_of(e->server, 1);
    assert_true(ch_sv_is(header_in(text, "Content-Type"), "text/plain; charset=utf-8"));
    assert_true(ch_sv_is(header_in(text, "Content-Transfer-Encoding"), "7bit"));
    assert_int_equal(header_in(text, "Content-Disposition").n, 0);
    assert_body(text, ".\r\nHello");
    assert_true(ch_sv_is(header_in(file, "Content-Transfer-Encoding"), "base64"));
    assert_body(file, "LgpmaWd1cmVzCg==");
    const char *id = strstr(message, "Message-ID: <");
    assert_non_null(id);
    CH_AUTOFREE char *number = ch_strndup(id + 12, strcspn(id + 12, "\r"));
    assert_non_null(strstr(e->k.content, number));
    assert_non_null(strstr(e->k.content, "Sent to a@b.example, c@d.example, e@f.example."));
    assert_non_null(strstr(e->k.details, "\"recipients\":[\"a@b.example\",\"c@d.example\","));
}

/* A name from the workspace stays one value of one header; long texts are folded. */
static void test_names_and_lengths(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {0};
    const char *const plain[] = {"mail.noTls=true", NULL};

    serve(e, &opts);
    configure(e, "smtp", plain);
    kit_put(&e->k, "r\u00e9sum\u00e9 \"1\"\r\nX-Evil: y.pdf", "%PDF");
    kit_put(&e->k, "a.txt", "0123456789012345678901234567890123456789012345678901234567890");
    kit_call(&e->k, "send_email",
             "{\"to\":\"a@b.example\",\"subject\":\"s\",\"body\":\"\u4f60\u597d\","
             "\"attachments\":[\"r\u00e9sum\u00e9 \\\"1\\\"\\r\\nX-Evil: y.pdf\",\"a.txt\"]}");
    if (e->k.is_error)
        fail_msg("%s", e->k.content);
    assert_null(strstr(smtpd_message(e->server), "\nX-Evil"));
    assert_body(part_of(e->server, 0), "5L2g5aW9");
    struct ch_sv pdf = part_of(e->server, 1), text = part_of(e->server, 2);
    assert_true(ch_sv_is(header_in(pdf, "Content-Type"), "application/pdf"));
    assert_true(ch_sv_is(header_in(pdf, "Content-Disposition"),
                         "attachment; filename*=UTF-8''"
                         "r%C3%A9sum%C3%A9%20%221%22%0D%0AX-Evil%3A%20y.pdf"));
    assert_body(pdf, "JVBERg==");
    assert_body(text, "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2"
                      "\r\nNzg5MA==");
}

static void test_implicit_tls(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {.tls = &httpd_tls_layer, .tls_arg = e->identity, .implicit = true};

    serve(e, &opts);
    configure(e, "smtps", NULL);
    kit_call(&e->k, "send_email", HELLO);
    if (e->k.is_error)
        fail_msg("%s", e->k.content);
    assert_true(smtpd_encrypted(e->server));
    assert_null(strstr(smtpd_commands(e->server), "AUTH"));
}

/* Without TLS nothing is said but hello; unless the operator wants it so. */
static void test_no_tls(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {.login = "u\0" PASSWORD};
    const char *const login[] = {"mail.passwordEnv=MAIL_PASSWORD", "mail.user=u", NULL};
    const char *const plain[] = {"mail.noTls=true", "mail.passwordEnv=MAIL_PASSWORD", "mail.user=u",
                                 NULL};

    serve(e, &opts);
    configure(e, "smtp", login);
    kit_call(&e->k, "send_email", HELLO);
    assert_true(e->k.is_error);
    assert_non_null(
        strstr(e->k.content, "The message was not sent: the mail server offers no TLS"));
    assert_null(strstr(smtpd_commands(e->server), "AUTH"));
    assert_null(strstr(smtpd_commands(e->server), "MAIL"));
    configure(e, "smtp", plain);
    kit_call(&e->k, "send_email", HELLO);
    assert_false(e->k.is_error);
    assert_int_equal(smtpd_messages(e->server), 1);
}

static void test_wrong_certificate(void **state) {
    struct env *e = *state;
    void *other = test_ca_issue(e->ca, "DNS:elsewhere.example", 1);
    struct smtpd_opts opts = {.tls = &httpd_tls_layer, .tls_arg = other};

    serve(e, &opts);
    configure(e, "smtp", NULL);
    kit_call(&e->k, "send_email", HELLO);
    assert_true(e->k.is_error);
    assert_non_null(strstr(e->k.content, "was not sent"));
    assert_null(strstr(smtpd_commands(e->server), "MAIL"));
    smtpd_close(e->server);
    e->server = NULL;
    ch_loop_tick(e->k.loop);
    test_ca_issue_free(other);
}

static const struct {
    const char *what;
    struct smtpd_opts opts;
    const char *type, *want;
    unsigned messages;
} refusals[] = {
    {"a recipient",
     {.refuse = "RCPT TO:<c@", .refusal = "550 5.1.1 no such user"},
     "permission_denied",
     "was not sent: the mail server refused: 550 5.1.1 no such user",
     0},
    {"the sender",
     {.refuse = "MAIL", .refusal = "553 not you"},
     "permission_denied",
     "refused: 553 not you",
     0},
    {"for now",
     {.refuse = "RCPT", .refusal = "451 4.7.1 greylisted"},
     "unavailable",
     "refused: 451 4.7.1 greylisted",
     0},
    {"the message",
     {.refuse = "DATA", .refusal = "554 5.6.0 no"},
     "permission_denied",
     "refused: 554 5.6.0 no",
     0},
    {"a cut after the message",
     {.cut_after_data = true},
     "network",
     "It is not known whether the message was sent",
     1},
};

static void test_refusals(void **state) {
    struct env *e = *state;
    const char *const plain[] = {"mail.noTls=true", NULL};

    for (size_t i = 0; i < CH_LEN(refusals); i++) {
        serve(e, &refusals[i].opts);
        configure(e, "smtp", plain);
        kit_call(&e->k, "send_email",
                 "{\"to\":[\"a@b.example\",\"c@d.example\"],\"subject\":\"s\",\"body\":\"b\"}");
        if (!e->k.is_error || strcmp(e->k.error_type, refusals[i].type) != 0 ||
            !strstr(e->k.content, refusals[i].want))
            fail_msg("%s: %s", refusals[i].what, e->k.content);
        assert_int_equal(smtpd_messages(e->server), refusals[i].messages);
        assert_int_equal(smtpd_connections(e->server), 1); /* never tried again */
    }
}

static void test_login(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {
        .tls = &httpd_tls_layer, .tls_arg = e->identity, .login = "bot@x.example\0other"};
    const char *const good[] = {"mail.passwordEnv=MAIL_PASSWORD", NULL};
    const char *const unset[] = {"mail.passwordEnv=NO_SUCH_VARIABLE", NULL};

    serve(e, &opts);
    configure(e, "smtp", good);
    kit_call(&e->k, "send_email", HELLO);
    assert_string_equal(e->k.error_type, "permission_denied");
    assert_non_null(strstr(e->k.content, "did not accept the login"));
    assert_null(strstr(e->k.content, PASSWORD));
    configure(e, "smtp", unset);
    kit_call(&e->k, "send_email", HELLO);
    assert_string_equal(e->k.error_type, "internal");
    assert_non_null(strstr(e->k.content, "set the environment variable NO_SUCH_VARIABLE"));
}

static void test_cancel(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {.silent_after_data = true};
    const char *const plain[] = {"mail.noTls=true", NULL};
    struct kit_call call = {"c", "send_email", HELLO, 0};
    int64_t start = kit_ms();

    serve(e, &opts);
    configure(e, "smtp", plain);
    kit_start(&e->k, &call, 1);
    while (smtpd_messages(e->server) == 0 && kit_ms() - start < 5000)
        ch_loop_tick(e->k.loop);
    ch_batch_cancel(e->k.batch, "enough");
    kit_wait(&e->k);
    assert_string_equal(e->k.error_type, "cancelled");
    kit_end(&e->k);
    ch_workers_free(e->k.workers); /* the thread gives up soon */
    e->k.workers = NULL;
    assert_true(kit_ms() - start < 8000);
}

static const struct {
    const char *arguments, *type, *want;
} bad_arguments[] = {
    {"{\"to\":[],\"subject\":\"s\",\"body\":\"b\"}", "invalid_arguments", "to"},
    {"{\"subject\":\"s\",\"body\":\"b\"}", "invalid_arguments", "to"},
    {"{\"to\":[\"a@b.example\"],\"body\":\"b\"}", "invalid_arguments", "subject"},
    {"{\"to\":[\"nobody\"],\"subject\":\"s\",\"body\":\"b\"}", "invalid_arguments",
     "\\\"nobody\\\" is not an e-mail address"},
    {"{\"to\":[\"a@b.example\\r\\nBcc: x@y.example\"],\"subject\":\"s\",\"body\":\"b\"}",
     "invalid_arguments", "is not an e-mail address"},
    {"{\"to\":[\"a@b.example\"],\"cc\":[\"x\"],\"subject\":\"s\",\"body\":\"b\"}",
     "invalid_arguments", "\\\"x\\\" is not"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\\r\\nBcc: x@y.example\",\"body\":\"b\"}",
     "invalid_arguments", "one line"},
    {"{\"to\":[\"a@evil.example\"],\"subject\":\"s\",\"body\":\"b\"}", "permission_denied",
     "may not be sent to a@evil.example"},
    {"{\"to\":[\"A@B.example\"],\"cc\":[\"a@evil.example\"],\"subject\":\"s\",\"body\":\"b\"}",
     "permission_denied", "a@evil.example"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\",\"attachments\":[\"none.txt\"]}",
     "not_found", "none.txt"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\",\"attachments\":[\"../secret\"]}",
     "permission_denied", "secret"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\",\"attachments\":[\"/etc/"
     "passwd\"]}",
     "permission_denied", "/etc/passwd"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\",\"attachments\":[\"out\"]}",
     "permission_denied", "out"},
    {"{\"to\":[\"a@b.example\"],\"subject\":\"s\",\"body\":\"b\",\"attachments\":[\"big\"]}",
     "invalid_arguments", "20 MB"},
};

static void test_bad_arguments(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {0};
    const char *const more[] = {"mail.noTls=true", "mail.allowTo=*@b.example,boss@c.example", NULL};

    serve(e, &opts);
    configure(e, "smtp", more);
    kit_put(&e->k, "../secret", "SECRET");
    kit_link(&e->k, "../secret", "out");
    kit_put(&e->k, "big", "");
    CH_AUTOFREE char *big = kit_path(&e->k, "big");
    assert_int_equal(truncate(big, 21 * 1024 * 1024), 0);
    for (size_t i = 0; i < CH_LEN(bad_arguments); i++) {
        kit_call(&e->k, "send_email", bad_arguments[i].arguments);
        if (!e->k.is_error || strcmp(e->k.error_type, bad_arguments[i].type) != 0 ||
            !strstr(e->k.content, bad_arguments[i].want) || strstr(e->k.content, "SECRET"))
            fail_msg("%s: %s", bad_arguments[i].arguments, e->k.content);
    }
    assert_int_equal(smtpd_connections(e->server), 0);
}

static void test_offered(void **state) {
    struct env *e = *state;
    struct smtpd_opts opts = {0};
    const char *const more[] = {"mail.allowTo=*@b.example", NULL};
    struct ch_tool_settings *settings = NULL;
    struct ch_registry r = {0};
    const char *const half[] = {"mail.smtp=smtp://h", NULL};

    serve(e, &opts);
    configure(e, "smtp", more);
    const struct ch_tool *t = ch_registry_find(&e->k.registry, CH_SV("send_email"));
    assert_non_null(strstr(t->description, "The sender is Bot <bot@x.example>. Possible "
                                           "recipients: *@b.example."));
    assert_int_equal(t->effect, CHELA_EFFECT_ONCE);
    assert_int_equal(t->permission, CHELA_PERM_ADMIN);
    assert_true(t->flags & CHELA_TOOL_CONFIRM);
    assert_int_equal(ch_settings_new(&(struct ch_settings_opts){.list = half}, &settings, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&r, settings, "send_email", NULL, NULL), 0);
    assert_int_equal(r.n, 0);
    ch_settings_unref(settings);
    ch_registry_release(&r);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_plain_message),
        cmocka_unit_test(test_other_alphabets),
        cmocka_unit_test(test_folding),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_files),
        TEST(test_starttls),
        TEST(test_names_and_lengths),
        TEST(test_implicit_tls),
        TEST(test_no_tls),
        TEST(test_wrong_certificate),
        TEST(test_refusals),
        TEST(test_login),
        TEST(test_cancel),
        TEST(test_bad_arguments),
        TEST(test_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
