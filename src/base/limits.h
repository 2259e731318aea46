/* limits.h -- every bound on what a peer, a model, a tool or a file controls.
 *
 * Nothing that comes from outside is allocated, nested, queued or waited for
 * beyond a figure named here. Passing one gives a distinct error
 * (CHELA_ELIMIT, or a tool result that says so), never a crash. */
#ifndef CH_BASE_LIMITS_H
#define CH_BASE_LIMITS_H

#define CH_KB ((size_t)1024)
#define CH_MB (CH_KB * 1024)

/* base, json */
#define CH_LIMIT_BUF (256 * CH_MB)       /* a buffer without a cap of its own */
#define CH_LIMIT_LOG_LINE (16 * CH_KB)   /* one line for the log sink */
#define CH_LIMIT_SECRETS 256             /* values remembered for redaction */
#define CH_LIMIT_JSON_DEPTH 512          /* nesting of any JSON or YAML text */
#define CH_LIMIT_PULL_DEPTH 128          /* nesting of one stream event */
#define CH_LIMIT_JSON_TEXT (64 * CH_MB)  /* one JSON text */
#define CH_LIMIT_YAML_FILE (4 * CH_MB)   /* one configuration or rule file */
#define CH_LIMIT_YAML_NODES 262144       /* values of one, aliases expanded */
#define CH_LIMIT_YAML_ANCHORS 1024       /* anchors of one */
#define CH_LIMIT_SCHEMA_TEXT (8 * CH_MB)  /* one schema document */
#define CH_LIMIT_SCHEMA_DOCS 1024         /* documents one schema refers to */
#define CH_LIMIT_SCHEMA_PARTS 131072      /* subschemas, all documents together */
#define CH_LIMIT_SCHEMA_NESTING 256       /* subschemas that look at one value */
#define CH_LIMIT_SCHEMA_DEPTH 1024        /* the same in a run, values nested */
#define CH_LIMIT_SCHEMA_STEPS 4000000     /* subschemas run over a small value */
#define CH_LIMIT_SCHEMA_STEPS_NODE 64     /* and for each node of a large one */
#define CH_LIMIT_VIOLATIONS 100           /* that are told one by one */
#define CH_LIMIT_COERCIONS 100            /* corrections of one value */
#define CH_LIMIT_DIVISOR_DIGITS 37        /* of a multipleOf */
#define CH_LIMIT_PATTERNS 4096            /* regular expressions of one schema */
#define CH_LIMIT_PATTERN_TEXT (16 * CH_KB) /* one regular expression */
#define CH_LIMIT_PATTERN_STEPS 100000     /* of one match: backtracking */
#define CH_LIMIT_PATTERN_STEPS_BYTE 32    /* and for each byte of the text */
#define CH_LIMIT_PATTERN_DEPTH 100000     /* the same, nested */
#define CH_LIMIT_PATTERN_HEAP (16 * CH_MB) /* memory of one match */

/* io */
#define CH_LIMIT_CHILD_INPUT (4 * CH_MB)  /* for a program, not yet read by it */
#define CH_LIMIT_CHILD_REPORT (16 * CH_KB) /* of a wrapper about itself */

