/* web_fetch.c -- the tool `web_fetch`: a web page as text.
 *
 * Three steps: fetch.h downloads the bytes on the loop; a worker thread decodes and
 * converts them, because that may take long; the loop finishes the call. Cancellation ends
 * the first step at once, the second within moments. */
#include "tool/builtin/web/web_fetch.h"

#include "base/limits.h"
#include "base/mem.h"
#include "io/module.h"
#include "net/join.h"
#include "tool/builtin/web/charset.h"
#include "tool/builtin/web/html_text.h"
#include "tool/builtin/web/untrusted.h"
#include "tool/call/call.h"
#include "tool/builtin/web/fetch.h"
#include "tool/call/call_view.h"
#include "tool/call/outgoing.h"
#include "tool/registry/settings.h"
#include "json/writer.h"

#define MOST_CHARS (CH_LIMIT_RESULT_CHARS - 2000) /* the rest is reserved for notes */
#define DEFAULT_CHARS 10000
#define CONVERT_MS 8000

enum format { MARKDOWN, TEXT, HTML };

struct job {
    chela_call *call;
    struct ch_tool_settings *settings; /* borrowed from the call's tool */
    enum format format;
    int64_t offset, max_chars;
    struct ch_fetch *fetch; /* in the first step */

    /* result of the fetch */
    struct ch_buf asked, url, type, body; /* owned */
    int status;
    unsigned redirects;
    bool cut;

    /* the second step */
    struct ch_work work;
    int64_t due;
    struct ch_html page;
    const char *charset; /* static */
};

static void web_fetch_free_job(struct job *j) {
    ch_buf_release(&j->asked);
    ch_buf_release(&j->url);
    ch_buf_release(&j->type);
    ch_buf_release(&j->body);
    ch_html_release(&j->page);
    ch_free(j);
}

static void web_fetch_finish(struct job *j) {
    chela_call *call = j->call;

    web_fetch_free_job(j);
    chela_call_finish(call);
}

/* --- arguments ---------------------------------------------------------------------- */

static struct ch_fetch_rules rules_of(const struct ch_tool_settings *s) {
    return (struct ch_fetch_rules){
        .allow = s->allow_hosts,
        .deny = s->deny_hosts,
        .egress = s->egress,
        .secrets = s->secrets,
        .allow_private = s->allow_private};
}

static int read_format(chela_call *call, enum format *out) {
    static const char *const names[] = {"markdown", "text", "html"};
    const char *name = "markdown";

    if (chela_arg_string_opt(call, "format", &name) < 0)
        return CHELA_EINVAL;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum format)i;
            return 0;
        }
    chela_result_error(call, "invalid_arguments",
                       "The argument \"format\" must be markdown, text or html.");
    return CHELA_EINVAL;
}

static int web_fetch_read_range(chela_call *call, struct job *j) {
    static const char *const names[] = {"max_chars", "max_length", NULL};
    static const char *const starts[] = {"offset", "start_index", NULL};

    j->max_chars = DEFAULT_CHARS;
    j->offset = 0;
    if (chela_arg_int_opt(call, ch_arg_name(call, names), &j->max_chars) < 0 ||
        chela_arg_int_opt(call, ch_arg_name(call, starts), &j->offset) < 0)
        return CHELA_EINVAL;
    if (j->max_chars < 1 || j->offset < 0) {
        chela_result_error(call, "invalid_arguments",
                           "max_chars must be at least 1, offset at least 0.");
        return CHELA_EINVAL;
    }
    j->max_chars = CH_MIN(j->max_chars, MOST_CHARS);
    j->offset = CH_MIN(j->offset, INT64_MAX - MOST_CHARS);
    return 0;
}

static int web_fetch_read_arguments(chela_call *call, const struct ch_tool_settings *s,
                                    struct job *j) {
    struct ch_fetch_rules rules = rules_of(s);
    struct chela_error err = {0};
    const char *url;

    if (chela_arg_string(call, "url", &url) < 0 || read_format(call, &j->format) < 0 ||
        web_fetch_read_range(call, j) < 0)
        return CHELA_EINVAL;
    ch_url_join(&j->asked, CH_SV(""), ch_sv_str(url));
    if (ch_fetch_check(ch_buf_sv(&j->asked), &rules, NULL, &err) == 0)
        return 0;
    chela_result_error(call, ch_fetch_error_type(&err, 0), "%s.", err.message);
    return CHELA_EINVAL;
}

/* --- the destination ------------------------------------------------------------------ */

bool ch_web_fetch_destination(chela_call *call, struct ch_buf *out) {
    const struct ch_tool_settings *s = call->tool->user;
    struct ch_url url;

    ch_url_join(out, CH_SV(""), ch_json_get_str(call->args, "url"));
    return ch_url_parse(ch_buf_sv(out), &url, NULL) == 0 &&
           ch_fetch_is_listed(s->allow_hosts, &url);
}

