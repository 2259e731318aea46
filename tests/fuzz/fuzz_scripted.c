/* fuzz_scripted.c -- any bytes as a rule file, or as a request to a script.
 *
 * Input: one byte that says which, then the bytes. A rule file is accepted or
 * refused with its place; a request gets a response, whatever it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/scripted/scripted_private.h"
#include "model/scripted/scripted_reply.h"
#include "model/scripted/scripted_rules.h"

#define ASK \
    "{\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"write python script\"}]}"

static void answer(struct ch_script *s, struct ch_sv request) {
    struct ch_script_reply r;
    ch_script_answer(s, request, 1, &r);
    if (r.status ? r.status < 200 || r.status > 599 || r.length > r.body.n : !r.error.code)
        abort();
    ch_script_reply_release(&r);
}

/* libc's compiler of patterns takes all memory for nested counts such as
 * (a{99}){99}. Whoever writes rules may; a fuzzer need not. */
static bool counts(struct ch_sv text) {
    for (size_t i = 0; i + 1 < text.n; i++)
        if (text.p[i] == '{' && text.p[i + 1] >= '0' && text.p[i + 1] <= '9')
            return true;
    return false;
}

static void play_rules(struct ch_sv text) {
    struct ch_script s = {0};
    if (counts(text))
        return;
    struct chela_error err = {0};
    if (ch_script_read(&s, text, "r.yaml", &err) == 0)
        answer(&s, CH_SV(ASK));
    else if (strncmp(err.message, "r.yaml:", 7) != 0)
        abort();
    ch_script_release(&s);
}

static void play_request(struct ch_sv text) {
    struct ch_script s = {0};
    size_t n = (size_t)(ch_scripted_demo_end - ch_scripted_demo);
    if (ch_script_read(&s, ch_sv(ch_scripted_demo, n), "demo", NULL) < 0)
        abort();
    answer(&s, text);
    ch_script_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct ch_sv text = ch_sv((const char *)data + 1, size - 1);
    if (data[0] == 'r')
        play_rules(text);
    else
        play_request(text);
    return 0;
}