/* net */
#define CH_LIMIT_URL (8 * CH_KB)
#define CH_LIMIT_HTTP_HEADERS (64 * CH_KB) /* all response headers together */
#define CH_LIMIT_HTTP_BODY (64 * CH_MB)    /* a response that is not a stream */
#define CH_LIMIT_HTTP_STREAM (256 * CH_MB) /* a streamed response */
#define CH_LIMIT_CASSETTE (256 * CH_MB)    /* a file of recorded calls */
#define CH_LIMIT_CASSETTE_BODY (32 * CH_MB) /* one answer that is recorded */
#define CH_LIMIT_CASSETTE_WORDS 16         /* that stand for something of this machine */
#define CH_LIMIT_SSE_EVENT (16 * CH_MB)    /* one server-sent event */
#define CH_LIMIT_EVENT_MESSAGE (24 * CH_MB) /* one message of a binary event stream */
#define CH_LIMIT_EVENT_HEADERS (128 * CH_KB) /* of one such message */
#define CH_LIMIT_HTTP_HEADER_COUNT 256     /* lines of them */
#define CH_LIMIT_HTTP_INTERIM 16           /* 1xx responses before the real one */
#define CH_LIMIT_WS_MESSAGE (4 * CH_MB)    /* one message of a WebSocket */
#define CH_LIMIT_WS_QUEUE (4 * CH_MB)      /* of what we have yet to send on it */
#define CH_LIMIT_WS_FRAGMENTS 1024         /* that one message comes in */
#define CH_LIMIT_WS_PONG_MS 20000          /* for a client of ours to show that it is there */
#define CH_LIMIT_ADDRESSES 8               /* of one host, tried in turn */
#define CH_LIMIT_DNS_NAMES 64              /* whose addresses are remembered */
#define CH_LIMIT_IDLE_CONNS 1024           /* kept alive per runtime */
#define CH_LIMIT_TLS_REPLIES (64 * CH_KB)  /* of TLS itself, to a client that does not read */
#define CH_LIMIT_INBOUND_HEADERS (32 * CH_KB) /* of a request that reaches us */
#define CH_LIMIT_INBOUND_HEADER_COUNT 100  /* lines of them */
#define CH_LIMIT_INBOUND_BODY (32 * CH_MB) /* of the same */
#define CH_LIMIT_INBOUND_AHEAD (64 * CH_KB) /* sent before the answer to what came first */
#define CH_LIMIT_INBOUND_HEAD_MS 10000     /* until all headers are there */
#define CH_LIMIT_INBOUND_BODY_MS 60000     /* and all of the body */
#define CH_LIMIT_INBOUND_IDLE_MS 60000     /* between two requests */
#define CH_LIMIT_CLIENTS 12000             /* connections to us */
#define CH_LIMIT_CLIENTS_UNKNOWN 1024      /* of which are asking for nothing */
#define CH_LIMIT_CLIENTS_ADDRESS 256       /* and never have, from one address */
#define CH_LIMIT_CLIENT_BUFFER CH_MB       /* of a stream that its reader lags behind */
#define CH_LIMIT_CLIENT_LINGER_MS 2000     /* to read the answer before we hang up */
#define CH_LIMIT_CLIENT_STALL_MS 30000     /* without taking a byte of what it is sent */
#define CH_LIMIT_H2_STREAMS 100            /* of HTTP/2, open at once on one connection */
#define CH_LIMIT_H2_TABLE 4096             /* bytes of the table that compresses its headers */
#define CH_LIMIT_H2_CONTINUATIONS 8        /* frames that headers go on in */
#define CH_LIMIT_H2_BLOCK (64 * CH_KB)     /* of headers, compressed */
#define CH_LIMIT_H2_UNANSWERED 300         /* requests that begin and are not answered to the end */
#define CH_LIMIT_H2_UNANSWERED_S 20        /* and more of them in a second */
#define CH_LIMIT_H2_CONTROL 1000           /* frames of neither request nor body */
#define CH_LIMIT_H2_CONTROL_S 100          /* and more of them in a second */
#define CH_LIMIT_H2_REFUSED 100            /* requests of who was never let in */
#define CH_LIMIT_H2_WINDOW (256 * CH_KB)   /* of a body on its way to us */
#define CH_LIMIT_H2_WINDOWS CH_MB          /* of all on one connection */
#define CH_LIMIT_H2_BODIES (64 * CH_MB)    /* that lie here, of one connection */
#define CH_LIMIT_H2_BUFFER (8 * CH_MB)     /* of answers that it lags behind */
#define CH_LIMIT_H2_AHEAD (64 * CH_KB)     /* of frames before the kernel takes them */

/* model */
#define CH_LIMIT_REPLY (32 * CH_MB)    /* text, reasoning, arguments of a reply */
#define CH_LIMIT_REPLY_BLOCKS 4096     /* content blocks of one reply */
#define CH_LIMIT_CALLS_PER_REPLY 128   /* tool calls of one reply */
#define CH_LIMIT_TOOL_NAME 128
#define CH_LIMIT_CALL_ID 256
#define CH_LIMIT_SCRIPT_RULES 4096           /* of one scripted model */
#define CH_LIMIT_SCRIPT_PATTERN (4 * CH_KB)  /* one regular expression */
#define CH_LIMIT_SCRIPT_SUBJECT (64 * CH_KB) /* what it is matched against */

