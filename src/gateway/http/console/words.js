/* words.js -- the texts of the page in English, numbers and times. words_zh.js has the texts
 * in Chinese, and is loaded for readers of Chinese only. */

import { endings } from "./endings.js";

const en = {
  "gate.label": "Access token",
  "gate.note": "The value of CHELA_TOKEN on the machine that runs chela. It is kept in this tab until you close or lock it.",
  "gate.open": "Open",
  "gate.wrong": "Wrong token.",
  "gate.over": "The token is not valid any more. Enter the new one; your drafts are kept.",
  "gate.away": "The gateway does not answer.",
  "side.label": "Sessions", "side.pages": "Pages", "side.new": "New", "side.search": "Search sessions", "side.help": "Shortcuts", "side.lock": "Lock", "side.theme": "Theme",
  "side.none": "No sessions yet.", "side.more": "Only the newest {0} sessions are listed. The search finds text in all of them.", "side.nothing": "No matches.", "side.found": "In messages",
  "bar.menu": "Sessions and pages", "bar.more": "Session menu", "bar.views": "Views of the session", "bar.delete": "Delete", "bar.rename": "Rename", "bar.link": "Copy link", "bar.find": "Search in this session",
  "bar.export.md": "Export as Markdown", "bar.export.json": "Export as JSON", "bar.fork": "Fork: copy the session", "bar.undo": "Undo the last exchange in a copy",
  "rename.yes": "Rename",
  "find.words": "Search in this session", "find.next": "Earlier match", "find.last": "Later match",
  "sure.title": "Delete this session?", "sure.note": "The whole conversation is deleted from the store. This cannot be undone.",
  "sure.yes": "Delete", "sure.no": "Cancel",
  "take.title": "Take over this run?", "take.text": "Your answer",
  "take.note": "The run ends now and makes no further call. The text below becomes the assistant's answer, in your words.",
  "view.chat": "Chat", "view.time": "Timeline", "view.log": "Events",
  "page.approvals": "Waiting", "page.usage": "Usage", "page.agents": "Agents", "page.skills": "Skills", "page.channels": "Channels",
  "page.config": "Configuration",
  "chat.log": "Conversation", "chat.say": "Message", "chat.ask": "Send a message", "chat.more": "Steer the run while it is working",
  "chat.deny": "Say why not: the call is denied with this reason", "chat.reply": "Answer the question", "chat.give": "Give the result of the call", "chat.wait": "The run is waiting", "chat.gone": "This session was deleted",
  "note.deny": "Enter denies the call and tells the model why.", "note.denies": "Enter denies all {0} calls and tells the model why.",
  "note.result": "The run waits for the result of a client's tool. Your text is given to the model as that result.",
  "chat.agent": "Agent", "chat.model": "Model", "chat.model.own": "Model: {0}", "chat.model.other": "Other model…", "chat.use": "Use", "chat.reasoning": "Reasoning", "chat.mode": "Delivery",
  "reasoning.off": "No reasoning", "reasoning.minimal": "Minimal reasoning", "reasoning.low": "Low reasoning", "reasoning.medium": "Medium reasoning", "reasoning.high": "High reasoning", "reasoning.xhigh": "Very high reasoning", "reasoning.max": "Maximum reasoning",
  "mode.steer": "Steer now", "mode.follow_up": "After the run",
  "chat.answer": "Answer", "chat.take": "Take over…",
  "chat.send": "Send", "chat.cancel": "Cancel", "chat.latest": "Jump to latest", "chat.earlier": "Show earlier messages", "chat.loading": "Loading…",
  "chat.new": "New session", "chat.empty": "What can I do for you?", "chat.you": "You", "chat.it": "Assistant",
  "chat.resume": "Resume", "chat.cutoff": "The answer was cancelled here.", "chat.interrupted": "This run was interrupted. Resume it, or send a message.",
  "chat.thought": "Reasoning", "chat.thinking": "Reasoning…", "chat.plan": "Plan",
  "chat.arguments": "Arguments", "chat.result": "Result", "chat.cut": "truncated", "chat.copy": "Copy", "chat.copied": "Copied", "chat.rest": "Show all ({0} more)", "chat.less": "Show less",
  "chat.waits": "Waiting for the run", "chat.steered": "Steered", "chat.followed": "Follow-up", "chat.undelivered": "Not delivered: the run ended first", "chat.sendnow": "Send now",
  "chat.retry": "Retry {0} in {1}: {2}", "chat.fallback": "{0} failed ({2}); continuing with {1}", "chat.handoff": "{0} handed over to {1}",
  "chat.shorter": "The history was compacted.",
  "chat.compacted": "The history was compacted: {0} to {1} tokens",
  "chat.picture": "Picture", "chat.enlarge": "Enlarge the picture", "chat.image": "Picture ({0})", "chat.audio": "Sound ({0})", "chat.document": "File ({0})", "chat.sources": "Sources",
  "chat.attach": "Attach files", "attach.remove": "Remove {0}", "attach.large": "The files of a message may have {0} in total.", "attach.unread": "{0} cannot be read.",
  "chat.edit": "Edit and send again", "chat.edit.note": "A copy of the session continues from here; the original stays.", "chat.edit.send": "Send in a copy", "chat.again": "Answer again, in a copy", "chat.torun": "Show this run on the timeline",
  "ask.title": "{0} needs your consent", "ask.exact": "Exact arguments", "ask.once": "Allow once", "ask.always": "Always allow", "ask.deny": "Deny",
  "ask.loading": "Loading the exact arguments…", "ask.allow-once": "Allowed once", "ask.allow-always": "Always allowed", "ask.denied": "Denied",
  "ask.gone": "Already decided",
  "ask.edit": "Edit the arguments", "ask.edit.note": "The call runs with these arguments, which are checked like the model's. The model is told about the change.",
  "ask.run": "Run with these arguments", "ask.will": "What will run", "ask.nojson": "Invalid JSON", "ask.noobject": "Arguments must be a JSON object.", "ask.empty": "Enter some text first.",
  "ask.answer": "Provide the result", "ask.answer.note": "The call is not made. The model receives this text as the result.",
  "ask.why": "Deny, and say why", "ask.why.note": "The call is not made. The model is told the reason.", "ask.reason": "Reason",
  "ask.take": "Take over", "ask.take.note": "No call is made. The run ends, and this text becomes the assistant's answer.", "ask.take.do": "End the run with this answer",
  "ask.back": "Back", "ask.edited": "Allowed with other arguments", "ask.answered": "Result given by a person", "ask.taken": "Taken over",
  "ask.question": "A question for you", "ask.reply": "Answer in your own words", "ask.reply.note": "The run continues with this answer.", "ask.replied": "Answered",
  "ask.result": "{0} waits for its result",
  "plan.title": "A plan for your approval", "plan.run": "Run the plan", "plan.edit": "Edit the plan", "plan.edit.note": "Once you agree, the plan runs as it stands here.",
  "plan.again": "Plan again", "plan.again.note": "What should be different? The planner is told.",
  "plan.step": "Step {0}", "plan.what": "Description", "plan.tool": "Tool", "plan.none": "none: answer from the results", "plan.after": "After", "plan.first": "none",
  "plan.input": "Input", "plan.up": "Move up", "plan.down": "Move down", "plan.remove": "Remove", "plan.add": "Add a step",
  "end.turns": "{0} turns", "end.turn": "1 turn", "end.calls": "{0} tool calls", "end.call": "1 tool call",
  "end.tokens": "{0} tokens in, {1} out",
  "status.running": "running", "status.paused": "waiting for you", "status.idle": "idle", "status.done": "done", "status.error": "failed", "status.parked": "parked",
  "status.stopped": "stopped", "status.cancelled": "cancelled", "status.new": "new", "status.interrupted": "interrupted", "status.gone": "deleted", "status.declined": "declined",
  "time.none": "No run in this session yet.", "time.model": "model", "time.tool": "tool", "time.wait": "wait", "time.rewrite": "compaction", "time.earlier": "Show earlier runs",
  "time.run": "Run {0}", "time.short": "waiting times are not drawn to scale", "time.context": "Context over the turns", "time.context.about": "Tokens of each model call of this session: {0} calls, at most {1}, last {2}.",
  "log.none": "Events appear here as they happen.", "log.filter": "Filter events", "log.clear": "Clear", "log.deltas": "Show deltas", "log.count": "{0} events", "log.link": "Copy link", "log.forgotten": "The gateway does not remember this event any more. The timeline shows the run.",
  "operate.none": "None.",
  "wait.none": "Nothing waits for you.", "wait.more": "More calls wait than are listed here.",
  "agents.models": "Models", "agents.workspace": "Workspace", "agents.tool": "Tool", "agents.permission": "Needs", "agents.effect": "Effect", "agents.consent": "Consent", "agents.limits": "Limits", "agents.permissions": "May use",
  "consent.auto": "not asked", "consent.ask": "asks a person", "consent.deny": "refused", "consent.sandbox": "not asked inside the sandbox", "agents.off": "not offered", "agents.by": "Offered by",
  "why.confirm": "the tool asks for consent", "why.configured": "approvals of the configuration", "why.default": "default", "why.permission": "above the agent's permission", "why.allow": "not among the allowed tools", "why.denied": "denied by the configuration",
  "skills.name": "Skill", "skills.about": "Description", "skills.from": "From",
  "channels.agent": "Agent", "channels.ok": "working", "channels.bad": "failing", "channels.none": "No channel is configured.", "channels.stuck": "{0} messages wait to be sent", "channels.pairing": "People who ask for access", "channels.known": "People with access", "channels.approve": "Approve", "channels.remove": "Withdraw", "channels.code": "Code", "channels.person": "Person", "channels.until": "Valid until", "channels.when": "Since", "channels.remove.sure": "Withdraw the access of {0}?", "channels.health": "Health", "channels.checks": "Checks of the gateway",
  "config.file": "File", "config.none": "The gateway was started without a configuration file.", "config.key": "Option", "config.value": "Value", "config.origin": "Origin", "config.from.file": "file", "config.from.default": "default", "config.filter": "Filter options", "config.set": "Only options of the file", "config.trouble": "The last reload failed", "config.valid": "The file is valid.",

  "help.title": "Keyboard shortcuts", "help.close": "Close",
  "help.send": "Send", "help.line": "New line", "help.cancel": "Cancel the run", "help.new": "New session", "help.search": "Search sessions", "help.find": "Search in this session", "help.attach": "Attach files",
  "help.say": "Write a message", "help.move": "Next or previous session", "help.views": "Chat, timeline, events", "help.help": "Show this list", "help.waiting": "Everything that waits for a person", "help.more": "Session menu",
  "help.escape": "Leave the field, or close the dialog", "help.consent": "Go to the pending decision",
  "help.decide": "Pending decision: allow, deny", "help.words": "Pending decision: edit, provide the result or answer, take over",
  "help.resume": "Resume an interrupted run", "help.delete": "Delete the session",
  "theme.auto": "Auto", "theme.light": "Light", "theme.dark": "Dark", "tongue": "中文",
  "trouble.cut": "The connection was lost. Reconnecting…", "trouble.offline": "You are offline. The page continues when the network is back.", "trouble.away": "The gateway does not answer.",
  "trouble.gone": "This session does not exist any more: it was deleted.", "trouble.unsent": "Not sent: {0} The text is still in the field.",
  "page.schedules": "Schedules", "page.mcp": "MCP servers", "page.memory": "Memory", "page.logs": "Log", "page.nodes": "Nodes",
  "chat.byserver": "by the model's service", "chat.made": "The model made {0} {1} {2}",
  "time.request": "Whole request {0}",
  "request.title": "Request {0} of {1}", "request.back": "Timeline", "request.before": "Previous", "request.after": "Next", "request.when": "Sent", "request.took": "Duration", "request.turn": "Turn", "request.attempt": "Attempt", "request.role": "Asked by", "request.written": "Written to cache", "request.size": "Size", "request.stop": "Ended with",
  "request.sections": "System prompt", "request.tools": "Tools", "request.messages": "Messages", "request.note": "Note of the runtime", "request.reply": "Reply", "request.wire": "As sent", "request.parameters": "Parameters", "request.cut": "Left out", "request.what": "Part", "request.why": "Reason", "request.fromto": "Tokens", "request.tokens": "{0} tokens", "request.of": "shortened from {0} tokens", "request.verified": "These bytes have the digest of the request that was sent.", "request.unverified": "These bytes differ from the request that was sent.",
  "usage.title": "Last {0} days", "usage.calls": "Model calls", "usage.input": "Input tokens", "usage.output": "Output tokens", "usage.runs": "Runs", "usage.failed": "Failed runs", "usage.cancelled": "Cancelled runs", "usage.requests.failed": "Failed requests to models",
  "usage.cached": "From cache", "usage.cost": "Cost", "usage.tokens": "Tokens per day", "usage.tokens.by": "Tokens per day by {0}", "usage.cost.by": "Cost per day by {0}", "usage.latency": "Latency of model calls", "usage.errors": "Errors per day", "usage.errors.by": "Failed runs per day by {0}", "usage.waiting": "Waits for people per day", "usage.waited": "Waited for people", "usage.waits": "Waits", "usage.longest": "Longest waits for people", "usage.failures": "Runs that failed or were cancelled",
  "usage.half": "Median latency", "usage.most": "95th percentile", "usage.by": "By {0}", "usage.none": "No runs in this period.", "usage.more": "{0} more", "usage.cut": "Not complete: there is more in this period. The figures are of the newest sessions, with {0} model calls and {1} runs. The command chela usage sums up all.", "usage.model": "model", "usage.agent": "agent", "usage.channel": "channel", "usage.fresh": "Input", "usage.rest": "others", "usage.table": "Values as a table", "usage.day": "Day", "usage.peak": "Highest value of {0} days", "usage.when": "Start", "usage.session": "Session", "usage.status": "End", "usage.why": "Reason", "usage.choose.days": "Period", "usage.choose.by": "Grouping",
  "channel.web": "page", "channel.schedule": "schedules", "channel.hook": "webhooks", "channel.fork": "copies", "channel.api": "programs",
  "schedules.none": "No schedule is configured. Schedules are set in the configuration, with `chela schedule add`, or by an agent.", "schedules.when": "When", "schedules.quiet": "Quiet hours", "schedules.file": "Wakes for", "schedules.by": "Set by", "schedules.by.config": "the configuration", "schedules.by.store": "a command", "schedules.by.session": "an agent, in a session", "schedules.last": "Last", "schedules.never": "not yet", "schedules.today": "Runs today", "schedules.next": "Next", "schedules.over": "not again", "schedules.run": "Run now", "schedules.see": "Open the session", "schedules.begun": "{0} was started.", "schedules.nothing": "{0} has nothing to do.", "schedules.waits": "A run was accepted and has not started.",
  "mcp.none": "No MCP server is configured.", "mcp.server": "Server", "mcp.transport": "Connection", "mcp.stdio": "program", "mcp.http": "HTTP", "mcp.era": "Protocol", "mcp.modern": "without handshake", "mcp.legacy": "with handshake", "mcp.unknown": "not connected yet", "mcp.tools": "Tools", "mcp.ready": "connected", "mcp.off": "not connected", "mcp.failing": "failing", "mcp.login": "log-in needed", "mcp.login.how": "On the machine of the gateway, run:", "mcp.open": "{0} tools are new or changed. They are not offered to a model until you accept them.", "mcp.changed": "changed", "mcp.new": "new", "mcp.description": "Description", "mcp.schema": "Arguments", "mcp.outputSchema": "Result", "mcp.check": "Connect and check", "mcp.accept": "Accept", "mcp.accept.sure": "Accept the tools of {0} as they are now?", "mcp.accept.note": "A description is read by the model as an instruction. Accept only what you have read.", "mcp.list": "All {0} tools",
  "memory.about": "What agents have noted: MEMORY.md holds lasting facts, the other files one day each. People may edit the files.", "memory.none": "No notes yet.",
  "logs.none": "No lines.", "logs.filter": "Filter the log", "logs.level": "Level", "logs.trace": "trace", "logs.info": "info", "logs.warn": "warning", "logs.error": "error", "logs.follow": "Follow", "logs.off": "This program keeps no log in memory.",
  "nodes.this": "This gateway", "nodes.version": "Version", "nodes.pid": "Process", "nodes.uptime": "Running for", "nodes.lanes": "Sessions in memory", "nodes.store": "Store", "nodes.shared": "shared by several gateways", "nodes.alone": "of this machine", "nodes.all": "Processes of the store", "nodes.more": "Not complete: the numbers are of the newest 1,000 sessions.", "nodes.about": "The gateways of a shared store, and the processes that hold sessions. A process holds a session while it works on the session, and for a short time after.", "nodes.process": "Process", "nodes.kind": "Kind", "nodes.gateway": "gateway", "nodes.program": "program", "nodes.state": "State", "nodes.alive": "alive", "nodes.dead": "dead", "nodes.stopped": "stopped", "nodes.unknown": "on another machine", "nodes.sessions": "Sessions", "nodes.running": "Running", "nodes.until": "Valid until",
  "config.edit": "Change", "config.sure": "Change the configuration?", "config.reload": "The gateway reads the file again. The version before this change is kept, and you can go back to it.", "config.write": "Write", "config.check": "Check", "config.value.note": "A number, true or false, a text, or JSON. null removes the option.", "config.written": "The file was written, and the gateway has read it again.", "config.back": "Go back to the previous version", "config.about": "Options about how agents work can be changed here. Options that decide about rights (tools, sandbox, approvals, keys, channels) are changed in the file on the machine.",
};

