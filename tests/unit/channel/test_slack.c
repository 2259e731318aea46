/* test_slack.c -- who receives the bot's token; whether a message was sent before; what a
 * forwarded message says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "channel/slack/slack.h"
#include "channel/slack/slack_event.h"
#include "channel/slack/slack_post.h"

static struct {
    char url[128], body[512];
    bool token;
    chela_channel_response_fn *done;
    void *tag;
} call;

static struct chela_text no_header(const struct chela_channel_response *r, const char *name) {
    (void)r;
    (void)name;
    return (struct chela_text){NULL, 0};
}

static void take_call(const struct chela_channel_request *r, chela_channel_response_fn *done,
                      void *tag, void *user) {
    (void)user;
    snprintf(call.url, sizeof(call.url), "%s", r->url);
    snprintf(call.body, sizeof(call.body), "%.*s", (int)r->n, r->n ? (const char *)r->body : "");
    call.token = r->headers != NULL;
    call.done = done;
    call.tag = tag;
}

static void answer(const char *body) {
    struct ch_sv text = ch_sv_str(body);
    struct chela_channel_response r = {
        .status = 200, .body = ch_kit_text(text), .header = no_header};
    call.done(&r, call.tag);
}

static void on_bytes(struct chela_text bytes, const char *why, void *tag) {
    *(bool *)tag = bytes.n && !why;
}

static void test_token(void **state) {
    static const struct {
        const char *api, *url;
        bool token;
    } rows[] = {
        {"https://slack.com/api/", "https://slack.com/files/F1", true},
        {"https://slack.com/api/", "https://files.slack.com/files/F1", true},
        {"https://slack.com/api/", "http://files.slack.com/files/F1", false},
        {"https://slack.com/api/", "https://slack.com.evil.org/F1", false},
        {"https://slack.com/api/", "https://evilslack.com/F1", false},
        {"https://slack.com/api/", "https://x.slack.com@evil.org/F1", false},
        {"https://slack.com/api/", "https://evil.org/.slack.com/F1", false},
        {"https://mycorp.com/", "https://mycorp.com/files/F1", true},
        {"https://mycorp.com/", "https://myco/F1", false},
        {"https://mycorp.com/", "https://mycorp/F1", false},
        {"https://mycorp.com/", "https://mycorp.com.evil.org/F1", false},
        {"https://mycorp.com/", "https://mycorp.com:444/F1", false},
        {"https://mycorp.com/", "https://mycorp.com@evil.org/F1", false},
        {"https://mycorp.com/", "http://mycorp.com/F1", false},
        {"https://a.example.com/s/", "https://a.example.c/F1", false},
        {"https://a.example.com/slack/v1/", "https://a.example.com/files/F1", true},
        {"http://127.0.0.1:8012/api/", "http://127.0.0.1:8012/F1", true},
        {"http://127.0.0.1:8012/x/", "http://127.0.0.1:80/F1", false},
        {"http://127.0.0.1:8012/", "http://127.0.0.1/F1", false}};
    const struct chela_channel_host host = {.http = take_call};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_slack s = {.host = &host, .bearer = "Bearer xoxb-1"};
        bool read = false;
        s.api = ch_strdup(rows[i].api);
        ch_list_init(&s.fetches);
        ch_slack_fetch(&s, rows[i].url, on_bytes, &read);
        if (call.token != rows[i].token)
            fail_msg("%s, %s", rows[i].api, rows[i].url);
        answer("bytes");
        assert_true(read);
        ch_free(s.api);
    }
}

/* --- looking for a message */

#define NOT_HERE "{\"ok\":true,\"messages\":[{\"ts\":\"1.0\"}],\"response_metadata\":" \
                 "{\"next_cursor\":\"c1\"}}"
#define HERE "{\"ok\":true,\"messages\":[{\"ts\":\"7.0\",\"metadata\":{\"event_payload\":" \
             "{\"key\":\"k1\"}}}]}"

static struct {
    char id[16];
    enum chela_receipt what;
    bool done;
} posted;

static void on_posted(const struct chela_channel_posted *r, void *tag) {
    (void)tag;
    snprintf(posted.id, sizeof(posted.id), "%s", r->id ? r->id : "");
    posted.what = r->what;
    posted.done = true;
}

static void post_again(struct ch_slack *s, const char *thread) {
    ch_list_init(&s->posts);
    ch_list_init(&s->sending);
    posted.done = false;
    ch_slack_post(s,
                  &(struct chela_channel_post){
                      .key = "k1", .chat = "C1", .thread = thread, .text = "hi", .repeated = 1},
                  on_posted, NULL);
}

