/* limits.h -- every limit on resources that a peer, a model, a tool or a file
 * controls: memory, nesting, queue lengths, counts and times.
 *
 * Exceeding a limit gives a specific error (CHELA_ELIMIT, or a tool result that
 * names the limit), never a crash. The comment of each constant is its row in
 * docs/limits.md (`make man`). */
#ifndef CH_BASE_LIMITS_H
#define CH_BASE_LIMITS_H

#define CH_KB ((size_t)1024)
#define CH_MB (CH_KB * 1024)

/* base, json, schema */
#define CH_LIMIT_BUF (256 * CH_MB)        /* a buffer without its own limit */
#define CH_LIMIT_LOG_LINE (16 * CH_KB)    /* one line for the log sink */
#define CH_LIMIT_SECRETS 256              /* secret values remembered for redaction */
#define CH_LIMIT_SECRET (4 * CH_KB)       /* bytes of a secret value that are looked for */
#define CH_LIMIT_DOTENV_FILE (64 * CH_KB) /* bytes read of one .env file */
#define CH_LIMIT_DOTENV_FILES 32          /* .env files read in a workspace */
#define CH_LIMIT_DOTENV_DIRS 256          /* directories of a workspace searched for .env files */
#define CH_LIMIT_DOTENV_ENTRIES 8192      /* entries of those directories */
#define CH_LIMIT_JSON_DEPTH 512           /* nesting of a JSON or YAML text */
#define CH_LIMIT_PULL_DEPTH 128           /* nesting of one stream event */
#define CH_LIMIT_JSON_TEXT (64 * CH_MB)   /* one JSON text */
#define CH_LIMIT_YAML_FILE (4 * CH_MB)    /* one configuration or rule file */
#define CH_LIMIT_YAML_NODES 262144        /* values of one YAML file, aliases expanded */
#define CH_LIMIT_YAML_ANCHORS 1024        /* anchors of one YAML file */
#define CH_LIMIT_SCHEMA_TEXT (8 * CH_MB)  /* one schema document */
#define CH_LIMIT_SCHEMA_DOCS 1024         /* documents that one schema refers to */
#define CH_LIMIT_SCHEMA_PARTS 131072      /* subschemas of all documents together */
#define CH_LIMIT_SCHEMA_NESTING 256       /* nested subschemas that apply to one value */
#define CH_LIMIT_SCHEMA_DEPTH 1024        /* nested subschemas of one validation */
#define CH_LIMIT_SCHEMA_STEPS 4000000     /* subschemas executed over a small value */
#define CH_LIMIT_SCHEMA_STEPS_NODE 64     /* subschemas executed for each node of a large value */
#define CH_LIMIT_VIOLATIONS 100           /* violations reported one by one */
#define CH_LIMIT_COERCIONS 100            /* corrections of one value */
#define CH_LIMIT_DIVISOR_DIGITS 37        /* digits of a multipleOf */
#define CH_LIMIT_PATTERNS 4096            /* regular expressions of one schema */
#define CH_LIMIT_PATTERN_TEXT (16 * CH_KB) /* one regular expression */
#define CH_LIMIT_PATTERN_STEPS 100000     /* backtracking steps of one match */
#define CH_LIMIT_PATTERN_STEPS_BYTE 32    /* further steps for each byte of the text */
#define CH_LIMIT_PATTERN_DEPTH 100000     /* nested backtracking of one match */
#define CH_LIMIT_PATTERN_HEAP (16 * CH_MB) /* memory of one match */

/* io */
#define CH_LIMIT_CHILD_INPUT (4 * CH_MB)  /* input that a program has not read yet */
#define CH_LIMIT_CHILD_REPORT (16 * CH_KB) /* a sandbox wrapper's report about itself */

/* net */
#define CH_LIMIT_URL (8 * CH_KB)          /* one URL */
#define CH_LIMIT_HTTP_HEADERS (64 * CH_KB) /* all headers of a response */
#define CH_LIMIT_HTTP_BODY (64 * CH_MB)   /* a response that is not a stream */
#define CH_LIMIT_HTTP_STREAM (256 * CH_MB) /* a streamed response */
#define CH_LIMIT_CASSETTE (256 * CH_MB)   /* a file of recorded calls */
#define CH_LIMIT_CASSETTE_BODY (32 * CH_MB) /* one recorded response */
#define CH_LIMIT_CASSETTE_WORDS 16        /* placeholders for machine-specific text in a cassette */
#define CH_LIMIT_SSE_EVENT (16 * CH_MB)   /* one server-sent event */
#define CH_LIMIT_SSE_ID 1024              /* bytes of the id of a server-sent event */
#define CH_LIMIT_EVENT_MESSAGE (24 * CH_MB) /* one message of a binary event stream */
#define CH_LIMIT_EVENT_HEADERS (128 * CH_KB) /* headers of one such message */
#define CH_LIMIT_HTTP_HEADER_COUNT 256    /* header lines of a response */
#define CH_LIMIT_CHUNK_EXTRA (16 * CH_KB) /* chunk extensions and trailers of one message */
#define CH_LIMIT_HTTP_DRAIN_MS 1000       /* time of a response to end after its last useful byte */
#define CH_LIMIT_HTTP_INTERIM 16          /* 1xx responses before the final one */
#define CH_LIMIT_WS_MESSAGE (4 * CH_MB)   /* one WebSocket message */
#define CH_LIMIT_WS_QUEUE (4 * CH_MB)     /* data waiting to be sent on a WebSocket */
#define CH_LIMIT_WS_FRAGMENTS 1024        /* fragments of one WebSocket message */
#define CH_LIMIT_WS_PONG_MS 20000         /* time for a WebSocket client to answer a ping */
#define CH_LIMIT_ADDRESSES 8              /* addresses of one host that are tried in turn */
#define CH_LIMIT_DNS_NAMES 64             /* names whose addresses are cached */
#define CH_LIMIT_IDLE_CONNS 1024          /* idle connections kept per runtime */
#define CH_LIMIT_TLS_REPLIES (64 * CH_KB) /* TLS protocol data for a client that does not read */
#define CH_LIMIT_INBOUND_HEADERS (32 * CH_KB) /* headers of a request to the server */
#define CH_LIMIT_INBOUND_HEADER_COUNT 100 /* header lines of a request to the server */
#define CH_LIMIT_INBOUND_BODY (32 * CH_MB) /* body of a request to the server */
#define CH_LIMIT_INBOUND_AHEAD (64 * CH_KB) /* pipelined data before the previous answer is sent */
#define CH_LIMIT_INBOUND_HEAD_MS 10000    /* time to receive all headers */
#define CH_LIMIT_INBOUND_LAST_MS 1000     /* the same, when the server is told to end */
#define CH_LIMIT_INBOUND_BODY_MS 60000    /* time to receive the whole body */
#define CH_LIMIT_INBOUND_IDLE_MS 60000    /* time between two requests */
#define CH_LIMIT_CLIENTS 50000            /* connections to the server */
#define CH_LIMIT_CLIENTS_UNKNOWN 1024     /* connections without a request in progress */
#define CH_LIMIT_CLIENTS_ADDRESS 256      /* connections of one address without a valid request */
#define CH_LIMIT_BODIES_UNKNOWN (64 * CH_MB) /* buffered bodies of all clients without a token */
#define CH_LIMIT_CLIENT_BUFFER CH_MB      /* unsent stream data of a slow reader */
#define CH_LIMIT_CLIENT_LINGER_MS 5000    /* time to read the answer before the server closes */
#define CH_LIMIT_CLIENT_STALL_MS 30000    /* time without taking a byte of the answer */
#define CH_LIMIT_H2_STREAMS 100           /* open HTTP/2 streams of one connection */
#define CH_LIMIT_H2_STREAMS_ALL 12000     /* open HTTP/2 streams of all connections */
#define CH_LIMIT_H2_TABLE 4096            /* HTTP/2 header compression table, in bytes */
#define CH_LIMIT_H2_CONTINUATIONS 8       /* CONTINUATION frames of one header block */
#define CH_LIMIT_H2_BLOCK (64 * CH_KB)    /* one HTTP/2 header block, compressed or decoded */
#define CH_LIMIT_H2_DECODED CH_MB         /* decoded headers of requests not yet answered */
#define CH_LIMIT_H2_DECODED_S (256 * CH_KB) /* further such bytes per second */
#define CH_LIMIT_H2_DECODED_ANSWER (4 * CH_KB) /* further such bytes for each complete answer */
#define CH_LIMIT_H2_UNANSWERED 300        /* requests that begin and are not answered completely */
#define CH_LIMIT_H2_UNANSWERED_S 20       /* further such requests per second */
#define CH_LIMIT_H2_CONTROL 1000          /* control frames that belong to no request or body */
#define CH_LIMIT_H2_CONTROL_S 100         /* further control frames per second */
#define CH_LIMIT_H2_TINY CH_KB            /* smaller pieces of an answer earn no control frames */
#define CH_LIMIT_H2_REFUSED 100           /* requests of an unauthenticated client */
#define CH_LIMIT_H2_WINDOW (256 * CH_KB)  /* receive window of one body */
#define CH_LIMIT_H2_WINDOWS CH_MB         /* receive window of one connection */
#define CH_LIMIT_H2_BODIES (64 * CH_MB)   /* buffered bodies of one connection */
#define CH_LIMIT_H2_BUFFER (8 * CH_MB)    /* unsent answers of one connection */
#define CH_LIMIT_H2_BUFFER_UNKNOWN (256 * CH_KB) /* the same of a client without a token */
#define CH_LIMIT_H2_AHEAD (64 * CH_KB)    /* frames written ahead of the kernel */

