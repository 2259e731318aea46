/* hostloop.c -- chela inside a program with its own libuv loop, and a tool that the program
 * itself runs.
 *
 * The agent asks for pick_colour; the run pauses; the program "asks its user" (here: a
 * timer), answers, and the run continues. Everything happens in the single uv_run below. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct app {
    chela_runtime *rt;
    chela_session *session;
    uv_timer_t user; /* stands for the person in front of the screen */
    char call_id[128];
    int rc;
};

static void on_event(const struct chela_event *ev, void *user);

static void on_runtime_no_longer_needed(uv_handle_t *timer) {
    struct app *app = (struct app *)timer->data;
    chela_runtime_close(app->rt); /* its handles close in the next iterations */
}

static void user_answered(uv_timer_t *timer) {
    struct app *app = (struct app *)timer->data;
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = app);
    struct chela_error err = {0};
    if (chela_session_answer(app->session, app->call_id, "green", 5, 0, &err) < 0 ||
        chela_run_resume(app->session, &how, NULL, &err) < 0) {
        fprintf(stderr, "hostloop: %s\n", err.message);
        app->rc = 1;
    }
}

static void on_event(const struct chela_event *ev, void *user) {
    struct app *app = (struct app *)user;
    if (ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED) {
        snprintf(app->call_id, sizeof(app->call_id), "%.*s", (int)ev->call.id.n, ev->call.id.p);
    } else if (ev->type == CHELA_EV_RUN_END && ev->end.status == CHELA_STATUS_PAUSED) {
        fprintf(stderr, "waiting for the user\n");
        uv_timer_start(&app->user, user_answered, 50, 0);
    } else if (ev->type == CHELA_EV_RUN_END) {
        printf("%.*s\n", (int)ev->end.text.n, ev->end.text.p);
        app->rc = ev->end.status == CHELA_STATUS_DONE ? 0 : 1;
        uv_close((uv_handle_t *)&app->user, on_runtime_no_longer_needed);
    }
}

int main(int argc, char **argv) {
    struct chela_error err = {0};
    struct app app;
    chela_agent *agent;
    uv_loop_t *loop = uv_default_loop();

    memset(&app, 0, sizeof(app));
    app.rc = 1;
    uv_timer_init(loop, &app.user);
    app.user.data = &app;
    const char *prompt = argc > 1 ? argv[1] : "which colour does the user like?";
    struct chela_runtime_opts place = CHELA_RUNTIME_OPTS(.uv_loop = loop);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"));
    struct chela_tool_opts pick =
        CHELA_TOOL_OPTS(.name = "pick_colour", .description = "Ask the user to pick a colour.",
                        .schema = "{\"type\":\"object\",\"properties\":{}}",
                        .flags = CHELA_TOOL_CLIENT);
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = &app);
    if (chela_runtime_new(&place, &app.rt, &err) < 0 ||
        chela_agent_new(app.rt, &opts, &agent, &err) < 0 ||
        chela_agent_add_tool(agent, &pick, &err) < 0 ||
        chela_session_new(agent, NULL, &app.session, &err) < 0 ||
        chela_run_start(app.session, prompt, strlen(prompt), &how, NULL, &err) < 0) {
        fprintf(stderr, "hostloop: %s\n", err.message);
        return 1;
    }
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    return app.rc;
}