/* tool */
#define CH_LIMIT_TOOLS 4096               /* in one registry */
#define CH_LIMIT_TOOL_OUTPUT (16 * CH_MB) /* what is read from a tool */
#define CH_LIMIT_RESULT_CHARS 16000       /* what a model is shown of it */
#define CH_LIMIT_FILE_READ (16 * CH_MB)
#define CH_LIMIT_LS_ENTRIES 2000
#define CH_LIMIT_LS_SCAN 100000            /* entries read before sorting */
#define CH_LIMIT_TOOL_DETAILS (256 * CH_KB) /* a result's JSON for programs */
#define CH_LIMIT_TOOL_ERROR 4000           /* characters of an error's message */
#define CH_LIMIT_RESULT_MEDIA (16 * CH_MB) /* base64 beside one result */
#define CH_LIMIT_RESULT_PARTS 16           /* images and documents of one result */
#define CH_LIMIT_COMMAND_TAIL 2000         /* bytes of output shown on failure */
#define CH_LIMIT_PROGRESS_LINE 1000        /* bytes of one line of progress */
#define CH_LIMIT_PROGRESS_QUEUE 64         /* lines of a call not yet delivered */
#define CH_LIMIT_PATH 4096                 /* bytes of a path */
#define CH_LIMIT_LINKS 40                  /* symbolic links on one path */
#define CH_LIMIT_READ_LINES 2000           /* of one read, unless asked for less */
#define CH_LIMIT_IMAGE_READ (3840 * CH_KB) /* 5 MB in base64: vendors take no more */
#define CH_LIMIT_EDITS 100                 /* replacements of one edit */
#define CH_LIMIT_CALC_TEXT 10000           /* bytes of an expression */
#define CH_LIMIT_CALC_DEPTH 200            /* nesting of an expression */
#define CH_LIMIT_CALC_DIGITS 10000         /* of an exact number */
#define CH_LIMIT_CALC_WORK 100000000       /* digit operations of one expression */
#define CH_LIMIT_GLOBS 64                  /* patterns that braces may stand for */
#define CH_LIMIT_IGNORE_FILE CH_MB         /* one .gitignore */
#define CH_LIMIT_IGNORE_RULES 4096         /* of one .gitignore */
#define CH_LIMIT_WALK_ENTRIES 1000000      /* looked at by one find or grep */
#define CH_LIMIT_WALK_DEPTH 64             /* directories below each other */
#define CH_LIMIT_FIND_RESULTS 1000         /* names of one find */
#define CH_LIMIT_GREP_MATCHES 1000         /* lines or files of one grep */
#define CH_LIMIT_GREP_CONTEXT 20           /* lines shown before and after a match */
#define CH_LIMIT_GREP_LINE 500             /* bytes of a line that are shown */
#define CH_LIMIT_PATCH_TEXT (4 * CH_MB)    /* one patch */
#define CH_LIMIT_PATCH_FILES 200           /* of one patch */
#define CH_LIMIT_PATCH_BYTES (64 * CH_MB)  /* of those, before and after */
#define CH_LIMIT_STEPS 100                 /* of one session's list */
#define CH_LIMIT_STEP_TEXT 500             /* bytes of one of them */
#define CH_LIMIT_QUESTION 4000             /* bytes that a person is asked */
#define CH_LIMIT_CHOICES 20                /* to answer with */
#define CH_LIMIT_MESSAGE_TEXT (64 * CH_KB) /* of one message through a channel */
#define CH_LIMIT_MESSAGE_NAME 512          /* bytes of its target, id or emoji */
#define CH_LIMIT_DELIVERIES 16             /* such messages that a session remembers */
#define CH_LIMIT_ZONE_FILE (64 * CH_KB)    /* of the system's time zones */
#define CH_LIMIT_ZONES 10                  /* of one question about the time */
#define CH_LIMIT_USES 512                  /* things that one call names as its own */
#define CH_LIMIT_RESULT_LEAST 1000         /* shown even in the smallest context */
#define CH_LIMIT_SPILL_FILES 32            /* long results kept for a workspace */
#define CH_LIMIT_SPILL_BYTES (64 * CH_MB)  /* all of them together */
#define CH_LIMIT_COMMAND_TEXT (64 * CH_KB) /* of a command that a rule may judge */
#define CH_LIMIT_COMMAND_WORDS 256         /* of the same */
#define CH_LIMIT_SUMMARY (64 * CH_KB)      /* what a person is shown of a call */
#define CH_LIMIT_RULES 1024                /* about approvals, of one agent */
#define CH_LIMIT_REMEMBERED 256            /* calls that a session need not ask about */
#define CH_LIMIT_RETRY_AFTER_MS 60000      /* longest wait that a tool may ask for */
#define CH_LIMIT_SETTINGS 256              /* "key=value" of one agent's tools */
#define CH_LIMIT_SELECT_TOOLS (32 * CH_MB) /* a file of tools to choose from */
#define CH_LIMIT_SELECT_COUNT 65536        /* of those tools */
#define CH_LIMIT_SELECT_QUERY (16 * CH_KB) /* looked at of a request, to choose by */
#define CH_LIMIT_SELECT_TERMS 4096         /* words of one text */
#define CH_LIMIT_SELECT_LOAD 20            /* tools that one call may ask for */
#define CH_LIMIT_SELECT_LISTED 200         /* of which a first stage sees the summaries */
#define CH_LIMIT_EMBED_BATCH 64            /* texts of one request for embeddings */
#define CH_LIMIT_EMBED_TEXT (8 * CH_KB)    /* looked at of one of them */
#define CH_LIMIT_EMBED_SIZE 8192           /* numbers of one vector */
#define CH_LIMIT_EMBED_ANSWER (32 * CH_MB) /* bytes of an answer */
#define CH_LIMIT_VECTORS 8192              /* of tools, kept for an agent; of notes, likewise */
#define CH_LIMIT_VECTORS_FILE (80 * CH_MB) /* of notes, kept from one process to the next */
#define CH_LIMIT_MEANT 512                 /* passages that one search has turned into vectors */
#define CH_LIMIT_SELECT_PARTS 32           /* sentences that are ranked alone */
#define CH_LIMIT_OFFERED 128               /* tools that are chosen for a session */
#define CH_LIMIT_SQL (64 * CH_KB)          /* a query */
#define CH_LIMIT_SQL_PARAMS 100            /* values bound to one */
#define CH_LIMIT_SQL_MEMORY (256 * CH_MB)  /* that one may take here */
#define CH_LIMIT_SQL_VALUE (16 * CH_MB)    /* one value of a row */
#define CH_LIMIT_SQL_ROWS 50               /* shown */
#define CH_LIMIT_SQL_COUNT 10000           /* counted */
#define CH_LIMIT_SQL_COLUMNS 200           /* shown */
#define CH_LIMIT_SQL_CELL 500              /* characters of one value that are shown */
#define CH_LIMIT_WEB_BODY (5 * CH_MB)      /* of a page that is looked at */
#define CH_LIMIT_WEB_REDIRECTS 5
#define CH_LIMIT_HTML_DEPTH 256            /* elements below each other */
#define CH_LIMIT_HTML_TEXT (4 * CH_MB)     /* made of a page */
#define CH_LIMIT_HTML_CELLS 4000           /* of one table */
#define CH_LIMIT_SEARCH_BODY (2 * CH_MB)   /* what a search service answers */
#define CH_LIMIT_SEARCH_RESULTS 20
#define CH_LIMIT_MAIL_RECIPIENTS 50        /* of one message, cc included */
#define CH_LIMIT_MAIL_FILES 10             /* attached to it */
#define CH_LIMIT_MAIL_BYTES (20 * CH_MB)   /* of what is attached, together */
#define CH_LIMIT_MAIL_ADDRESS 254          /* RFC 5321 */
#define CH_LIMIT_MAIL_SUBJECT 1000         /* bytes */
#define CH_LIMIT_MAIL_BODY CH_MB
#define CH_LIMIT_NOTE_FILES 1000           /* Markdown files of notes, the newest */
#define CH_LIMIT_NOTE_FILE (256 * CH_KB)   /* one of them */
#define CH_LIMIT_NOTE_BYTES (8 * CH_MB)    /* all of them, for one search */
#define CH_LIMIT_RECALLED 1000             /* texts of past turns, the newest, for one search */
#define CH_LIMIT_RECALL_HITS 20            /* and older ones with one of its words */
#define CH_LIMIT_RECALL_BYTES (2 * CH_MB)  /* all of those */
#define CH_LIMIT_NOTE_SHOWN 700            /* bytes of a passage */
#define CH_LIMIT_NOTE_TEXT 4000            /* bytes of a new note */

