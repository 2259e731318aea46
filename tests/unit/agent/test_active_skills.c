/* test_active_skills.c -- the skills that a session uses, and their grants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/feature/skill/active_skills.h"
#include "base/limits.h"
#include "prompt/skill_call.h"
#include "support/stage.h"
#include "support/textfile.h"
#include "tool/call/call.h"

static char dir[] = "/tmp/chela-active.XXXXXX";
static const char *const files[] = {"deploy.md", "plain.md", "hidden.md", "broken.md"};
static char paths[CH_LEN(files)][64], link_path[64], skill_path[64];

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    for (size_t i = 0; i < CH_LEN(files); i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, files[i]);
        put(paths[i], "Do it.\n");
    }
    snprintf(skill_path, sizeof(skill_path), "%s/SKILL.md", dir);
    put(skill_path, "Do it.\n");
    snprintf(link_path, sizeof(link_path), "%s/link.md", dir);
    return symlink("deploy.md", link_path);
}

static int remove_files(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(files); i++)
        unlink(paths[i]);
    unlink(link_path);
    unlink(skill_path);
    return rmdir(dir);
}

struct world {
    struct stage st;
    struct ch_skill skills[CH_LEN(files)];
    struct ch_skills own; /* skills of the agent before the test */
};

static struct ch_buf warnings; /* of the current test, each with a line break */

static void on_event(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_WARNING)
        ch_buf_addf(&warnings, "%.*s\n", (int)ev->note.text.n, ev->note.text.p);
}

static struct ch_skill skill_of(const char *name, const char *const *tools, size_t file) {
    return (struct ch_skill){.head = {.name = name,
                                      .description = "",
                                      .version = "",
                                      .tools = tools,
                                      .for_users = true,
                                      .for_models = true},
                             .file = paths[file],
                             .location = paths[file],
                             .allowed = true};
}

static void set_skills(struct world *w, bool trusted) {
    static const char *const tools[] = {"Write", "Frobnicate", NULL}, *const none[] = {NULL};
    w->skills[0] = skill_of("deploy", tools, 0);
    w->skills[1] = skill_of("plain", none, 1);
    w->skills[2] = skill_of("hidden", tools, 2);
    w->skills[2].allowed = false;
    w->skills[3] = skill_of("broken", tools, 3);
    w->skills[3].problem = "no description";
    w->own = w->st.agent->skills;
    w->st.agent->skills = (struct ch_skills){
        .list = w->skills, .n = CH_LEN(w->skills), .trusted = trusted};
}

/* A run whose model call hangs; text NULL: a person called the skill deploy. */
static void begin(struct world *w, bool trusted, const char *text) {
    static const struct fake_reply replies[] = {{.hang = true}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.workspace = dir);
    CH_BUF_AUTO call = {0};
    void *data;
    ch_buf_clear(&warnings);
    STAGE_OPEN(&w->st, &opts, replies);
    set_skills(w, trusted);
    w->st.on_event = on_event;
    w->skills[0].file = text ? paths[0] : skill_path; /* a file of another name is a command */
    if (!text)
        assert_int_equal(ch_skill_call(&w->st.agent->skills, dir, CH_SV("/skill deploy now"),
                                       &call, NULL),
                         0);
    stage_start(&w->st, text ? text : ch_buf_str(&call));
    for (int i = 0; i < 20 && w->st.model.nrequests == 0; i++)
        ch_loop_tick(w->st.rt->loop);
    assert_int_equal(w->st.model.nrequests, 1);
    assert_int_equal(ch_active_skills_feature.open(w->st.run, NULL, NULL, &data, NULL), 0);
    assert_non_null(w->st.session->granted);
}

static void end(struct world *w) {
    ch_active_skills_feature.close(w->st.run, NULL);
    assert_null(w->st.session->granted);
    chela_cancel(w->st.run, NULL);
    stage_finish(&w->st);
    w->st.agent->skills = w->own;
    stage_close(&w->st);
    ch_buf_release(&warnings);
}

/* The stored names, {"skills":[...]} or {}. */
static const char *saved(const struct world *w, struct ch_buf *out) {
    struct ch_jw j = ch_jw(out);
    ch_buf_clear(out);
    ch_jw_begin(&j, '{');
    ch_active_skills_feature.save(w->st.run, &j);
    ch_jw_end(&j, '}');
    return ch_buf_str(out);
}

