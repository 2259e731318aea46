/* option.c -- the table of options; see option.h. Rows with a common prefix are
 * adjacent: the manual and the schema use this order. */
#include "config/option.h"

#include "agent/feature/hook/hook_list.h"
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
#define HOOK_PROGRAM(member) offsetof(struct ch_conf_hook_program, member)
#define SCHEDULE(member) offsetof(struct ch_conf_schedule, member)
#define BUDGET(member) offsetof(struct ch_conf_budget, member)
#define SECRET(member) offsetof(struct ch_conf_secret_source, member)
#define MCP(member) offsetof(struct ch_conf_mcp, member)
#define CHANNEL(member) offsetof(struct ch_conf_channel, member)
#define GATEWAY(member) offsetof(struct ch_conf, gateway.member)
#define BOX(member) offsetof(struct ch_conf, sandbox.member)

/* A known key without effect; not an error. */
#define KNOWN(where, name) \
    { .scope = (where), .key = (name), .type = CH_CFG_ANY, .flags = CH_CFG_UNUSED }

/* Willingness to answer in one kind of chat. */
#define WILLING(where, member, is)                                                               \
    {CH_SCOPE_AGENT, "heartbeat." where ".text", CH_CFG_NUMBER, 0,                               \
     AGENT(heartbeat.member.text), 0, 1000, .otherwise = "12",                                   \
     .help = "willingness that a line adds in " is},                                             \
    {CH_SCOPE_AGENT, "heartbeat." where ".mention", CH_CFG_NUMBER, 0,                            \
     AGENT(heartbeat.member.mention), 0, 1000, .otherwise = "100",                               \
     .help = "willingness that a mention of the agent adds"},                                    \
    {CH_SCOPE_AGENT, "heartbeat." where ".quote", CH_CFG_NUMBER, 0,                              \
     AGENT(heartbeat.member.quote), 0, 1000, .otherwise = "15",                                  \
     .help = "willingness that a reply to the agent adds"},                                      \
    {CH_SCOPE_AGENT, "heartbeat." where ".keywordFactor", CH_CFG_NUMBER, 0,                      \
     AGENT(heartbeat.member.keyword_factor), 0, 100, .otherwise = "1.2",                         \
     .help = "factor of these amounts for a line with one of `heartbeat.keywords`"},             \
    {CH_SCOPE_AGENT, "heartbeat." where ".max", CH_CFG_NUMBER, 0, AGENT(heartbeat.member.most),  \
     1, 1000, .otherwise = "100", .help = "upper bound of willingness"},                         \
    {CH_SCOPE_AGENT, "heartbeat." where ".halfLifeSec", CH_CFG_NUMBER, 0,                        \
     AGENT(heartbeat.member.half_life), 1, 1e6, .otherwise = "600",                              \
     .help = "time in which willingness halves in a silent chat"},                               \
    {CH_SCOPE_AGENT, "heartbeat." where ".threshold", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.threshold), 0, 1000, .otherwise = "55",                              \
     .help = "willingness that must be exceeded for a reply"},                                   \
    {CH_SCOPE_AGENT, "heartbeat." where ".slope", CH_CFG_NUMBER, 0,                              \
     AGENT(heartbeat.member.slope), 0, 1, .otherwise = "0.04",                                   \
     .help = "probability of a reply for each point above the threshold"},                       \
    {CH_SCOPE_AGENT, "heartbeat." where ".replyCost", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.reply_cost), 0, 1000, .otherwise = "35",                             \
     .help = "willingness that a reply takes away"},                                             \
    {CH_SCOPE_AGENT, "heartbeat." where ".refractorySec", CH_CFG_NUMBER, 0,                      \
     AGENT(heartbeat.member.refractory), 0, 86400, .otherwise = "20",                            \
     .help = "time after a reply in which only lines that ask for an answer get one"},           \
    {CH_SCOPE_AGENT, "heartbeat." where ".shareLow", CH_CFG_NUMBER, 0,                           \
     AGENT(heartbeat.member.share_low), 0, 1, .otherwise = "0.05",                               \
     .help = "share of the agent's lines in the chat below which the threshold sinks"},          \
    {CH_SCOPE_AGENT, "heartbeat." where ".shareHigh", CH_CFG_NUMBER, 0,                          \
     AGENT(heartbeat.member.share_high), 0, 1, .otherwise = "0.2",                               \
     .help = "share of the agent's lines from which only lines that ask for an answer get one"}

/* Sources of text (egress/labels.h), and what a tool does. */
#define FLOW_SOURCES \
    "owner|member|stranger|group|web|workspace|mcp|tool|memory|agent|web:|mcp:|tool:"
#define FLOWS "reads|ingests|sends"

#define MOST_SECONDS 10000000.0
#define MOST_MB 16777216