/* rpc */
#define CH_LIMIT_RPC_MESSAGE (16 * CH_MB) /* one JSON-RPC message */
#define CH_LIMIT_RPC_NAME 256             /* bytes of a method or an id */
#define CH_LIMIT_RPC_CALLS 1024           /* open calls of this side of a connection */
#define CH_LIMIT_RPC_REQUESTS 64          /* open requests of the other side */
#define CH_LIMIT_RPC_BATCH 64             /* messages of one batch */

/* model */
#define CH_LIMIT_REPLY (32 * CH_MB)       /* text, reasoning and arguments of one reply */
#define CH_LIMIT_REPLY_BLOCKS 4096        /* content blocks of one reply */
#define CH_LIMIT_CITATIONS 500            /* citations of one reply that are reported */
#define CH_LIMIT_CITED_REPLY ((int64_t)CH_MB) /* bytes of a reply in which passages are marked */
#define CH_LIMIT_CITED_TEXT (2 * CH_KB)   /* title or passage of one citation */
#define CH_LIMIT_SERVER_RESULT (16 * CH_KB) /* result of a vendor's own tool that is reported */
#define CH_LIMIT_CALLS_PER_REPLY 128      /* tool calls of one reply that are made */
#define CH_LIMIT_CALLS_READ 2000          /* tool calls of one reply, made or not */
#define CH_LIMIT_TOOL_NAME 128            /* bytes of a tool's name */
#define CH_LIMIT_ARGUMENTS (4 * CH_MB)    /* arguments of one call */
#define CH_DEFAULT_ARGUMENTS (32 * CH_KB) /* arguments of a reply that are not measured */
#define CH_LIMIT_HOOKS 100                /* hooks of one agent */
#define CH_LIMIT_HOOK_OUTPUT (64 * CH_KB) /* output of a hook's program that is read */
#define CH_LIMIT_HOOK_TEXT (10 * CH_KB)   /* text of a hook for the model */
#define CH_LIMIT_HOOK_NAME 80             /* bytes of a hook's name in messages */
#define CH_LIMIT_HOOK_STOPS 8             /* times that hooks refuse the end of one run */
#define CH_LIMIT_HOOK_MS 3600000          /* longest time limit of a hook's program */
#define CH_DEFAULT_HOOK_MS 60000          /* time limit of a hook's program */
#define CH_LIMIT_CALL_ID 256              /* bytes of a call's id */
#define CH_LIMIT_SCRIPT_RULES 4096        /* rules of one scripted model */
#define CH_LIMIT_SCRIPT_PATTERN (4 * CH_KB) /* one regular expression of a rule */
#define CH_LIMIT_SCRIPT_SUBJECT (64 * CH_KB) /* text that a rule's pattern is matched against */

