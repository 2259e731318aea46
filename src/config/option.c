/* option.c -- the table of options; see option.h. Rows with a common prefix
 * stand together: that is the order of the manual and of the schema. */
#include "config/option.h"

#include "base/limits.h"
#include "base/mem.h"
#include "config/conf.h"

#define AGENT(member) offsetof(struct ch_conf_agent, member)
#define PROVIDER(member) offsetof(struct ch_conf_provider, member)
#define MODEL(member) offsetof(struct ch_conf_model, member)
#define POLICY(member) offsetof(struct ch_conf_policy, member)
#define TOOL(member) offsetof(struct ch_conf_tool, member)
#define OUTSIDE(member) offsetof(struct ch_conf, outside.member)
#define HOOK(member) offsetof(struct ch_conf_hook, member)
#define SCHEDULE(member) offsetof(struct ch_conf_schedule, member)
#define FEISHU(member) offsetof(struct ch_conf, feishu.member)
#define TELEGRAM(member) offsetof(struct ch_conf, telegram.member)
#define GATEWAY(member) offsetof(struct ch_conf, gateway.member)
#define BOX(member) offsetof(struct ch_conf, sandbox.member)

/* A key without effect that is no mistake. */
#define KNOWN(where, name) \
    { .scope = (where), .key = (name), .type = CH_CFG_ANY, .flags = CH_CFG_UNUSED }

/* Willingness in one kind of chat. */
#define WILLING(where, member, is)                                                               \
    {CH_SCOPE_AGENT, "heartbeat." where ".text", CH_CFG_NUMBER, 0,                               \
     AGENT(heartbeat.member.text), 0, 1000, .otherwise = "12",                                   \
     .help = "what a line adds to willingness in " is},                                          \
    {CH_SCOPE_AGENT, "heartbeat." where ".mention", CH_CFG_NUMBER, 0,                            \
     AGENT(heartbeat.member.mention), 0, 1000, .otherwise = "100",                               \
     .help = "and one that names it"},                                                           \
    {CH_SCOPE_AGENT, "heartbeat." where ".quote", CH_CFG_NUMBER, 0,                              \
     AGENT(heartbeat.member.quote), 0, 1000, .otherwise = "15",                                  \
     .help = "and one that answers it"},                                                         \
    {CH_SCOPE_AGENT, "heartbeat." where ".keywordFactor", CH_CFG_NUMBER, 0,                      \
     AGENT(heartbeat.member.keyword_factor), 0, 100, .otherwise = "1.2",                         \
     .help = "all of that times this for a line with one of `heartbeat.keywords`"},              \
    {CH_SCOPE_AGENT, "heartbeat." where ".max", CH_CFG_NUMBER, 0, AGENT(heartbeat.member.most),  \
     1, 1000, .otherwise = "100", .help = "the most that willingness can be"},                   \
    {CH_SCOPE_AGENT, "heartbeat." where ".halfLifeSec", CH_CFG_NUMBER, 0,                        \
     AGENT(heartbeat.member.half_life), 1, 1e6, .otherwise = "600",                              \
     .help = "time in which it halves, in silence"},                                             \
    {CH_SCOPE_AGENT, "heartbeat." where ".threshold", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.threshold), 0, 1000, .otherwise = "55",                              \
     .help = "up to this nothing is said"},                                                      \
    {CH_SCOPE_AGENT, "heartbeat." where ".slope", CH_CFG_NUMBER, 0,                              \
     AGENT(heartbeat.member.slope), 0, 1, .otherwise = "0.04",                                   \
     .help = "probability of a reply for each point above it"},                                  \
    {CH_SCOPE_AGENT, "heartbeat." where ".replyCost", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.reply_cost), 0, 1000, .otherwise = "35",                             \
     .help = "what a reply takes away"},                                                         \
    {CH_SCOPE_AGENT, "heartbeat." where ".refractorySec", CH_CFG_NUMBER, 0,                      \
     AGENT(heartbeat.member.refractory), 0, 86400, .otherwise = "20",                            \
     .help = "time after a reply in which only what asks for one gets another"},                 \
    {CH_SCOPE_AGENT, "heartbeat." where ".shareLow", CH_CFG_NUMBER, 0,                           \
     AGENT(heartbeat.member.share_low), 0, 1, .otherwise = "0.05",                               \
     .help = "share of its own lines below which the threshold sinks"},                          \
    {CH_SCOPE_AGENT, "heartbeat." where ".shareHigh", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.share_high), 0, 1, .otherwise = "0.2",                               \
     .help = "and at which it only answers what asks for it"}

#define MOST_SECONDS 10000000.0
#define MOST_MB 16777216

