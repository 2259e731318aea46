/* test_background.c -- agents beside a session, as the session's stored state lists them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/feature/team/background.h"
#include "agent/machine/queue.h"
#include "agent/run/feature.h"
#include "support/stage.h"

static void load(chela_session *s) {
    static const char state[] =
        "{\"background\":[{\"key\":\"s~x\",\"agent\":\"gone\",\"title\":\"count\"},"
        "{\"key\":\"other~x\",\"agent\":\"gone\"},{\"key\":\"s~y\"}]}";
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(state), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_features_load(s, v);
}

/* The journal of an open session may be opened again: a notice that waits for the model is not
 * repeated. A notice that the model got is, because its delivery was not stored. */
static void test_loaded_again(void **state) {
    static const struct fake_reply none[] = {{.hang = true}};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, none);
    chela_session *s = st.session;
    st.agent->starts_background = true;
    load(s);
    assert_int_equal(s->events.n, 1);
    assert_non_null(strstr(ch_queue_text(&s->events).p, "there is no agent 'gone'"));
    load(s);
    assert_int_equal(s->events.n, 1);
    ch_msg_free(ch_queue_pop(&s->events));
    load(s);
    assert_int_equal(s->events.n, 1);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loaded_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