/* tool */
#define CH_LIMIT_TOOLS 16384              /* tools in one registry */
#define CH_LIMIT_TOOL_OUTPUT (16 * CH_MB) /* output read from one tool call */
#define CH_LIMIT_RESULT_CHARS 16000       /* characters of a result shown to a model */
#define CH_LIMIT_FILE_READ (16 * CH_MB)   /* one file that a tool reads */
#define CH_LIMIT_LS_ENTRIES 2000          /* entries that ls shows */
#define CH_LIMIT_LS_SCAN 100000           /* entries that ls reads before sorting */
#define CH_LIMIT_SCAN_BEFORE 4000  /* directories searched for repositories before a command */
#define CH_LIMIT_REPOSITORIES 256         /* repositories with read-only parts in one sandbox */
#define CH_LIMIT_GIT_CONFIG (64 * CH_KB)  /* configuration of a repository that is judged */
#define CH_LIMIT_GIT_INDEX (64 * CH_MB)   /* index of a repository, searched for submodules */
#define CH_LIMIT_SPECIALS 4096            /* files that others execute, known before a command */
#define CH_LIMIT_SOCKETS 64               /* Unix sockets hidden from one sandbox */
#define CH_LIMIT_BOX_HOSTS (1 * CH_MB)    /* /etc/hosts that gets the name of the sandbox */
#define CH_LIMIT_BOX_MOVES 64             /* directories of a layer that are moved at one time */
#define CH_LIMIT_BOX_MOVE_DEPTH 200       /* levels of a directory of a layer that can be moved */
#define CH_LIMIT_SCAN_BYTES (256 * CH_MB) /* paths that wait in a search after a command */
#define CH_LIMIT_LAYER_CHANGES 200000     /* changes of a session that wait for review */
#define CH_LIMIT_LAYER_DEPTH 200          /* nested directories of a workspace under review */
#define CH_LIMIT_LAYER_DIFF (8 * CH_MB)   /* bytes of a changed file that a patch shows */
#define CH_LIMIT_LAYER_EDITS 3000         /* changed lines of a file before it counts as replaced */
#define CH_LIMIT_LAYER_DIGEST CH_MB       /* bytes of a file whose content is compared underneath */
#define CH_LIMIT_LAYER_RECORDS (128 * CH_MB) /* bytes of the records of a review */
#define CH_LIMIT_LAYER_PATCH (128 * CH_MB) /* bytes of the patch of a review */
#define CH_LIMIT_LAYER_MOUNT_MS 10000      /* for the sandbox to mount a layer */
#define CH_LIMIT_HELD 16384               /* files set aside after a command that can be put back */
#define CH_LIMIT_HELD_SHOWN 20            /* those of them that a result and a question name */
#define CH_LIMIT_UNSEARCHED_MARK 1024 /* bytes of a note that a directory was not searched */
#define CH_LIMIT_SANDBOX_END_MS 10000 /* wait for the processes of a sandbox that was killed */
#define CH_LIMIT_TOOL_DETAILS (256 * CH_KB) /* JSON details of one result */
#define CH_LIMIT_TOOL_ERROR 4000          /* characters of an error message */
#define CH_LIMIT_RESULT_MEDIA (16 * CH_MB) /* base64 media of one result */
#define CH_LIMIT_RESULT_PARTS 16          /* images and documents of one result */
#define CH_LIMIT_COMMAND_TAIL 2000        /* bytes of output shown when a command fails */
#define CH_LIMIT_PROGRESS_LINE 1000       /* bytes of one progress line */
#define CH_LIMIT_PROGRESS_QUEUE 64        /* progress lines of a call not yet delivered */
#define CH_LIMIT_PATH 4096                /* bytes of a path */
#define CH_LIMIT_LINKS 40                 /* symbolic links on one path */
#define CH_LIMIT_READ_LINES 2000          /* lines of one read, unless fewer are requested */
#define CH_LIMIT_IMAGE_READ (3840 * CH_KB) /* one image: 5 MB in base64, the vendors' limit */
#define CH_LIMIT_EDITS 100                /* replacements of one edit call */
#define CH_LIMIT_CALC_TEXT 10000          /* bytes of an expression */
#define CH_LIMIT_CALC_DEPTH 200           /* nesting of an expression */
#define CH_LIMIT_CALC_DIGITS 10000        /* digits of an exact number */
#define CH_LIMIT_CALC_WORK 100000000      /* digit operations of one expression */
#define CH_LIMIT_GLOBS 64                 /* patterns that braces expand to */
#define CH_LIMIT_IGNORE_FILE CH_MB        /* one .gitignore file */
#define CH_LIMIT_IGNORE_RULES 4096        /* rules of one .gitignore file */
#define CH_LIMIT_WALK_ENTRIES 1000000     /* entries visited by one find or grep */
#define CH_LIMIT_WALK_DEPTH 64            /* nesting of directories */
#define CH_LIMIT_FIND_RESULTS 1000        /* paths that find returns */
#define CH_LIMIT_GREP_MATCHES 1000        /* lines or files that grep returns */
#define CH_LIMIT_GREP_CONTEXT 20          /* lines shown before and after a match */
#define CH_LIMIT_GREP_LINE 500            /* bytes shown of a matching line */
#define CH_LIMIT_PATCH_TEXT (4 * CH_MB)   /* one patch */
#define CH_LIMIT_PATCH_FILES 200          /* files of one patch */
#define CH_LIMIT_PATCH_BYTES (64 * CH_MB) /* contents of these files, before and after */
#define CH_LIMIT_STEPS 100                /* entries of a session's todo list */
#define CH_LIMIT_STEP_TEXT 500            /* bytes of one todo entry */
#define CH_LIMIT_QUESTION 4000            /* bytes of a question to a person */
#define CH_LIMIT_CHOICES 20               /* choices of a question */
#define CH_LIMIT_MESSAGE_TEXT (64 * CH_KB) /* one message through a channel */
#define CH_LIMIT_MESSAGE_NAME 512         /* bytes of a message's target, id or emoji */
#define CH_LIMIT_DELIVERIES 16            /* delivered messages that a session remembers */
#define CH_LIMIT_ZONE_FILE (64 * CH_KB)   /* one time zone file of the system */
#define CH_LIMIT_ZONES 10                 /* time zones of one call of time */
#define CH_LIMIT_USES 512                 /* resources that one call names */
#define CH_LIMIT_RESULT_LEAST 1000        /* characters shown even in the smallest context window */
#define CH_LIMIT_SPILL_FILES 32           /* long results stored for a workspace */
#define CH_LIMIT_SPILL_BYTES (64 * CH_MB) /* long results stored for a workspace, in total */
#define CH_LIMIT_COMMAND_TEXT (64 * CH_KB) /* a command that an approval rule can judge */
#define CH_LIMIT_COMMAND_WORDS 256        /* words of such a command */
#define CH_LIMIT_SUMMARY (64 * CH_KB)     /* text of a call shown to a person */
#define CH_LIMIT_RULES 1024               /* approval rules of one agent */
#define CH_LIMIT_REMEMBERED 256           /* remembered approvals of one session */
#define CH_LIMIT_RETRY_ATTEMPTS 1000        /* attempts that a retry policy may allow */
#define CH_LIMIT_WAIT_ERROR 500             /* bytes of a failed attempt's error in the journal */
#define CH_LIMIT_WAIT_MS (INT64_C(366) * 86400 * 1000) /* longest wait of a call: one year */
#define CH_DEFAULT_MAX_BACKOFF_MS 60000     /* longest delay between two attempts */
#define CH_DEFAULT_BACKOFF_MS 1000          /* first delay of a retry policy that names none */
#define CH_DEFAULT_REST_MS 5000             /* shorter waits keep the run in memory */
#define CH_LIMIT_RETRY_AFTER_MS 60000     /* longest delay that a tool may ask for */
#define CH_LIMIT_SETTINGS 256             /* "key=value" settings of one agent's tools */
#define CH_LIMIT_SELECT_COUNT 65536       /* tools in a file to select from */
#define CH_LIMIT_SELECT_QUERY (16 * CH_KB) /* text of a request that is used for selection */
#define CH_LIMIT_SELECT_TERMS 4096        /* words of one text */
#define CH_LIMIT_SELECT_LOAD 20           /* tools that one find_tools call returns */
#define CH_LIMIT_SELECT_SUMMARY 1800      /* bytes of tools' summaries that a request describes */
#define CH_LIMIT_EMBED_BATCH 64           /* texts of one embedding request */
#define CH_LIMIT_EMBED_INPUTS 2048        /* texts of one POST /v1/embeddings */
#define CH_LIMIT_EMBED_INPUT (256 * CH_KB) /* one of these texts */
#define CH_LIMIT_EMBED_TEXT (8 * CH_KB)   /* text of one embedding */
#define CH_LIMIT_EMBED_SIZE 8192          /* numbers of one vector */
#define CH_LIMIT_EMBED_ANSWER (32 * CH_MB) /* one answer of an embedding service */
#define CH_LIMIT_VECTORS 8192             /* vectors of tools, and of notes, kept for an agent */
#define CH_LIMIT_VECTORS_FILE (80 * CH_MB) /* file of note vectors */
#define CH_LIMIT_MEANT 512                /* passages that one search embeds */
#define CH_LIMIT_SELECT_PARTS 32          /* sentences of an input that are ranked separately */
#define CH_LIMIT_SQL (64 * CH_KB)         /* a query */
#define CH_LIMIT_SQL_PARAMS 100           /* bound values of one query */
#define CH_LIMIT_SQL_MEMORY (256 * CH_MB) /* memory of one query */
#define CH_LIMIT_SQL_VALUE (16 * CH_MB)   /* one value of a row */
#define CH_LIMIT_SQL_MATCH 500000000      /* bytes of a pattern of LIKE times bytes of the value */
#define CH_LIMIT_SQL_ROWS 50              /* rows shown */
#define CH_LIMIT_SQL_COUNT 10000          /* rows counted */
#define CH_LIMIT_SQL_COLUMNS 200          /* columns shown */
#define CH_LIMIT_SQL_CELL 500             /* characters shown of one value */
#define CH_LIMIT_WEB_BODY (5 * CH_MB)     /* one web page */
#define CH_LIMIT_WEB_REDIRECTS 5          /* redirects followed */
#define CH_LIMIT_EGRESS 1024              /* patterns of one list of destinations (egress) */
#define CH_LIMIT_EGRESS_GRANTS 256        /* destinations that people allowed in one session */
#define CH_LIMIT_LABELS 64                /* sources of one kind that a conversation remembers */
#define CH_LIMIT_LABEL 160                /* bytes of a source's name */
#define CH_LIMIT_LABEL_SCAN (256 * CH_KB) /* bytes of a result that are searched for private data */
#define CH_LIMIT_LITTLE 64                /* bytes of an address that carries little */
#define CH_LIMIT_PRIVATE_NAMES 4096       /* names of a directory that are compared */
#define CH_LIMIT_SECRET_VALUE (64 * CH_KB) /* value of a secret that the configuration names */
#define CH_LIMIT_SECRET_MS 10000          /* time of the command that gives such a value */
#define CH_LIMIT_CONFIG_SECRETS 64        /* secrets of the configuration */
#define CH_LIMIT_FORWARD_CONNS 256        /* connections of one command through its proxy */
#define CH_LIMIT_FORWARD_HEAD (64 * CH_KB) /* head of a request to that proxy */
#define CH_LIMIT_FORWARD_BUFFER (256 * CH_KB) /* bytes waiting in one direction of a connection */
#define CH_LIMIT_FORWARD_HEAD_MS 30000    /* time to send the head of a request to that proxy */
#define CH_LIMIT_FORWARD_IDLE_MS 600000   /* a connection of that proxy without any byte */
#define CH_LIMIT_BOUND_FILES 512          /* files of a workspace that one approval binds */
#define CH_LIMIT_HTML_DEPTH 256           /* nesting of HTML elements */
#define CH_LIMIT_HTML_TEXT (4 * CH_MB)    /* text produced from one page */
#define CH_LIMIT_SEARCH_BODY (2 * CH_MB)  /* an answer of a search service */
#define CH_LIMIT_SEARCH_RESULTS 20        /* search results shown */
#define CH_LIMIT_MAIL_RECIPIENTS 50       /* recipients of one mail, cc included */
#define CH_LIMIT_MAIL_FILES 10            /* attachments of one mail */
#define CH_LIMIT_MAIL_BYTES (20 * CH_MB)  /* attachments of one mail, in total */
#define CH_LIMIT_MAIL_ADDRESS 254         /* bytes of an address (RFC 5321) */
#define CH_LIMIT_MAIL_SUBJECT 1000        /* bytes of a subject */
#define CH_LIMIT_MAIL_BODY CH_MB          /* text of one mail */
#define CH_LIMIT_NOTE_NAMES 65536         /* names of note files that are listed */
#define CH_LIMIT_NOTE_FILES 1000          /* note files that are shown, newest first */
#define CH_LIMIT_NOTE_FILE (256 * CH_KB)  /* one note file */
#define CH_LIMIT_NOTE_BYTES (8 * CH_MB)   /* note files that are shown, in total */
#define CH_LIMIT_NOTE_INDEX_FILES 20000   /* note files that are searched, newest first */
#define CH_LIMIT_NOTE_INDEX_BYTES (32 * CH_MB) /* note files that are searched, in total */
#define CH_LIMIT_RECALLED 1000 /* texts of past turns read for one search, newest first */
#define CH_LIMIT_RECALL_HITS 20           /* older texts that contain a word of the search */
#define CH_LIMIT_RECALL_BYTES (2 * CH_MB) /* texts of past turns read for one search, in total */
#define CH_LIMIT_NOTE_SHOWN 700           /* bytes shown of a passage */
#define CH_LIMIT_NOTE_TEXT 4000           /* bytes of a new note */