/* prompt */
#define CH_LIMIT_SKILLS 200               /* of all roots */
#define CH_LIMIT_SKILL_ENTRIES 300        /* looked at in one folder */
#define CH_LIMIT_SKILL_DEPTH 3            /* folders within a root */
#define CH_LIMIT_SKILL_FILE (256 * CH_KB) /* one SKILL.md */
#define CH_LIMIT_SKILL_NAME 64
#define CH_LIMIT_SKILL_TEXT 1024          /* a description */
#define CH_LIMIT_SKILL_NEEDS 32           /* programs or variables one asks for */
#define CH_LIMIT_SKILLS_PROMPT (18 * CH_KB) /* all descriptions */
#define CH_LIMIT_PROMPTS 1000             /* versions and variants of all prompts */
#define CH_LIMIT_PROMPT_FILE (256 * CH_KB) /* one of them */
#define CH_LIMIT_IDENTIFIERS 8192         /* of a text that a summary replaces */
#define CH_LIMIT_HOLE_NAME 64             /* the name of a value in one */
#define CH_LIMIT_CASES 1000               /* test cases of one prompt */
#define CH_LIMIT_CASE_RUNS 1000           /* runs of each */
#define CH_LIMIT_VERSION_DIGITS 9         /* one number of a version */
#define CH_LIMIT_REPLY_MEDIA 20           /* files that one reply attaches */
#define CH_LIMIT_PROJECT_FILE CH_MB       /* AGENTS.md and its like, what is read of one */
#define CH_LIMIT_MINIMAL_PROMPT 1500      /* characters of the smallest system prompt */
#define CH_LIMIT_PROJECT_NAMES 32         /* files of that kind */
#define CH_LIMIT_LAYERS 64                /* that one budget is shared by */
#define CH_LIMIT_LAYER_LEAST 100          /* tokens that are left of one that is cut */
#define CH_LIMIT_PROMPT_RULES 100         /* rules of one agent */
#define CH_LIMIT_INBOUND_NAME 200         /* bytes of a sender's or a chat's name */
#define CH_LIMIT_INBOUND_ID 256           /* bytes of an id that a channel gives */
#define CH_LIMIT_INBOUND_TEXT (8 * CH_KB) /* of a text beside a message: what it quotes */
#define CH_LIMIT_INBOUND_BLOCKS 32        /* such texts */
#define CH_LIMIT_INBOUND_RECENT (24 * CH_KB) /* of what was said before, in all */