/* The programs of an event. */
#define HOOKS(event, key, text)                                                                  \
    {CH_SCOPE_FILE, "hooks." key, CH_CFG_LIST,                                                   \
     .offset = offsetof(struct ch_conf, hooks[CH_HOOK_##event]), .of = CH_SCOPE_HOOK_PROGRAM,    \
     .help = text}

/* clang-format off */
const struct ch_option ch_options[] = {
    /* --- the file */
    {CH_SCOPE_FILE, "agents.defaults", CH_CFG_ONE, .offset = offsetof(struct ch_conf, defaults),
     .of = CH_SCOPE_AGENT,
     .help = "settings for every agent; an agent's own settings replace them"},
    {CH_SCOPE_FILE, "agents.list", CH_CFG_LIST, .offset = offsetof(struct ch_conf, agents),
     .of = CH_SCOPE_AGENT,
     .help = "the agents; commands use the first one unless `--agent` names another"},
    {CH_SCOPE_FILE, "providers", CH_CFG_MAP, .offset = offsetof(struct ch_conf, providers),
     .of = CH_SCOPE_PROVIDER,
     .help = "model services by name: new services, or changed fields of built-in ones"},
    {CH_SCOPE_FILE, "tools.custom", CH_CFG_LIST, .offset = offsetof(struct ch_conf, tools),
     .of = CH_SCOPE_TOOL,
     .help = "programs as tools: arguments as JSON on stdin, the result on stdout"},
    {CH_SCOPE_FILE, "mcp.servers", CH_CFG_MAP, .offset = offsetof(struct ch_conf, mcp),
     .of = CH_SCOPE_MCP,
     .help = "servers of the Model Context Protocol by name, whose tools are offered as "
             "`NAME__TOOL`; see mcp.md"},
    HOOKS(BEFORE_TOOL, "beforeTool", "programs that are run before a tool call, and may block it; "
          "see hooks.md"),
    HOOKS(AFTER_TOOL, "afterTool", "programs that are run after a tool call"),
    HOOKS(PROMPT, "prompt", "programs that are run before a message of a person is answered, and "
          "may block it"),
    HOOKS(STOP, "stop", "programs that are run after an answer, and may let the run go on"),
    HOOKS(COMPACTION, "compaction", "programs that are run before a conversation is shortened"),
    HOOKS(SESSION_START, "sessionStart", "programs that are run before the first run of a session "
          "in this process"),
    HOOKS(SESSION_END, "sessionEnd", "programs that are run when a session is closed"),
    HOOKS(NOTIFICATION, "notification", "programs that are run when a run waits for a person"),
    {CH_SCOPE_FILE, "approvals", CH_CFG_APPROVALS, 0, offsetof(struct ch_conf, approvals),
     .help = "tools whose calls need a person's approval, and, under `allow`, calls that do not; "
             "see policy.md"},
    {CH_SCOPE_FILE, "policies", CH_CFG_LIST, .offset = offsetof(struct ch_conf, policies),
     .of = CH_SCOPE_POLICY,
     .help = "restrictions for people who write through a channel; all matching policies apply, "
             "within the agent's own limits; see policy.md"},
    {CH_SCOPE_FILE, "schedules", CH_CFG_MAP, .offset = offsetof(struct ch_conf, schedules),
     .of = CH_SCOPE_SCHEDULE,
     .help = "runs that `chela serve` starts at set times, by name; see schedules.md"},
    {CH_SCOPE_FILE, "budgets", CH_CFG_MAP, .offset = offsetof(struct ch_conf, budgets),
     .of = CH_SCOPE_BUDGET,
     .help = "what the runs of `chela serve` may spend in a day, by name; see budgets.md"},
    {CH_SCOPE_FILE, "secrets", CH_CFG_MAP, .offset = offsetof(struct ch_conf, secrets),
     .of = CH_SCOPE_SECRET,
     .help = "secrets by name, which only the hosts that own them receive; see policy.md"},
    {CH_SCOPE_FILE, "databases", CH_CFG_DATABASES, CH_CFG_SECRET, OUTSIDE(databases),
     .help = "databases of `query_database`, by name: `sqlite:PATH` or "
             "`postgres://USER@HOST/DATABASE`"},
    {CH_SCOPE_FILE, "egress.allow", CH_CFG_HOSTS, 0, OUTSIDE(egress.allow), .otherwise = "[]",
     .help = "hosts that the agents may send data to without a question, such as "
             "`*.example.com`, `pypi.org` or `10.0.0.0/8:8080`; see policy.md"},
    {CH_SCOPE_FILE, "egress.deny", CH_CFG_HOSTS, 0, OUTSIDE(egress.deny), .otherwise = "[]",
     .help = "hosts that the agents never send data to; counts more than `allow`, and for each "
             "agent besides its own list"},
    {CH_SCOPE_FILE, "egress.ask", CH_CFG_HOSTS, 0, OUTSIDE(egress.ask), .otherwise = "[]",
     .help = "hosts that are asked about even if a person named the address; other hosts that "
             "no list has are asked about unless a person named the address"},
    {CH_SCOPE_FILE, "flow.rule", CH_CFG_CHOICE, 0, OUTSIDE(flow.rule), .words = "ask|deny|off",
     .otherwise = "ask",
     .help = "what happens to a call that could carry data out once a conversation holds private "
             "data and text of a source that is not trusted; see policy.md"},
    {CH_SCOPE_FILE, "flow.trust", CH_CFG_WORDS, 0, OUTSIDE(flow.trust), .words = FLOW_SOURCES,
     .otherwise = "[\"owner\", \"member\"]", .help = "sources whose text is trusted"},
    {CH_SCOPE_FILE, "flow.private", CH_CFG_TEXTS, 0, OUTSIDE(flow.files), .otherwise = "[]",
     .help = "globs of files that are private, such as `notes/*`, besides keys, `.env` and others "
             "that are known by name"},
    {CH_SCOPE_FILE, "webFetch.allowHosts", CH_CFG_PATTERNS, 0, OUTSIDE(fetch_allow),
     .otherwise = "[\"*\"]",
     .help = "hosts that `web_fetch` may connect to; an empty list removes the tool"},
    {CH_SCOPE_FILE, "webFetch.denyHosts", CH_CFG_PATTERNS, 0, OUTSIDE(fetch_deny),
     .otherwise = "[]", .help = "hosts that `web_fetch` must not connect to"},
    {CH_SCOPE_FILE, "webFetch.allowPrivate", CH_CFG_BOOL, 0, OUTSIDE(fetch_private),
     .otherwise = "false",
     .help = "allow `web_fetch` to connect to this machine and to private networks"},
    {CH_SCOPE_FILE, "webSearch.provider", CH_CFG_CHOICE, 0, OUTSIDE(search_provider),
     .words = "searxng|brave",
     .help = "the search service behind `web_search`"},
    {CH_SCOPE_FILE, "webSearch.baseUrl", CH_CFG_URL, 0, OUTSIDE(search_url),
     .help = "URL of the search service; required for `searxng`"},
    {CH_SCOPE_FILE, "webSearch.apiKeyEnv", CH_CFG_ENV, 0, OUTSIDE(search_key_env),
     .help = "environment variable that holds the search service's key"},
    {CH_SCOPE_FILE, "webSearch.apiKey", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a key must not be in this file: use apiKeyEnv"},
    {CH_SCOPE_FILE, "mail.smtp", CH_CFG_SMTP, 0, OUTSIDE(smtp),
     .help = "mail server of `send_email`: `smtps://HOST` or, with STARTTLS, `smtp://HOST:587`"},
    {CH_SCOPE_FILE, "mail.from", CH_CFG_TEXT, 0, OUTSIDE(mail_from),
     .help = "sender of every message: `bot@example.com` or `Name <bot@example.com>`"},
    {CH_SCOPE_FILE, "mail.user", CH_CFG_TEXT, 0, OUTSIDE(mail_user),
     .help = "user name for the mail server; default: the sender's address"},
    {CH_SCOPE_FILE, "mail.passwordEnv", CH_CFG_ENV, 0, OUTSIDE(mail_password_env),
     .help = "environment variable that holds the mail password; if not set, `send_email` does "
             "not log in"},
    {CH_SCOPE_FILE, "mail.password", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a password must not be in this file: use passwordEnv"},
    {CH_SCOPE_FILE, "mail.tls", CH_CFG_CHOICE, 0, OUTSIDE(mail_tls), .words = "required|optional",
     .otherwise = "required", .help = "`optional` also accepts a mail server without TLS"},
    {CH_SCOPE_FILE, "mail.allowTo", CH_CFG_PATTERNS, 0, OUTSIDE(mail_allow),
     .otherwise = "[\"*\"]",
     .help = "addresses that `send_email` may write to, such as `*@example.com`"},
    {CH_SCOPE_FILE, "sandbox.mode", CH_CFG_CHOICE, 0, BOX(mode), .words = "required|auto|off",
     .otherwise = "auto",
     .help = "`required`: run a tool's program in the complete sandbox or not at all; `auto`: use "
             "the layers that this machine supports; `off`: no sandbox"},
    {CH_SCOPE_FILE, "sandbox.network", CH_CFG_NETWORK, 0, BOX(network), .otherwise = "[]",
     .help = "hosts that programs in the sandbox may reach, besides those of `egress.allow`; other "
             "hosts are asked about; `none`: no host, and no question; `host`: the machine's "
             "network"},
    {CH_SCOPE_FILE, "sandbox.writable", CH_CFG_PLACES, 0, BOX(writable),
     .otherwise = "[\"workspace\"]",
     .help = "paths that programs may write; without the word `workspace` the workspace is "
             "read-only"},
    {CH_SCOPE_FILE, "sandbox.readable", CH_CFG_PATHS, 0, BOX(readable), .otherwise = "[]",
     .help = "paths that programs may read, besides the system's programs and the workspace"},
    {CH_SCOPE_FILE, "sandbox.home", CH_CFG_BOOL, 0, BOX(home), .otherwise = "false",
     .help = "keep the home of programs, one for each workspace, with its caches; see policy.md"},
    {CH_SCOPE_FILE, "sandbox.protect", CH_CFG_INSIDE, 0, BOX(protect),
     .help = "paths that neither programs nor file tools may change or create: relative to the "
             "workspace, or absolute; default: the list in policy.md"},
    {CH_SCOPE_FILE, "sandbox.limits.cpuSec", CH_CFG_SECONDS, 0, BOX(limits.cpu_ms), 0,
     MOST_SECONDS, .otherwise = "7200", .help = "processor time of one process"},
    {CH_SCOPE_FILE, "sandbox.limits.memoryMb", CH_CFG_LIMIT, 0, BOX(limits.memory), 0, MOST_MB,
     .help = "memory of all processes of a command together; default: three quarters of the "
             "machine's; without namespaces, of one process (`4096`)"},
    {CH_SCOPE_FILE, "sandbox.limits.fileMb", CH_CFG_LIMIT, 0, BOX(limits.file_size), 0, MOST_MB,
     .otherwise = "4096", .help = "size of one file that a program writes"},
    {CH_SCOPE_FILE, "sandbox.limits.files", CH_CFG_LIMIT, 0, BOX(limits.files), 0, 1000000,
     .otherwise = "4096", .help = "open files of one process"},
    {CH_SCOPE_FILE, "sandbox.limits.processes", CH_CFG_LIMIT, 0, BOX(limits.processes), 0, 1000000,
     .otherwise = "1024", .help = "processes and threads of one command"},
    {CH_SCOPE_FILE, "sandbox.limits.tmpMb", CH_CFG_LIMIT, 0, BOX(limits.tmp), 0, MOST_MB,
     .otherwise = "1024", .help = "size of a command's private `/tmp`"},
    {CH_SCOPE_FILE, "sandbox.limits.diskMb", CH_CFG_LIMIT, 0, BOX(limits.disk), 0, MOST_MB,
     .otherwise = "8192", .help = "disk space that one command fills"},
    {CH_SCOPE_FILE, "sandbox.limits.diskFiles", CH_CFG_LIMIT, 0, BOX(limits.disk_files), 0,
     1000000000, .otherwise = "1000000", .help = "files that one command makes"},
    {CH_SCOPE_FILE, "wait.enabled", CH_CFG_BOOL, 0, OUTSIDE(wait), .otherwise = "false",
     .help = "offer `wait_until`, with which a run waits until a time; see tools.md"},
    {CH_SCOPE_FILE, "memory.enabled", CH_CFG_BOOL, 0, OUTSIDE(memory), .otherwise = "false",
     .help = "offer `memory_search` and `memory_write`, which keep notes in Markdown files of the "
             "workspace; see memory.md"},
    {CH_SCOPE_FILE, "memory.sessions", CH_CFG_CHOICE, 0, OUTSIDE(memory_sessions),
     .words = "own|all|none", .otherwise = "own",
     .help = "past conversations that `memory_search` also searches: the session's own, all of "
             "the store, or none"},
    {CH_SCOPE_FILE, "memory.inject", CH_CFG_INT, 0, OUTSIDE(memory_inject), 0, 100000,
     .otherwise = "0",
     .help = "search the notes for every message and add up to this many tokens of matches to the "
             "request; `0`: do not"},
    {CH_SCOPE_FILE, "store", CH_CFG_TEXT, CH_CFG_ADDRESS, offsetof(struct ch_conf, store),
     .help = "where sessions are stored: `sqlite:PATH` (relative to this file), "
             "`postgres://HOST/DATABASE`, `redis://HOST` or `memory:`; see sessions.md"},
    {CH_SCOPE_FILE, "workers", CH_CFG_INT, 0, GATEWAY(workers), 1, CH_LIMIT_WORKERS,
     .otherwise = "1",
     .help = "processes of `chela serve`, which share the address and the store; see gateway.md"},
    {CH_SCOPE_FILE, "durability", CH_CFG_CHOICE, 0, offsetof(struct ch_conf, durability),
     .words = "full|turn", .otherwise = "full",
     .help = "what a power failure can lose: `full`: no accepted message and no started tool "
             "call; `turn`: the run in progress"},
    {CH_SCOPE_FILE, "apply", CH_CFG_CHOICE, 0, offsetof(struct ch_conf, apply),
     .words = "each|review|never", .otherwise = "each",
     .help = "when the changes of a run become real: at once, when a person accepts them, or "
             "never: the result is a patch; see review.md"},
    {CH_SCOPE_FILE, "language", CH_CFG_CHOICE, 0, offsetof(struct ch_conf, language),
     .words = "auto|en|zh", .otherwise = "auto",
     .help = "language in which people are told how their runs ended: English, Chinese, or, with "
             "`auto`, the language of their last message, at a terminal that of its locale"},
    {CH_SCOPE_FILE, "gateway.listen", CH_CFG_TEXT, CH_CFG_LISTEN, GATEWAY(listen),
     .otherwise = "127.0.0.1:8787", .help = "IP address and port that `chela serve` listens on"},
    {CH_SCOPE_FILE, "gateway.tokenEnv", CH_CFG_ENV, 0, GATEWAY(token_env),
     .otherwise = "CHELA_TOKEN",
     .help = "environment variable that holds the token that callers must present"},
    {CH_SCOPE_FILE, "gateway.tokenFile", CH_CFG_PATH, 0, GATEWAY(token_file),
     .help = "file that contains only the token; reread on SIGHUP"},
    {CH_SCOPE_FILE, "gateway.token", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a token must not be in this file: use tokenEnv or tokenFile"},
    {CH_SCOPE_FILE, "gateway.hosts", CH_CFG_TEXTS, 0, GATEWAY(hosts), .otherwise = "[]",
     .help = "host names that requests may use, besides `localhost` and IP addresses"},
    {CH_SCOPE_FILE, "gateway.origins", CH_CFG_TEXTS, 0, GATEWAY(origins), .otherwise = "[]",
     .help = "origins of web pages that may call the gateway, such as `https://app.example.com`"},
    {CH_SCOPE_FILE, "gateway.tls.cert", CH_CFG_PATH, 0, GATEWAY(tls_cert),
     .help = "TLS certificate with its chain (PEM); reread on SIGHUP"},
    {CH_SCOPE_FILE, "gateway.tls.key", CH_CFG_PATH, 0, GATEWAY(tls_key),
     .help = "private key of the certificate (PEM, without a password)"},
    {CH_SCOPE_FILE, "gateway.hooks", CH_CFG_MAP, 0, GATEWAY(hooks), .of = CH_SCOPE_HOOK,
     .help = "webhooks by name: a program sends an agent a signed event with `POST /hooks/NAME`"},
    {CH_SCOPE_FILE, "gateway.drainSec", CH_CFG_INT, 0, GATEWAY(drain_s), 1, 3600,
     .otherwise = "10", .help = "time that runs have to finish after SIGTERM"},
    {CH_SCOPE_FILE, "gateway.retentionDays", CH_CFG_INT, 0, GATEWAY(retention_days), 1, 36500,
     .help = "delete idle sessions that were not used for this many days; default: never"},
    {CH_SCOPE_FILE, "gateway.mcp.enabled", CH_CFG_BOOL, 0, GATEWAY(mcp), .otherwise = "false",
     .help = "offer the agents to clients of the Model Context Protocol at `/mcp`; see mcp.md"},
    {CH_SCOPE_FILE, "gateway.mcp.agent", CH_CFG_TEXT, CH_CFG_AGENT, GATEWAY(mcp_agent),
     .help = "agent whose tools, files and skills `/mcp` offers; default: the first"},
    {CH_SCOPE_FILE, "gateway.mcp.issuer", CH_CFG_TEXT, 0, GATEWAY(mcp_issuer),
     .help = "URL of an OAuth authorization server whose tokens `/mcp` accepts, besides the "
             "gateway's token"},
    {CH_SCOPE_FILE, "gateway.mcp.resource", CH_CFG_TEXT, 0, GATEWAY(mcp_resource),
     .help = "URL of `/mcp` as clients reach it: the audience that such tokens must have"},
    {CH_SCOPE_FILE, "gateway.mcp.introspection", CH_CFG_TEXT, 0, GATEWAY(mcp_introspection),
     .help = "URL at which the authorization server tells whether a token is valid (RFC 7662); "
             "default: tokens are JSON Web Tokens, and the issuer's keys are used"},
    {CH_SCOPE_FILE, "gateway.mcp.clientId", CH_CFG_TEXT, 0, GATEWAY(mcp_client_id),
     .help = "id of the gateway at the authorization server"},
    {CH_SCOPE_FILE, "gateway.mcp.clientSecretEnv", CH_CFG_ENV, 0, GATEWAY(mcp_client_secret_env),
     .help = "environment variable that holds the secret of `clientId`"},
    {CH_SCOPE_FILE, "gateway.mcp.scope", CH_CFG_TEXT, 0, GATEWAY(mcp_scope),
     .help = "scope that such tokens must have; default: none"},
    {CH_SCOPE_FILE, "prompts.dir", CH_CFG_FOLDER, 0, offsetof(struct ch_conf, prompts.dir),
     .help = "directory of your own prompt files, `NAME/vVERSION.txt`; see prompts.md"},
    {CH_SCOPE_FILE, "prompts.pin", CH_CFG_PINS, 0, offsetof(struct ch_conf, prompts.pins),
     .help = "version to use instead of the newest: `{ router: \"2.0\" }`"},
    {CH_SCOPE_FILE, "prompts.rollout", CH_CFG_ROLLOUT, 0,
     offsetof(struct ch_conf, prompts.rollout),
     .help = "version to use for a percentage of sessions: `{ router: { \"2.1\": 10 } }`"},
    {CH_SCOPE_FILE, "telemetry.otlp", CH_CFG_URL, 0, offsetof(struct ch_conf, telemetry.otlp),
     .help = "collector that gets traces, metrics and log events with OpenTelemetry's protocol, "
             "such as `http://127.0.0.1:4318`; the variables `OTEL_*` count more; see "
             "telemetry.md"},
    {CH_SCOPE_FILE, "telemetry.protocol", CH_CFG_CHOICE, 0,
     offsetof(struct ch_conf, telemetry.protocol), .words = "http/json|http/protobuf",
     .otherwise = "http/json", .help = "encoding of what is exported"},
    {CH_SCOPE_FILE, "telemetry.service", CH_CFG_TEXT, 0,
     offsetof(struct ch_conf, telemetry.service), .otherwise = "chela",
     .help = "name of the service in traces"},
    {CH_SCOPE_FILE, "telemetry.content", CH_CFG_BOOL, 0,
     offsetof(struct ch_conf, telemetry.content), .otherwise = "false",
     .help = "export texts too: instructions, messages, arguments and results; keys are "
             "redacted"},
    {CH_SCOPE_FILE, "channels", CH_CFG_CHANNELS, .offset = offsetof(struct ch_conf, channels),
     .of = CH_SCOPE_CHANNEL,
     .help = "chat services by name: `feishu`, `telegram`, or that of a module; see channels.md"},

    /* --- an agent */
    {CH_SCOPE_AGENT, "id", CH_CFG_NAME, CH_CFG_REQUIRED | CH_CFG_ITEM, AGENT(item.name),
     .help = "name of the agent for `--agent`"},
    {CH_SCOPE_AGENT, "name", CH_CFG_TEXT, CH_CFG_ITEM, AGENT(title),
     .help = "display name"},
    {CH_SCOPE_AGENT, "description", CH_CFG_TEXT, CH_CFG_ITEM, AGENT(description),
     .help = "purpose of the agent in one sentence; shown to agents that may call it"},
    {CH_SCOPE_AGENT, "model", CH_CFG_MODELS, 0, AGENT(models),
     .help = "the model; in a list, the later models are tried in order when the first fails"},
    {CH_SCOPE_AGENT, "embedding", CH_CFG_MODEL, 0, AGENT(embedding),
     .help = "embedding model of a service with OpenAI's protocol; `topk` and memory then also "
             "compare by meaning; see tools.md, memory.md"},
    {CH_SCOPE_AGENT, "systemPrompt", CH_CFG_SYSTEM, 0, AGENT(system),
     .help = "instructions: the section \"Instructions\" of the system prompt; `\"\"`: no "
             "generated sections about tools, working and safety; `{ prompt: NAME, vars: {} }`: a "
             "prompt file, see prompts.md"},
    {CH_SCOPE_AGENT, "systemPromptMode", CH_CFG_CHOICE, 0, AGENT(system_mode),
     .words = "section|replace", .otherwise = "section",
     .help = "`replace`: `systemPrompt` replaces the generated sections about tools, working and "
             "safety"},
    {CH_SCOPE_AGENT, "workspaceDir", CH_CFG_PATH, 0, AGENT(workspace),
     .help = "directory that the file tools work in; default: the current directory"},
    {CH_SCOPE_AGENT, "egress.allow", CH_CFG_HOSTS, 0, AGENT(egress.allow),
     .help = "as `egress.allow` of the file, which the list replaces"},
    {CH_SCOPE_AGENT, "egress.deny", CH_CFG_HOSTS, 0, AGENT(egress.deny),
     .help = "hosts that the agent never sends data to, besides `egress.deny` of the file"},
    {CH_SCOPE_AGENT, "egress.ask", CH_CFG_HOSTS, 0, AGENT(egress.ask),
     .help = "as `egress.ask` of the file, which the list replaces"},
    {CH_SCOPE_AGENT, "tools.allow", CH_CFG_NAMES, 0, AGENT(allow), .otherwise = "[\"*\"]",
     .help = "tools to offer, by name, glob or group; an empty list offers none"},
    {CH_SCOPE_AGENT, "tools.deny", CH_CFG_NAMES, 0, AGENT(deny), .otherwise = "[]",
     .help = "tools to leave out; wins over `tools.allow`"},
    {CH_SCOPE_AGENT, "apply", CH_CFG_CHOICE, 0, AGENT(apply), .words = "each|review|never",
     .help = "as `apply` of the file, for this agent"},
    {CH_SCOPE_AGENT, "tools.permission", CH_CFG_CHOICE, 0, AGENT(permission),
     .words = "read|write|admin", .otherwise = "admin",
     .help = "highest permission of the offered tools"},
    {CH_SCOPE_AGENT, "tools.selection", CH_CFG_CHOICE, 0, AGENT(selection),
     .words = "auto|all|topk|two_stage|search", .otherwise = "auto",
     .help = "which tools the requests of a session describe: `all`; `topk`: the best matches for "
             "the first input; `two_stage`: none, summaries name the tools; `search`: none, the "
             "model searches; `auto` decides by the number of tools"},
    {CH_SCOPE_AGENT, "tools.selectionSize", CH_CFG_INT, 0, AGENT(selection_size), 1, 4096,
     .otherwise = "10", .help = "tools that `topk` describes"},
    {CH_SCOPE_AGENT, "tools.parallel", CH_CFG_INT, 0, AGENT(parallel), 1, 256, .otherwise = "8",
     .help = "tool calls of one reply that may run at the same time; with `1` the model is told "
             "to make one call at a time"},
    {CH_SCOPE_AGENT, "tools.strict", CH_CFG_FLAG, 0, AGENT(strict), .otherwise = "false",
     .help = "have the service enforce the tools' schemas, where service and schema allow it"},
    {CH_SCOPE_AGENT, "tools.schedule", CH_CFG_FLAG, 0, AGENT(schedule_tool), .otherwise = "false",
     .help = "offer `schedule`, with which the agent adds schedules to its session; see "
             "schedules.md"},
    {CH_SCOPE_AGENT, "tools.chat", CH_CFG_FLAG, 0, AGENT(chat_actions), .otherwise = "false",
     .help = "offer `chat_react`, `chat_recall`, `chat_mute` and `chat_remove` in chats of a "
             "channel; see tools.md"},
    {CH_SCOPE_AGENT, "tools.gateway", CH_CFG_FLAG, 0, AGENT(gateway_tool), .otherwise = "false",
     .help = "offer `gateway`, with which an owner of a channel reads and changes this file; see "
             "gateway.md"},
    {CH_SCOPE_AGENT, "tools.choice", CH_CFG_TEXT, 0, AGENT(choice), .otherwise = "auto",
     .help = "`auto`, `any`, `none`, or the name of the tool that the model must call"},
    {CH_SCOPE_AGENT, "agents", CH_CFG_TEXTS, 0, AGENT(calls), .otherwise = "[]",
     .help = "ids of agents that this agent may call; each is offered as a tool; see modes.md"},
    {CH_SCOPE_AGENT, "handoff", CH_CFG_TEXTS, 0, AGENT(takers), .otherwise = "[]",
     .help = "ids of agents that this agent may hand the conversation to with the tool `handoff`; "
             "see modes.md"},
    {CH_SCOPE_AGENT, "sendTo", CH_CFG_NAMES, 0, AGENT(send_to), .otherwise = "[]",
     .help = "session keys and globs that this agent may write to in `chela serve` with the tool "
             "`sessions_send`; see modes.md"},
    {CH_SCOPE_AGENT, "delegation.maxDepth", CH_CFG_INT, 0, AGENT(max_depth), 1,
     CH_LIMIT_DELEGATE_DEPTH, .otherwise = "3",
     .help = "nesting of agents that call agents; with `1` a called agent cannot call others"},
    {CH_SCOPE_AGENT, "delegation.maxChildren", CH_CFG_INT, 0, AGENT(max_children), 1,
     CH_LIMIT_DELEGATE_CHILDREN, .otherwise = "16",
     .help = "agents that one run may call"},
    {CH_SCOPE_AGENT, "skills.allow", CH_CFG_NAMES, 0, AGENT(skills), .otherwise = "[\"*\"]",
     .help = "skills to offer, by name or glob; see skills.md"},
    {CH_SCOPE_AGENT, "context.prompt", CH_CFG_CHOICE, 0, AGENT(prompt),
     .words = "auto|full|minimal", .otherwise = "auto",
     .help = "form of the system prompt; `minimal` has at most 1,500 characters; `auto` uses it "
             "for models on this machine and for small context windows; see context.md"},
    {CH_SCOPE_AGENT, "context.files", CH_CFG_TEXTS, 0, AGENT(project_files),
     .otherwise = "[\"AGENTS.md\", \"SOUL.md\", \"TOOLS.md\", \"USER.md\", \"MEMORY.md\"]",
     .help = "workspace files that are included in the system prompt; an empty list includes none"},
    {CH_SCOPE_AGENT, "context.fileBytes", CH_CFG_INT, 0, AGENT(file_bytes), 100, 1048576,
     .otherwise = "20480", .help = "bytes of one such file, at most"},
    {CH_SCOPE_AGENT, "context.filesBytes", CH_CFG_INT, 0, AGENT(files_bytes), 100, 8388608,
     .otherwise = "61440", .help = "bytes of all such files, at most"},
    {CH_SCOPE_AGENT, "context.rules", CH_CFG_TEXTS, 0, AGENT(rules), .otherwise = "[]",
     .help = "rules for the agent; the first seven are in the system prompt, and of the others "
             "those that match the input are added to it"},
    {CH_SCOPE_AGENT, "context.softRules", CH_CFG_TEXTS, 0, AGENT(soft_rules), .otherwise = "[]",
     .help = "wishes that the agent may trade against a rule or the request; they are in the "
             "system prompt, are not repeated, and are the first to be shortened"},
    {CH_SCOPE_AGENT, "context.reminder", CH_CFG_TEXT, 0, AGENT(reminder),
     .help = "text added at the end of every user message"},
    {CH_SCOPE_AGENT, "context.docs", CH_CFG_TEXT, 0, AGENT(docs),
     .help = "path or URL of documentation that the model may read"},
    {CH_SCOPE_AGENT, "context.systemPercent", CH_CFG_INT, 0, AGENT(system_share), 1, 90,
     .otherwise = "25",
     .help = "largest share of the context window for the system prompt, in per cent"},
    {CH_SCOPE_AGENT, "context.outputPercent", CH_CFG_INT, 0, AGENT(output_share), 1, 90,
     .otherwise = "15", .help = "share of the context window reserved for the reply, in per cent"},
    {CH_SCOPE_AGENT, "context.toolsPercent", CH_CFG_INT, 0, AGENT(tools_share), 1, 90,
     .otherwise = "15",
     .help = "share of the context window for the descriptions of tools, in per cent; above it a "
             "warning is emitted, and `tools.selection: auto` describes only some of the tools"},
    {CH_SCOPE_AGENT, "compaction.mode", CH_CFG_CHOICE, 0, AGENT(compaction),
     .words = "summary|retain|off", .otherwise = "summary",
     .help = "how a conversation that no longer fits is shortened: `summary`: a model summarizes "
             "it; `retain`: without a model; `off`: not at all; see context.md"},
    {CH_SCOPE_AGENT, "compaction.by", CH_CFG_CHOICE, 0, AGENT(compaction_by),
     .words = "chela|service", .otherwise = "chela",
     .help = "who shortens it: `chela`, or the model's `service` where it can; see context.md"},
    {CH_SCOPE_AGENT, "compaction.historyTurns", CH_CFG_INT, 0, AGENT(history_turns), 0, 1000000,
     .otherwise = "0",
     .help = "a plain window: the newest messages of people that stay, with what follows them; "
             "older ones are removed when the next message arrives; 0: no such window"},
    {CH_SCOPE_AGENT, "compaction.model", CH_CFG_MODEL, 0, AGENT(compaction_model),
     .help = "model that writes the summary; default: the agent's model"},
    {CH_SCOPE_AGENT, "mode", CH_CFG_CHOICE, 0, AGENT(mode), .words = "react|plan|route|heartbeat",
     .otherwise = "react",
     .help = "`react`: call tools until there is an answer; `plan`: make a plan first; `route`: "
             "choose a tool or the planner first; `heartbeat`: take part in a chat; see modes.md"},
    {CH_SCOPE_AGENT, "reflection.when", CH_CFG_CHOICE, 0, AGENT(reflection),
     .words = "implicit|on_error|explicit",
     .help = "what a separate model call reviews: `implicit`: nothing; `on_error`: results with "
             "an error; `explicit`: also every answer; default: the results of plans; see "
             "modes.md"},
    {CH_SCOPE_AGENT, "reflection.tools", CH_CFG_NAMES, 0, AGENT(reflect_tools), .otherwise = "[]",
     .help = "tools whose results are always reviewed"},
    {CH_SCOPE_AGENT, "plan", CH_CFG_PATH, 0, AGENT(plan),
     .help = "file with a fixed plan, which takes the place of the planner; the mode is then "
             "`plan`; see modes.md"},
    {CH_SCOPE_AGENT, "reviewPlan", CH_CFG_FLAG, 0, AGENT(review_plan), .otherwise = "false",
     .help = "require a person's approval before a plan is carried out"},
    {CH_SCOPE_AGENT, "roles.router", CH_CFG_MODEL, 0, AGENT(router),
     .help = "model of the router; default for every role: the agent's model"},
    {CH_SCOPE_AGENT, "roles.planner", CH_CFG_MODEL, 0, AGENT(planner),
     .help = "model that writes plans"},
    {CH_SCOPE_AGENT, "roles.executor", CH_CFG_MODEL, 0, AGENT(executor),
     .help = "model that carries out plan steps"},
    {CH_SCOPE_AGENT, "roles.reflector", CH_CFG_MODEL, 0, AGENT(reflector),
     .help = "model that reviews results"},
    {CH_SCOPE_AGENT, "heartbeat.protocol", CH_CFG_CHOICE, 0, AGENT(heartbeat.protocol),
     .words = "native|text", .otherwise = "native",
     .help = "mode `heartbeat`: the model acts by `native` tool calls or by writing a JSON object "
             "as `text`; see heartbeat.md"},
    {CH_SCOPE_AGENT, "heartbeat.beats", CH_CFG_INT, 0, AGENT(heartbeat.beats), 1, 100,
     .otherwise = "5",
     .help = "model calls of one turn, at most"},
    {CH_SCOPE_AGENT, "heartbeat.history", CH_CFG_INT, 0, AGENT(heartbeat.history), 1, 1000,
     .otherwise = "30",
     .help = "earlier chat lines shown to the model with the new ones"},
    {CH_SCOPE_AGENT, "heartbeat.memory", CH_CFG_TEXTS, 0, AGENT(heartbeat.memory),
     .otherwise = "[\"SOUL.md\", \"MEMORY.md\"]",
     .help = "workspace files included in every request, reread in each beat"},
    {CH_SCOPE_AGENT, "heartbeat.typing", CH_CFG_NUMBER, 0, AGENT(heartbeat.typing), 0, 10000,
     .otherwise = "8",
     .help = "simulated typing speed between parts of a message, in characters a second; `0`: no "
             "pause"},
    {CH_SCOPE_AGENT, "heartbeat.debounceMs", CH_CFG_INT, 0, AGENT(heartbeat.debounce_ms), 1,
     600000, .otherwise = "1000",
     .help = "silence in a channel before a turn starts"},
    {CH_SCOPE_AGENT, "heartbeat.busy", CH_CFG_CHOICE, 0, AGENT(heartbeat.busy),
     .words = "wait|skip", .otherwise = "wait",
     .help = "lines that arrive during a turn: `wait`: they get the next turn; `skip`: only lines "
             "that ask for an answer do"},
    {CH_SCOPE_AGENT, "heartbeat.opinion", CH_CFG_MODEL, 0, AGENT(heartbeat.opinion),
     .help = "small model that first decides about lines that were not addressed to the agent; a "
             "no ends the turn"},
    {CH_SCOPE_AGENT, "heartbeat.names", CH_CFG_TEXTS, 0, AGENT(heartbeat.names), .otherwise = "[]",
     .help = "names of the agent in a chat; a line that contains one is answered; see "
             "heartbeat.md"},
    {CH_SCOPE_AGENT, "heartbeat.keywords", CH_CFG_TEXTS, 0, AGENT(heartbeat.keywords),
     .otherwise = "[]",
     .help = "words that raise the agent's interest"},
    {CH_SCOPE_AGENT, "heartbeat.stopWords", CH_CFG_TEXTS, 0, AGENT(heartbeat.stop_words),
     .otherwise = "[]",
     .help = "words that silence the agent, in a line addressed to it"},
    {CH_SCOPE_AGENT, "heartbeat.hushSec", CH_CFG_INT, 0, AGENT(heartbeat.hush_s), 1, 604800,
     .otherwise = "600",
     .help = "length of that silence; a line that asks for an answer ends it"},
    {CH_SCOPE_AGENT, "heartbeat.quietHours", CH_CFG_TEXT, 0, AGENT(heartbeat.quiet_hours),
     .help = "times such as `23:00-07:30` in which only lines addressed to the agent are answered"},
    {CH_SCOPE_AGENT, "heartbeat.utcOffset", CH_CFG_TEXT, 0, AGENT(heartbeat.utc_offset),
     .otherwise = "+00:00",
     .help = "UTC offset of `heartbeat.quietHours`"},
    {CH_SCOPE_AGENT, "heartbeat.botTurns", CH_CFG_INT, 0, AGENT(heartbeat.bot_turns), 1, 1000,
     .otherwise = "3",
     .help = "answers to other bots in a row, until a person writes"},
    {CH_SCOPE_AGENT, "heartbeat.group.answerAll", CH_CFG_FLAG, 0,
     AGENT(heartbeat.group.answers_all), .otherwise = "false",
     .help = "answer every line in groups"},
    WILLING("group", group, "a group"),
    {CH_SCOPE_AGENT, "heartbeat.direct.answerAll", CH_CFG_FLAG, 0,
     AGENT(heartbeat.direct.answers_all), .otherwise = "true",
     .help = "answer every direct message; if false, willingness decides as in groups"},
    {CH_SCOPE_AGENT, "heartbeat.direct.direct", CH_CFG_NUMBER, 0,
     AGENT(heartbeat.direct.direct), 0, 1000, .otherwise = "40",
     .help = "willingness that a direct message adds, besides the amounts below"},
    WILLING("direct", direct, "a direct chat"),
    {CH_SCOPE_AGENT, "maxOutputTokens", CH_CFG_INT, 0, AGENT(max_output_tokens), 1, 10000000,
     .help = "tokens of one reply, at most; default: the model's limit"},
    {CH_SCOPE_AGENT, "temperature", CH_CFG_NUMBER, 0, AGENT(temperature), 0, 2,
     .help = "sampling temperature; default: the model's; some models reject it"},
    {CH_SCOPE_AGENT, "topP", CH_CFG_NUMBER, 0, AGENT(top_p), 0, 1,
     .help = "nucleus sampling: probability mass of the tokens to choose from; some models reject "
             "it"},
    {CH_SCOPE_AGENT, "topK", CH_CFG_INT, 0, AGENT(top_k), 1, 1000000,
     .help = "number of tokens to choose from, where the service supports it"},
    {CH_SCOPE_AGENT, "logprobs", CH_CFG_INT, 0, AGENT(logprobs), 1, 20,
     .help = "alternatives per token whose log probabilities `turn_end` reports, where the service "
             "supports it"},
    {CH_SCOPE_AGENT, "seed", CH_CFG_INT, 0, AGENT(seed), 1, 2147483647,
     .help = "seed for reproducible sampling, where the service supports it"},
    {CH_SCOPE_AGENT, "stop", CH_CFG_TEXTS, 0, AGENT(stop),
     .help = "texts that end a reply; some models reject them"},
    {CH_SCOPE_AGENT, "reasoning", CH_CFG_CHOICE, 0, AGENT(reasoning),
     .words = "off|minimal|low|medium|high|xhigh|max",
     .help = "amount of reasoning before the answer, or the nearest that the model accepts; "
             "default: the model's"},
    {CH_SCOPE_AGENT, "promptCache", CH_CFG_CHOICE, 0, AGENT(cache), .words = "off|5m|1h",
     .otherwise = "5m",
     .help = "how long the service caches the prompt, where it lets the caller choose"},
    {CH_SCOPE_AGENT, "serverTools", CH_CFG_JSON, 0, AGENT(server_tools),
     .help = "tools of the vendor, which its service runs, such as its web search, or chela, such "
             "as its shell: lists in the vendor's form, by provider or protocol; see models.md"},
    {CH_SCOPE_AGENT, "output.schema", CH_CFG_JSON, 0, AGENT(output_schema),
     .help = "JSON Schema of the final answer, which is then JSON and validated; see calls.md"},
    {CH_SCOPE_AGENT, "output.by", CH_CFG_CHOICE, 0, AGENT(output_by),
     .words = "auto|native|tool|prompt", .otherwise = "auto",
     .help = "how the model receives the schema"},
    {CH_SCOPE_AGENT, "retries", CH_CFG_COUNT, 0, AGENT(retries), 0, 100, .otherwise = "2",
     .help = "retries of a model call after a temporary failure"},
    {CH_SCOPE_AGENT, "overloadRetries", CH_CFG_COUNT, 0, AGENT(overload_retries), 0, 100,
     .otherwise = "6",
     .help = "retries of a call that an overloaded service refused (HTTP 503, 529), if no fallback "
             "model is left; never fewer than `retries`; with `retries: 0` none by default"},
    {CH_SCOPE_AGENT, "timeouts.connectSec", CH_CFG_SECONDS, 0, AGENT(connect_ms), 0,
     MOST_SECONDS, .otherwise = "10",
     .help = "time to connect to a service"},
    {CH_SCOPE_AGENT, "timeouts.firstByteSec", CH_CFG_SECONDS, 0, AGENT(first_byte_ms), 0,
     MOST_SECONDS, .otherwise = "300",
     .help = "time until the response begins"},
    {CH_SCOPE_AGENT, "timeouts.idleSec", CH_CFG_SECONDS, 0, AGENT(idle_ms), 0, MOST_SECONDS,
     .otherwise = "120",
     .help = "silence within a response after which the call fails"},
    {CH_SCOPE_AGENT, "limits.maxTurns", CH_CFG_LIMIT, 0, AGENT(limits.max_turns), 0, 1000000,
     .otherwise = "25",
     .help = "model calls of one run; in `chela chat` and `chela acp` there is no limit by "
             "default"},
    {CH_SCOPE_AGENT, "limits.maxToolCalls", CH_CFG_LIMIT, 0, AGENT(limits.max_tool_calls), 0,
     1000000, .otherwise = "200",
     .help = "tool calls of one run"},
    {CH_SCOPE_AGENT, "limits.tokenBudget", CH_CFG_LIMIT, 0, AGENT(limits.token_budget), 0, 1e15,
     .otherwise = "0",
     .help = "tokens of one run, input and output together"},
    {CH_SCOPE_AGENT, "limits.costBudgetUsd", CH_CFG_BUDGET, 0, AGENT(limits.cost_budget_usd), 0,
     1e9, .otherwise = "0",
     .help = "cost of one run in US dollars, where prices are known"},
    {CH_SCOPE_AGENT, "limits.timeoutSec", CH_CFG_SECONDS, 0, AGENT(limits.timeout_ms), 0,
     MOST_SECONDS, .otherwise = "1800",
     .help = "time of one run, without the time that it waits for people; in `chela chat` and "
             "`chela acp` there is no limit by default"},
    {CH_SCOPE_AGENT, "limits.maxConsecutiveErrors", CH_CFG_LIMIT, 0,
     AGENT(limits.max_consecutive_errors), 0, 1000000, .otherwise = "3",
     .help = "failed tool calls and model calls in a row"},
    {CH_SCOPE_AGENT, "limits.sumUp", CH_CFG_FLAG, 0, AGENT(sum_up), .otherwise = "true",
     .help = "at a limit of turns, calls or errors, or in a loop, let the model write a summary "
             "with one more call, without tools; never past a budget or a deadline"},
    {CH_SCOPE_AGENT, "loopGuard.repeats", CH_CFG_LIMIT, 0, AGENT(loop_guard.repeats), 0, 1000,
     .otherwise = "5",
     .help = "identical calls with identical results in a row before the model is warned; after "
             "half as many more the run ends"},
    {CH_SCOPE_AGENT, "loopGuard.cycles", CH_CFG_LIMIT, 0, AGENT(loop_guard.cycles), 0, 5,
     .otherwise = "3",
     .help = "repetitions of the same sequence of two to six calls; counts as for "
             "`loopGuard.repeats`"},
    {CH_SCOPE_AGENT, "loopGuard.texts", CH_CFG_LIMIT, 0, AGENT(loop_guard.texts), 0, 1000,
     .otherwise = "3",
     .help = "replies with the same text while no call does anything new; counts as for "
             "`loopGuard.repeats`"},
    {CH_SCOPE_AGENT, "loopGuard.polls", CH_CFG_LIMIT, 0, AGENT(loop_guard.polls), 0, 1000,
     .otherwise = "12",
     .help = "polls of a status that does not change; counts as for `loopGuard.repeats`"},
    {CH_SCOPE_AGENT, "loopGuard.unknownTools", CH_CFG_LIMIT, 0, AGENT(loop_guard.unknown_tools), 0,
     1000, .otherwise = "3",
     .help = "calls of a tool that does not exist; counts as for `loopGuard.repeats`"},
    {CH_SCOPE_AGENT, "wake.every", CH_CFG_SPAN, 0, AGENT(wake.every),
     .help = "interval at which the agent wakes up and follows `HEARTBEAT.md`; default: never; "
             "see schedules.md"},
    {CH_SCOPE_AGENT, "wake.file", CH_CFG_TEXT, 0, AGENT(wake.file), .otherwise = "HEARTBEAT.md",
     .help = "workspace file with the instructions; while it is empty, no run starts"},
    {CH_SCOPE_AGENT, "wake.session", CH_CFG_TEXT, 0, AGENT(wake.session),
     .help = "session of these runs; default: `wake:AGENT`"},
    {CH_SCOPE_AGENT, "wake.quietHours", CH_CFG_HOURS, 0, AGENT(wake.quiet_hours),
     .help = "times in which the agent does not wake up: `22:00-07:00`"},
    {CH_SCOPE_AGENT, "wake.timezone", CH_CFG_TEXT, 0, AGENT(wake.timezone),
     .help = "time zone of `wake.quietHours`; default: the machine's"},
    {CH_SCOPE_AGENT, "wake.maxRunsPerDay", CH_CFG_LIMIT, 0, AGENT(wake.max_per_day), 0, 100000,
     .otherwise = "0",
     .help = "runs that wake-ups may start in a day"},
    {CH_SCOPE_AGENT, "wake.costBudgetUsd", CH_CFG_BUDGET, 0, AGENT(wake.cost_usd), 0, 1e6,
     .otherwise = "0",
     .help = "cost of each such run, within the agent's limit"},
    {CH_SCOPE_AGENT, "queue.mode", CH_CFG_CHOICE, 0, AGENT(queue_mode),
     .words = "steer|follow_up|collect|interrupt", .otherwise = "steer",
     .help = "what happens to a message that arrives during a run; see sessions.md"},
    {CH_SCOPE_AGENT, "queue.cap", CH_CFG_INT, 0, AGENT(queue_cap), 1, CH_LIMIT_QUEUE,
     .otherwise = "20",
     .help = "messages that may wait in a session"},
    {CH_SCOPE_AGENT, "queue.overflow", CH_CFG_CHOICE, 0, AGENT(queue_overflow),
     .words = "refuse|drop_oldest", .otherwise = "refuse",
     .help = "when the queue is full: refuse the new message, or drop the oldest and tell the "
             "model"},
    {CH_SCOPE_AGENT, "queue.debounceMs", CH_CFG_INT, 0, AGENT(queue_debounce_ms), 1, 600000,
     .otherwise = "1000",
     .help = "with `collect`, silence before a run starts"},

    /* --- a provider */
    {CH_SCOPE_PROVIDER, "api", CH_CFG_CHOICE, 0, PROVIDER(api),
     .words = "anthropic|openai|openai-responses|gemini|interactions|bedrock|prompted|scripted",
     .help = "protocol of the service; required for a new provider"},
    {CH_SCOPE_PROVIDER, "baseUrl", CH_CFG_URL, 0, PROVIDER(base_url),
     .help = "URL of the service; required for a new provider"},
    {CH_SCOPE_PROVIDER, "apiKeyEnv", CH_CFG_ENVS, 0, PROVIDER(key_env),
     .help = "environment variable that holds the key; in a list, the next key is used while one "
             "is rejected or rate limited"},
    {CH_SCOPE_PROVIDER, "apiKeyFile", CH_CFG_PATH, 0, PROVIDER(key_file),
     .help = "file that contains only the key"},
    {CH_SCOPE_PROVIDER, "apiKey", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a key must not be in this file: use apiKeyEnv or apiKeyFile"},
    {CH_SCOPE_PROVIDER, "headers", CH_CFG_HEADERS, CH_CFG_SECRET, PROVIDER(headers),
     .help = "headers added to every request"},
    {CH_SCOPE_PROVIDER, "extraBody", CH_CFG_JSON, 0, PROVIDER(extra_body),
     .help = "members added to the body of every request"},
    {CH_SCOPE_PROVIDER, "quirks", CH_CFG_QUIRKS, 0, PROVIDER(quirks),
     .help = "deviations of the server from its protocol; see below"},
    {CH_SCOPE_PROVIDER, "serviceTier", CH_CFG_TEXT, 0, PROVIDER(service_tier),
     .help = "tier of the service, as the service names it; see models.md"},
    {CH_SCOPE_PROVIDER, "cacheTtl", CH_CFG_CHOICE, 0, PROVIDER(cache_ttl), .words = "5m|1h",
     .help = "how long the service keeps its cache of a conversation; default: `promptCache` of "
             "the agent"},
    {CH_SCOPE_PROVIDER, "background", CH_CFG_FLAG, 0, PROVIDER(background), .otherwise = "false",
     .help = "the service makes replies in the background, and chela asks for them; see models.md"},
    {CH_SCOPE_PROVIDER, "store", CH_CFG_FLAG, 0, PROVIDER(store), .otherwise = "false",
     .help = "the service may store replies"},
    {CH_SCOPE_PROVIDER, "transport", CH_CFG_CHOICE, 0, PROVIDER(transport),
     .words = "http|websocket", .otherwise = "http",
     .help = "how replies are asked for; `websocket`: one connection for a run, with the "
             "Responses API"},
    {CH_SCOPE_PROVIDER, "models", CH_CFG_LIST, 0, PROVIDER(models), .of = CH_SCOPE_MODEL,
     .help = "prices, context windows and quirks of models; see below"},

    /* --- a model of a provider */
    {CH_SCOPE_MODEL, "id", CH_CFG_TEXT, CH_CFG_REQUIRED, MODEL(item.name),
     .help = "name of the model, the part after the slash"},
    {CH_SCOPE_MODEL, "price.input", CH_CFG_NUMBER, 0, MODEL(input), 0, 1e9,
     .help = "US dollars for a million input tokens"},
    {CH_SCOPE_MODEL, "price.output", CH_CFG_NUMBER, 0, MODEL(output), 0, 1e9,
     .help = "US dollars for a million output tokens"},
    {CH_SCOPE_MODEL, "price.cacheRead", CH_CFG_NUMBER, 0, MODEL(cache_read), 0, 1e9,
     .help = "US dollars for a million input tokens read from the cache; default: `price.input`"},
    {CH_SCOPE_MODEL, "price.cacheWrite", CH_CFG_NUMBER, 0, MODEL(cache_write), 0, 1e9,
     .help = "US dollars for a million input tokens written to the cache; default: `price.input`"},
    {CH_SCOPE_MODEL, "contextWindow", CH_CFG_INT, 0, MODEL(context_window), 1, 1e12,
     .help = "size of the context window in tokens; tool results are cut to fit it"},
    {CH_SCOPE_MODEL, "quirks", CH_CFG_QUIRKS, 0, MODEL(quirks),
     .help = "deviations of this model, in addition to `quirks` of the provider"},
#define FACT(name, text) \
    {CH_SCOPE_MODEL, #name, CH_CFG_FACT, 0, MODEL(facts[CH_COLUMN_##name]), .help = text},
    CH_MODEL_COLUMNS(FACT)
#undef FACT

    /* --- a program as a tool */
    {CH_SCOPE_TOOL, "name", CH_CFG_NAME, CH_CFG_REQUIRED, TOOL(item.name),
     .help = "name of the tool, as the model calls it"},
    {CH_SCOPE_TOOL, "description", CH_CFG_TEXT, CH_CFG_REQUIRED, TOOL(description),
     .help = "what the tool does, its limits and how it fails; the model reads this text"},
    {CH_SCOPE_TOOL, "parameters", CH_CFG_JSON, 0, TOOL(parameters),
     .help = "JSON Schema of the arguments; default: no arguments"},
    {CH_SCOPE_TOOL, "command", CH_CFG_COMMAND, CH_CFG_REQUIRED, TOOL(command),
     .help = "program and arguments; no shell is involved"},
    {CH_SCOPE_TOOL, "cwd", CH_CFG_PATH, 0, TOOL(cwd),
     .help = "working directory; default: the workspace"},
    {CH_SCOPE_TOOL, "effect", CH_CFG_CHOICE, 0, TOOL(effect), .words = "once|keyed|read",
     .otherwise = "once",
     .help = "whether a failed call may run again: `once`: never; `keyed`: with the same "
             "idempotency key; `read`: always"},
    {CH_SCOPE_TOOL, "permission", CH_CFG_CHOICE, 0, TOOL(permission), .words = "read|write|admin",
     .otherwise = "admin",
     .help = "permission that an agent needs to be offered the tool"},
    {CH_SCOPE_TOOL, "timeoutSec", CH_CFG_SECONDS, 0, TOOL(timeout_ms), 0, MOST_SECONDS,
     .otherwise = "30",
     .help = "time of one call"},
    {CH_SCOPE_TOOL, "retry.attempts", CH_CFG_INT, 0, TOOL(retry.attempts), 1,
     CH_LIMIT_RETRY_ATTEMPTS, .otherwise = "3",
     .help = "a retry policy, which survives restarts: attempts of one call; see tools.md"},
    {CH_SCOPE_TOOL, "retry.backoffSec", CH_CFG_SECONDS, 0, TOOL(retry.backoff_ms), 0,
     MOST_SECONDS, .otherwise = "1",
     .help = "delay before the second attempt, doubled before each further one"},
    {CH_SCOPE_TOOL, "retry.maxBackoffSec", CH_CFG_SECONDS, 0, TOOL(retry.max_backoff_ms), 0,
     MOST_SECONDS, .otherwise = "60", .help = "longest delay between two attempts"},
    {CH_SCOPE_TOOL, "retry.deadlineSec", CH_CFG_SECONDS, 0, TOOL(retry.deadline_ms), 0,
     MOST_SECONDS,
     .help = "no attempt begins later than so long after the first; default: no deadline"},
    {CH_SCOPE_TOOL, "check", CH_CFG_CHECK, 0, TOOL(check),
     .help = "a rule for each call: a program that receives the call as JSON on stdin and refuses "
             "it with a non-zero exit status and what it prints, or a mapping of arguments to "
             "patterns (or schemas) that their values must match"},
    {CH_SCOPE_TOOL, "confirm", CH_CFG_BOOL, 0, TOOL(confirm), .otherwise = "false",
     .help = "require a person's approval for each call"},
    {CH_SCOPE_TOOL, "flow", CH_CFG_WORDS, 0, TOOL(flow), .words = FLOWS,
     .help = "what a call does: its result is private data (`reads`), its result holds text that "
             "others may have written (`ingests`), it carries its arguments out or acts elsewhere "
             "(`sends`); without the list all three"},
    {CH_SCOPE_TOOL, "action", CH_CFG_BOOL, 0, TOOL(action), .otherwise = "false",
     .help = "the tool acts and its result tells the model nothing: in mode heartbeat it ends the "
             "turn; see heartbeat.md"},

    /* --- a program of a hook */
    {CH_SCOPE_HOOK_PROGRAM, "name", CH_CFG_NAME, 0, HOOK_PROGRAM(item.name),
     .help = "name for messages; default: its number"},
    {CH_SCOPE_HOOK_PROGRAM, "match", CH_CFG_TEXT, 0, HOOK_PROGRAM(match),
     .help = "regular expression for the whole name of the tool, in chela's or Claude Code's "
             "spelling, or for the kind of the event; default: any"},
    {CH_SCOPE_HOOK_PROGRAM, "command", CH_CFG_COMMAND, CH_CFG_REQUIRED, HOOK_PROGRAM(command),
     .help = "program and arguments; no shell is involved"},
    {CH_SCOPE_HOOK_PROGRAM, "cwd", CH_CFG_PATH, 0, HOOK_PROGRAM(cwd),
     .help = "working directory; default: the workspace"},
    {CH_SCOPE_HOOK_PROGRAM, "timeoutSec", CH_CFG_SECONDS, 0, HOOK_PROGRAM(timeout_ms), 0,
     3600, .otherwise = "60",
     .help = "time limit of the program; with 0, an hour"},

    /* --- a channel; it has further options of its own */
    {CH_SCOPE_CHANNEL, "agent", CH_CFG_NAME, CH_CFG_AGENT, CHANNEL(agent),
     .help = "agent that answers; default: the first agent"},
    {CH_SCOPE_CHANNEL, "dmPolicy", CH_CFG_CHOICE, 0, CHANNEL(dm_policy),
     .words = "pairing|allowlist|open|off", .otherwise = "allowlist",
     .help = "whose direct messages are answered: `allowlist`: people in `allowFrom`; `pairing`: "
             "also people who were approved; `open`: everyone; `off`: nobody"},
    {CH_SCOPE_CHANNEL, "allowFrom", CH_CFG_TEXTS, 0, CHANNEL(allow_from), .otherwise = "[]",
     .help = "ids of people for `dmPolicy`, in quotes; never names"},
    {CH_SCOPE_CHANNEL, "owners", CH_CFG_TEXTS, 0, CHANNEL(owners), .otherwise = "[]",
     .help = "ids of people who may approve calls and change the agent's settings; without "
             "owners, calls that need approval are refused"},
    {CH_SCOPE_CHANNEL, "groupPolicy", CH_CFG_CHOICE, 0, CHANNEL(group_policy),
     .words = "allowlist|open|off", .otherwise = "allowlist",
     .help = "groups that are answered: those in `groups`, all, or none"},
    {CH_SCOPE_CHANNEL, "groups", CH_CFG_TEXTS, 0, CHANNEL(groups), .otherwise = "[]",
     .help = "ids of groups for `groupPolicy`, in quotes"},
    {CH_SCOPE_CHANNEL, "requireMention", CH_CFG_UNLESS, 0, CHANNEL(unasked), .otherwise = "true",
     .help = "in groups, answer only messages that mention the app or reply to it"},
    {CH_SCOPE_CHANNEL, "groupSession", CH_CFG_CHOICE, 0, CHANNEL(group_session),
     .words = "topic|chat|sender", .otherwise = "topic",
     .help = "who shares a session in a group: `topic`: a topic, or the group if there is none; "
             "`chat`: the whole group; `sender`: nobody"},
    {CH_SCOPE_CHANNEL, "groupLines", CH_CFG_COUNT, 0, CHANNEL(group_lines), 0,
     CH_LIMIT_SAID_LINES, .otherwise = "20",
     .help = "in groups, messages that are not addressed to the app and that the model gets, as "
             "untrusted text, with the next message that is"},
    {CH_SCOPE_CHANNEL, "groupMinutes", CH_CFG_COUNT, 0, CHANNEL(group_minutes), 0,
     CH_LIMIT_SAID_MINUTES, .otherwise = "60", .help = "age at which such a message is forgotten"},
    {CH_SCOPE_CHANNEL, "language", CH_CFG_CHOICE, 0, CHANNEL(language), .words = "auto|en|zh",
     .help = "as `language` of the file, for the people of this channel"},

    /* --- limits for people who write through a channel */
    {CH_SCOPE_POLICY, "id", CH_CFG_NAME, CH_CFG_REQUIRED, POLICY(item.name),
     .help = "name of the policy in messages"},
    {CH_SCOPE_POLICY, "channel", CH_CFG_TEXT, CH_CFG_REQUIRED, POLICY(channel),
     .help = "name of the channel; `*` and `?` match several"},
    {CH_SCOPE_POLICY, "senders", CH_CFG_TEXTS, 0, POLICY(senders), .otherwise = "[\"*\"]",
     .help = "people the policy applies to, by their ids in the channel; `*` and `?` are allowed"},
    {CH_SCOPE_POLICY, "except", CH_CFG_TEXTS, 0, POLICY(except), .otherwise = "[]",
     .help = "people the policy does not apply to, by their ids in the channel; `*` and `?` are "
             "allowed"},
    {CH_SCOPE_POLICY, "allow", CH_CFG_NAMES, 0, POLICY(allow), .otherwise = "[\"*\"]",
     .help = "tools to offer, by name, glob or group; an empty list offers none"},
    {CH_SCOPE_POLICY, "deny", CH_CFG_NAMES, 0, POLICY(deny), .otherwise = "[]",
     .help = "tools to leave out; wins over `allow`"},
    {CH_SCOPE_POLICY, "permission", CH_CFG_CHOICE, 0, POLICY(permission),
     .words = "read|write|admin", .otherwise = "admin",
     .help = "highest permission of the offered tools"},
    {CH_SCOPE_POLICY, "approve", CH_CFG_CHOICE, 0, POLICY(approve),
     .words = "ask|sandbox|auto|deny", .otherwise = "auto",
     .help = "calls that need approval: `auto`: as the agent's setting says; `ask`: ask, even if "
             "the agent's setting is auto; `sandbox`: likewise, but run commands in the full "
             "sandbox; `deny`: refuse them"},

    /* --- an MCP server */
    {CH_SCOPE_MCP, "command", CH_CFG_COMMAND, 0, MCP(command),
     .help = "program and arguments of a server that chela starts, in the sandbox; a path is "
             "relative to this file"},
    {CH_SCOPE_MCP, "env", CH_CFG_HEADERS, CH_CFG_SECRET, MCP(env),
     .help = "environment variables of the program; it gets no others than PATH, LANG, "
             "LC_ALL, TZ and HOME"},
    {CH_SCOPE_MCP, "url", CH_CFG_URL, 0, MCP(url),
     .help = "URL of a server that is reached over HTTP"},
    {CH_SCOPE_MCP, "headers", CH_CFG_HEADERS, CH_CFG_SECRET, MCP(headers),
     .help = "headers of every request to the URL"},
    {CH_SCOPE_MCP, "auth.clientId", CH_CFG_TEXT, 0, MCP(client_id),
     .help = "id of a client that was registered with the authorization server; default: chela "
             "registers itself"},
    {CH_SCOPE_MCP, "auth.clientSecretEnv", CH_CFG_ENV, 0, MCP(client_secret_env),
     .help = "environment variable that holds the secret of that client"},
    {CH_SCOPE_MCP, "auth.clientMetadataUrl", CH_CFG_URL, 0, MCP(client_metadata_url),
     .help = "URL of a metadata document that describes this installation as a client"},
    {CH_SCOPE_MCP, "auth.issuer", CH_CFG_URL, 0, MCP(issuer),
     .help = "the only authorization server to log in to; default: the one that the server "
             "names, and with `auth.clientId` the one of the first log-in from then on"},
    {CH_SCOPE_MCP, "era", CH_CFG_CHOICE, 0, MCP(era), .words = "auto|modern|legacy",
     .otherwise = "auto",
     .help = "protocol versions: `modern`: 2026-07-28; `legacy`: up to 2025-11-25; `auto` finds "
             "out"},
    {CH_SCOPE_MCP, "sandbox.network", CH_CFG_UNLESS, 0, MCP(no_network), .otherwise = "true",
     .help = "the program may use the network"},
    {CH_SCOPE_MCP, "sandbox.writable", CH_CFG_PATHS, 0, MCP(writable), .otherwise = "[]",
     .help = "paths that the program may write besides its own directory"},
    {CH_SCOPE_MCP, "sandbox.readable", CH_CFG_PATHS, 0, MCP(readable), .otherwise = "[]",
     .help = "paths that the program may read besides the system's and those in its command"},
    {CH_SCOPE_MCP, "sandbox.mode", CH_CFG_CHOICE, 0, MCP(sandbox), .words = "auto|required|off",
     .help = "as `sandbox.mode` of the file, which is the default"},
    {CH_SCOPE_MCP, "allow", CH_CFG_NAMES, 0, MCP(allow), .otherwise = "[\"*\"]",
     .help = "tools of the server to offer, by name or glob"},
    {CH_SCOPE_MCP, "deny", CH_CFG_NAMES, 0, MCP(deny), .otherwise = "[]",
     .help = "tools of the server to leave out"},
    {CH_SCOPE_MCP, "effect", CH_CFG_CHOICE, 0, MCP(effect), .words = "once|keyed|read",
     .otherwise = "once",
     .help = "what a repeated call does, as for `tools.custom`"},
    {CH_SCOPE_MCP, "permission", CH_CFG_CHOICE, 0, MCP(permission), .words = "read|write|admin",
     .otherwise = "admin", .help = "permission that the tools need"},
    {CH_SCOPE_MCP, "confirm", CH_CFG_UNLESS, 0, MCP(unasked), .otherwise = "true",
     .help = "every call needs a person's approval, unless a rule says otherwise"},
    {CH_SCOPE_MCP, "flow", CH_CFG_WORDS, 0, MCP(flow), .words = FLOWS,
     .help = "what calls of the server's tools do, as for `tools.custom`"},
    {CH_SCOPE_MCP, "timeoutSec", CH_CFG_SECONDS, 0, MCP(timeout_ms), 0, MOST_SECONDS,
     .otherwise = "60", .help = "time of one call"},
    {CH_SCOPE_MCP, "resources", CH_CFG_BOOL, 0, MCP(resources), .otherwise = "false",
     .help = "offer the server's resources to the model by the tools NAME__list_resources, "
             "NAME__list_resource_templates and NAME__read_resource"},
    {CH_SCOPE_MCP, "roots", CH_CFG_PATHS, 0, MCP(roots), .otherwise = "[]",
     .help = "directories that the server is told about when it asks for its roots"},
    {CH_SCOPE_MCP, "sampling.enabled", CH_CFG_BOOL, 0, MCP(sampling), .otherwise = "false",
     .help = "in a call, the server may ask for answers of the agent's model"},
    {CH_SCOPE_MCP, "sampling.confirm", CH_CFG_UNLESS, 0, MCP(sampling_unasked), .otherwise = "true",
     .help = "a person agrees to each of these answers"},
    {CH_SCOPE_MCP, "sampling.maxRequests", CH_CFG_INT, 0, MCP(sampling_requests), 1, INT32_MAX,
     .otherwise = "10", .help = "most answers of the model in one session"},
    {CH_SCOPE_MCP, "sampling.maxTokens", CH_CFG_INT, 0, MCP(sampling_tokens), 1, INT32_MAX,
     .otherwise = "20000", .help = "most tokens of the model in one session, for questions and "
                                   "answers"},
    {CH_SCOPE_MCP, "logLevel", CH_CFG_CHOICE, 0, MCP(log_level),
     .words = "debug|info|notice|warning|error|critical|alert|emergency",
     .help = "least severe messages that the server sends to the log; default: the server "
             "decides"},
    {CH_SCOPE_MCP, "retry.attempts", CH_CFG_INT, 0, MCP(retry.attempts), 1,
     CH_LIMIT_RETRY_ATTEMPTS, .otherwise = "3",
     .help = "a retry policy, which survives restarts: attempts of one call; see tools.md"},
    {CH_SCOPE_MCP, "retry.backoffSec", CH_CFG_SECONDS, 0, MCP(retry.backoff_ms), 0, MOST_SECONDS,
     .otherwise = "1", .help = "delay before the second attempt, doubled before each further one"},
    {CH_SCOPE_MCP, "retry.maxBackoffSec", CH_CFG_SECONDS, 0, MCP(retry.max_backoff_ms), 0,
     MOST_SECONDS, .otherwise = "60", .help = "longest delay between two attempts"},
    {CH_SCOPE_MCP, "retry.deadlineSec", CH_CFG_SECONDS, 0, MCP(retry.deadline_ms), 0, MOST_SECONDS,
     .help = "no attempt begins later than so long after the first; default: no deadline"},
    {CH_SCOPE_MCP, "disabled", CH_CFG_BOOL, 0, MCP(disabled), .otherwise = "false",
     .help = "do not use the server"},
    /* --- a hook of the gateway */
    {CH_SCOPE_HOOK, "secretEnv", CH_CFG_ENV, CH_CFG_REQUIRED, HOOK(secret_env),
     .help = "environment variable that holds the secret that the sender signs with"},
    {CH_SCOPE_HOOK, "secret", CH_CFG_REFUSED, CH_CFG_SECRET,
     .help = "a secret must not be in this file: use secretEnv"},
    {CH_SCOPE_HOOK, "agent", CH_CFG_NAME, CH_CFG_AGENT, HOOK(agent),
     .help = "agent that receives the event; default: the first agent"},
    {CH_SCOPE_HOOK, "session", CH_CFG_TEXT, 0, HOOK(session),
     .help = "session that the events go to; default: a new session for each event"},

    /* --- a schedule */
    {CH_SCOPE_SCHEDULE, "when", CH_CFG_WHEN, CH_CFG_REQUIRED, SCHEDULE(when),
     .help = "a cron line, `@daily` and the like, `every 30m`, or `at 2027-03-01T09:00`; see "
             "schedules.md"},
    {CH_SCOPE_SCHEDULE, "timezone", CH_CFG_TEXT, 0, SCHEDULE(timezone),
     .help = "time zone of the times, such as `Europe/Berlin` or `+08:00`; default: the machine's"},
    {CH_SCOPE_SCHEDULE, "prompt", CH_CFG_TEXT, CH_CFG_REQUIRED, SCHEDULE(prompt),
     .help = "prompt of the run"},
    {CH_SCOPE_SCHEDULE, "agent", CH_CFG_NAME, CH_CFG_AGENT, SCHEDULE(agent),
     .help = "agent that runs; default: the first agent"},
    {CH_SCOPE_SCHEDULE, "session", CH_CFG_TEXT, 0, SCHEDULE(session),
     .help = "session of the runs; default: `schedule:NAME`"},
    {CH_SCOPE_SCHEDULE, "fresh", CH_CFG_BOOL, 0, SCHEDULE(fresh), .otherwise = "false",
     .help = "give each run a session of its own: the session key with the time appended"},
    {CH_SCOPE_SCHEDULE, "missed", CH_CFG_CHOICE, 0, SCHEDULE(missed), .words = "once|skip|all",
     .otherwise = "once",
     .help = "times that passed while no scheduler was running: run the last one, none, or all "
             "(100 at most)"},
    {CH_SCOPE_SCHEDULE, "quietHours", CH_CFG_HOURS, 0, SCHEDULE(quiet_hours),
     .help = "hours in which the schedule is never due: `22:00-07:00`"},
    {CH_SCOPE_SCHEDULE, "maxRunsPerDay", CH_CFG_LIMIT, 0, SCHEDULE(max_per_day), 0, 100000,
     .otherwise = "0",
     .help = "runs in a day; further times are skipped"},
    {CH_SCOPE_SCHEDULE, "costBudgetUsd", CH_CFG_BUDGET, 0, SCHEDULE(cost_usd), 0, 1e6,
     .otherwise = "0",
     .help = "cost of each run, within the agent's limit"},
    {CH_SCOPE_SCHEDULE, "maxTurns", CH_CFG_LIMIT, 0, SCHEDULE(max_turns), 0, 1e6,
     .otherwise = "0",
     .help = "model calls of each run, within the agent's limit"},
    {CH_SCOPE_SCHEDULE, "timeoutSec", CH_CFG_SECONDS, 0, SCHEDULE(timeout_ms), 0, MOST_SECONDS,
     .otherwise = "0",
     .help = "time of each run, within the agent's limit"},

    /* --- a budget */
    {CH_SCOPE_BUDGET, "agent", CH_CFG_TEXT, 0, BUDGET(agent),
     .help = "agent whose runs count; with `*` or `?` each agent has a budget of its own; default: "
             "all"},
    {CH_SCOPE_BUDGET, "channel", CH_CFG_TEXT, 0, BUDGET(channel),
     .help = "channel whose runs count, `http` for runs that no chat began; with `*` or `?` each "
             "channel has a budget of its own; default: all"},
    {CH_SCOPE_BUDGET, "sender", CH_CFG_TEXT, 0, BUDGET(sender),
     .help = "person whose runs count, by the id in the channel; with `*` or `?` each person has a "
             "budget of their own; default: all"},
    {CH_SCOPE_BUDGET, "costUsd", CH_CFG_BUDGET, 0, BUDGET(cost_usd), 0, 1e9, .otherwise = "0",
     .help = "cost in a day, in US dollars"},
    {CH_SCOPE_BUDGET, "tokens", CH_CFG_LIMIT, 0, BUDGET(tokens), 0, 1e15, .otherwise = "0",
     .help = "input and output tokens in a day"},

    /* --- a secret */
    {CH_SCOPE_SECRET, "env", CH_CFG_ENV, 0, SECRET(env), .help = "variable with the value"},
    {CH_SCOPE_SECRET, "file", CH_CFG_PATH, 0, SECRET(file),
     .help = "file that holds only the value"},
    {CH_SCOPE_SECRET, "credential", CH_CFG_TEXT, 0, SECRET(credential),
     .help = "name of a credential that systemd passes to the service"},
    {CH_SCOPE_SECRET, "command", CH_CFG_COMMAND, 0, SECRET(command),
     .help = "program that prints the value, such as `[pass, show, github]`"},
    {CH_SCOPE_SECRET, "hosts", CH_CFG_HOSTS, CH_CFG_REQUIRED, SECRET(hosts),
     .help = "hosts that own the secret, as in `egress.allow`"},
    {CH_SCOPE_SECRET, "header", CH_CFG_TEXT, 0, SECRET(header),
     .help = "header of requests to these hosts, with `{}` for the value: `Authorization: Bearer "
             "{}`"},
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

enum ch_cfg_member ch_cfg_member(enum ch_cfg_type type) {
    static const unsigned char members[] = {
#define MEMBER(name, text, member) CH_MEMBER_##member,
        CH_CFG_TYPES(MEMBER)
#undef MEMBER
    };
    return (enum ch_cfg_member)members[type];
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
        [CH_SCOPE_HOOK_PROGRAM] = sizeof(struct ch_conf_hook_program),
        [CH_SCOPE_MCP] = sizeof(struct ch_conf_mcp),
        [CH_SCOPE_CHANNEL] = sizeof(struct ch_conf_channel),
        [CH_SCOPE_SCHEDULE] = sizeof(struct ch_conf_schedule),
        [CH_SCOPE_BUDGET] = sizeof(struct ch_conf_budget),
        [CH_SCOPE_SECRET] = sizeof(struct ch_conf_secret_source),
    };
    return sizes[scope];
}