/* prompt */
#define CH_LIMIT_SKILLS 200               /* skills of one workspace */
#define CH_LIMIT_SKILL_ROOTS 16           /* directories of the user's skills */
#define CH_LIMIT_SKILL_ENTRIES 300        /* entries read in one folder */
#define CH_LIMIT_SKILL_DEPTH 3            /* nesting of folders below a skills folder */
#define CH_LIMIT_SKILL_FILE (256 * CH_KB) /* one SKILL.md */
#define CH_LIMIT_SKILL_FILES 500          /* files of a skill that is installed */
#define CH_LIMIT_SKILL_BYTES (8 * CH_MB)  /* their size in total */
#define CH_LIMIT_SKILL_PATH 240           /* bytes of the path of such a file */
#define CH_LIMIT_SKILL_LEVELS 8           /* nesting of such a path */
#define CH_LIMIT_SKILL_NAME 64            /* characters of a skill's name */
#define CH_LIMIT_SKILL_TEXT 1024          /* bytes of a skill's description */
#define CH_LIMIT_SKILL_NEEDS 32           /* required programs or variables of one skill */
#define CH_LIMIT_MEMO (4 * CH_KB)          /* settings that a host stores with a session */
#define CH_LIMIT_ACTIVE_SKILLS (8 * CH_KB) /* names of the skills that a session uses */
#define CH_LIMIT_SKILLS_PROMPT (18 * CH_KB) /* the list of skills in the system prompt */
#define CH_LIMIT_PROMPTS 1000             /* versions and variants of all prompts */
#define CH_LIMIT_PROMPT_FILE (256 * CH_KB) /* one prompt file */
#define CH_LIMIT_IDENTIFIERS 8192         /* identifiers of a text that a summary replaces */
#define CH_LIMIT_HOLE_NAME 64             /* bytes of a placeholder's name */
#define CH_LIMIT_CASES 1000               /* test cases of one prompt */
#define CH_LIMIT_CASE_RUNS 1000           /* runs of one test case */
#define CH_LIMIT_EVAL_CASES 10000         /* cases of one file of an evaluation */
#define CH_LIMIT_EVAL_FILE (32 * CH_MB)   /* one file of cases, or of results */
#define CH_LIMIT_EVAL_FILES 1000          /* files of cases of one evaluation */
#define CH_LIMIT_EVAL_TRIALS 1000         /* trials of one case of an evaluation */
#define CH_LIMIT_EVAL_JOBS 64             /* trials at the same time */
#define CH_LIMIT_EVAL_TURNS 100           /* turns of one case */
#define CH_LIMIT_EVAL_CALLS 1000          /* tool calls of a trial that its report lists */
#define CH_LIMIT_EVAL_PATH 1024           /* bytes of the path of a file in a check */
#define CH_LIMIT_EVAL_FIXTURE_FILES 20000 /* files of the workspace of a case */
#define CH_LIMIT_EVAL_FIXTURE (256 * CH_MB) /* their size in total */
#define CH_LIMIT_VERSION_DIGITS 9         /* digits of one number of a version */
#define CH_LIMIT_REPLY_MEDIA 20           /* files attached to one reply */
#define CH_LIMIT_PROJECT_FILE CH_MB       /* bytes read of one project file such as AGENTS.md */
#define CH_LIMIT_MINIMAL_PROMPT 1500      /* characters of the minimal system prompt */
#define CH_LIMIT_PROJECT_NAMES 32         /* project files */
#define CH_LIMIT_SECTIONS 96              /* parts of a system prompt that are listed separately */
#define CH_LIMIT_PROJECT_LEVELS 16        /* directories above a workspace with an AGENTS.md */
#define CH_LIMIT_PROJECT_NESTED 64        /* directories below it, in one session */
#define CH_LIMIT_LAYERS 64                /* texts that share one token budget */
#define CH_LIMIT_LAYER_LEAST 100          /* tokens left of a text that is cut */
#define CH_LIMIT_PROMPT_RULES 100         /* rules of one agent */
#define CH_LIMIT_INBOUND_NAME 200         /* bytes of a sender's or a chat's name */
#define CH_LIMIT_INBOUND_ID 256           /* bytes of an id in a channel */
#define CH_LIMIT_INBOUND_TEXT (8 * CH_KB) /* a text attached to a message, such as a quote */
#define CH_LIMIT_INBOUND_BLOCKS 32        /* texts attached to one message */
#define CH_LIMIT_INBOUND_RECENT (24 * CH_KB) /* earlier messages attached to a message, in total */
#define CH_LIMIT_SAID_LINES 100           /* lines of a group kept for the agent's next message */
#define CH_DEFAULT_SAID_LINES 20          /* the same, unless configured */
#define CH_DEFAULT_SAID_MINUTES 60        /* age of these lines, unless configured */
#define CH_LIMIT_SAID_MINUTES 10080       /* largest age that can be configured */
#define CH_LIMIT_SAID_TEXT (2 * CH_KB)    /* bytes of one of these lines; the rest is cut */
#define CH_LIMIT_SAID_BYTES (24 * CH_KB)  /* lines of one group, in total */
#define CH_LIMIT_SAID_PLACES 1024         /* groups and topics of a channel with such lines */
#define CH_LIMIT_GROUP_MEMBERS 50         /* names of members told to a model */
#define CH_DEFAULT_GROUP_FACTS_MS 600000  /* time for which a group's name and members are kept */

/* tool: exec and process */
#define CH_LIMIT_OUTPUT_END (256 * CH_KB) /* output kept of a command, at each end */
#define CH_LIMIT_EXEC_S 3600              /* longest timeout of a command, in seconds */
#define CH_LIMIT_EXEC_WORDS 1024          /* words of a command without a shell */
#define CH_LIMIT_EXEC_VARIABLES 64        /* environment variables set for one command */
#define CH_LIMIT_JOBS 16                  /* background processes of a session; agents likewise */
#define CH_LIMIT_JOBS_ENDED 16            /* ended processes that are remembered */
#define CH_LIMIT_JOB_LOG CH_MB            /* output kept of a background process */
#define CH_LIMIT_JOB_WAIT_S 60            /* longest wait for a background process, in seconds */

