// OpenTelemetry's own decoder reads what chela exports, and finds members that the protocol
// does not have. The official exporter sends to the same receiver first: this checks the
// receiver.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { build, check, done, same } from './lib.mjs';

const require = createRequire(import.meta.url);
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root.js');
const proto = root.opentelemetry.proto.collector;
const kinds = {
  '/v1/traces': proto.trace.v1.ExportTraceServiceRequest,
  '/v1/metrics': proto.metrics.v1.ExportMetricsServiceRequest,
  '/v1/logs': proto.logs.v1.ExportLogsServiceRequest,
};
const ids = new Set(['traceId', 'spanId', 'parentSpanId']);

// The JSON form has ids in hexadecimal, where protobuf's own has base64.
function map(value, change, key) {
  if (Array.isArray(value)) return value.map((v) => map(v, change, key));
  if (value && typeof value === 'object' && !ArrayBuffer.isView(value)) {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, map(v, change, k)]));
  }
  return change(value, key);
}
const fromHex = (value, key) => (ids.has(key) ? Buffer.from(value, 'hex') : value);
const plain = (kind, message) => map(kind.toObject(message, { longs: String, bytes: Buffer, enums: Number }), (value, key) =>
  (ids.has(key) ? Buffer.from(value).toString('hex') : value));

// Numbers may be texts or numbers in JSON, and a list without elements may be left out.
const loose = (value) => JSON.parse(JSON.stringify(value, (_, v) =>
  (typeof v === 'number' ? String(v) : Array.isArray(v) && !v.length ? undefined : v)));

// The decoder is older than the member eventName of log records.
const withoutEventName = (value) => JSON.parse(JSON.stringify(value, (key, v) => (key === 'eventName' ? undefined : v)));

function decode(path, type, body) {
  const kind = kinds[path];
  if (!kind) throw new Error(`no such path: ${path}`);
  if (type === 'application/x-protobuf') return plain(kind, kind.decode(body));
  const given = JSON.parse(body);
  const wanted = map(given, fromHex);
  const wrong = kind.verify(wanted);
  if (wrong && !/Nano|intValue|count|bucketCounts/.test(wrong)) throw new Error(wrong);
  const back = plain(kind, kind.fromObject(wanted));
  same(loose(back), loose(withoutEventName(given)), 'members that the protocol does not have, or other values');
  return back;
}

const requests = [];
const server = createServer((req, res) => {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', () => {
    const row = { path: req.url, type: req.headers['content-type'] };
    try {
      row.message = decode(row.path, row.type, Buffer.concat(parts));
    } catch (error) {
      row.error = error;
    }
    requests.push(row);
    res.writeHead(200, { 'Content-Type': row.type });
    res.end(row.type === 'application/json' ? '{}' : '');
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}`;

function take() {
  const all = requests.splice(0);
  for (const r of all) if (r.error) throw new Error(r.error.message);
  return all;
}
const spansOf = (all) => all.filter((r) => r.path === '/v1/traces')
  .flatMap((r) => r.message.resourceSpans).flatMap((r) => r.scopeSpans).flatMap((s) => s.spans);

async function official(Exporter) {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new Exporter({ url: `${url}/v1/traces` }))] });
  const span = provider.getTracer('test').startSpan('hello');
  span.setAttribute('n', 7).setAttribute('list', ['a', 'b']).end();
  await provider.forceFlush();
  await provider.shutdown();
  const spans = spansOf(take());
  same(spans.map((s) => s.name), ['hello'], 'spans of the official exporter');
}

await check('the official exporter, JSON', () => official(JsonExporter));
await check('the official exporter, protobuf', () => official(ProtoExporter));
await check('the receiver sees a wrong member', () => {
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'x', trace_id: 'ab' }] }] }] });
  let seen = false;
  try { decode('/v1/traces', 'application/json', body); } catch { seen = true; }
  same(seen, true, 'trace_id passed');
});

const rules = `rules:
  - { when: { after: none, user: "look" }, call: [{ tool: ls, args: { path: "." } }, { tool: read, args: { file_path: "missing" } }] }
  - { say: "seen" }
`;
// Both runs use one directory: the number of tokens depends on its name.
const cwd = mkdtempSync(join(tmpdir(), 'chela-'));
writeFileSync(join(cwd, 'rules.yaml'), rules);
function run(protocol) {
  const env = { PATH: process.env.PATH, HOME: cwd, OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true', OTEL_RESOURCE_ATTRIBUTES: 'host.name=h,service.instance.id=i,process.pid=1',
    CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
  return new Promise((resolve, reject) => {
    const child = execFile(join(build, 'chela'), ['run', '--model', 'scripted/rules.yaml', '--no-session', '--approve', 'auto', 'look'], { cwd, env }, (error, _, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else if (stderr.includes('not exported')) reject(new Error(stderr));
      else resolve();
    });
    child.stdin.end();
  });
}

// What differs between two runs: ids, times and what derives from them.
const steady = (all) => map(all, (value, key) => {
  if (ids.has(key) || /UnixNano$/.test(key) || ['sum', 'min', 'max'].includes(key)) return '';
  return typeof value === 'string' ? value.replace(/(run|eph|s)_[0-9a-z]+|call_[0-9a-z]+|chela-[A-Za-z0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}[^"\\]*/g, '') : value;
});
const shapes = (all) => all.map((r) => ({ path: r.path, message: r.message })).sort((a, b) => (a.path < b.path ? -1 : 1));
// The two calls of a tool run at the same time, and either may end first.
const sorted = (list) => list.map((v) => [JSON.stringify([v.name, v.attributes]), v]).sort((a, b) => (a[0] < b[0] ? -1 : 1)).map((v) => v[1]);
const outline = (all) => JSON.stringify(steady(shapes(all)), (key, value) => {
  if (['bucketCounts', 'doubleValue'].includes(key)) return undefined;
  return ['spans', 'dataPoints'].includes(key) ? sorted(value) : value;
});

let json;
await check('chela, JSON', async () => {
  await run('http/json');
  json = take();
  same([...new Set(json.map((r) => r.path))].sort(), Object.keys(kinds).sort(), 'signals');
  same(spansOf(json).map((s) => s.name.split(' ')[0]).sort(), ['chat', 'chat', 'execute_tool', 'execute_tool', 'invoke_agent'], 'spans');
});
await check('chela, protobuf: the same message', async () => {
  await run('http/protobuf');
  const protobuf = take();
  same(protobuf.every((r) => r.type === 'application/x-protobuf'), true, 'type');
  const [a, b] = [outline(protobuf), outline(json)];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  same(a.slice(Math.max(0, at - 300), at + 100), b.slice(Math.max(0, at - 300), at + 100), 'another message');
  same(a.length, b.length, 'another message');
});
rmSync(cwd, { recursive: true });
server.close();
done();