#define CH_LIMIT_OUTPUT_END (256 * CH_KB)  /* of a command, at either end */
#define CH_LIMIT_EXEC_S 3600               /* seconds that a command may ask for */
#define CH_LIMIT_EXEC_WORDS 1024           /* of a command without a shell */
#define CH_LIMIT_EXEC_VARIABLES 64         /* set for one command */
#define CH_LIMIT_JOBS 16                   /* running in the background of a session */
#define CH_LIMIT_JOBS_ENDED 16             /* that can still be asked about */
#define CH_LIMIT_JOB_LOG CH_MB             /* of its output that is kept, at least */
#define CH_LIMIT_JOB_WAIT_S 60             /* a model may wait for one */

/* agent */
#define CH_LIMIT_QUEUE 64             /* steering or follow-up messages waiting */
#define CH_LIMIT_QUEUE_BYTES (128 * CH_MB) /* of those, pictures and all; one may be larger */
#define CH_LIMIT_INPUT (16 * CH_MB)   /* one prompt */
#define CH_LIMIT_INPUT_MEDIA 20       /* images and documents of one */
#define CH_LIMIT_DOCUMENT (24 * CH_MB) /* one of them: 32 MB in base64 */
#define CH_LIMIT_HISTORY (512 * CH_MB) /* one session's transcript in memory */
#define CH_LIMIT_PAUSES 5             /* `pause` replies in a row */
#define CH_LIMIT_MODELS 16            /* of one chain, the fallbacks included */
#define CH_LIMIT_RETRY_AFTER 60000    /* ms a run waits because a server asked for it */
#define CH_LIMIT_COOLDOWNS 1024       /* keys and models that rest */
#define CH_LIMIT_PLAN_STEPS 8         /* of one plan */
#define CH_LIMIT_PLANS 3              /* in a row that are no use, until the run gives up */
#define CH_LIMIT_HOPS 5               /* messages between sessions, one because of the other */
#define CH_LIMIT_RUN_SENDS 8          /* of one run to other sessions */
#define CH_LIMIT_HANDOFFS 8           /* of a conversation in one run */
#define CH_LIMIT_DELEGATE_DEPTH 8     /* agents that call one another, one below the other */
#define CH_LIMIT_DELEGATE_CHILDREN 256 /* runs that one run calls */
#define CH_LIMIT_DELEGATE_TASK (64 * CH_KB) /* bytes of what one is told */
#define CH_LIMIT_ROLE_TURNS 4         /* model calls for one answer of a role */
#define CH_LIMIT_ROLE_CONTEXT (16 * CH_KB) /* bytes of what was said before */
#define CH_LIMIT_ROLE_RESULT (8 * CH_KB) /* bytes of a result that a role is shown */
#define CH_LIMIT_HEARTBEAT_CHATS 1024 /* chats of one recording */
#define CH_DEFAULT_TYPING 8.0          /* characters a second, between parts of a message */
#define CH_DEFAULT_BEATS 5             /* of one turn */
#define CH_DEFAULT_VIEW_LINES 30       /* before the new ones */
#define CH_DEFAULT_BEAT_DEBOUNCE_MS 1000 /* of quiet before it begins to think */
#define CH_LIMIT_CHAT_ROOMS 4096            /* chats of a channel that an agent listens to */
#define CH_LIMIT_ROOM_LOOKBACK 200     /* messages of a session that may have a line */
#define CH_DEFAULT_ROOM_PATIENCE 5     /* times debounceMs: the longest that a lively chat delays */
#define CH_DEFAULT_ROOM_RETRY_MS 2000  /* until lines that could not be taken are tried again */
#define CH_LIMIT_BEAT_ACTIONS 8        /* of one reply */
#define CH_LIMIT_BEAT_PARTS 5          /* messages that one is split into */
#define CH_LIMIT_VIEW_LINE (4 * CH_KB) /* bytes of a line of a chat */
#define CH_LIMIT_LOG_THOUGHTS 500      /* bytes of what a companion thought, in the log */
#define CH_LIMIT_VIEW_QUOTE 160        /* bytes of what a line answers */
#define CH_LIMIT_VIEW_MEMBERS (2 * CH_KB) /* bytes of their names */
#define CH_LIMIT_VIEW_RESULT (8 * CH_KB)  /* bytes of a result in working memory */
#define CH_LIMIT_VIEW_WORKING (32 * CH_KB) /* and of all of it */