/* agent */
#define CH_LIMIT_QUEUE 64                 /* waiting steering or follow-up messages */
#define CH_LIMIT_QUEUE_BYTES (128 * CH_MB) /* waiting messages in total; one may be larger */
#define CH_LIMIT_INPUT (16 * CH_MB)       /* one prompt */
#define CH_LIMIT_INPUT_MEDIA 20           /* images and documents of one prompt */
#define CH_LIMIT_DOCUMENT (24 * CH_MB)    /* one document: 32 MB in base64 */
#define CH_LIMIT_HISTORY (512 * CH_MB)    /* transcript of one session in memory */
#define CH_LIMIT_PAUSES 5                 /* consecutive replies with the stop reason pause */
#define CH_LIMIT_MODELS 16                /* models of one agent, fallbacks included */
#define CH_DEFAULT_WEBSOCKET_AGAIN_MS (10 * 60 * 1000) /* after a service refused a WebSocket */
#define CH_DEFAULT_VENDOR_JOB_MS 500      /* before a reply made in the background is asked for */
#define CH_LIMIT_VENDOR_JOB_MS 15000      /* the same after many requests */
#define CH_LIMIT_VENDOR_JOB_REQUESTS 10000 /* requests for one such reply */
#define CH_LIMIT_VENDOR_JOB_FAILURES 8    /* consecutive ones that may fail */
#define CH_LIMIT_VENDOR_JOB_ID 128        /* bytes of its id */
#define CH_LIMIT_MODEL_WS_STRAY 64        /* messages of a model's WebSocket between replies */
#define CH_LIMIT_ERRAND_MS 3000           /* a request that cancels or deletes such a reply */
#define CH_LIMIT_RETRY_AFTER 60000        /* longest delay that a server may ask for, in ms */
#define CH_LIMIT_COOLDOWNS 1024           /* keys and models in cool-down */
#define CH_LIMIT_REPAIRS 4                /* repairs of one model call that is refused */
#define CH_LIMIT_LEARNT 256               /* models whose service has refused a request, kept */
#define CH_LIMIT_LEARNT_FILE (256 * CH_KB) /* file of what services refuse */
#define CH_LEARNT_MS (24 * 3600000LL)     /* time that what a service refuses is remembered */
#define CH_LIMIT_PLANNER_STEPS 8          /* steps of a planner's plan */
#define CH_LIMIT_PLAN_STEPS 32            /* steps of a fixed plan */
#define CH_LIMIT_PLAN_FILE (256 * CH_KB)  /* file of a fixed plan */
#define CH_LIMIT_PLANS 3                  /* consecutive unusable plans before the run fails */
#define CH_LIMIT_HOPS 5                   /* chained messages between sessions */
#define CH_LIMIT_RUN_SENDS 8              /* messages of one run to other sessions */
#define CH_LIMIT_HANDOFFS 8               /* handoffs of a conversation in one run */
#define CH_LIMIT_DELEGATE_DEPTH 8         /* nesting of agents that call agents */
#define CH_LIMIT_DELEGATE_CHILDREN 256    /* agents called by one run */
#define CH_LIMIT_TRACE_CHILDREN 4096      /* sessions of called agents in one trace */
#define CH_LIMIT_ROLE_TURNS 4             /* model calls for one answer of a role */
#define CH_LIMIT_ROLE_CONTEXT (16 * CH_KB) /* bytes of earlier conversation shown to a role */
#define CH_LIMIT_ROLE_RESULT (8 * CH_KB)  /* bytes of a result shown to a role */
#define CH_LIMIT_HEARTBEAT_CHATS 1024     /* chats of one recording */
#define CH_DEFAULT_TYPING 8.0             /* typing speed, in characters a second */
#define CH_DEFAULT_BEATS 5                /* model calls of one heartbeat turn */
#define CH_DEFAULT_VIEW_LINES 30          /* earlier chat lines shown to the model */
#define CH_DEFAULT_BEAT_DEBOUNCE_MS 1000  /* silence before a heartbeat turn starts */
#define CH_LIMIT_CHAT_ROOMS 4096          /* chats of a channel in mode heartbeat */
#define CH_LIMIT_ROOM_LOOKBACK 200        /* messages of a session searched for a chat line */
#define CH_DEFAULT_ROOM_PATIENCE 5        /* longest delay by a busy chat, times debounceMs */
#define CH_DEFAULT_ROOM_START_MS 100      /* between checks that the store was read at start */
#define CH_DEFAULT_ROOM_RETRY_MS 2000 /* delay before lines are delivered again after a failure */
#define CH_LIMIT_BEAT_ACTIONS 8           /* actions of one reply */
#define CH_LIMIT_BEAT_PARTS 5             /* parts of one split message */
#define CH_LIMIT_VIEW_LINE (4 * CH_KB)    /* bytes of a chat line */
#define CH_LIMIT_LOG_THOUGHTS 500         /* bytes of reasoning in the log */
#define CH_LIMIT_VIEW_QUOTE 160           /* bytes of a quoted line */
#define CH_LIMIT_VIEW_MEMBERS (2 * CH_KB) /* bytes of the member list */
#define CH_LIMIT_VIEW_RESULT (8 * CH_KB)  /* bytes of one result in working memory */
#define CH_LIMIT_VIEW_WORKING (32 * CH_KB) /* bytes of the whole working memory */

/* mcp */
#define CH_LIMIT_MCP_SERVERS 256          /* MCP servers of one runtime */
#define CH_LIMIT_MCP_TOOLS 2048           /* tools of one MCP server */
#define CH_LIMIT_MCP_PAGES 256            /* pages of one list of an MCP server */
#define CH_LIMIT_MCP_CURSOR (4 * CH_KB)   /* bytes of the cursor of a page */
#define CH_LIMIT_MCP_NAME 128             /* bytes of a tool's name at its server */
#define CH_LIMIT_MCP_TEXT (8 * CH_KB)     /* bytes of a tool's description; the rest is cut */
#define CH_LIMIT_MCP_SCHEMA (64 * CH_KB)  /* bytes of a tool's schema */
#define CH_LIMIT_MCP_MANIFEST (8 * CH_MB) /* the file with the accepted tools of one server */
#define CH_LIMIT_MCP_SESSION 1024         /* bytes of a session id */
#define CH_LIMIT_MCP_STATE (64 * CH_KB)   /* bytes of a request's state that a server returns */
#define CH_LIMIT_MCP_ROUNDS 5             /* requests for input within one call */
#define CH_LIMIT_MCP_SAMPLED 1024         /* sessions in which a server asks for model answers */
#define CH_DEFAULT_MCP_SAMPLES 10         /* model answers for one server in one session */
#define CH_DEFAULT_MCP_SAMPLE_TOKENS 20000 /* their tokens */
#define CH_LIMIT_MCP_RESUMES 5            /* consecutive streams without an event */
#define CH_LIMIT_MCP_KEPT 64              /* results of one server that are kept for their time */
#define CH_LIMIT_MCP_KEPT_BYTES (256 * CH_KB) /* bytes of one of them */
#define CH_LIMIT_MCP_KEPT_MS 3600000      /* longest time that a result is kept */
#define CH_LIMIT_MCP_SKILL (16 * CH_MB)   /* files of one skill that a server offers */
#define CH_LIMIT_MCP_SKILL_FILES 512      /* their number */
#define CH_LIMIT_MCP_SKILL_DEPTH 8        /* nesting of their folders */
#define CH_LIMIT_MCP_REPLIES 64           /* responses and notifications on their way to a server */
#define CH_LIMIT_MCP_WAITING 256          /* requests that wait for a server to start */
#define CH_LIMIT_MCP_INFO 256             /* bytes of a server's name or version */
#define CH_LIMIT_MCP_BACKOFF_MS 60000     /* longest delay before a server is started again */
#define CH_DEFAULT_MCP_PROBE_MS 5000      /* wait before the older protocol is tried */
#define CH_DEFAULT_MCP_START_MS 60000     /* time for a server to start and to list its tools */
#define CH_LIMIT_MCP_ITEMS 4096           /* tools, resources and prompts that a server offers */
#define CH_LIMIT_MCP_PAGE 1000            /* entries of one page of a list */
#define CH_LIMIT_MCP_URI (8 * CH_KB)      /* bytes of a resource's URI */
#define CH_LIMIT_MCP_CLIENTS 1024         /* sessions of clients at one server */
#define CH_LIMIT_MCP_STREAMS 64           /* streams of one session, ended ones included */
#define CH_LIMIT_MCP_REPLAY (17 * CH_MB)  /* messages that a session keeps for a client's return */
#define CH_LIMIT_MCP_REPLAYS (64 * CH_MB) /* those of all sessions of a server */
#define CH_LIMIT_MCP_UNSENT (64 * CH_MB)  /* messages for a client at a pipe, not written yet */
#define CH_LIMIT_MCP_WATCHED 256          /* resources that one client watches */
#define CH_LIMIT_MCP_LISTENERS 256        /* open subscriptions of clients at one server */
#define CH_LIMIT_MCP_QUESTIONS 16         /* questions of one call that are open at once */
#define CH_LIMIT_MCP_NOTICES (256 * CH_KB) /* log and progress of one call, not sent yet */
#define CH_DEFAULT_MCP_IDLE_MS (30 * 60000) /* a session of a client that is not used ends */
#define CH_DEFAULT_MCP_STATE_MS (24 * 3600000) /* time to answer the question of a request */
#define CH_DEFAULT_MCP_ASK_MS (10 * 60000) /* time to answer a question while the call waits */
#define CH_DEFAULT_MCP_TTL_MS 60000       /* a client may use a list without asking again */
#define CH_DEFAULT_MCP_RETRY_MS 1000      /* a client returns to a stream that ended */
#define CH_LIMIT_MCP_TOKENS 256           /* OAuth tokens that the gateway knows to be valid */
#define CH_LIMIT_MCP_TOKEN (8 * CH_KB)    /* bytes of an OAuth token */
#define CH_LIMIT_MCP_TOKEN_ANSWER (64 * CH_KB) /* answer of an authorization server about a token */
#define CH_DEFAULT_MCP_TOKEN_MS 60000     /* time that the answer about a token is used */
#define CH_DEFAULT_MCP_INTROSPECT_MS 10000 /* time for that answer */
#define CH_LIMIT_JWT_KEYS 32              /* signing keys of an authorization server */
#define CH_LIMIT_JWT_DOCUMENT (256 * CH_KB) /* its metadata, or its keys */
#define CH_DEFAULT_JWT_KEYS_MS 3600000    /* time after which the keys are fetched again */
#define CH_DEFAULT_JWT_REFETCH_MS 30000   /* least time between two attempts to fetch them */
#define CH_LIMIT_JWT_KEYS_MS (24 * 3600000) /* age of keys of a server that does not answer */
#define CH_DEFAULT_JWT_SKEW_S 30          /* difference of clocks that a token's times allow */
#define CH_LIMIT_MCP_TASK 1024            /* bytes of the id of a task at a server */
#define CH_LIMIT_MCP_POLLS 8              /* consecutive failed looks at a task */
#define CH_LIMIT_MCP_INTERVAL_MS 60000    /* longest interval between looks at a task */
#define CH_DEFAULT_MCP_POLL_MS 1000       /* interval between looks at a task */
#define CH_LIMIT_MCP_LOGINS 3             /* log-ins for one request to an MCP server */
#define CH_DEFAULT_MCP_LOGIN_MS (10 * 60000) /* time for a person to log in */
#define CH_DEFAULT_MCP_LEAVE_MS 1000      /* time for a server to end before it is terminated */
#define CH_LIMIT_MCP_LEAVE_MS 3000        /* longest wait for servers that end */
#define CH_DEFAULT_MCP_LISTEN_MS 30000    /* delay before lost notifications are asked for again */
#define CH_DEFAULT_MCP_CALL_MS 60000      /* time of one call without progress */