static bool granted(const struct world *w, const char *name) {
    struct ch_tool tool = {.name = name};
    chela_call call = {.tool = &tool};
    struct ch_bound bound = {0};
    return ch_approvals_granted(w->st.session->granted, &call, &bound) == CH_VOUCH_YES;
}

static void load(struct world *w, const char *json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_active_skills_feature.load(w->st.session, v);
}

static void call_ends(struct world *w, const char *tool, const char *args,
                      enum ch_call_phase phase, bool failed) {
    struct ch_block call = {
        .type = CH_BLOCK_TOOL_CALL, .name = ch_sv_str(tool), .text = ch_sv_str(args)};
    ch_active_skills_feature.on_call(w->st.run, &call, phase, failed);
}

#define DEPLOY "{\"path\":\"deploy.md\"}"

static const struct {
    const char *name, *tool, *args;
    enum ch_call_phase phase;
    bool failed, active;
} calls[] = {
    {"a relative path", "read", DEPLOY, CH_PHASE_ENDED, false, true},
    {"another spelling", "read", "{\"path\":\"./deploy.md\"}", CH_PHASE_ENDED, false, true},
    {"another name of the path", "read", "{\"file_path\":\"deploy.md\"}", CH_PHASE_ENDED, false,
     true},
    {"a link to the file", "read", "{\"path\":\"link.md\"}", CH_PHASE_ENDED, false, true},
    {"in an earlier process", "read", DEPLOY, CH_PHASE_SETTLED, false, true},
    {"not read yet", "read", DEPLOY, CH_PHASE_STARTED, false, false},
    {"a failed call", "read", DEPLOY, CH_PHASE_ENDED, true, false},
    {"another tool", "write", DEPLOY, CH_PHASE_ENDED, false, false},
    {"another file", "read", "{\"path\":\"other.md\"}", CH_PHASE_ENDED, false, false},
    {"a NUL in the path", "read", "{\"path\":\"deploy.md\\u0000x\"}", CH_PHASE_ENDED, false,
     false},
    {"no path", "read", "{}", CH_PHASE_ENDED, false, false},
    {"a path that is a number", "read", "{\"path\":1}", CH_PHASE_ENDED, false, false},
    {"no JSON", "read", "{\"path\":", CH_PHASE_ENDED, false, false},
    {"a skill without tools", "read", "{\"path\":\"plain.md\"}", CH_PHASE_ENDED, false, false},
    {"a skill that is not allowed", "read", "{\"path\":\"hidden.md\"}", CH_PHASE_ENDED, false,
     false},
    {"an invalid skill", "read", "{\"path\":\"broken.md\"}", CH_PHASE_ENDED, false, false},
};

static void test_calls(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(calls); i++) {
        struct world w;
        CH_BUF_AUTO names = {0};
        bool active = calls[i].active;
        begin(&w, true, "go");
        call_ends(&w, calls[i].tool, calls[i].args, calls[i].phase, calls[i].failed);
        if (strcmp(saved(&w, &names), active ? "{\"skills\":[\"deploy\"]}" : "{}") != 0)
            fail_msg("%s: %s", calls[i].name, ch_buf_str(&names));
        if (granted(&w, "write") != active || granted(&w, "edit"))
            fail_msg("%s: wrong grants", calls[i].name);
        end(&w);
    }
}

static void test_absolute_path(void **state) {
    struct world w;
    CH_BUF_AUTO args = {0};
    (void)state;
    begin(&w, true, "go");
    ch_buf_addf(&args, "{\"path\":\"%s\"}", paths[0]);
    call_ends(&w, "read", ch_buf_str(&args), CH_PHASE_ENDED, false);
    assert_true(granted(&w, "write"));
    end(&w);
}

/* A warning names tools that are not known, once. */
static void test_unknown_tools(void **state) {
    struct world w;
    (void)state;
    begin(&w, true, "go");
    for (int i = 0; i < 2; i++)
        call_ends(&w, "read", DEPLOY, CH_PHASE_ENDED, false);
    assert_string_equal(ch_buf_str(&warnings),
                        "skill deploy: its allowed-tools name unknown tools: Frobnicate\n");
    end(&w);
}