static const char *web_fetch_refuses(const struct ch_url *to, const struct sockaddr *at,
                                     void *user) {
    const struct job *j = user;
    const char *why = ch_outgoing_refuses(j->call, to, at);

    return why && j->settings->allow_private && strcmp(why, "denied") != 0 ? NULL : why;
}

static bool web_fetch_may_follow(const struct ch_url *to, struct ch_sv text, void *user) {
    const struct job *j = user;

    return (ch_fetch_is_listed(j->settings->allow_hosts, to) &&
            ch_egress_judge(j->settings->egress, to).verdict != CH_EGRESS_DENY) ||
           ch_outgoing_may_follow(j->call, to, text);
}

int ch_web_fetch_check(chela_call *call, void *user) {
    struct job *j = ch_alloc(sizeof(*j));
    int rc = web_fetch_read_arguments(call, user, j);

    web_fetch_free_job(j);
    return rc;
}

/* --- third step: the result ---------------------------------------------------------- */

/* The part of text with `count` characters from character `offset` on; *total receives the
 * number of characters of text. */
static struct ch_sv slice(struct ch_sv text, int64_t offset, int64_t count, int64_t *total) {
    size_t from = text.n, to = text.n;
    int64_t at = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (((unsigned char)text.p[i] & 0xc0) == 0x80)
            continue;
        if (at == offset)
            from = i;
        if (at == offset + count)
            to = i;
        at++;
    }
    *total = at;
    return ch_sv(text.p + from, CH_MAX(to, from) - from);
}

static void web_fetch_add_notes(struct ch_buf *out, const struct job *j, int64_t shown,
                                int64_t total) {
    int64_t end = j->offset + shown;

    if (j->redirects)
        ch_buf_addf(out, "[Redirected from %s]\n", ch_buf_str(&j->asked));
    if (j->page.main_only)
        ch_buf_add_str(out, "[Only the main part of the page; format=html has all of it]\n");
    if (shown < total)
        ch_buf_addf(out, "[Characters %lld to %lld of %lld%s", (long long)j->offset, (long long)end,
                    (long long)total, end < total ? "" : "]\n");
    if (end < total)
        ch_buf_addf(out, "; use offset=%lld to read on]\n", (long long)end);
    if (j->cut || j->page.cut)
        ch_buf_addf(out, "[The page is larger than can be read: its end is missing]\n");
}

static void web_fetch_add_details(const struct job *j, int64_t shown, int64_t total) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "url", ch_buf_sv(&j->url));
    ch_jw_kint(&w, "status", j->status);
    ch_jw_kstr(&w, "contentType", ch_buf_sv(&j->type));
    ch_jw_kcstr(&w, "charset", j->charset);
    ch_jw_kstr(&w, "title", ch_buf_sv(&j->page.title));
    ch_jw_kint(&w, "offset", j->offset);
    ch_jw_kint(&w, "chars", shown);
    ch_jw_kint(&w, "totalChars", total);
    ch_jw_kbool(&w, "complete", !j->cut && !j->page.cut);
    ch_jw_end(&w, '}');
    chela_result_details(j->call, ch_buf_str(&json));
}

static void web_fetch_answer(struct job *j) {
    CH_BUF_AUTO out = {0}, content = {0};
    int64_t total, shown;
    struct ch_sv part = slice(ch_buf_sv(&j->page.text), j->offset, j->max_chars, &total);

    if (j->offset > 0 && j->offset >= total) {
        chela_result_error(j->call, "invalid_arguments",
                           "offset %lld is past the end: the page has %lld characters.",
                           (long long)j->offset, (long long)total);
        return;
    }
    slice(part, 0, 0, &shown);
    if (j->page.title.n)
        ch_buf_addf(&content, "Title: %s\n\n", ch_buf_str(&j->page.title));
    ch_buf_add_sv(&content, part.n ? part : CH_SV("(The page has no text.)"));
    ch_untrusted_add(&out, ch_buf_sv(&j->url), ch_buf_sv(&content));
    web_fetch_add_notes(&out, j, shown, total);
    chela_result_text(j->call, ch_buf_str(&out), out.n);
    web_fetch_add_details(j, shown, total);
}

/* --- second step: on a worker thread --------------------------------------------------- */

static bool web_fetch_stop(void *user) {
    const struct job *j = user;
    return chela_call_cancelled(j->call) || ch_mono_ms(&ch_clock_system) >= j->due;
}

static bool is_html(const struct job *j, struct ch_sv text) {
    struct ch_sv rest = ch_buf_sv(&j->type), type = ch_sv_trim(ch_sv_split(&rest, ';'));

    if (ch_sv_eq_nocase(type, CH_SV("text/html")) ||
        ch_sv_eq_nocase(type, CH_SV("application/xhtml+xml")))
        return true;
    text = ch_sv_trim(ch_sv(text.p, CH_MIN(text.n, 200)));
    return type.n == 0 &&
           (ch_sv_contains_nocase(text, "<!doctype html") || ch_sv_contains_nocase(text, "<html"));
}