/* store */
#define CH_LIMIT_RECORD (64 * CH_MB)  /* one record of a journal */
#define CH_LIMIT_SESSION_KEY 256      /* bytes */
#define CH_LIMIT_EVENT_ID 512         /* bytes of an event's or a message's id */
#define CH_LIMIT_ADDRESS 4096         /* bytes that say where an answer goes */
#define CH_LIMIT_EXPLAINED 40         /* options that one lookup of the tool gateway explains */
#define CH_LIMIT_SEEN 64              /* events that a session knows it has had */
#define CH_LIMIT_OUTBOX 1000          /* messages that wait to be sent, in memory */
#define CH_LIMIT_SENDS 10             /* attempts to send one */
#define CH_LIMIT_RECOVERIES 3         /* of a run, since a reply to it or below */
#define CH_LIMIT_UNSTORED 1000000      /* events of a run between two stored states */
#define CH_LIMIT_ERROR_LOG 8          /* errors of a run that are kept with it */
#define CH_LIMIT_TITLE 200            /* bytes of a session's title */
#define CH_LIMIT_STORE_ANSWER_MS 10000 /* a server is waited for, then connected to anew */
#define CH_LIMIT_STORE_CALL_MS 45000  /* in all, until a call fails */
#define CH_LIMIT_STORE_BATCH 64       /* records of one statement */
#define CH_LIMIT_STORE_REPLY (2 * CH_LIMIT_RECORD) /* bytes of a Redis server's answer */
#define CH_LIMIT_STORE_REPLY_ITEMS 1000000 /* of one */
#define CH_LIMIT_STORE_COMMAND (512 * CH_MB) /* to a Redis server: one transaction */
#define CH_LIMIT_IMPORT_LINE (64 * CH_MB) /* of an exported session */

/* schedules */
#define CH_LIMIT_WHEN 256             /* bytes that say when */
#define CH_LIMIT_WHEN_LEAST_MS 1000   /* of an interval */
#define CH_LIMIT_WHEN_MOST_MS (366LL * 86400000)
#define CH_LIMIT_SCHEDULES 1000       /* of a store */
#define CH_LIMIT_SESSION_SCHEDULES 20 /* that a model made in one session */
#define CH_LIMIT_SCHEDULE_PROMPT (64 * CH_KB)
#define CH_LIMIT_MISSED 100           /* occurrences that are made up for */
#define CH_LIMIT_SCHEDULE_SLEEP_MS 10000 /* then the clock, and the store, are looked at anew */