/* telemetry */
#define CH_LIMIT_TRACEPARENT 128          /* bytes of a caller's trace context */
#define CH_LIMIT_OTEL_PAIRS 64            /* entries of a variable with a list */
#define CH_LIMIT_OTEL_QUEUE 65536         /* spans or log records that wait, as configured */
#define CH_LIMIT_OTEL_BYTES (8 * CH_MB)   /* bytes in the queue of one signal */
#define CH_LIMIT_OTEL_BODY (4 * CH_MB)    /* bytes of one export request */
#define CH_LIMIT_OTEL_RESPONSE (64 * CH_KB)
#define CH_LIMIT_OTEL_ATTEMPTS 5          /* repetitions of one request */
#define CH_LIMIT_OTEL_RETRY_MS 60000      /* longest delay before a repetition */
#define CH_LIMIT_OTEL_MS 3600000          /* longest configured time */
#define CH_LIMIT_OTEL_RUNS 4096           /* runs that are followed at the same time */
#define CH_LIMIT_OTEL_CALLS 128           /* calls of a run that are followed at the same time */
#define CH_LIMIT_OTEL_POINTS 1000         /* different attributes of a metric */
#define CH_LIMIT_OTEL_TEXT (32 * CH_KB)   /* bytes of one text of a message */
#define CH_LIMIT_OTEL_CONTENT CH_MB       /* bytes of the messages of one span */
#define CH_DEFAULT_OTEL_QUEUE 2048        /* spans or log records that wait */
#define CH_DEFAULT_OTEL_BATCH 512         /* spans or log records of one request */
#define CH_DEFAULT_OTEL_DELAY_MS 5000     /* before a batch of spans is sent */
#define CH_DEFAULT_OTEL_LOG_DELAY_MS 1000 /* before a batch of log records is sent */
#define CH_DEFAULT_OTEL_INTERVAL_MS 60000 /* between two exports of the metrics */
#define CH_DEFAULT_OTEL_TIMEOUT_MS 10000  /* timeout of one export request */
#define CH_DEFAULT_OTEL_RETRY_MS INT64_C(1000) /* before the first repetition */
#define CH_DEFAULT_OTEL_TELL_MS 60000     /* interval between two log lines about lost items */

/* store */
#define CH_LIMIT_WHY_PARTS 1024          /* parts of a request that are taken away */
#define CH_LIMIT_WHY_SENTENCES 64        /* parts of one text */
#define CH_LIMIT_WHY_CALLS 1000          /* model calls of one search */
#define CH_LIMIT_UNDO_FILE CH_MB          /* one file that is copied before a command, for undo */
#define CH_LIMIT_UNDO_EDITED (16 * CH_MB) /* one file that is copied before a file tool, for undo */
#define CH_LIMIT_UNDO_COPIES (64 * CH_MB) /* all files that are copied before a command, for undo */
#define CH_LIMIT_UNDO_COPIED 20000        /* files that are copied before a command, for undo */
#define CH_LIMIT_UNDO_FILES 200000        /* files and directories of a scan for undo */
#define CH_LIMIT_UNDO_RULES 10000000000   /* bytes of rules times bytes of paths, in a scan */
#define CH_LIMIT_UNDO_DEPTH 64            /* nested directories of a scan for undo */
#define CH_LIMIT_UNDO_CHANGES 10000       /* changed files remembered for a message */
#define CH_LIMIT_UNDO_CALLS 50            /* calls of a message that undo cannot take back */
#define CH_LIMIT_UNDO_MESSAGES 200        /* messages of a workspace whose files can be restored */
#define CH_LIMIT_UNDO_PACK (256 * CH_MB)  /* all copies of a workspace for undo */
#define CH_LIMIT_UNDO_LOG (8 * CH_MB)     /* facts about changes of a workspace */
#define CH_LIMIT_UNDO_SLOTS 8             /* programs that keep the changes of one workspace */
#define CH_LIMIT_UNDO_RECORDS 100         /* workspaces whose changes are kept */
#define CH_LIMIT_UNDO_DAYS 30             /* days without use after which a record is removed */
#define CH_LIMIT_PART_IDS 4096           /* parts of requests that a session remembers as stored */
#define CH_LIMIT_RECORD (64 * CH_MB)      /* one journal record */
#define CH_LIMIT_SESSION_KEY 256          /* bytes of a session key */
#define CH_LIMIT_EVENT_ID 512             /* bytes of an event's or a message's id */
#define CH_LIMIT_ADDRESS 4096             /* bytes of an answer's target address */
#define CH_LIMIT_EXPLAINED 40             /* options that one lookup of the tool gateway explains */
#define CH_LIMIT_OUTBOX 1000              /* outgoing messages in memory */
#define CH_LIMIT_SENDS 10                 /* attempts to send one message */
#define CH_LIMIT_RECOVERIES 3             /* recoveries of a run without a model reply in between */
#define CH_LIMIT_UNSTORED 1000000         /* events of a run between two stored states */
#define CH_LIMIT_ERROR_LOG 8              /* errors stored with a run */
#define CH_LIMIT_TITLE 200                /* bytes of a session's title */
#define CH_LIMIT_STORE_ANSWER_MS 10000    /* time for a server's answer before chela reconnects */
#define CH_LIMIT_STORE_CALL_MS 45000      /* time before a store call fails */
#define CH_LIMIT_PAUSED_CALLS (16 * CH_MB) /* texts of waiting calls in memory */
#define CH_LIMIT_STORE_BATCH 64           /* records of one statement */
#define CH_LIMIT_STORE_REPLY (2 * CH_LIMIT_RECORD) /* one answer of a Redis server, in bytes */
#define CH_LIMIT_STORE_REPLY_ITEMS 1000000 /* items of one answer */
#define CH_LIMIT_STORE_COMMAND (512 * CH_MB) /* one transaction sent to a Redis server */
#define CH_LIMIT_IMPORT_LINE (64 * CH_MB) /* one line of an exported session */

/* acp */
#define CH_LIMIT_ACP_MESSAGE (64 * CH_MB) /* one message of an editor */
#define CH_LIMIT_ACP_DIFF (1 * CH_MB)     /* a file whose content before a change is shown */
#define CH_LIMIT_ACP_OUTPUT (16 * CH_KB)  /* output of a running call that an editor is shown */
#define CH_LIMIT_EDITOR_MS 15000          /* answer of an editor about a file */
#define CH_LIMIT_ACP_FORWARD_MS 15000     /* wait for a gateway to take a prompt up */
#define CH_LIMIT_ACP_PROMPTS 8            /* prompts of an editor that one run answers */
#define CH_LIMIT_ACP_SERVERS 32           /* MCP servers that an editor passes with a session */
#define CH_LIMIT_ACP_LIST 50              /* sessions of one page of a list for an editor */