/* clang-format off */
const struct ch_option ch_options[] = {
    /* --- the file */
    {CH_SCOPE_FILE, "agents.defaults", CH_CFG_ONE, .offset = offsetof(struct ch_conf, defaults),
     .of = CH_SCOPE_AGENT, .help = "what holds for every agent that does not say otherwise"},
    {CH_SCOPE_FILE, "agents.list", CH_CFG_LIST, .offset = offsetof(struct ch_conf, agents),
     .of = CH_SCOPE_AGENT, .help = "the agents; the first is used when none is named"},
    {CH_SCOPE_FILE, "providers", CH_CFG_MAP, .offset = offsetof(struct ch_conf, providers),
     .of = CH_SCOPE_PROVIDER,
     .help = "model services by name: new ones, or fields of built-in ones"},
    {CH_SCOPE_FILE, "tools.custom", CH_CFG_LIST, .offset = offsetof(struct ch_conf, tools),
     .of = CH_SCOPE_TOOL,
     .help = "programs as tools: JSON arguments on stdin, the result on stdout"},
    {CH_SCOPE_FILE, "approvals", CH_CFG_APPROVALS, 0, offsetof(struct ch_conf, approvals),
     .help = "which calls a person must agree to, and under `allow` those that need no asking; "
             "see policy.md"},
    {CH_SCOPE_FILE, "policies", CH_CFG_LIST, .offset = offsetof(struct ch_conf, policies),
     .of = CH_SCOPE_POLICY,
     .help = "bounds for those who write through a channel, within the agent's: all that fit hold; "
             "see policy.md"},
    {CH_SCOPE_FILE, "schedules", CH_CFG_MAP, .offset = offsetof(struct ch_conf, schedules),
     .of = CH_SCOPE_SCHEDULE,
     .help = "runs that `chela serve` begins by the clock, by name; see schedules.md"},
    {CH_SCOPE_FILE, "databases", CH_CFG_DATABASES, CH_CFG_SECRET, OUTSIDE(databases),
     .help = "for `query_database`, by name: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`"},
    {CH_SCOPE_FILE, "webFetch.allowHosts", CH_CFG_PATTERNS, 0, OUTSIDE(fetch_allow),
     .otherwise = "[\"*\"]",
     .help = "hosts that `web_fetch` may ask; an empty list takes the tool away"},
    {CH_SCOPE_FILE, "webFetch.denyHosts", CH_CFG_PATTERNS, 0, OUTSIDE(fetch_deny),
     .otherwise = "[]", .help = "and those it must not"},
    {CH_SCOPE_FILE, "webFetch.allowPrivate", CH_CFG_BOOL, 0, OUTSIDE(fetch_private),
     .otherwise = "false",
     .help = "may it also ask this machine and private networks"},
    {CH_SCOPE_FILE, "webSearch.provider", CH_CFG_CHOICE, 0, OUTSIDE(search_provider),
     .words = "searxng|brave", .help = "the service behind `web_search`"},
    {CH_SCOPE_FILE, "webSearch.baseUrl", CH_CFG_URL, 0, OUTSIDE(search_url),
     .help = "where it is; `searxng` needs one"},
    {CH_SCOPE_FILE, "webSearch.apiKeyEnv", CH_CFG_ENV, 0, OUTSIDE(search_key_env),
     .help = "environment variable that holds its key"},
    {CH_SCOPE_FILE, "webSearch.apiKey", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a key does not belong into this file: use apiKeyEnv"},
    {CH_SCOPE_FILE, "mail.smtp", CH_CFG_SMTP, 0, OUTSIDE(smtp),
     .help = "server of `send_email`: `smtps://HOST` or, with STARTTLS, `smtp://HOST:587`"},
    {CH_SCOPE_FILE, "mail.from", CH_CFG_TEXT, 0, OUTSIDE(mail_from),
     .help = "sender of every message: `bot@example.com` or `Name <bot@example.com>`"},
    {CH_SCOPE_FILE, "mail.user", CH_CFG_TEXT, 0, OUTSIDE(mail_user),
     .help = "name to log in with; without it the sender's address"},
    {CH_SCOPE_FILE, "mail.passwordEnv", CH_CFG_ENV, 0, OUTSIDE(mail_password_env),
     .help = "environment variable that holds the password; without it there is no login"},
    {CH_SCOPE_FILE, "mail.password", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a password does not belong into this file: use passwordEnv"},
    {CH_SCOPE_FILE, "mail.tls", CH_CFG_CHOICE, 0, OUTSIDE(mail_tls), .words = "required|optional",
     .otherwise = "required", .help = "`optional` also takes a server that offers no TLS"},
    {CH_SCOPE_FILE, "mail.allowTo", CH_CFG_PATTERNS, 0, OUTSIDE(mail_allow),
     .otherwise = "[\"*\"]", .help = "addresses that may be written to, such as `*@example.com`"},
    {CH_SCOPE_FILE, "sandbox.mode", CH_CFG_CHOICE, 0, BOX(mode), .words = "required|auto|off",
     .otherwise = "auto",
     .help = "programs of tools run in the whole sandbox or not at all; in what of it this "
             "machine can do; without one"},
    {CH_SCOPE_FILE, "sandbox.network", CH_CFG_CHOICE, 0, BOX(network), .words = "none|host",
     .otherwise = "none", .help = "what they see of the network"},
    {CH_SCOPE_FILE, "sandbox.writable", CH_CFG_PLACES, 0, BOX(writable),
     .otherwise = "[\"workspace\"]",
     .help = "what they may write: `workspace` and other paths; without that word it is read-only"},
    {CH_SCOPE_FILE, "sandbox.readable", CH_CFG_PATHS, 0, BOX(readable), .otherwise = "[]",
     .help = "what they may read beside the system's programs and the workspace"},
    {CH_SCOPE_FILE, "sandbox.protect", CH_CFG_INSIDE, 0, BOX(protect),
     .help = "what neither they nor the file tools may change, even if it is not there yet: below "
             "the workspace, or absolute; without it the list in policy.md"},
    {CH_SCOPE_FILE, "sandbox.limits.cpuSec", CH_CFG_SECONDS, 0, BOX(limits.cpu_ms), 0,
     MOST_SECONDS, .otherwise = "7200", .help = "processor time of one process"},
    {CH_SCOPE_FILE, "sandbox.limits.memoryMb", CH_CFG_LIMIT, 0, BOX(limits.memory), 0, MOST_MB,
     .otherwise = "4096", .help = "memory of one process"},
    {CH_SCOPE_FILE, "sandbox.limits.fileMb", CH_CFG_LIMIT, 0, BOX(limits.file_size), 0, MOST_MB,
     .otherwise = "4096", .help = "size of one file they write"},
    {CH_SCOPE_FILE, "sandbox.limits.files", CH_CFG_LIMIT, 0, BOX(limits.files), 0, 1000000,
     .otherwise = "4096", .help = "files that one process has open"},
    {CH_SCOPE_FILE, "sandbox.limits.processes", CH_CFG_LIMIT, 0, BOX(limits.processes), 0, 1000000,
     .otherwise = "1024", .help = "processes and threads of one command"},
    {CH_SCOPE_FILE, "sandbox.limits.tmpMb", CH_CFG_LIMIT, 0, BOX(limits.tmp), 0, MOST_MB,
     .otherwise = "1024", .help = "size of a command's own `/tmp`"},
    {CH_SCOPE_FILE, "memory.enabled", CH_CFG_BOOL, 0, OUTSIDE(memory), .otherwise = "false",
     .help = "offer `memory_search` and `memory_write`: notes in Markdown files of the workspace; "
             "see memory.md"},
    {CH_SCOPE_FILE, "memory.sessions", CH_CFG_CHOICE, 0, OUTSIDE(memory_sessions),
     .words = "own|all|none", .otherwise = "own",
     .help = "which past conversations are searched as well: that of the session itself, those of "
             "everybody in the store, or none"},
    {CH_SCOPE_FILE, "memory.inject", CH_CFG_INT, 0, OUTSIDE(memory_inject), 0, 100000,
     .otherwise = "0",
     .help = "tokens of what is found about a message that the model is told with it, unasked"},
    {CH_SCOPE_FILE, "store", CH_CFG_TEXT, CH_CFG_ADDRESS, offsetof(struct ch_conf, store),
     .help = "where sessions are kept: `sqlite:PATH` (relative to this file), "
             "`postgres://HOST/DATABASE`, `redis://HOST` or `memory:`; see sessions.md"},
    {CH_SCOPE_FILE, "durability", CH_CFG_CHOICE, 0, offsetof(struct ch_conf, durability),
     .words = "full|turn", .otherwise = "full",
     .help = "what a loss of power may take: nothing that was accepted or begun, or the run that "
             "was under way"},
    {CH_SCOPE_FILE, "gateway.listen", CH_CFG_TEXT, 0, GATEWAY(listen),
     .otherwise = "127.0.0.1:8787",
     .help = "where `chela serve` listens: an IP address and a port"},
    {CH_SCOPE_FILE, "gateway.tokenEnv", CH_CFG_ENV, 0, GATEWAY(token_env),
     .otherwise = "CHELA_TOKEN",
     .help = "environment variable that holds the token its callers must show"},
    {CH_SCOPE_FILE, "gateway.tokenFile", CH_CFG_PATH, 0, GATEWAY(token_file),
     .help = "file that holds the token and nothing else; read again on SIGHUP"},
    {CH_SCOPE_FILE, "gateway.token", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a token does not belong into this file: use tokenEnv or tokenFile"},
    {CH_SCOPE_FILE, "gateway.hosts", CH_CFG_TEXTS, 0, GATEWAY(hosts), .otherwise = "[]",
     .help = "names it may be called by, beside `localhost` and IP addresses"},
    {CH_SCOPE_FILE, "gateway.origins", CH_CFG_TEXTS, 0, GATEWAY(origins), .otherwise = "[]",
     .help = "pages that may call it, such as `https://app.example.com`"},
    {CH_SCOPE_FILE, "gateway.tls.cert", CH_CFG_PATH, 0, GATEWAY(tls_cert),
     .help = "certificate (PEM, with what it is signed by) to speak TLS with; read again on "
             "SIGHUP"},
    {CH_SCOPE_FILE, "gateway.tls.key", CH_CFG_PATH, 0, GATEWAY(tls_key),
     .help = "its key (PEM, without a password)"},
    {CH_SCOPE_FILE, "gateway.hooks", CH_CFG_MAP, 0, GATEWAY(hooks), .of = CH_SCOPE_HOOK,
     .help = "programs that may tell an agent of events, by name: `POST /hooks/NAME`, signed"},
    {CH_SCOPE_FILE, "gateway.drainSec", CH_CFG_INT, 0, GATEWAY(drain_s), 1, 3600,
     .otherwise = "10", .help = "how long runs may go on after SIGTERM"},
    {CH_SCOPE_FILE, "gateway.retentionDays", CH_CFG_INT, 0, GATEWAY(retention_days), 1, 36500,
     .help = "delete sessions at rest that were not used for so long; without it none is deleted"},
    {CH_SCOPE_FILE, "prompts.dir", CH_CFG_FOLDER, 0, offsetof(struct ch_conf, prompts.dir),
     .help = "prompt files of your own, `NAME/vVERSION.txt`; see prompts.md"},
    {CH_SCOPE_FILE, "prompts.pin", CH_CFG_PINS, 0, offsetof(struct ch_conf, prompts.pins),
     .help = "the version to use instead of the newest: `{ router: \"2.0\" }`"},
    {CH_SCOPE_FILE, "prompts.rollout", CH_CFG_ROLLOUT, 0,
     offsetof(struct ch_conf, prompts.rollout),
     .help = "a version for some sessions in a hundred: `{ router: { \"2.1\": 10 } }`"},
    {CH_SCOPE_FILE, "channels.feishu.appId", CH_CFG_TEXT, 0, FEISHU(app_id),
     .help = "the app that people talk to; with it the channel is served, see feishu.md"},
    {CH_SCOPE_FILE, "channels.feishu.appSecretEnv", CH_CFG_ENV, 0, FEISHU(secret_env),
     .otherwise = "FEISHU_APP_SECRET", .help = "environment variable that holds its App Secret"},
    {CH_SCOPE_FILE, "channels.feishu.appSecretFile", CH_CFG_PATH, 0, FEISHU(secret_file),
     .help = "file that holds it and nothing else; read again on SIGHUP"},
    {CH_SCOPE_FILE, "channels.feishu.appSecret", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a secret does not belong into this file: use appSecretEnv or appSecretFile"},
    {CH_SCOPE_FILE, "channels.feishu.verificationTokenEnv", CH_CFG_ENV, 0, FEISHU(token_env),
     .otherwise = "FEISHU_VERIFICATION_TOKEN",
     .help = "environment variable that holds its Verification Token"},
    {CH_SCOPE_FILE, "channels.feishu.verificationTokenFile", CH_CFG_PATH, 0, FEISHU(token_file),
     .help = "file that holds it, likewise"},
    {CH_SCOPE_FILE, "channels.feishu.verificationToken", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a token does not belong into this file: use verificationTokenEnv or "
             "verificationTokenFile"},
    {CH_SCOPE_FILE, "channels.feishu.encryptKeyEnv", CH_CFG_ENV, 0, FEISHU(encrypt_key_env),
     .help = "environment variable that holds its Encrypt Key; without it callbacks are neither "
             "encrypted nor signed"},
    {CH_SCOPE_FILE, "channels.feishu.encryptKeyFile", CH_CFG_PATH, 0, FEISHU(encrypt_key_file),
     .help = "file that holds it, likewise"},
    {CH_SCOPE_FILE, "channels.feishu.encryptKey", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a key does not belong into this file: use encryptKeyEnv or encryptKeyFile"},
    {CH_SCOPE_FILE, "channels.feishu.mode", CH_CFG_CHOICE, 0, FEISHU(mode),
     .words = "webhook|websocket", .otherwise = "webhook",
     .help = "how events come: to `POST /channels/feishu/events`, or over a connection that we "
             "open"},
    {CH_SCOPE_FILE, "channels.feishu.domain", CH_CFG_TEXT, 0, FEISHU(domain),
     .otherwise = "feishu", .help = "the open platform: `feishu`, `lark` or an https URL"},
    {CH_SCOPE_FILE, "channels.feishu.agent", CH_CFG_NAME, 0, FEISHU(agent),
     .help = "who answers; without it the first agent"},
    {CH_SCOPE_FILE, "channels.feishu.dmPolicy", CH_CFG_CHOICE, 0, FEISHU(dm_policy),
     .words = "pairing|allowlist|open|off", .otherwise = "allowlist",
     .help = "whose direct messages are answered: of those in `allowFrom`, and with `pairing` of "
             "those who were approved; all; none"},
    {CH_SCOPE_FILE, "channels.feishu.allowFrom", CH_CFG_TEXTS, 0, FEISHU(allow_from),
     .otherwise = "[]", .help = "their ids: `ou_...`, `on_...` or a user_id; never names"},
    {CH_SCOPE_FILE, "channels.feishu.owners", CH_CFG_TEXTS, 0, FEISHU(owners), .otherwise = "[]",
     .help = "who decides about calls that need consent, and how the agent works: `ou_...`; "
             "without any, such calls are refused"},
    {CH_SCOPE_FILE, "channels.feishu.groupPolicy", CH_CFG_CHOICE, 0, FEISHU(group_policy),
     .words = "allowlist|open|off", .otherwise = "allowlist",
     .help = "which groups are answered in: those in `groups`, all, none"},
    {CH_SCOPE_FILE, "channels.feishu.groups", CH_CFG_TEXTS, 0, FEISHU(groups), .otherwise = "[]",
     .help = "their ids: `oc_...`"},
    {CH_SCOPE_FILE, "channels.feishu.requireMention", CH_CFG_UNLESS, 0, FEISHU(unasked),
     .otherwise = "true", .help = "in groups answer only what mentions the app"},
    {CH_SCOPE_FILE, "channels.feishu.groupSession", CH_CFG_CHOICE, 0, FEISHU(group_session),
     .words = "topic|chat|sender", .otherwise = "topic",
     .help = "who shares a session: a topic, or the group where there is none; the whole group; "
             "nobody"},
    {CH_SCOPE_FILE, "channels.feishu.streaming", CH_CFG_BOOL, 0, FEISHU(streaming),
     .otherwise = "false", .help = "show an answer while it grows, as a card"},
    {CH_SCOPE_FILE, "channels.telegram.tokenEnv", CH_CFG_ENV, 0, TELEGRAM(token_env),
     .help = "environment variable that holds the bot's token; with it the channel is served, see "
             "telegram.md"},
    {CH_SCOPE_FILE, "channels.telegram.tokenFile", CH_CFG_PATH, 0, TELEGRAM(token_file),
     .help = "file that holds it and nothing else; read again on SIGHUP"},
    {CH_SCOPE_FILE, "channels.telegram.token", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a token does not belong into this file: use tokenEnv or tokenFile"},
    {CH_SCOPE_FILE, "channels.telegram.domain", CH_CFG_TEXT, 0, TELEGRAM(domain),
     .otherwise = "https://api.telegram.org", .help = "another server of the Bot API"},
    {CH_SCOPE_FILE, "channels.telegram.agent", CH_CFG_NAME, 0, TELEGRAM(agent),
     .help = "who answers; without it the first agent"},
    {CH_SCOPE_FILE, "channels.telegram.dmPolicy", CH_CFG_CHOICE, 0, TELEGRAM(dm_policy),
     .words = "pairing|allowlist|open|off", .otherwise = "allowlist",
     .help = "whose direct messages are answered: of those in `allowFrom`, and with `pairing` of "
             "those who were approved; all; none"},
    {CH_SCOPE_FILE, "channels.telegram.allowFrom", CH_CFG_TEXTS, 0, TELEGRAM(allow_from),
     .otherwise = "[]", .help = "their ids, numbers in quotes; never names"},
    {CH_SCOPE_FILE, "channels.telegram.owners", CH_CFG_TEXTS, 0, TELEGRAM(owners),
     .otherwise = "[]",
     .help = "who decides about calls that need consent, and how the agent works; without any, "
             "such calls are refused"},
    {CH_SCOPE_FILE, "channels.telegram.groupPolicy", CH_CFG_CHOICE, 0, TELEGRAM(group_policy),
     .words = "allowlist|open|off", .otherwise = "allowlist",
     .help = "which groups are answered in: those in `groups`, all, none"},
    {CH_SCOPE_FILE, "channels.telegram.groups", CH_CFG_TEXTS, 0, TELEGRAM(groups),
     .otherwise = "[]", .help = "their ids, such as `\"-1001234\"`"},
    {CH_SCOPE_FILE, "channels.telegram.requireMention", CH_CFG_UNLESS, 0, TELEGRAM(unasked),
     .otherwise = "true", .help = "in groups answer only what mentions the bot or answers it"},
    {CH_SCOPE_FILE, "channels.telegram.groupSession", CH_CFG_CHOICE, 0, TELEGRAM(group_session),
     .words = "topic|chat|sender", .otherwise = "topic",
     .help = "who shares a session: a topic, or the group where there is none; the whole group; "
             "nobody"},

    /* --- an agent */
    {CH_SCOPE_AGENT, "id", CH_CFG_NAME, CH_CFG_REQUIRED | CH_CFG_ITEM, AGENT(item.name),
     .help = "what `--agent` takes"},
    {CH_SCOPE_AGENT, "name", CH_CFG_TEXT, CH_CFG_ITEM, AGENT(title), .help = "for people"},
    {CH_SCOPE_AGENT, "description", CH_CFG_TEXT, CH_CFG_ITEM, AGENT(description),
     .help = "what it is for, in a sentence: told to agents that may call it"},
    {CH_SCOPE_AGENT, "model", CH_CFG_MODELS, 0, AGENT(models),
     .help = "the model; in a list, the ones after the first are tried in turn when it fails"},
    {CH_SCOPE_AGENT, "embedding", CH_CFG_MODEL, 0, AGENT(embedding),
     .help = "model that tells which texts mean the same, of a service that speaks OpenAI's "
             "protocol: `topk` and memory go by it too; see tools.md, memory.md"},
    {CH_SCOPE_AGENT, "systemPrompt", CH_CFG_TEXT, 0, AGENT(system),
     .help = "instructions; without them a short text of chela's own"},
    {CH_SCOPE_AGENT, "workspaceDir", CH_CFG_PATH, 0, AGENT(workspace),
     .help = "directory of the file tools; without it the current one"},
    {CH_SCOPE_AGENT, "tools.allow", CH_CFG_NAMES, 0, AGENT(allow), .otherwise = "[\"*\"]",
     .help = "tools to offer, by name, glob or group; an empty list offers none"},
    {CH_SCOPE_AGENT, "tools.deny", CH_CFG_NAMES, 0, AGENT(deny), .otherwise = "[]",
     .help = "and those to leave out; wins over `tools.allow`"},
    {CH_SCOPE_AGENT, "tools.permission", CH_CFG_CHOICE, 0, AGENT(permission),
     .words = "read|write|admin", .otherwise = "admin",
     .help = "offer no tool that needs more than this"},
    {CH_SCOPE_AGENT, "tools.selection", CH_CFG_CHOICE, 0, AGENT(selection),
     .words = "auto|all|topk|two_stage|search", .otherwise = "auto",
     .help = "which of the tools a request describes: all, those that suit the input, those that "
             "the model picks from summaries, those that it looks for; auto goes by their number"},
    {CH_SCOPE_AGENT, "tools.selectionSize", CH_CFG_INT, 0, AGENT(selection_size), 1, 4096,
     .otherwise = "10", .help = "tools that one input adds with `topk`"},
    {CH_SCOPE_AGENT, "tools.parallel", CH_CFG_INT, 0, AGENT(parallel), 1, 256, .otherwise = "8",
     .help = "calls of one reply that may run at once; `1`: the model is asked for one at a time"},
    {CH_SCOPE_AGENT, "tools.strict", CH_CFG_BOOL, 0, AGENT(strict), .otherwise = "false",
     .help = "have the service hold the model to the tools' schemas, where both can"},
    {CH_SCOPE_AGENT, "tools.schedule", CH_CFG_BOOL, 0, AGENT(schedule_tool), .otherwise = "false",
     .help = "offer `schedule`, with which it makes schedules for its session; see schedules.md"},
    {CH_SCOPE_AGENT, "tools.chat", CH_CFG_BOOL, 0, AGENT(chat_actions), .otherwise = "false",
     .help = "in chats of a channel offer `chat_react`, `chat_recall`, `chat_mute` and "
             "`chat_remove`; see tools.md"},
    {CH_SCOPE_AGENT, "tools.gateway", CH_CFG_BOOL, 0, AGENT(gateway_tool), .otherwise = "false",
     .help = "offer `gateway`, with which an owner of a channel has this file looked at and "
             "changed; see gateway.md"},
    {CH_SCOPE_AGENT, "tools.choice", CH_CFG_TEXT, 0, AGENT(choice), .otherwise = "auto",
     .help = "`auto`, `any`, `none`, or the tool that must be called"},
    {CH_SCOPE_AGENT, "agents", CH_CFG_TEXTS, 0, AGENT(calls), .otherwise = "[]",
     .help = "agents that it may call, by id: each is a tool of that name; see modes.md"},
    {CH_SCOPE_AGENT, "handoff", CH_CFG_TEXTS, 0, AGENT(takers), .otherwise = "[]",
     .help = "agents that it may hand a conversation over to, by id, with the tool `handoff`; see "
             "modes.md"},
    {CH_SCOPE_AGENT, "sendTo", CH_CFG_NAMES, 0, AGENT(send_to), .otherwise = "[]",
     .help = "sessions that it may write to in `chela serve`, keys and globs, with the tool "
             "`sessions_send`; see modes.md"},
    {CH_SCOPE_AGENT, "delegation.maxDepth", CH_CFG_INT, 0, AGENT(max_depth), 1,
     CH_LIMIT_DELEGATE_DEPTH, .otherwise = "3",
     .help = "how deep the agents that it calls may call one another; `1`: not at all"},
    {CH_SCOPE_AGENT, "delegation.maxChildren", CH_CFG_INT, 0, AGENT(max_children), 1,
     CH_LIMIT_DELEGATE_CHILDREN, .otherwise = "16",
     .help = "calls of agents in one run"},
    {CH_SCOPE_AGENT, "skills.allow", CH_CFG_NAMES, 0, AGENT(skills), .otherwise = "[\"*\"]",
     .help = "skills of the workspace to tell the model of, by name or glob; see skills.md"},
    {CH_SCOPE_AGENT, "context.prompt", CH_CFG_CHOICE, 0, AGENT(prompt),
     .words = "auto|full|minimal", .otherwise = "auto",
     .help = "the system prompt: `minimal` has 1,500 characters at most; `auto` takes it for "
             "models on this machine or with little context; see context.md"},
    {CH_SCOPE_AGENT, "context.files", CH_CFG_TEXTS, 0, AGENT(project_files),
     .otherwise = "[\"AGENTS.md\", \"SOUL.md\", \"TOOLS.md\", \"USER.md\", \"MEMORY.md\"]",
     .help = "files of the workspace that it holds; an empty list: none"},
    {CH_SCOPE_AGENT, "context.fileBytes", CH_CFG_INT, 0, AGENT(file_bytes), 100, 1048576,
     .otherwise = "20480", .help = "of one of them"},
    {CH_SCOPE_AGENT, "context.filesBytes", CH_CFG_INT, 0, AGENT(files_bytes), 100, 8388608,
     .otherwise = "61440", .help = "of all of them"},
    {CH_SCOPE_AGENT, "context.rules", CH_CFG_TEXTS, 0, AGENT(rules), .otherwise = "[]",
     .help = "rules of the agent's own: seven are in the system prompt, of the others those that "
             "suit the input come with it"},
    {CH_SCOPE_AGENT, "context.reminder", CH_CFG_TEXT, 0, AGENT(reminder),
     .help = "said at the end of every request"},
    {CH_SCOPE_AGENT, "context.docs", CH_CFG_TEXT, 0, AGENT(docs),
     .help = "path or URL where the model can read about what it works with"},
    {CH_SCOPE_AGENT, "context.systemPercent", CH_CFG_INT, 0, AGENT(system_share), 1, 90,
     .otherwise = "25", .help = "of the model's context for the system prompt, at most"},
    {CH_SCOPE_AGENT, "context.outputPercent", CH_CFG_INT, 0, AGENT(output_share), 1, 90,
     .otherwise = "15", .help = "of it to be kept free for the answer"},
    {CH_SCOPE_AGENT, "compaction.mode", CH_CFG_CHOICE, 0, AGENT(compaction),
     .words = "summary|retain|off", .otherwise = "summary",
     .help = "what is done when the conversation no longer fits the model: it is condensed with a "
             "summary by a model, or without; or nothing; see context.md"},
    {CH_SCOPE_AGENT, "compaction.model", CH_CFG_TEXT, 0, AGENT(compaction_model),
     .help = "the model that writes the summary, a small one; without it the agent's own"},
    {CH_SCOPE_AGENT, "mode", CH_CFG_CHOICE, 0, AGENT(mode), .words = "react|plan|route|heartbeat",
     .otherwise = "react",
     .help = "how the agent works: call tools until the answer is there; make a plan first; choose "
             "a tool or the planner first; take part in a chat; see modes.md"},
    {CH_SCOPE_AGENT, "reflection.when", CH_CFG_CHOICE, 0, AGENT(reflection),
     .words = "implicit|on_error|explicit",
     .help = "what a model call of its own judges: nothing; results of which one is an error; "
             "every answer as well; without it what plans give"},
    {CH_SCOPE_AGENT, "reflection.tools", CH_CFG_NAMES, 0, AGENT(reflect_tools), .otherwise = "[]",
     .help = "and the results of these tools"},
    {CH_SCOPE_AGENT, "reviewPlan", CH_CFG_BOOL, 0, AGENT(review_plan), .otherwise = "false",
     .help = "a person must agree to a plan before it is carried out"},
    {CH_SCOPE_AGENT, "roles.router", CH_CFG_MODEL, 0, AGENT(router),
     .help = "model that routes; without it, as for the other roles, the agent's own"},
    {CH_SCOPE_AGENT, "roles.planner", CH_CFG_MODEL, 0, AGENT(planner),
     .help = "model that makes plans"},
    {CH_SCOPE_AGENT, "roles.executor", CH_CFG_MODEL, 0, AGENT(executor),
     .help = "model for steps of a plan that a model carries out"},
    {CH_SCOPE_AGENT, "roles.reflector", CH_CFG_MODEL, 0, AGENT(reflector),
     .help = "model that judges results"},
    {CH_SCOPE_AGENT, "heartbeat.protocol", CH_CFG_CHOICE, 0, AGENT(heartbeat.protocol),
     .words = "native|text", .otherwise = "native",
     .help = "mode `heartbeat`: how the model acts, by calls of tools or by writing a JSON object; "
             "see heartbeat.md"},
    {CH_SCOPE_AGENT, "heartbeat.beats", CH_CFG_INT, 0, AGENT(heartbeat.beats), 1, 100,
     .otherwise = "5", .help = "model calls of one turn"},
    {CH_SCOPE_AGENT, "heartbeat.history", CH_CFG_INT, 0, AGENT(heartbeat.history), 1, 1000,
     .otherwise = "30", .help = "lines before the new ones that it is shown"},
    {CH_SCOPE_AGENT, "heartbeat.memory", CH_CFG_TEXTS, 0, AGENT(heartbeat.memory),
     .otherwise = "[\"SOUL.md\", \"MEMORY.md\"]",
     .help = "files of the workspace that it always knows, read anew in each beat"},
    {CH_SCOPE_AGENT, "heartbeat.typing", CH_CFG_NUMBER, 0, AGENT(heartbeat.typing), 0, 10000,
     .otherwise = "8", .help = "characters a second between parts of a message; `0`: no pause"},
    {CH_SCOPE_AGENT, "heartbeat.debounceMs", CH_CFG_INT, 0, AGENT(heartbeat.debounce_ms), 1,
     600000, .otherwise = "1000",
     .help = "in a channel, how long it must be quiet before it begins to think"},
    {CH_SCOPE_AGENT, "heartbeat.busy", CH_CFG_CHOICE, 0, AGENT(heartbeat.busy),
     .words = "wait|skip", .otherwise = "wait",
     .help = "and what lines do that come meanwhile: wait for a turn of their own, or that only if "
             "they ask for an answer"},
    {CH_SCOPE_AGENT, "heartbeat.opinion", CH_CFG_MODEL, 0, AGENT(heartbeat.opinion),
     .help = "a small model that is asked first about lines that nobody addressed to it: it may "
             "say no"},
    {CH_SCOPE_AGENT, "heartbeat.names", CH_CFG_TEXTS, 0, AGENT(heartbeat.names), .otherwise = "[]",
     .help = "what it is called in a chat: a line with one of them is answered; see heartbeat.md"},
    {CH_SCOPE_AGENT, "heartbeat.keywords", CH_CFG_TEXTS, 0, AGENT(heartbeat.keywords),
     .otherwise = "[]", .help = "what it is interested in"},
    {CH_SCOPE_AGENT, "heartbeat.stopWords", CH_CFG_TEXTS, 0, AGENT(heartbeat.stop_words),
     .otherwise = "[]", .help = "in a line that is meant for it: it is quiet for a while"},
    {CH_SCOPE_AGENT, "heartbeat.hushSec", CH_CFG_INT, 0, AGENT(heartbeat.hush_s), 1, 604800,
     .otherwise = "600", .help = "for so long, or until it is asked again"},
    {CH_SCOPE_AGENT, "heartbeat.quietHours", CH_CFG_TEXT, 0, AGENT(heartbeat.quiet_hours),
     .help = "`23:00-07:30`: only lines that are meant for it are answered then"},
    {CH_SCOPE_AGENT, "heartbeat.utcOffset", CH_CFG_TEXT, 0, AGENT(heartbeat.utc_offset),
     .otherwise = "+00:00", .help = "of the clock that they go by"},
    {CH_SCOPE_AGENT, "heartbeat.botTurns", CH_CFG_INT, 0, AGENT(heartbeat.bot_turns), 1, 1000,
     .otherwise = "3", .help = "answers to other bots in a row, until a person says something"},
    {CH_SCOPE_AGENT, "heartbeat.group.answerAll", CH_CFG_BOOL, 0,
     AGENT(heartbeat.group.answers_all), .otherwise = "false",
     .help = "answer every line of a group"},
    WILLING("group", group, "a group"),
    {CH_SCOPE_AGENT, "heartbeat.direct.answerAll", CH_CFG_UNLESS, 0,
     AGENT(heartbeat.direct.scores), .otherwise = "true",
     .help = "answer every direct message; without it as in groups"},
    {CH_SCOPE_AGENT, "heartbeat.direct.direct", CH_CFG_NUMBER, 0,
     AGENT(heartbeat.direct.direct), 0, 1000, .otherwise = "40",
     .help = "what a direct message adds, beside what follows"},
    WILLING("direct", direct, "a direct chat"),
    {CH_SCOPE_AGENT, "maxOutputTokens", CH_CFG_INT, 0, AGENT(max_output_tokens), 1, 10000000,
     .help = "of one reply; without it as the model allows"},
    {CH_SCOPE_AGENT, "temperature", CH_CFG_NUMBER, 0, AGENT(temperature), 0, 2,
     .help = "without it the model's own; some models refuse it"},
    {CH_SCOPE_AGENT, "topP", CH_CFG_NUMBER, 0, AGENT(top_p), 0, 1,
     .help = "of the likeliest words those that make up this share; likewise"},
    {CH_SCOPE_AGENT, "topK", CH_CFG_INT, 0, AGENT(top_k), 1, 1000000,
     .help = "of the likeliest words this many, where the service has that"},
    {CH_SCOPE_AGENT, "seed", CH_CFG_INT, 0, AGENT(seed), 1, 2147483647,
     .help = "the same dice every time, where the service has that"},
    {CH_SCOPE_AGENT, "stop", CH_CFG_TEXTS, 0, AGENT(stop),
     .help = "texts that end a reply; some models refuse them"},
    {CH_SCOPE_AGENT, "reasoning", CH_CFG_CHOICE, 0, AGENT(reasoning),
     .words = "off|low|medium|high",
     .help = "how long the model thinks first; without it its own default"},
    {CH_SCOPE_AGENT, "promptCache", CH_CFG_CHOICE, 0, AGENT(cache), .words = "off|5m|1h",
     .otherwise = "5m",
     .help = "how long the service keeps what was sent; services have a way of their own"},
    {CH_SCOPE_AGENT, "output.schema", CH_CFG_JSON, 0, AGENT(output_schema),
     .help = "JSON Schema of the final answer, which is then JSON and checked; see calls.md"},
    {CH_SCOPE_AGENT, "output.by", CH_CFG_CHOICE, 0, AGENT(output_by),
     .words = "auto|native|tool|prompt", .otherwise = "auto",
     .help = "how the model is told of it"},
    {CH_SCOPE_AGENT, "retries", CH_CFG_COUNT, 0, AGENT(retries), 0, 100, .otherwise = "2",
     .help = "tries more of a model call that failed for a passing reason"},
    {CH_SCOPE_AGENT, "timeouts.connectSec", CH_CFG_SECONDS, 0, AGENT(connect_ms), 0,
     MOST_SECONDS, .otherwise = "10", .help = "until a service is connected to"},
    {CH_SCOPE_AGENT, "timeouts.firstByteSec", CH_CFG_SECONDS, 0, AGENT(first_byte_ms), 0,
     MOST_SECONDS, .otherwise = "300", .help = "until its answer begins"},
    {CH_SCOPE_AGENT, "timeouts.idleSec", CH_CFG_SECONDS, 0, AGENT(idle_ms), 0, MOST_SECONDS,
     .otherwise = "120", .help = "silence in the middle of an answer; then it counts as failed"},
    {CH_SCOPE_AGENT, "limits.maxTurns", CH_CFG_LIMIT, 0, AGENT(limits.max_turns), 0, 1000000,
     .otherwise = "25", .help = "model calls of one run"},
    {CH_SCOPE_AGENT, "limits.maxToolCalls", CH_CFG_LIMIT, 0, AGENT(limits.max_tool_calls), 0,
     1000000, .otherwise = "200", .help = "tool calls of one run"},
    {CH_SCOPE_AGENT, "limits.tokenBudget", CH_CFG_LIMIT, 0, AGENT(limits.token_budget), 0, 1e15,
     .otherwise = "0", .help = "tokens of one run, input and output together"},
    {CH_SCOPE_AGENT, "limits.costBudgetUsd", CH_CFG_BUDGET, 0, AGENT(limits.cost_budget_usd), 0,
     1e9, .otherwise = "0", .help = "US dollars of one run, where prices are known"},
    {CH_SCOPE_AGENT, "limits.timeoutSec", CH_CFG_SECONDS, 0, AGENT(limits.timeout_ms), 0,
     MOST_SECONDS, .otherwise = "1800", .help = "time of one run"},
    {CH_SCOPE_AGENT, "limits.maxConsecutiveErrors", CH_CFG_LIMIT, 0,
     AGENT(limits.max_consecutive_errors), 0, 1000000, .otherwise = "3",
     .help = "failed tool and model calls in a row"},
    {CH_SCOPE_AGENT, "limits.sumUp", CH_CFG_BOOL, 0, AGENT(sum_up), .otherwise = "false",
     .help = "at a limit of turns, calls or errors, or in a loop, the model sums up: one model "
             "call more, without tools"},
    {CH_SCOPE_AGENT, "loopGuard.repeats", CH_CFG_LIMIT, 0, AGENT(loop_guard.repeats), 0, 1000,
     .otherwise = "5", .help = "the same call with the same result, times in a row: the model is "
                               "told, and half as many later the run ends"},
    {CH_SCOPE_AGENT, "loopGuard.cycles", CH_CFG_LIMIT, 0, AGENT(loop_guard.cycles), 0, 5,
     .otherwise = "3", .help = "likewise the same two to six calls in turn"},
    {CH_SCOPE_AGENT, "loopGuard.texts", CH_CFG_LIMIT, 0, AGENT(loop_guard.texts), 0, 1000,
     .otherwise = "3", .help = "the same words while nothing new is done"},
    {CH_SCOPE_AGENT, "loopGuard.polls", CH_CFG_LIMIT, 0, AGENT(loop_guard.polls), 0, 1000,
     .otherwise = "12", .help = "asking how far something is, and no change"},
    {CH_SCOPE_AGENT, "loopGuard.unknownTools", CH_CFG_LIMIT, 0, AGENT(loop_guard.unknown_tools), 0,
     1000, .otherwise = "3", .help = "calls of a tool that there is not"},
    {CH_SCOPE_AGENT, "wake.every", CH_CFG_SPAN, 0, AGENT(wake.every),
     .help = "it wakes up by itself so often and reads `HEARTBEAT.md`; without it never; see "
             "schedules.md"},
    {CH_SCOPE_AGENT, "wake.file", CH_CFG_TEXT, 0, AGENT(wake.file), .otherwise = "HEARTBEAT.md",
     .help = "that file, in the workspace; while it says nothing, nothing is done"},
    {CH_SCOPE_AGENT, "wake.session", CH_CFG_TEXT, 0, AGENT(wake.session),
     .help = "the session that it wakes up in; without it `wake:AGENT`"},
    {CH_SCOPE_AGENT, "wake.quietHours", CH_CFG_HOURS, 0, AGENT(wake.quiet_hours),
     .help = "it sleeps then: `22:00-07:00`"},
    {CH_SCOPE_AGENT, "wake.timezone", CH_CFG_TEXT, 0, AGENT(wake.timezone),
     .help = "of those hours; without it the machine's"},
    {CH_SCOPE_AGENT, "wake.maxRunsPerDay", CH_CFG_LIMIT, 0, AGENT(wake.max_per_day), 0, 100000,
     .otherwise = "0", .help = "times a day that it may wake up"},
    {CH_SCOPE_AGENT, "wake.costBudgetUsd", CH_CFG_BUDGET, 0, AGENT(wake.cost_usd), 0, 1e6,
     .otherwise = "0", .help = "of each time, within the agent's"},
    {CH_SCOPE_AGENT, "queue.mode", CH_CFG_CHOICE, 0, AGENT(queue_mode),
     .words = "steer|follow_up|collect|interrupt", .otherwise = "steer",
     .help = "what a message does that comes while a run is in progress; see sessions.md"},
    {CH_SCOPE_AGENT, "queue.cap", CH_CFG_INT, 0, AGENT(queue_cap), 1, CH_LIMIT_QUEUE,
     .otherwise = "20", .help = "messages that may wait in a session"},
    {CH_SCOPE_AGENT, "queue.overflow", CH_CFG_CHOICE, 0, AGENT(queue_overflow),
     .words = "refuse|drop_oldest", .otherwise = "refuse",
     .help = "what becomes of one more: it is refused, or the oldest goes, and the model is told"},
    {CH_SCOPE_AGENT, "queue.debounceMs", CH_CFG_INT, 0, AGENT(queue_debounce_ms), 1, 600000,
     .otherwise = "1000", .help = "with `collect`, how long it must be quiet before a run begins"},

    /* --- a provider */
    {CH_SCOPE_PROVIDER, "api", CH_CFG_CHOICE, 0, PROVIDER(api),
     .words = "anthropic|openai|openai-responses|gemini|bedrock|prompted|scripted",
     .help = "the protocol it speaks; a new provider needs one"},
    {CH_SCOPE_PROVIDER, "baseUrl", CH_CFG_URL, 0, PROVIDER(base_url),
     .help = "where it is; a new provider needs one"},
    {CH_SCOPE_PROVIDER, "apiKeyEnv", CH_CFG_ENVS, 0, PROVIDER(key_env),
     .help = "environment variable that holds its key; with several, the next one is used while "
             "one is refused or at its limit"},
    {CH_SCOPE_PROVIDER, "apiKeyFile", CH_CFG_PATH, 0, PROVIDER(key_file),
     .help = "file that holds its key and nothing else"},
    {CH_SCOPE_PROVIDER, "apiKey", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a key does not belong into this file: use apiKeyEnv or apiKeyFile"},
    {CH_SCOPE_PROVIDER, "headers", CH_CFG_HEADERS, CH_CFG_SECRET, PROVIDER(headers),
     .help = "sent with every request"},
    {CH_SCOPE_PROVIDER, "extraBody", CH_CFG_JSON, 0, PROVIDER(extra_body),
     .help = "members added to the body of every request"},
    {CH_SCOPE_PROVIDER, "quirks", CH_CFG_QUIRKS, 0, PROVIDER(quirks),
     .help = "how the server departs from its protocol, see below"},
    {CH_SCOPE_PROVIDER, "models", CH_CFG_LIST, 0, PROVIDER(models), .of = CH_SCOPE_MODEL,
     .help = "what is to be known about some of its models, see below"},

    /* --- a model of a provider */
    {CH_SCOPE_MODEL, "id", CH_CFG_TEXT, CH_CFG_REQUIRED, MODEL(item.name),
     .help = "its name, as it stands after the slash"},
    {CH_SCOPE_MODEL, "price.input", CH_CFG_NUMBER, 0, MODEL(input), 0, 1e9,
     .help = "US dollars for a million tokens sent"},
    {CH_SCOPE_MODEL, "price.output", CH_CFG_NUMBER, 0, MODEL(output), 0, 1e9,
     .help = "and for a million tokens of its replies"},
    {CH_SCOPE_MODEL, "price.cacheRead", CH_CFG_NUMBER, 0, MODEL(cache_read), 0, 1e9,
     .help = "for those the service still had; without it as `price.input`"},
    {CH_SCOPE_MODEL, "price.cacheWrite", CH_CFG_NUMBER, 0, MODEL(cache_write), 0, 1e9,
     .help = "for those it was asked to keep; likewise"},
    {CH_SCOPE_MODEL, "contextWindow", CH_CFG_INT, 0, MODEL(context_window), 1, 1e12,
     .help = "tokens of context it has: results of tools are cut to suit it"},

    /* --- a program as a tool */
    {CH_SCOPE_TOOL, "name", CH_CFG_NAME, CH_CFG_REQUIRED, TOOL(item.name),
     .help = "what the model calls it"},
    {CH_SCOPE_TOOL, "description", CH_CFG_TEXT, CH_CFG_REQUIRED, TOOL(description),
     .help = "what it does, its limits, how it fails: the model reads this"},
    {CH_SCOPE_TOOL, "parameters", CH_CFG_JSON, 0, TOOL(parameters),
     .help = "JSON Schema of its arguments; without it there are none"},
    {CH_SCOPE_TOOL, "command", CH_CFG_COMMAND, CH_CFG_REQUIRED, TOOL(command),
     .help = "program and arguments; no shell is involved"},
    {CH_SCOPE_TOOL, "cwd", CH_CFG_PATH, 0, TOOL(cwd),
     .help = "directory it runs in; without it the workspace"},
    {CH_SCOPE_TOOL, "effect", CH_CFG_CHOICE, 0, TOOL(effect), .words = "once|keyed|read",
     .otherwise = "once",
     .help = "may a failed call run again: `once` never, `keyed` with the same key, `read` freely"},
    {CH_SCOPE_TOOL, "permission", CH_CFG_CHOICE, 0, TOOL(permission), .words = "read|write|admin",
     .otherwise = "admin", .help = "what an agent must be allowed to be offered it"},
    {CH_SCOPE_TOOL, "timeoutSec", CH_CFG_SECONDS, 0, TOOL(timeout_ms), 0, MOST_SECONDS,
     .otherwise = "30", .help = "time of one call"},
    {CH_SCOPE_TOOL, "confirm", CH_CFG_BOOL, 0, TOOL(confirm), .otherwise = "false",
     .help = "must a person agree to each call"},

    /* --- bounds for those who write through a channel */
    {CH_SCOPE_POLICY, "id", CH_CFG_NAME, CH_CFG_REQUIRED, POLICY(item.name),
     .help = "for messages"},
    {CH_SCOPE_POLICY, "channel", CH_CFG_TEXT, CH_CFG_REQUIRED, POLICY(channel),
     .help = "the channel's name or, with `*` and `?`, several"},
    {CH_SCOPE_POLICY, "senders", CH_CFG_TEXTS, 0, POLICY(senders), .otherwise = "[\"*\"]",
     .help = "whom it holds for, by the ids that the channel gives them; `*` and `?` are allowed"},
    {CH_SCOPE_POLICY, "except", CH_CFG_TEXTS, 0, POLICY(except), .otherwise = "[]",
     .help = "and whom it does not hold for, likewise"},
    {CH_SCOPE_POLICY, "allow", CH_CFG_NAMES, 0, POLICY(allow), .otherwise = "[\"*\"]",
     .help = "tools to offer, by name, glob or group; an empty list offers none"},
    {CH_SCOPE_POLICY, "deny", CH_CFG_NAMES, 0, POLICY(deny), .otherwise = "[]",
     .help = "and those to leave out; wins over `allow`"},
    {CH_SCOPE_POLICY, "permission", CH_CFG_CHOICE, 0, POLICY(permission),
     .words = "read|write|admin", .otherwise = "admin",
     .help = "offer no tool that needs more than this"},
    {CH_SCOPE_POLICY, "approve", CH_CFG_CHOICE, 0, POLICY(approve), .words = "ask|auto|deny",
     .otherwise = "auto", .help = "what becomes at most of calls that need a person's yes"},

    /* --- a hook of the gateway */
    {CH_SCOPE_HOOK, "secretEnv", CH_CFG_ENV, CH_CFG_REQUIRED, HOOK(secret_env),
     .help = "environment variable that holds the secret its sender signs with"},
    {CH_SCOPE_HOOK, "secret", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a secret does not belong into this file: use secretEnv"},
    {CH_SCOPE_HOOK, "agent", CH_CFG_NAME, 0, HOOK(agent),
     .help = "who is told; without it the first agent"},
    {CH_SCOPE_HOOK, "session", CH_CFG_TEXT, 0, HOOK(session),
     .help = "the session that its events join; without it each has one of its own"},

    /* --- a schedule */
    {CH_SCOPE_SCHEDULE, "when", CH_CFG_WHEN, CH_CFG_REQUIRED, SCHEDULE(when),
     .help = "a line of cron, `@daily` and the like, `every 30m`, or `at 2027-03-01T09:00`; see "
             "schedules.md"},
    {CH_SCOPE_SCHEDULE, "timezone", CH_CFG_TEXT, 0, SCHEDULE(timezone),
     .help = "of its times, such as `Europe/Berlin` or `+08:00`; without it the machine's"},
    {CH_SCOPE_SCHEDULE, "prompt", CH_CFG_TEXT, CH_CFG_REQUIRED, SCHEDULE(prompt),
     .help = "what the agent is told then"},
    {CH_SCOPE_SCHEDULE, "agent", CH_CFG_NAME, 0, SCHEDULE(agent),
     .help = "who is told; without it the first agent"},
    {CH_SCOPE_SCHEDULE, "session", CH_CFG_TEXT, 0, SCHEDULE(session),
     .help = "the session that its runs are in; without it `schedule:NAME`"},
    {CH_SCOPE_SCHEDULE, "fresh", CH_CFG_BOOL, 0, SCHEDULE(fresh), .otherwise = "false",
     .help = "each run has a session of its own: that key, and the time"},
    {CH_SCOPE_SCHEDULE, "missed", CH_CFG_CHOICE, 0, SCHEDULE(missed), .words = "once|skip|all",
     .otherwise = "once",
     .help = "times at which nobody was there: the last is made up for, none is, or all are (100 "
             "at most)"},
    {CH_SCOPE_SCHEDULE, "quietHours", CH_CFG_HOURS, 0, SCHEDULE(quiet_hours),
     .help = "it is not due then: `22:00-07:00`"},
    {CH_SCOPE_SCHEDULE, "maxRunsPerDay", CH_CFG_LIMIT, 0, SCHEDULE(max_per_day), 0, 100000,
     .otherwise = "0", .help = "what is due beyond that is left out"},
    {CH_SCOPE_SCHEDULE, "costBudgetUsd", CH_CFG_BUDGET, 0, SCHEDULE(cost_usd), 0, 1e6,
     .otherwise = "0", .help = "of each run, within the agent's"},
    {CH_SCOPE_SCHEDULE, "maxTurns", CH_CFG_LIMIT, 0, SCHEDULE(max_turns), 0, 1e6,
     .otherwise = "0", .help = "likewise"},
    {CH_SCOPE_SCHEDULE, "timeoutSec", CH_CFG_SECONDS, 0, SCHEDULE(timeout_ms), 0, MOST_SECONDS,
     .otherwise = "0", .help = "likewise"},
    {.key = NULL},
};
/* clang-format on */

const char *ch_cfg_type_name(enum ch_cfg_type type) {
    static const char *const names[] = {
#define NAME(name, text, member) text,
        CH_CFG_TYPES(NAME)
#undef NAME
    };
    return names[type];
}

size_t ch_scope_size(enum ch_scope scope) {
    static const size_t sizes[] = {
        [CH_SCOPE_FILE] = sizeof(struct ch_conf),
        [CH_SCOPE_AGENT] = sizeof(struct ch_conf_agent),
        [CH_SCOPE_PROVIDER] = sizeof(struct ch_conf_provider),
        [CH_SCOPE_MODEL] = sizeof(struct ch_conf_model),
        [CH_SCOPE_TOOL] = sizeof(struct ch_conf_tool),
        [CH_SCOPE_POLICY] = sizeof(struct ch_conf_policy),
        [CH_SCOPE_HOOK] = sizeof(struct ch_conf_hook),
        [CH_SCOPE_SCHEDULE] = sizeof(struct ch_conf_schedule),
    };
    return sizes[scope];
}

const struct ch_option *ch_option_find(enum ch_scope scope, struct ch_sv key) {
    for (const struct ch_option *o = ch_options; o->key; o++)
        if (o->scope == scope && ch_sv_is(key, o->key))
            return o;
    return NULL;
}

/* What follows "above." in an option's key; {NULL,0} when it is not below. */
static struct ch_sv option_below(const struct ch_option *o, enum ch_scope scope,
                                 struct ch_sv above) {
    struct ch_sv key = ch_sv_str(o->key), none = {NULL, 0};
    if (o->scope != scope)
        return none;
    if (above.n == 0)
        return key;
    bool under =
        key.n > above.n + 1 && key.p[above.n] == '.' && ch_sv_eq(ch_sv(key.p, above.n), above);
    return under ? ch_sv(key.p + above.n + 1, key.n - above.n - 1) : none;
}

bool ch_option_each_key(enum ch_scope scope, struct ch_sv above, const struct ch_option **at,
                        struct ch_sv *name) {
    const struct ch_option *o = *at ? *at + 1 : ch_options;
    struct ch_sv last = {NULL, 0};
    if (*at) {
        struct ch_sv rest = option_below(*at, scope, above);
        last = ch_sv_split(&rest, '.');
    }
    for (; o->key; o++) {
        struct ch_sv rest = option_below(o, scope, above);
        *name = ch_sv_split(&rest, '.');
        if (!name->p || ch_sv_eq(*name, last))
            continue;
        *at = o;
        return true;
    }
    return false;
}

bool ch_option_is_group(enum ch_scope scope, struct ch_sv key) {
    for (const struct ch_option *o = ch_options; o->key; o++)
        if (key.n && option_below(o, scope, key).p)
            return true;
    return false;
}
