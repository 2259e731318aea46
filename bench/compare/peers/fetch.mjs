// fetch.mjs -- the least that a JavaScript program can do: fetch, an SSE reader, a loop.
//   node fetch.mjs URL AGENTS TOOL_MS        also: bun fetch.mjs ...
const [url, agents = '1', toolMs = '0'] = process.argv.slice(2);
const tools = [{
  name: 'add', description: 'Add two numbers.',
  input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
}];
let calls = 0, sum = 0, text = 0;

async function add({ a, b }) {
  if (+toolMs) await new Promise((done) => setTimeout(done, +toolMs));
  calls++;
  return String(a + b);
}

async function* events(body) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const parts = rest.split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const at = part.indexOf('data: ');
      if (at >= 0) yield JSON.parse(part.slice(at + 6));
    }
  }
}

// The content blocks of one reply.
async function ask(messages) {
  const blocks = [];
  const reply = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
    body: JSON.stringify({ model: 'mock', max_tokens: 1024, stream: true, tools, messages }),
  });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  for await (const e of events(reply.body)) {
    if (e.type === 'content_block_start') blocks[e.index] = { ...e.content_block, json: '' };
    if (e.type === 'content_block_delta' && e.delta.type === 'text_delta') {
      blocks[e.index].text += e.delta.text;
      text += e.delta.text.length;
    }
    if (e.type === 'content_block_delta' && e.delta.type === 'input_json_delta') blocks[e.index].json += e.delta.partial_json;
  }
  return blocks;
}

async function agent() {
  const messages = [{ role: 'user', content: 'go' }];
  for (;;) {
    const blocks = await ask(messages);
    const uses = blocks.filter((b) => b.type === 'tool_use');
    if (!uses.length) return;
    for (const u of uses) u.input = JSON.parse(u.json);
    const results = await Promise.all(uses.map((u) => add(u.input)));
    for (const r of results) sum += +r;
    messages.push({ role: 'assistant', content: uses.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })) });
    messages.push({ role: 'user', content: uses.map((u, i) => ({ type: 'tool_result', tool_use_id: u.id, content: results[i] })) });
  }
}

await Promise.all(Array.from({ length: +agents }, agent));
console.log(`tools=${calls} sum=${sum} text=${text}`);
process.exit(0);
