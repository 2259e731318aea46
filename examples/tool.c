/* tool.c -- two tools of a shop: one that reads, one that acts.
 *
 * price only reads: a call may be repeated at any time, and its errors tell the model what
 * to do. order changes something: a key identifies repetitions of a call, a person must
 * approve each call, and the result has data for programs as well as for the model.
 * docs/write-a-tool.md explains this example. */
#include <chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int cents, stock;
} items[] = {{"apples", 25, 100}, {"pears", 40, 12}, {"plums", 15, 0}};
enum { ITEMS = sizeof(items) / sizeof(items[0]) };

static int find(const char *name) {
    for (int i = 0; i < ITEMS; i++)
        if (strcmp(items[i].name, name) == 0)
            return i;
    return -1;
}

/* An error result is an answer like any other: it tells the model what would work. */
static int unknown(chela_call *call, const char *name) {
    return chela_result_error(call, "not_found",
                              "There is no item '%s'; there are apples, pears "
                              "and plums.",
                              name);
}

static int price(chela_call *call, void *user) {
    const char *name;
    (void)user;
    if (chela_arg_string(call, "item", &name) < 0)
        return CHELA_EINVAL; /* the error result is set, and names the argument */
    int i = find(name);
    if (i < 0)
        return unknown(call, name);
    chela_result_printf(call, "%s: %d cents each, %d in stock", name, items[i].cents,
                        items[i].stock);
    return 0;
}

/* Rules that a schema cannot express. Called before a person is asked for approval. */
static int check_order(chela_call *call, void *user) {
    const char *name;
    int64_t amount;
    (void)user;
    if (chela_arg_string(call, "item", &name) < 0 || chela_arg_int(call, "amount", &amount) < 0)
        return CHELA_EINVAL;
    int i = find(name);
    if (i >= 0 && amount > items[i].stock)
        return chela_result_error(call, "invalid_arguments", "Only %d %s are in stock.",
                                  items[i].stock, name);
    return 0;
}

/* Runs on a separate thread, so it may wait for a network; it checks now and then whether
 * the call was cancelled. */
static int order(chela_call *call, void *user) {
    const char *name;
    int64_t amount;
    char details[128];
    (void)user;
    if (chela_arg_string(call, "item", &name) < 0 || chela_arg_int(call, "amount", &amount) < 0)
        return CHELA_EINVAL;
    int i = find(name);
    if (i < 0)
        return unknown(call, name);
    if (chela_call_cancelled(call))
        return CHELA_ECANCELED;
    chela_call_progress(call, "talking to the shop");
    /* POST /orders with "Idempotency-Key: <key>" would go here; the same call,
     * made again after a failure or a restart, has the same key. */
    fprintf(stderr, "order %lld %s, key %s\n", (long long)amount, name,
            *chela_call_key(call) ? "set" : "missing");
    chela_result_printf(call, "ordered %lld %s for %lld cents", (long long)amount, name,
                        (long long)amount * items[i].cents);
    snprintf(details, sizeof(details), "{\"cents\":%lld}", (long long)amount * items[i].cents);
    chela_result_details(call, details); /* for programs: not shown to the model */
    return 0;
}

static const struct chela_tool_opts tools[] = {
    CHELA_TOOL_OPTS(.name = "price",
                    .description = "Price and stock of one item of the shop. Knows apples, pears "
                                   "and plums; fails with not_found for anything else.",
                    .schema = "{\"type\":\"object\",\"properties\":{\"item\":{\"type\":\"string\","
                              "\"description\":\"Name of the item, plural\"}},"
                              "\"required\":[\"item\"],\"additionalProperties\":false}",
                    .fn = price, .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
                    .timeout_ms = 5000),
    CHELA_TOOL_OPTS(.name = "order",
                    .description = "Order an amount of one item; the customer is charged at once. "
                                   "Fails if less than that is in stock: ask price first.",
                    .schema = "{\"type\":\"object\",\"properties\":{\"item\":{\"type\":\"string\","
                              "\"description\":\"Name of the item, plural\"},\"amount\":{\"type\":"
                              "\"integer\",\"minimum\":1,\"description\":\"How many\"}},"
                              "\"required\":[\"item\",\"amount\"],"
                              "\"additionalProperties\":false}",
                    .fn = order, .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_WRITE,
                    .flags = CHELA_TOOL_CONFIRM, .check = check_order),
};

int main(int argc, char **argv) {
    struct chela_error err = {0};
    chela_runtime *rt = NULL;
    chela_agent *agent;
    /* "auto" approves every order; approval.c asks a person. */
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"), .approve = CHELA_APPROVE_AUTO);

    int rc = chela_runtime_new(NULL, &rt, &err);
    if (rc == 0)
        rc = chela_agent_new(rt, &opts, &agent, &err);
    for (size_t i = 0; rc == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        rc = chela_agent_add_tool(agent, &tools[i], &err);
    char *answer = rc < 0 ? NULL : chela_ask(agent, argc > 1 ? argv[1] : "order 3 apples", &err);
    puts(answer ? answer : err.message);
    rc = answer ? 0 : 1;
    chela_free(answer);
    chela_runtime_close(rt);
    return rc;
}
