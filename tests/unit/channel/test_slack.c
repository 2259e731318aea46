/* test_slack.c -- who receives the bot's token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/slack/slack.h"
#include "channel/slack/slack_event.h"

static struct {
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_token)};
    return cmocka_run_group_tests_name("slack", tests, NULL, NULL);
}