/* config */
#define CH_LIMIT_CONFIG_ITEMS 1024   /* agents, providers or tools of a file */
#define CH_LIMIT_CONFIG_DATABASES 64 /* of a file */
#define CH_LIMIT_CONFIG_WARNINGS 50  /* that are told one by one */
#define CH_LIMIT_AWS_FILE CH_MB         /* ~/.aws/credentials, ~/.aws/config */
#define CH_LIMIT_KEY_FILE (16 * CH_KB)

/* gateway */
#define CH_LIMIT_CHANNEL_ID 128      /* bytes of an id that a chat service gives */
#define CH_LIMIT_CALLBACK CH_MB      /* bytes of one callback of a chat service */
#define CH_LIMIT_CHANNEL_ANSWER CH_MB /* bytes of one response of a chat service */
#define CH_LIMIT_CHANNEL_FILE (20 * CH_MB) /* bytes of a received file */
#define CH_LIMIT_CHANNEL_PICTURE (10 * CH_MB) /* bytes of a file that is sent as a picture */
#define CH_LIMIT_MESSAGE_FILES 8     /* files of one message */
#define CH_LIMIT_MESSAGE_PICTURES (8 * CH_MB) /* bytes of one message's pictures for the model */
#define CH_LIMIT_SESSION_PICTURES 20 /* received pictures that a session shows the model... */
#define CH_LIMIT_SESSION_PICTURE_BYTES (16 * CH_MB) /* ...and their bytes in base64 */
#define CH_LIMIT_PICTURE_SIDE 8000   /* pixels; model services accept no more */
#define CH_LIMIT_INBOUND_FILES 10000 /* received files in one workspace */
#define CH_LIMIT_INBOUND_FOLDER (1024 * CH_MB) /* bytes of the received files */
#define CH_LIMIT_FRAME_HEADERS 32    /* headers of one frame of a long connection */
#define CH_LIMIT_FRAGMENTS 256       /* fragments of one event there */
#define CH_LIMIT_FRAGMENT_SETS 16    /* events with missing fragments */
#define CH_LIMIT_FRAGMENT_MS 10000   /* wait for missing fragments */
#define CH_LIMIT_CARD_MS 3600000     /* longest run whose reply is shown while it grows */
#define CH_LIMIT_UNACKED 1024        /* events of one channel that are being stored */
#define CH_LIMIT_SEEN_MESSAGES 64    /* messages of a chat that the chat tools may name... */
#define CH_LIMIT_SEEN_CHATS 256      /* ...and chats of a channel with known messages */
#define CH_LIMIT_APPROVAL_PROMPTS 1024 /* approval prompts that a channel remembers */
#define CH_LIMIT_CHAT_OVERRIDES 4096 /* sessions of a channel with settings of their own */
#define CH_LIMIT_PAIRINGS 100        /* pending pairing codes of a channel */
#define CH_LIMIT_LANES 4096          /* sessions in memory */
#define CH_LIMIT_CLIENT_TOOLS 128    /* tools of one request */
#define CH_LIMIT_RECENT_EVENTS 2048  /* events of a session that a client can fetch again */
#define CH_LIMIT_RECENT_EVENT_BYTES (512 * CH_KB) /* bytes of those events */
#define CH_LIMIT_SOCKET_FRAMES 64    /* queued frames of one WebSocket */
#define CH_LIMIT_LISTED 1000         /* sessions in one response */
#define CH_LIMIT_USAGE_CALLS 5000    /* model calls in one response */
#define CH_LIMIT_SIGHTINGS 4096      /* store items whose age an orphan scan remembers */