let words = en, current = "en";

/* error(status, message): the message of the gateway in the language of the page. */
let translateError = (status, message) => message || `${status}`;

export const tongue = () => current;

export async function setTongue(to) {
  current = to === "zh" ? "zh" : "en";
  if (current === "zh") {
    const chinese = await import("./words_zh.js");
    words = chinese.words;
    translateError = chinese.sayError;
  } else {
    words = en;
    translateError = (status, message) => message || `${status}`;
  }
  document.documentElement.lang = current === "zh" ? "zh-CN" : "en";
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  for (const e of document.querySelectorAll("[data-label]")) e.setAttribute("aria-label", say(e.dataset.label));
  for (const e of document.querySelectorAll("[data-placeholder]")) e.placeholder = say(e.dataset.placeholder);
  for (const e of document.querySelectorAll("[data-hint]")) e.title = e.dataset.hint;
}

/* A text of the page, with {0} and {1} filled in. */
export function say(key, ...parts) {
  const text = words[key] ?? en[key] ?? key;
  return text.replace(/\{(\d)\}/g, (all, i) => String(parts[i] ?? ""));
}

/* The text for a status; the status itself if there is none. */
export function sayStatus(status) {
  return words[`status.${status}`] ?? status;
}

/* Why a run ended. */
export function sayReason(reason) {
  return words[`reason.${reason}`] ?? String(reason).replaceAll("_", " ");
}

