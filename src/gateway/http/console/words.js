"use strict";
/* words.js -- the texts of the page, in English and in Chinese. */

const words = {
  en: {
    "gate.label": "Access token",
    "gate.note": "The value of CHELA_TOKEN on the machine that runs chela. The page keeps it in memory only: enter it again after a reload.",
    "gate.open": "Open",
    "gate.wrong": "Wrong token.",
    "gate.away": "The gateway does not answer.",
    "side.label": "Sessions", "side.new": "New", "side.search": "Search sessions", "side.help": "Shortcuts", "side.lock": "Lock",
    "side.none": "No sessions yet.", "side.nothing": "No matches.", "side.found": "In messages",
    "bar.menu": "Sessions", "bar.delete": "Delete this session",
    "sure.title": "Delete this session?", "sure.note": "The whole conversation is deleted from the store. This cannot be undone.",
    "sure.yes": "Delete", "sure.no": "Cancel",
    "chat.resume": "Resume", "chat.interrupted": "This run was interrupted. Resume it, or send a message.",
    "view.chat": "Chat", "view.time": "Timeline", "view.log": "Events", "view.usage": "Usage",
    "chat.say": "Message", "chat.ask": "Send a message", "chat.more": "Steer the run while it is working",
    "chat.paused": "The run is waiting for you: decide above, or answer here",
    "chat.agent": "Agent", "chat.mode": "Delivery",
    "mode.steer": "Steer now", "mode.follow_up": "After the run", "mode.answer": "Answer the question", "mode.take_over": "Take over: end the run",
    "chat.answer": "Answer", "chat.take": "Take over",
    "chat.send": "Send", "chat.cancel": "Cancel", "chat.latest": "Jump to latest",
    "chat.new": "New session", "chat.empty": "What can I do for you?",
    "chat.thought": "Reasoning", "chat.thinking": "Reasoning…", "chat.plan": "Plan",
    "chat.arguments": "Arguments", "chat.result": "Result", "chat.cut": "truncated", "chat.copy": "Copy", "chat.copied": "Copied",
    "chat.waits": "waiting", "chat.steered": "Steered", "chat.followed": "Follow-up",
    "chat.retry": "Retry {0} in {1}: {2}", "chat.fallback": "{0} failed ({2}); continuing with {1}", "chat.handoff": "{0} handed over to {1}",
    "chat.shorter": "The history was compacted.",
    "chat.compacted": "The history was compacted: {0} to {1} tokens",
    "chat.picture": "Picture",
    "ask.title": "{0} needs your consent", "ask.exact": "Exact arguments", "ask.once": "Allow once", "ask.always": "Always allow", "ask.deny": "Deny",
    "ask.loading": "Loading the exact arguments…", "ask.allow-once": "Allowed once", "ask.allow-always": "Always allowed", "ask.denied": "Denied",
    "ask.gone": "Already decided",
    "ask.edit": "Edit the arguments", "ask.edit.note": "The call runs with these arguments, which are checked like the model's. The model is told about the change.",
    "ask.run": "Run with these arguments", "ask.will": "What will run", "ask.nojson": "Invalid JSON", "ask.noobject": "Arguments must be a JSON object.", "ask.empty": "Enter some text first.",
    "ask.answer": "Provide the result", "ask.answer.note": "The call is not made. The model receives this text as the result.",
    "ask.why": "Deny, and say why", "ask.why.note": "The call is not made. The model is told the reason.", "ask.reason": "Reason",
    "ask.take": "Take over", "ask.take.note": "No call is made. The run ends with this text as its reply.",
    "ask.back": "Back", "ask.edited": "Allowed with other arguments", "ask.answered": "Result given by a person", "ask.taken": "Taken over",
    "ask.question": "A question for you", "ask.reply": "Answer in your own words", "ask.reply.note": "The run continues with this answer.", "ask.replied": "Answered",
    "ask.result": "{0} is waiting for its result",
    "plan.title": "A plan to approve", "plan.run": "Run this plan", "plan.edit": "Edit the plan", "plan.edit.note": "After approval the plan runs as shown here.",
    "plan.again": "Ask for another plan", "plan.again.note": "What should be different? The planner receives this text.",
    "plan.step": "Step {0}", "plan.what": "Description", "plan.tool": "Tool", "plan.none": "none: answered from earlier results", "plan.after": "Depends on", "plan.first": "nothing",
    "plan.input": "Input", "plan.up": "Move up", "plan.down": "Move down", "plan.remove": "Remove", "plan.add": "Add a step",
    "end.turns": "{0} turns", "end.turn": "1 turn", "end.calls": "{0} tool calls", "end.call": "1 tool call",
    "end.tokens": "{0} tokens in, {1} out",
    "status.running": "running", "status.paused": "waiting for you", "status.idle": "idle", "status.done": "done", "status.error": "failed",
    "status.stopped": "stopped", "status.cancelled": "cancelled", "status.new": "new", "status.interrupted": "interrupted",
    "time.none": "No run in this session yet.", "time.model": "model", "time.tool": "tool", "time.wait": "wait", "time.rewrite": "compaction",
    "time.run": "Run {0}", "time.short": "waiting times are not drawn to scale",
    "log.none": "Events appear here as they happen.", "log.filter": "Filter events", "log.clear": "Clear", "log.deltas": "Show deltas", "log.count": "{0} events",
    "usage.title": "Last {0} days", "usage.calls": "Model calls", "usage.input": "Input tokens", "usage.output": "Output tokens",
    "usage.cached": "From cache", "usage.cost": "Cost", "usage.tokens": "Tokens per day", "usage.latency": "Latency of model calls",
    "usage.half": "Median latency", "usage.most": "95th percentile", "usage.by": "By model", "usage.none": "No model calls in this period.", "usage.model": "Model", "usage.fresh": "Input",
    "help.title": "Keyboard shortcuts", "help.close": "Close",
    "help.send": "Send", "help.line": "New line", "help.cancel": "Cancel the run", "help.new": "New session", "help.search": "Search sessions",
    "help.say": "Write a message", "help.move": "Next or previous session", "help.views": "Chat, timeline, events, usage", "help.help": "Show this list",
    "help.escape": "Leave the field, or close the dialog", "help.consent": "Go to the pending decision",
    "help.decide": "Pending decision: allow, deny", "help.words": "Pending decision: edit, provide the result or answer, take over",
    "help.resume": "Resume an interrupted run", "help.delete": "Delete the session",
    "theme.auto": "Auto", "theme.light": "Light", "theme.dark": "Dark", "tongue": "中文",
    "trouble.cut": "The connection was lost. Reconnecting…",
  },
  zh: {
    "gate.label": "访问令牌",
    "gate.note": "运行 chela 的机器上 CHELA_TOKEN 的值。只保存在本页内存中，刷新后需重新输入。",
    "gate.open": "进入",
    "gate.wrong": "令牌不对。",
    "gate.away": "网关没有应答。",
    "side.label": "会话", "side.new": "新建", "side.search": "搜索会话", "side.help": "快捷键", "side.lock": "锁定",
    "side.none": "还没有会话。", "side.nothing": "没有找到。", "side.found": "对话内容中",
    "bar.menu": "会话列表", "bar.delete": "删除会话",
    "sure.title": "删除这个会话？", "sure.note": "整段对话将从存储中删除，无法恢复。",
    "sure.yes": "删除", "sure.no": "取消",
    "chat.resume": "继续运行", "chat.interrupted": "这次运行中断了。可以继续运行，也可以发送消息。",
    "view.chat": "对话", "view.time": "时间线", "view.log": "事件", "view.usage": "用量",
    "chat.say": "消息", "chat.ask": "想问什么", "chat.more": "运行中，可随时补充要求",
    "chat.paused": "正在等你：请在上方决定，或在此直接作答",
    "chat.agent": "智能体", "chat.mode": "送达方式",
    "mode.steer": "立即送达", "mode.follow_up": "结束后送达", "mode.answer": "回答问题", "mode.take_over": "接管：结束运行",
    "chat.answer": "回答", "chat.take": "接管",
    "chat.send": "发送", "chat.cancel": "取消", "chat.latest": "回到最新",
    "chat.new": "新会话", "chat.empty": "要做什么？",
    "chat.thought": "思考过程", "chat.thinking": "思考中…", "chat.plan": "计划",
    "chat.arguments": "参数", "chat.result": "结果", "chat.cut": "已截断", "chat.copy": "复制", "chat.copied": "已复制",
    "chat.waits": "等待中", "chat.steered": "补充要求", "chat.followed": "后续要求",
    "chat.retry": "{1} 后第 {0} 次重试：{2}", "chat.fallback": "{0} 失败（{2}），改用 {1}", "chat.handoff": "{0} 已转交给 {1}",
    "chat.shorter": "历史已压缩。",
    "chat.compacted": "历史已压缩：{0} → {1} 词元",
    "chat.picture": "图片",
    "ask.title": "{0} 需要你的同意", "ask.exact": "确切参数", "ask.once": "允许一次", "ask.always": "总是允许", "ask.deny": "拒绝",
    "ask.loading": "正在读取确切参数…", "ask.allow-once": "已允许一次", "ask.allow-always": "已设为总是允许", "ask.denied": "已拒绝",
    "ask.gone": "已有人决定",
    "ask.edit": "修改参数", "ask.edit.note": "调用将按这里的参数执行，并照常校验。模型会得知改动。",
    "ask.run": "按此执行", "ask.will": "将要执行", "ask.nojson": "JSON 无效", "ask.noobject": "参数必须是 JSON 对象。", "ask.empty": "请先填写内容。",
    "ask.answer": "代为给出结果", "ask.answer.note": "不执行调用；模型会把这段文字当作结果。",
    "ask.why": "拒绝并说明原因", "ask.why.note": "不执行调用；模型会得知原因。", "ask.reason": "原因",
    "ask.take": "接管", "ask.take.note": "不再执行任何调用；运行到此结束，以这段文字作答。",
    "ask.back": "返回", "ask.edited": "已修改参数并允许", "ask.answered": "结果由人给出", "ask.taken": "已接管",
    "ask.question": "有问题问你", "ask.reply": "自己回答", "ask.reply.note": "运行将带着这个回答继续。", "ask.replied": "已回答",
    "ask.result": "{0} 在等待结果",
    "plan.title": "待批准的计划", "plan.run": "执行计划", "plan.edit": "修改计划", "plan.edit.note": "同意后，计划将按这里的内容执行。",
    "plan.again": "重新规划", "plan.again.note": "哪里需要改？规划者会得知。",
    "plan.step": "第 {0} 步", "plan.what": "描述", "plan.tool": "工具", "plan.none": "无：根据结果作答", "plan.after": "依赖", "plan.first": "无",
    "plan.input": "输入", "plan.up": "上移", "plan.down": "下移", "plan.remove": "删除", "plan.add": "添加一步",
    "end.turns": "{0} 轮", "end.turn": "1 轮", "end.calls": "{0} 次工具调用", "end.call": "1 次工具调用",
    "end.tokens": "输入 {0} 词元，输出 {1} 词元",
    "status.running": "运行中", "status.paused": "等你决定", "status.idle": "空闲", "status.done": "完成", "status.error": "失败",
    "status.stopped": "已停止", "status.cancelled": "已取消", "status.new": "新", "status.interrupted": "被中断",
    "time.none": "此会话还没有运行。", "time.model": "模型", "time.tool": "工具", "time.wait": "等待", "time.rewrite": "压缩",
    "time.run": "运行 {0}", "time.short": "等待时间未按比例绘制",
    "log.none": "事件发生时会显示在这里。", "log.filter": "筛选事件", "log.clear": "清空", "log.deltas": "显示增量", "log.count": "{0} 个事件",
    "usage.title": "最近 {0} 天", "usage.calls": "模型调用", "usage.input": "输入词元", "usage.output": "输出词元",
    "usage.cached": "来自缓存", "usage.cost": "费用", "usage.tokens": "每日词元", "usage.latency": "模型调用耗时",
    "usage.half": "耗时中位数", "usage.most": "第 95 百分位", "usage.by": "按模型", "usage.none": "这些天没有调用过模型。", "usage.model": "模型", "usage.fresh": "输入",
    "help.title": "快捷键", "help.close": "关闭",
    "help.send": "发送", "help.line": "换行", "help.cancel": "取消运行", "help.new": "新会话", "help.search": "搜索会话",
    "help.say": "写消息", "help.move": "下一个、上一个会话", "help.views": "对话、时间线、事件、用量", "help.help": "显示快捷键",
    "help.escape": "离开输入框，关闭弹出内容", "help.consent": "转到待决定的事项",
    "help.decide": "待决定事项：允许、拒绝", "help.words": "待决定事项：修改、给出结果或回答、接管",
    "help.resume": "继续中断的运行", "help.delete": "删除会话",
    "theme.auto": "自动", "theme.light": "浅色", "theme.dark": "深色", "tongue": "English",
    "trouble.cut": "连接已断开，正在重试…",
  },
};