/* defaults that are settings, not bounds */
#define CH_LIMIT_HEALTH_MS 2000      /* wait for the store to answer a probe */
#define CH_DEFAULT_HEALTH_MS 1000    /* a probe's result is reused for */
#define CH_DEFAULT_PULSE_MS 15000    /* interval of keep-alive comments on streams */
#define CH_DEFAULT_WS_PING_MS 15000  /* silence on a WebSocket before a ping */
#define CH_DEFAULT_LANE_MS 60000     /* an unused session stays in memory for */
#define CH_DEFAULT_SHARED_LANE_MS 1000 /* ... if the store is shared */
#define CH_DEFAULT_ORPHAN_SCAN_MS 2000 /* interval of orphan scans */
#define CH_DEFAULT_SHARED_ORPHAN_SCAN_MS 500 /* ... if the store is shared */
#define CH_DEFAULT_DRAIN_LOOK_MS 50  /* interval of checks while draining */
#define CH_LIMIT_EXPIRED 1000        /* rows that one transaction expires */
#define CH_DEFAULT_DONE_MS (7 * 24 * 3600000LL) /* ids of processed events are kept for */
#define CH_DEFAULT_RETENTION_LOOK_MS 3600000 /* interval of the deletion of old sessions */
#define CH_DEFAULT_MAX_TURNS 25
#define CH_DEFAULT_MAX_TOOL_CALLS 200
#define CH_DEFAULT_MAX_ERRORS 3
#define CH_DEFAULT_RUN_MS (1800 * 1000)
#define CH_DEFAULT_TOOL_MS (30 * 1000)
#define CH_DEFAULT_SEND_MS 600000 /* for the answer of another session */
#define CH_DEFAULT_DELEGATE_DEPTH 3
#define CH_DEFAULT_DELEGATE_CHILDREN 16
#define CH_DEFAULT_PARALLEL 8
#define CH_DEFAULT_EXEC_S 120
#define CH_DEFAULT_GREP_MATCHES 100
#define CH_DEFAULT_EMBED_MS 5000 /* that anybody waits for embeddings */
#define CH_DEFAULT_TOP_K 10 /* tools that are described for one input */
#define CH_DEFAULT_RECORDS 5 /* of a JSON array that is too long to be shown */
#define CH_DEFAULT_OUTPUT_TOKENS 8192
#define CH_DEFAULT_CONNECT_MS (10 * 1000)
#define CH_DEFAULT_FIRST_BYTE_MS (300 * 1000)
#define CH_DEFAULT_IDLE_MS (120 * 1000)
#define CH_DEFAULT_TOTAL_MS (3600 * 1000)
#define CH_DEFAULT_RETRIES 2
#define CH_DEFAULT_PROJECT_FILE (20 * CH_KB)  /* of AGENTS.md and its like, in a prompt */
#define CH_DEFAULT_PROJECT_FILES (60 * CH_KB) /* all of them together */
#define CH_DEFAULT_PROMPT_RULES 7             /* rules that every request holds */
#define CH_DEFAULT_TURN_RULES 3               /* and those that suit its input */
#define CH_DEFAULT_SYSTEM_SHARE 25            /* per cent of a context: the system prompt */
#define CH_DEFAULT_OUTPUT_SHARE 15            /* and the answer */
#define CH_DEFAULT_SMALL_WINDOW 16384         /* tokens of a context that is small */
#define CH_DEFAULT_GRACE_MS 2000 /* a program, from SIGTERM to SIGKILL */
#define CH_DEFAULT_DRAIN_MS 250  /* its output, after it has exited */
#define CH_DEFAULT_SQL_MS 20000          /* of one query */
#define CH_DEFAULT_WEB_MS 30000          /* to fetch a page, redirects included */
#define CH_DEFAULT_SEARCH_MS 20000
#define CH_DEFAULT_MAIL_MS 45000
#define CH_DEFAULT_BOX_CPU_S 7200                     /* a process in the sandbox: */
#define CH_DEFAULT_BOX_MEMORY ((uint64_t)4096 * CH_MB) /* its data */
#define CH_DEFAULT_BOX_FILE ((uint64_t)4096 * CH_MB)   /* one file it writes */
#define CH_DEFAULT_BOX_FILES 4096                     /* it has open */
#define CH_DEFAULT_BOX_PROCESSES 1024                 /* of one command, with threads */
#define CH_DEFAULT_BOX_TMP ((uint64_t)1024 * CH_MB)    /* its private /tmp */
#define CH_DEFAULT_KEEP_MS 60000         /* an unused connection is kept */
#define CH_DEFAULT_DNS_MS 30000          /* a host's addresses are remembered */
#define CH_DEFAULT_STAGGER_MS 250        /* before the next address is tried too */
#define CH_DEFAULT_TCP_KEEPALIVE_S 60    /* so that NATs do not forget a long wait */

#endif
