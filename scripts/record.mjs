// record.mjs -- frames of a terminal (see scripts/record) as an animated SVG.
//
// Each line that ever was on the screen is drawn once; a frame is a column of
// references to lines, frames stand below each other, and the animation moves
// from one to the next. Without animation the last frame is seen. Every stretch
// of one style is as wide as its columns, whatever font there is.
import { readFileSync } from "node:fs";

const CELL = 8.4, ROW = 18, FONT = 14, PAD = 14, BAR = 30, REST = 4000;
const COLORS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4"];
const PAPER = "#1e222a", INK = "#dcdfe4";

const wide = (c) => {
    const n = c.codePointAt(0);
    return (n >= 0x1100 && n <= 0x115f) || (n >= 0x2e80 && n <= 0xa4cf) || (n >= 0xac00 && n <= 0xd7a3) ||
        (n >= 0xf900 && n <= 0xfaff) || (n >= 0xfe30 && n <= 0xfe6f) || (n >= 0xff00 && n <= 0xff60) || n >= 0x1f300;
};
const columns = (text) => [...text].reduce((sum, c) => sum + (wide(c) ? 2 : 1), 0);
const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

// The parameters of one escape sequence change the pen.
function restyle(pen, codes) {
    for (const code of codes.length ? codes : [0]) {
        if (code === 0) pen = {};
        else if (code === 1) pen = { ...pen, bold: true };
        else if (code === 2) pen = { ...pen, dim: true };
        else if (code === 3) pen = { ...pen, italic: true };
        else if (code === 4) pen = { ...pen, under: true };
        else if (code >= 30 && code <= 37) pen = { ...pen, color: COLORS[code - 30] };
        else if (code >= 90 && code <= 97) pen = { ...pen, color: COLORS[code - 90] };
        else if (code === 39) pen = { ...pen, color: undefined };
        else if (code === 22) pen = { ...pen, bold: false, dim: false };
    }
    return pen;
}

// tmux carries the pen from line to line.
function stretches(screen) {
    let pen = {};
    return screen.split("\n").map((line) => {
        const out = [];
        let column = 0;
        for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
            const codes = /^\x1b\[([0-9;]*)m$/.exec(part);
            if (codes) {
                pen = restyle(pen, codes[1].split(";").filter(Boolean).map(Number));
            } else if (part) {
                // blanks at either end need no drawing
                const text = part.trimEnd(), lead = text.length - text.trimStart().length;
                if (text.trim()) out.push({ column: column + lead, text: text.trimStart(), pen });
                column += columns(part);
            }
        }
        return out;
    });
}

function draw(line) {
    return line.map(({ column, text, pen }) => {
        const style = [`fill="${pen.color ?? INK}"`, pen.bold && 'font-weight="bold"', pen.dim && 'opacity=".6"',
            pen.italic && 'font-style="italic"', pen.under && 'text-decoration="underline"'].filter(Boolean).join(" ");
        // what is wide is drawn by itself: fonts disagree about it
        let at = column, out = "";
        for (const part of text.match(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]+|[^\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]+/gu)) {
            const n = columns(part);
            out += `<text x="${(at * CELL).toFixed(1)}" textLength="${(n * CELL).toFixed(1)}" ${style}>${escape(part)}</text>`;
            at += n;
        }
        return out;
    }).join("");
}

const frames = [];
for (const row of readFileSync(0, "utf8").trim().split("\n")) {
    const [ms, x, y, screen] = row.split(" ");
    const text = Buffer.from(screen, "base64").toString("utf8").replace(/\n$/, "");
    const key = `${x},${y}\n${text}`;
    if (frames.length && frames.at(-1).key === key) continue;
    frames.push({ key, ms: Number(ms), x: Number(x), y: Number(y), lines: stretches(text).map(draw) });
}
const rows = Math.max(...frames.map((f) => f.lines.length));
const height = rows * ROW, total = frames.at(-1).ms - frames[0].ms + REST;
const width = Math.round(84 * CELL + 2 * PAD);
const names = new Map();
const name = (line) => names.get(line) ?? names.set(line, `l${names.size}`).get(line);

const film = frames.map((frame, i) => {
    const lines = frame.lines.map((line, row) => line && `<use href="#${name(line)}" y="${i * height + row * ROW}"/>`);
    const cursor = `<rect x="${(frame.x * CELL).toFixed(1)}" y="${i * height + frame.y * ROW - 13}" width="8" height="17" class="c"/>`;
    return lines.join("") + cursor;
}).join("\n");
const steps = frames.map((f, i) =>
    `${(((f.ms - frames[0].ms) / total) * 100).toFixed(2)}%{transform:translateY(${-i * height}px)}`).join("");
const defs = [...names].map(([line, id]) => `<g id="${id}">${line}</g>`).join("\n");

console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + BAR + 2 * PAD}" width="${width}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="${FONT}" role="img" aria-label="A conversation in chela chat: the agent reads a skill, writes a script, asks before it runs it, and answers.">
<style>.f{transform:translateY(${-(frames.length - 1) * height}px);animation:f ${(total / 1000).toFixed(1)}s step-end infinite}.c{fill:${INK};opacity:.5}text{white-space:pre}@keyframes f{${steps}}</style>
<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>
<circle cx="20" cy="17" r="6" fill="#e06c75"/><circle cx="40" cy="17" r="6" fill="#e5c07b"/><circle cx="60" cy="17" r="6" fill="#98c379"/>
<defs>
${defs}
</defs>
<svg x="${PAD}" y="${BAR + PAD - 2}" width="${84 * CELL}" height="${height}" viewBox="0 -14 ${84 * CELL} ${height}" overflow="hidden">
<g class="f">
${film}
</g></svg>
</svg>`);
