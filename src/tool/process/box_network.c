/* box_network.c -- see box_network.h. */
#include "tool/process/box_network.h"

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "egress/egress.h"
#include "net/forward.h"

struct ch_box_network {
    struct ch_box_network_opts opts;
    struct ch_egress *hosts; /* owned: of the policy */
    struct ch_forward *forward;
    struct ch_refused_hosts refused; /* texts in the arena */
    struct ch_arena arena;
};

static bool has_network(const struct ch_sandbox_policy *policy) {
    return policy->mode != CH_SANDBOX_OFF && policy->network != CH_SANDBOX_NET_HOST;
}

struct ch_box_network *ch_box_network_new(const struct ch_box_network_opts *opts) {
    struct chela_error err = {0};

    if (!has_network(opts->policy))
        return NULL;
    struct ch_box_network *n = ch_alloc(sizeof(*n));
    n->opts = *opts;
    n->refused.closed = opts->policy->network == CH_SANDBOX_NET_NONE;
    n->refused.met = opts->met;
    if (ch_egress_new(&(struct ch_egress_lists){.allow = opts->policy->hosts}, &n->hosts, &err) < 0)
        ch_log(CH_LOG_WARN, "sandbox", "network: %s", err.message); /* checked before */
    return n;
}

void ch_box_network_stop(struct ch_box_network *n) {
    if (n)
        ch_forward_close(CH_TAKE(n->forward));
}

void ch_box_network_close(struct ch_box_network *n) {
    if (!n)
        return;
    ch_box_network_stop(n);
    ch_egress_free(n->hosts);
    ch_arena_release(&n->arena);
    ch_free(n);
}

/* --- judging a destination ---------------------------------------------------------------- */

static void command_digest(const struct ch_url *to, struct ch_sv command,
                           unsigned char out[CH_SHA256_SIZE]) {
    CH_BUF_AUTO what = {0};

    ch_buf_add_str(&what, "command\n");
    ch_buf_add_sv(&what, command);
    ch_egress_digest(to, ch_buf_sv(&what), out);
}

static bool is_granted(const struct ch_box_network *n, const struct ch_url *to) {
    unsigned char every[CH_SHA256_SIZE], this_one[CH_SHA256_SIZE];

    if (!n->opts.granted)
        return false;
    command_digest(to, ch_sv("", 0), every);
    command_digest(to, n->opts.command, this_one);
    return n->opts.granted(every, n->opts.user) ||
           (n->opts.command.n && n->opts.granted(this_one, n->opts.user));
}

static bool is_known(const struct ch_refused_hosts *list, const char *host) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i].host, host) == 0)
            return true;
    return false;
}

/* Note the destination, and say why it is refused. */
static bool refuse(struct ch_box_network *n, const struct ch_url *to, bool askable,
                   struct ch_buf *why) {
    struct ch_refused_hosts *list = &n->refused;
    struct ch_refused_hosts one = {.n = 1, .closed = list->closed, .met = list->met};
    CH_BUF_AUTO host = {0};

    ch_url_add_authority(&host, to);
    one.v[0] = (struct ch_refused_host){ch_buf_str(&host), askable};
    ch_refused_text(&one, why);
    why->n -= why->n && why->p[why->n - 1] == '\n';
    ch_buf_str(why);
    if (list->n < CH_REFUSED_HOSTS && !is_known(list, ch_buf_str(&host)))
        list->v[list->n++] = (struct ch_refused_host){
            ch_arena_str(&n->arena, ch_buf_sv(&host)), askable};
    return false;
}

static bool box_network_allows(const struct ch_url *to, bool *named, struct ch_buf *why,
                               void *user) {
    struct ch_box_network *n = user;
    struct ch_egress_finding own = ch_egress_judge(n->hosts, to);
    struct ch_egress_finding all = ch_egress_judge(n->opts.policy->egress, to);

    *named = true; /* a person was shown the host */
    if (n->refused.closed || all.verdict == CH_EGRESS_DENY)
        return refuse(n, to, false, why);
    if (is_granted(n, to))
        return true;
    bool listed = own.verdict == CH_EGRESS_ALLOW;
    bool allowed = all.verdict == CH_EGRESS_ALLOW && !n->opts.met;
    *named = (listed && own.named) || (allowed && all.named);
    return listed || allowed || refuse(n, to, true, why);
}

/* Both lists may name the network of an address. A consent to a name is none to an address inside:
 * the name server says what the name means. */
static const char *box_network_refuses(const struct ch_url *to, const struct sockaddr *at,
                                       bool named, void *user) {
    const struct ch_box_network *n = user;
    const struct ch_egress *all = n->opts.policy->egress;
    bool by_list = ch_egress_judge(n->hosts, to).named || ch_egress_judge(all, to).named;
    const char *one =
        ch_egress_refuses(all, to, at, named && (by_list || ch_egress_is_inward(to)));

    return one && strcmp(one, "denied") != 0 && n->hosts
               ? ch_egress_refuses(n->hosts, to, at, false)
               : one;
}

void ch_box_network_listen(struct ch_box_network *n, int fd) {
    struct ch_forward_opts opts = {.loop = n->opts.loop,
                                   .socket = fd,
                                   .allows = box_network_allows,
                                   .refuses = box_network_refuses,
                                   .user = n};
    struct chela_error err = {0};

    if (ch_forward_new(&opts, &n->forward, &err) < 0)
        ch_log(CH_LOG_WARN, "sandbox", "%s", err.message);
}

/* --- what was refused ------------------------------------------------------------------------ */

const struct ch_refused_hosts *ch_box_network_refused(const struct ch_box_network *n) {
    return n && n->refused.n ? &n->refused : NULL;
}

void ch_refused_text(const struct ch_refused_hosts *list, struct ch_buf *out) {
    for (size_t i = 0; list && i < list->n; i++) {
        const char *host = list->v[i].host;
        ch_buf_addf(out, "[network: %s was refused: ", host);
        if (list->closed)
            ch_buf_add_str(out, "this command runs without a network");
        else if (!list->v[i].askable)
            ch_buf_add_str(out, "egress.deny names it");
        else if (list->met)
            ch_buf_addf(out,
                        "the conversation holds private data and text that nobody vouched for; the "
                        "line sandbox: { network: [\"%s\"] } of the configuration would allow it",
                        host);
        else
            ch_buf_addf(out,
                        "nobody has allowed it; the line sandbox: { network: [\"%s\"] } of the "
                        "configuration would",
                        host);
        ch_buf_add_str(out, "]\n");
    }
}

bool ch_refused_digest(const char *host, struct ch_sv command, unsigned char out[CH_SHA256_SIZE]) {
    struct ch_url to;

    if (ch_url_parse_host(ch_sv_str(host), true, &to) < 0)
        return false;
    command_digest(&to, command, out);
    return true;
}