static int convert(struct job *j, struct ch_sv html, struct chela_error *err) {
    struct ch_html_opts opts = {.url = ch_buf_sv(&j->url),
                                .markdown = j->format == MARKDOWN,
                                .stop = web_fetch_stop,
                                .user = j};
    const void *ops;
    int rc = ch_module_load("html", "html", j->settings->module_path, &ops, err);

    return rc < 0 ? rc : ch_html_read(ops, html, &opts, &j->page, err);
}

static void web_fetch_on_thread(struct ch_work *w) {
    struct job *j = CH_CONTAINER(w, struct job, work);
    struct chela_error err = {0};
    CH_BUF_AUTO text = {0};

    j->due = ch_mono_ms(&ch_clock_system) + CONVERT_MS;
    j->charset = ch_charset_decode(ch_buf_sv(&j->body), ch_buf_sv(&j->type), &text);
    ch_buf_release(&j->body);
    if (j->format == HTML || !is_html(j, ch_buf_sv(&text))) {
        j->page.text = text;
        text = (struct ch_buf){0};
    } else if (convert(j, ch_buf_sv(&text), &err) < 0) {
        chela_result_error(j->call, "internal", "The page cannot be read: %s. format=html works.",
                           err.message);
        return;
    }
    web_fetch_answer(j);
}

static void on_converted(struct ch_work *w) {
    web_fetch_finish(CH_CONTAINER(w, struct job, work));
}

/* --- first step ------------------------------------------------------------------------- */

static void web_fetch_fail(struct job *j, const struct ch_fetch *f, const struct chela_error *err) {
    const char *type = ch_fetch_error_type(err, err->http_status);

    chela_result_error(j->call, type, "Cannot fetch %s: %s.", ch_buf_str(&f->url), err->message);
    if (f->retry_after_ms)
        chela_result_retry_after(j->call, f->retry_after_ms);
    web_fetch_finish(j);
}

static struct ch_buf web_fetch_take(struct ch_buf *from) {
    struct ch_buf b = *from;
    *from = (struct ch_buf){0};
    return b;
}

static void on_fetched(struct ch_fetch *f, const struct chela_error *err, void *user) {
    struct job *j = user;

    j->fetch = NULL;
    /* the worker thread checks for cancellation itself */
    chela_call_on_cancel(j->call, NULL, NULL);
    j->call->answer.authorised = f->authorised;
    if (err) {
        web_fetch_fail(j, f, err);
        return;
    }
    j->url = web_fetch_take(&f->url);
    j->type = web_fetch_take(&f->type);
    j->body = web_fetch_take(&f->body);
    j->status = f->status;
    j->redirects = f->redirects;
    j->cut = f->cut;
    j->work =
        (struct ch_work){.run = web_fetch_on_thread, .done = on_converted, .dropped = on_converted};
    ch_work_submit(j->call->env->workers, &j->work);
}

static void web_fetch_on_cancel(chela_call *call, void *user) {
    struct job *j = user;

    (void)call;
    ch_fetch_cancel(CH_TAKE(j->fetch));
    web_fetch_finish(j);
}

int ch_web_fetch_run(chela_call *call, void *user) {
    static const char *const types[] = {"text/",
                                        "application/xhtml+xml",
                                        "application/json",
                                        "application/xml",
                                        "application/yaml",
                                        "application/javascript",
                                        "application/x-ndjson",
                                        "application/toml",
                                        "+json",
                                        "+xml",
                                        NULL};
    struct ch_tool_settings *s = user;
    struct job *j = ch_alloc(sizeof(*j));
    struct ch_fetch_opts opts = {
        .loop = call->env->loop,
        .transport = s->transport,
        .rules = rules_of(s),
        .accept = "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.9, "
                  "application/json;q=0.9, application/xml;q=0.8, text/*;q=0.7",
        .types = types,
        .max_bytes = CH_LIMIT_WEB_BODY,
        .timeout_ms = CH_DEFAULT_WEB_MS,
    };

    j->call = call;
    j->settings = s;
    if (call->env->egress) {
        opts.rules.refuses = web_fetch_refuses;
        opts.rules.may_follow = web_fetch_may_follow;
        opts.rules.user = j;
    }
    int rc = web_fetch_read_arguments(call, s, j);
    if (rc < 0) {
        web_fetch_free_job(j);
        return rc;
    }
    chela_call_defer(call);
    chela_call_on_cancel(call, web_fetch_on_cancel, j);
    j->fetch = ch_fetch_start(ch_buf_sv(&j->asked), &opts, on_fetched, j);
    return 0;
}