/* schedules */
#define CH_LIMIT_WHEN 256                 /* bytes of a time expression */
#define CH_LIMIT_WHEN_LEAST_MS 1000       /* shortest interval */
#define CH_LIMIT_WHEN_MOST_MS (366LL * 86400000) /* longest interval */
#define CH_LIMIT_SCHEDULES 1000           /* schedules of one store */
#define CH_LIMIT_SESSION_SCHEDULES 20     /* schedules that a model may add to one session */
#define CH_LIMIT_SCHEDULE_PROMPT (64 * CH_KB) /* prompt of one schedule */
#define CH_LIMIT_MISSED 100               /* missed times that are run later */
#define CH_LIMIT_SCHEDULE_SLEEP_MS 10000 /* interval between checks of clock and store */

/* config */
#define CH_LIMIT_CONFIG_ITEMS 1024        /* agents, providers or tools of one file */
#define CH_LIMIT_CONFIG_DATABASES 64      /* databases of one file */
#define CH_LIMIT_CONFIG_WARNINGS 50       /* warnings reported one by one */
#define CH_LIMIT_CLAIM 300                /* bytes shown of a value that is not trusted */
#define CH_LIMIT_TRUST_RECORD (16 * CH_MB) /* the record of one trusted file */
#define CH_LIMIT_TRUST_RECORDS 100000     /* records that are listed */
#define CH_LIMIT_PINNED (64 * CH_MB)      /* a trusted program of which the whole is compared */
#define CH_LIMIT_PINNED_PLACES 64         /* workspaces where arguments are looked for */
#define CH_LIMIT_PINNED_BLOCK (64 * CH_KB) /* read at a time */
#define CH_LIMIT_AWS_FILE CH_MB           /* ~/.aws/credentials, ~/.aws/config */
#define CH_LIMIT_KEY_FILE (16 * CH_KB)    /* a file that contains a key */
#define CH_LIMIT_FACTS_FILE (4 * CH_MB)   /* the user's file of facts about models */
#define CH_LIMIT_FACTS_ROWS 20000         /* models of that file */
#define CH_LIMIT_FACTS_SOURCE (64 * CH_MB) /* a list of models to take facts from */
#define CH_LIMIT_FACTS_TIMEOUT_MS 60000   /* to fetch that list */
#define CH_LIMIT_FACT_TEXT 256            /* bytes of a name in a fact */
#define CH_LIMIT_FACT_TOKENS 1000000000000 /* tokens in a fact */
#define CH_LIMIT_FACT_DOLLARS 1e6         /* price in a fact */
#define CH_LIMIT_FACTS_END_DAYS 30        /* days before a model's last day that bring a warning */

/* gateway */
#define CH_LIMIT_BUDGETS 256              /* budgets of one gateway */
#define CH_LIMIT_BUDGET_COUNTERS 50000    /* budgets of single people; further ones share one */
#define CH_LIMIT_WRONG_TOKENS 20          /* wrong tokens of one network at once, before 429 */
#define CH_LIMIT_WRONG_TOKENS_MINUTE 10   /* further wrong tokens per minute */
#define CH_LIMIT_WRONG_TOKEN_NETWORKS 256 /* networks whose wrong tokens are counted */
#define CH_LIMIT_CHANNEL_SLOTS 64         /* values of a channel's own options */
#define CH_LIMIT_CHANNELS 16              /* channels of a configuration */
#define CH_LIMIT_CHANNEL_ID 128           /* bytes of an id of a chat service */
#define CH_LIMIT_CALLBACK CH_MB           /* one callback of a chat service */
#define CH_LIMIT_CHANNEL_ANSWER CH_MB     /* one answer of a chat service */
#define CH_LIMIT_CHANNEL_FILE (20 * CH_MB) /* a file that a person sends */
#define CH_LIMIT_CHANNEL_PICTURE (10 * CH_MB) /* an image that the agent sends */
#define CH_LIMIT_MESSAGE_FILES 8          /* files of one message */
#define CH_LIMIT_MESSAGE_PICTURES (8 * CH_MB) /* images of one message shown to a model, in total */
#define CH_LIMIT_SESSION_PICTURES 20      /* images of people shown to a model in one session */
#define CH_LIMIT_SESSION_PICTURE_BYTES (16 * CH_MB) /* base64 of these images */
#define CH_LIMIT_PICTURE_SIDE 8000 /* width or height of an image in pixels, the services' limit */
#define CH_LIMIT_INBOUND_FILES 10000      /* files that people sent, in one workspace */
#define CH_LIMIT_INBOUND_FOLDER (1024 * CH_MB) /* files that people sent, in total */
#define CH_LIMIT_FRAME_HEADERS 32         /* headers of one frame of a long connection */
#define CH_LIMIT_FRAGMENTS 256            /* fragments of one event of a long connection */
#define CH_LIMIT_FRAGMENT_SETS 16         /* events with missing fragments */
#define CH_LIMIT_FRAGMENT_MS 10000        /* wait for missing fragments */
#define CH_LIMIT_CARD_MS 3600000          /* time that a streamed answer may take */
#define CH_LIMIT_UNACKED 1024             /* events of one channel on their way into the inbox */
#define CH_LIMIT_SEEN_MESSAGES 64         /* messages of a chat that a model may act on */
#define CH_LIMIT_SEEN_CHATS 256           /* chats of a channel whose messages are remembered */
#define CH_LIMIT_APPROVAL_PROMPTS 1024    /* approval questions that a channel remembers */
#define CH_LIMIT_CHAT_OVERRIDES 4096      /* sessions of a channel with a model override */
#define CH_LIMIT_PAIRINGS 100             /* pending pairing codes of a channel */
#define CH_LIMIT_LANES 4096               /* sessions in use at the same time */
#define CH_LIMIT_LANE_EVENTS 64           /* waiting events of a session that are read at once */
#define CH_LIMIT_IDEMPOTENCY_KEY 255      /* characters of an Idempotency-Key */
#define CH_LIMIT_IDEMPOTENT_ANSWER (1024 * CH_KB) /* an answer that is kept for its key */
#define CH_LIMIT_STORED_RESPONSES 1024    /* responses of the gateway that are remembered */
#define CH_LIMIT_STORED_RESPONSE (8 * CH_MB) /* one response that is remembered */
#define CH_LIMIT_SHARED_RESPONSE CH_MB    /* one response that survives a restart */
#define CH_DEFAULT_STORED_RESPONSE_MS (24 * 3600000LL) /* time for which responses are stored */
#define CH_LIMIT_STORED_RESPONSE_BYTES (64 * CH_MB) /* all remembered responses */
#define CH_LIMIT_CLIENT_TOOLS 10000       /* client tools of one request */
#define CH_LIMIT_DROPPED 1024             /* bytes of the header X-Chela-Dropped */
#define CH_LIMIT_DROPPED_NAME 64          /* bytes of a member's name in it */
#define CH_LIMIT_PASSED (64 * CH_KB)      /* members of a client's request that a model gets */
#define CH_LIMIT_CLIENT_CALLS 1024        /* calls of one reply in a posted history */
#define CH_LIMIT_CLIENT_REFERENCES 1024   /* items that one request refers to by their ids */
#define CH_LIMIT_KEPT_CALLS 4096          /* names by which clients' calls are remembered */
#define CH_LIMIT_KEPT_REPLY CH_MB         /* what is remembered beside the calls of one reply */
#define CH_LIMIT_KEPT_BYTES (32 * CH_MB)  /* the same for all replies */
#define CH_LIMIT_KEPT_LOOKS 512           /* names that one request looks for in the store */
#define CH_LIMIT_HELD_PIECES (512 * CH_KB) /* pieces of a reply kept for a reader until the records
                                             before them are committed */
#define CH_LIMIT_SOCKET_FRAMES 64         /* frames of a client that wait for an earlier answer */
#define CH_LIMIT_SCAN_SESSIONS 1000       /* sessions that one query of a scan reads */
#define CH_LIMIT_LISTED 1000              /* sessions in one answer */
#define CH_LIMIT_NOTICED 200              /* sessions whose changes are reported to pages */
#define CH_LIMIT_PAGE 1000                /* records or messages of a session in one answer */
#define CH_LIMIT_PAGE_BYTES (8 * CH_MB)   /* size of the records after which an answer ends */
#define CH_LIMIT_NODES 256                /* processes that use a store, in one answer */
#define CH_LIMIT_WORKERS 64               /* processes of one gateway */
#define CH_LIMIT_LOG_RING 1000            /* log lines that a gateway keeps in memory */
#define CH_LIMIT_LOG_RING_BYTES (512 * CH_KB) /* these lines, in total */
#define CH_LIMIT_LOG_RING_LINE (2 * CH_KB) /* the part of a line that is kept */
#define CH_DEFAULT_LOG_LOOK_MS 300        /* interval of sending new lines to pages */
#define CH_LIMIT_UPCOMING 5               /* next times of a schedule in one answer */
#define CH_LIMIT_ACTIVITY_RUNS 5000       /* runs in one answer */
#define CH_LIMIT_USAGE_CALLS 5000         /* model calls in one answer */
#define CH_LIMIT_USAGE_GROUPS 20000       /* groups of a sum of usage */
#define CH_LIMIT_NEWS 4096 /* sessions that other gateways announced, not looked at yet */
#define CH_LIMIT_SIGHTINGS 4096 /* items of a store that another gateway may be processing */