let tongue = /^zh\b/i.test(navigator.language) ? "zh" : "en";

/* A text of the page, with {0} and {1} filled in. */
function say(key, ...parts) {
  const text = words[tongue][key] ?? words.en[key] ?? key;
  return text.replace(/\{(\d)\}/g, (all, i) => String(parts[i] ?? ""));
}

/* The text for a status; the status itself if there is none. */
function sayStatus(status) {
  return words[tongue]["status." + status] ?? status;
}

function speak() {
  document.documentElement.lang = tongue === "zh" ? "zh-CN" : "en";
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  for (const e of document.querySelectorAll("[data-label]")) e.setAttribute("aria-label", say(e.dataset.label));
  for (const e of document.querySelectorAll("[data-placeholder]")) e.placeholder = say(e.dataset.placeholder);
  for (const e of document.querySelectorAll("[data-hint]")) e.title = e.dataset.hint;
}

/* --- numbers and times */

function count(n) {
  return new Intl.NumberFormat(document.documentElement.lang, { notation: n >= 100000 ? "compact" : "standard", maximumFractionDigits: 1 }).format(n);
}

function took(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.round(ms / 1000) % 60} s`;
  return `${(ms / 3600000).toFixed(1)} h`;
}

function dollars(usd) {
  return usd >= 0.01 || usd === 0 ? `$${usd.toFixed(2)}` : `$${usd.toPrecision(2)}`;
}

function when(ms) {
  const then = new Date(ms), today = new Date();
  const time = then.toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === today.toDateString()) return time;
  return then.toLocaleDateString(document.documentElement.lang, { month: "short", day: "numeric" });
}