/* What happened, if a run did not end with an answer, and what to do; "": the answer says it
 * all. ending: the sentence of the run itself, in the language of the run. */
export function sayEnding(reason, ending) {
  const sentences = reason === "task_completed" && !ending ? null : endings[reason];
  return sentences?.[current] ?? ending ?? "";
}

export const sayError = (status, message) => translateError(status, message);

/* --- numbers and times */

const language = () => document.documentElement.lang;

export function count(n) {
  return new Intl.NumberFormat(language(), { notation: n >= 100000 ? "compact" : "standard", maximumFractionDigits: 1 }).format(n);
}

export function took(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.round(ms / 1000) % 60} s`;
  if (ms < 48 * 3600000) return `${(ms / 3600000).toFixed(1)} h`;
  return `${Math.round(ms / 86400000)} d`;
}

export function dollars(usd) {
  return usd >= 0.01 || usd === 0 ? `$${usd.toFixed(2)}` : `$${usd.toPrecision(2)}`;
}

export function bytes(n) {
  if (n < 1024) return `${Math.round(n)} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(0)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

export function when(ms) {
  const then = new Date(ms), today = new Date();
  const time = then.toLocaleTimeString(language(), { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === today.toDateString()) return time;
  return then.toLocaleDateString(language(), { month: "short", day: "numeric" });
}

export function date(ms) {
  return new Date(ms).toLocaleString(language(), { dateStyle: "medium", timeStyle: "medium" });
}