static void check_call(const char *method, const char *part) {
    assert_false(posted.done);
    assert_string_equal(call.url + strlen("https://slack.com/api/"), method);
    if (!strstr(call.body, part))
        fail_msg("%s lacks %s", call.body, part);
}

/* A thread is shown oldest first, in pages. */
static void test_found(void **state) {
    static char api[] = "https://slack.com/api/", bearer[] = "Bearer xoxb-1";
    const struct chela_channel_host host = {.http = take_call};
    struct ch_slack s = {.host = &host, .api = api, .bearer = bearer};
    (void)state;
    post_again(&s, "1.0");
    check_call("conversations.replies", "\"ts\":\"1.0\"");
    assert_null(strstr(call.body, "cursor"));
    answer(NOT_HERE);
    check_call("conversations.replies", "\"cursor\":\"c1\"");
    answer(HERE);
    assert_true(posted.done);
    assert_int_equal(posted.what, CHELA_RECEIPT_SENT);
    assert_string_equal(posted.id, "7.0");
}

/* A service with pages without end; a chat, which is shown newest first. */
static void test_not_found(void **state) {
    static char api[] = "https://slack.com/api/", bearer[] = "Bearer xoxb-1";
    const struct chela_channel_host host = {.http = take_call};
    struct ch_slack s = {.host = &host, .api = api, .bearer = bearer};
    (void)state;
    post_again(&s, "1.0");
    for (int i = 0; i < 20; i++) {
        check_call("conversations.replies", "");
        answer(NOT_HERE);
    }
    check_call("chat.postMessage", "hi");
    answer("{\"ok\":true,\"ts\":\"8.0\"}");
    assert_string_equal(posted.id, "8.0");
    post_again(&s, NULL);
    check_call("conversations.history", "C1");
    answer(NOT_HERE);
    check_call("chat.postMessage", "hi");
    answer("{\"ok\":true,\"ts\":\"9.0\"}");
    assert_string_equal(posted.id, "9.0");
}

/* --- messages */

static struct {
    char text[200], files[200];
    bool mentioned;
} came;

static int take_message(const struct chela_channel_message *m, chela_accepted_fn *done, void *tag,
                        void *user) {
    (void)done;
    (void)tag;
    (void)user;
    came.files[0] = 0;
    came.mentioned = m->mentioned;
    snprintf(came.text, sizeof(came.text), "%s", m->text);
    for (size_t i = 0; i < m->nfiles; i++)
        strcat(came.files, m->files[i].name);
    return 1;
}

static void test_forwarded(void **state) {
    static const struct {
        const char *more, *text, *files;
        bool mentioned;
    } rows[] = {
        {"\"text\":\"<@U1> look\",\"files\":[{\"name\":\"a\"}],\"attachments\":[{\"is_share\":true,"
         "\"author_name\":\"Bo\",\"text\":\"1 &lt; 2\",\"files\":[{\"name\":\"b\"}]}]",
         "look\n[forwarded from Bo] 1 < 2", "ab", true},
        {"\"text\":\"\",\"attachments\":[{\"is_msg_unfurl\":true,\"fallback\":\"<@U1> hi\"},"
         "{\"is_share\":true,\"text\":\"two\"}]",
         "[forwarded] @U1 hi\n[forwarded] two", "", false},
        {"\"text\":\"see https://x.y\",\"attachments\":[{\"text\":\"a preview\","
         "\"files\":[{\"name\":\"b\"}]}]",
         "see https://x.y", "", false},
        {"\"subtype\":\"message_share\",\"text\":\"x\"", "x", "", false},
    };
    struct chela_channel_host host = {.message = take_message};
    struct ch_slack s = {.host = &host, .me = "U1"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO a = {0};
        const struct ch_json *v;
        const char *json = ch_arena_printf(
            &a, "{\"type\":\"message\",\"channel\":\"D1\",\"ts\":\"1.2\",\"user\":\"U2\",%s}",
            rows[i].more);
        assert_int_equal(ch_json_parse(&a, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(ch_slack_take_event(&s, v, NULL, NULL), 1);
        assert_string_equal(came.text, rows[i].text);
        assert_string_equal(came.files, rows[i].files);
        assert_int_equal(came.mentioned, rows[i].mentioned);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_token), cmocka_unit_test(test_found),
                                       cmocka_unit_test(test_not_found),
                                       cmocka_unit_test(test_forwarded)};
    return cmocka_run_group_tests_name("slack", tests, NULL, NULL);
}