static void test_untrusted(void **state) {
    struct world w;
    CH_BUF_AUTO names = {0};
    (void)state;
    begin(&w, false, "go");
    call_ends(&w, "read", DEPLOY, CH_PHASE_ENDED, false);
    assert_false(granted(&w, "write"));
    assert_string_equal(saved(&w, &names), "{\"skills\":[\"deploy\"]}");
    assert_non_null(strstr(ch_buf_str(&warnings), "(Write Frobnicate) are ignored"));
    end(&w);
}

/* The person was warned in the process in which the call ended. */
static void test_settled_calls_are_silent(void **state) {
    (void)state;
    for (int trusted = 0; trusted <= 1; trusted++) {
        struct world w;
        begin(&w, trusted, "go");
        call_ends(&w, "read", DEPLOY, CH_PHASE_SETTLED, false);
        assert_int_equal(warnings.n, 0);
        assert_int_equal(granted(&w, "write"), trusted);
        end(&w);
    }
}

static void test_called_by_a_person(void **state) {
    static const struct chela_channel channel = {.name = "chat"};
    (void)state;
    for (int in_chat = 0; in_chat <= 1; in_chat++) {
        struct world w;
        begin(&w, true, NULL);
        const struct chela_channel *none = w.st.session->channel;
        w.st.session->channel = in_chat ? &channel : none;
        assert_int_equal(ch_active_skills_feature.shape_request(w.st.run, NULL, NULL), 0);
        w.st.session->channel = none;
        assert_int_equal(granted(&w, "write"), !in_chat);
        end(&w);
    }
}

static void test_plain_words_call_nothing(void **state) {
    struct world w;
    CH_BUF_AUTO names = {0};
    (void)state;
    begin(&w, true, "Use the skill deploy now.");
    assert_int_equal(ch_active_skills_feature.shape_request(w.st.run, NULL, NULL), 0);
    assert_string_equal(saved(&w, &names), "{}");
    end(&w);
}

static void test_load(void **state) {
    struct world w;
    CH_BUF_AUTO names = {0};
    void *data = &w;
    (void)state;
    begin(&w, true, "go");
    load(&w, "{\"skills\":[\"deploy\",\"gone\",\"\",\"deploy\",7]}");
    load(&w, "{}");
    assert_string_equal(saved(&w, &names), "{\"skills\":[\"deploy\",\"gone\"]}");
    assert_false(granted(&w, "write")); /* until a run is opened */
    assert_int_equal(ch_active_skills_feature.open(w.st.run, NULL, NULL, &data, NULL), 0);
    assert_null(data);
    assert_true(granted(&w, "write"));
    w.st.agent->skills.trusted = false; /* as another agent of the session might be */
    assert_int_equal(ch_active_skills_feature.open(w.st.run, NULL, NULL, &data, NULL), 0);
    assert_false(granted(&w, "write"));
    assert_int_equal(warnings.n, 0);
    end(&w);
}

/* Names beyond the limit are dropped; the earlier ones stay. */
static void test_most_names(void **state) {
    struct world w;
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO names = {0};
    (void)state;
    begin(&w, true, "go");
    ch_buf_add_str(&json, "{\"skills\":[\"deploy\"");
    for (size_t i = 0; i < CH_LIMIT_ACTIVE_SKILLS / 8; i++)
        ch_buf_addf(&json, ",\"skill-%06zu\"", i);
    ch_buf_add_str(&json, "]}");
    load(&w, ch_buf_str(&json));
    saved(&w, &names);
    assert_non_null(strstr(ch_buf_str(&names), "[\"deploy\",\"skill-000000\""));
    assert_true(names.n > CH_LIMIT_ACTIVE_SKILLS / 2 && names.n < json.n);
    load(&w, "{\"skills\":[\"one-more-name\"]}");
    assert_null(strstr(saved(&w, &names), "one-more-name"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_absolute_path),
        cmocka_unit_test(test_unknown_tools),
        cmocka_unit_test(test_untrusted),
        cmocka_unit_test(test_settled_calls_are_silent),
        cmocka_unit_test(test_called_by_a_person),
        cmocka_unit_test(test_plain_words_call_nothing),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_most_names),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