/* defaults */
#define CH_LIMIT_HEALTH_MS 2000           /* time for a store to answer a health check */
#define CH_DEFAULT_HEALTH_MS 1000         /* time for which a health check stays valid */
#define CH_DEFAULT_PULSE_MS 15000         /* interval of keep-alives on every stream */
#define CH_DEFAULT_MARK_MS (30 * 24 * 3600000LL) /* for which a process has a mark in a store */
#define CH_DEFAULT_PRESENCE_MS 60000      /* interval at which a gateway names itself to others */
#define CH_DEFAULT_SAMPLE_MS 500          /* interval at which a worker publishes its metrics */
#define CH_DEFAULT_WS_PING_MS 15000       /* silence on a WebSocket before a ping */
#define CH_DEFAULT_LANE_MS 60000          /* time an unused session stays in memory */
#define CH_DEFAULT_SHARED_LANE_MS 1000    /* the same if several gateways share the store */
#define CH_DEFAULT_TAIL_MS 40             /* interval of reading a session held elsewhere */
#define CH_DEFAULT_TAIL_BUSY_MS 160       /* the same while the run writes nothing */
#define CH_DEFAULT_TAIL_IDLE_MS 1000      /* the same while there is no run */
#define CH_DEFAULT_ORPHAN_SCAN_MS 2000    /* interval between scans for orphaned items */
#define CH_DEFAULT_SHARED_ORPHAN_SCAN_MS 600 /* the same if several gateways share the store */
#define CH_DEFAULT_CHAT_SCAN_MS 3000      /* interval between scans for items of chats */
#define CH_DEFAULT_NOTICE_MS 2000         /* interval of looking for sessions that changed */
#define CH_DEFAULT_NOTICE_SOON_MS 80      /* the same after an event of a run */
#define CH_DEFAULT_DRAIN_LOOK_MS 50 /* interval between checks for remaining work while stopping */
#define CH_LIMIT_PRUNE_BATCH 32           /* sessions deleted in one transaction */
#define CH_LIMIT_INDEX_BATCH (64 * 1024)  /* bytes of text indexed in one transaction */
#define CH_LIMIT_EXPIRED 1000             /* inbox or outbox rows deleted in one transaction */
#define CH_DEFAULT_DONE_MS (7 * 24 * 3600000LL) /* time for which a processed event is remembered */
#define CH_LIMIT_GONE_EVENTS 10000        /* events of deleted sessions that a store remembers */
#define CH_LIMIT_PAST 1000                /* keys of deleted sessions that a store remembers */
#define CH_DEFAULT_IDEMPOTENCY_MS (24 * 3600000LL) /* time for which an answer is kept */
#define CH_DEFAULT_KEPT_CALLS_MS (24 * 3600000LL) /* time for which clients' calls are remembered */
#define CH_DEFAULT_RETENTION_LOOK_MS 3600000 /* interval between searches for old sessions */
#define CH_DEFAULT_MAX_TURNS 25           /* model calls of one run */
#define CH_DEFAULT_MAX_TOOL_CALLS 200     /* tool calls of one run */
#define CH_DEFAULT_MAX_ERRORS 3           /* consecutive errors of one run */
#define CH_DEFAULT_RUN_MS (1800 * 1000)   /* time of one run */
#define CH_DEFAULT_TOOL_MS (30 * 1000)    /* time of one tool call */
#define CH_DEFAULT_SEND_MS 600000         /* wait for the answer of another session */
#define CH_DEFAULT_DELEGATE_DEPTH 3       /* nesting of agents that call agents */
#define CH_DEFAULT_DELEGATE_CHILDREN 16   /* agents called by one run */
#define CH_DEFAULT_PARALLEL 8             /* tool calls that run at the same time */
#define CH_DEFAULT_EXEC_S 120             /* timeout of a command, in seconds */
#define CH_DEFAULT_GREP_MATCHES 100       /* lines that grep returns */
#define CH_DEFAULT_EMBED_ROUTE_MS 60000   /* wait for embeddings for a client */
#define CH_DEFAULT_EMBED_MS 5000          /* wait for embeddings */
#define CH_DEFAULT_TOP_K 10               /* tools described for one input */
#define CH_DEFAULT_RECORDS 5              /* records shown of a long JSON array */
#define CH_DEFAULT_OUTPUT_TOKENS 8192     /* tokens of one reply */
#define CH_DEFAULT_CONNECT_MS (10 * 1000) /* time to connect to a service */
#define CH_DEFAULT_FIRST_BYTE_MS (300 * 1000) /* time until the response begins */
#define CH_DEFAULT_IDLE_MS (120 * 1000)   /* silence within a response */
#define CH_DEFAULT_TOTAL_MS (3600 * 1000) /* time of one HTTP request */
#define CH_DEFAULT_RETRIES 2              /* retries of a model call */
#define CH_DEFAULT_OVERLOAD_RETRIES 6     /* retries of a model call at an overloaded service */
#define CH_DEFAULT_PROJECT_FILE (20 * CH_KB) /* bytes of one project file in the system prompt */
#define CH_DEFAULT_PROJECT_FILES (60 * CH_KB) /* bytes of all project files in the system prompt */
#define CH_DEFAULT_PROMPT_RULES 7         /* rules in every system prompt */
#define CH_DEFAULT_TURN_RULES 3           /* further rules that match the input */
#define CH_DEFAULT_REMIND_ROUNDS 8        /* rounds of tools after which rules are repeated */
#define CH_DEFAULT_SYSTEM_SHARE 25 /* context share of the system prompt, in per cent */
#define CH_DEFAULT_TOOLS_SHARE 15  /* context share of the tools' descriptions, in per cent */
#define CH_DEFAULT_OUTPUT_SHARE 15 /* context share of the reply, in per cent */
#define CH_DEFAULT_SMALL_WINDOW 16384     /* tokens of a context window that counts as small */
#define CH_DEFAULT_GRACE_MS 2000          /* time between SIGTERM and SIGKILL for a program */
#define CH_DEFAULT_DRAIN_MS 250           /* time to read the output of a program after its exit */
#define CH_DEFAULT_SQL_MS 20000           /* time of one query */
#define CH_DEFAULT_WEB_MS 30000           /* time to fetch a page, redirects included */
#define CH_DEFAULT_SEARCH_MS 20000        /* time of one web search */
#define CH_DEFAULT_MAIL_MS 45000          /* time to send one mail */
#define CH_DEFAULT_BOX_CPU_S 7200 /* processor time of one process in the sandbox, in seconds */
#define CH_DEFAULT_BOX_MEMORY ((uint64_t)4096 * CH_MB) /* memory of one process in the sandbox */
#define CH_DEFAULT_BOX_DISK ((uint64_t)8192 * CH_MB) /* disk that one command fills */
#define CH_DEFAULT_BOX_DISK_FILES 1000000 /* files that one command makes */
#define CH_DEFAULT_BOX_FILE ((uint64_t)4096 * CH_MB) /* one file written in the sandbox */
#define CH_DEFAULT_BOX_FILES 4096         /* open files of one process in the sandbox */
#define CH_DEFAULT_BOX_PROCESSES 1024     /* processes and threads of one command in the sandbox */
#define CH_DEFAULT_BOX_TMP ((uint64_t)1024 * CH_MB) /* private /tmp of the sandbox */
#define CH_DEFAULT_KEEP_MS 60000          /* time an idle connection is kept */
#define CH_DEFAULT_DNS_MS 30000           /* time a host's addresses are cached */
#define CH_DEFAULT_STAGGER_MS 250         /* delay before the next address is tried in parallel */
#define CH_DEFAULT_TCP_KEEPALIVE_S 60     /* TCP keep-alive interval, in seconds */

#endif
