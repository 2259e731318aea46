// contract.mjs -- what all drivers share: the arguments, the tool, the line at the end.
const [address, agents = '1', toolMs = '0'] = process.argv.slice(2);
let calls = 0, sum = 0, text = 0;

export const url = address;
export const description = 'Add two numbers.';

export async function add({ a, b }) {
  if (+toolMs) await new Promise((done) => setTimeout(done, +toolMs));
  calls++;
  sum += a + b;
  return String(a + b);
}

export const heard = (piece) => { text += piece.length; };

// Runs all agents at the same time, and reports.
export async function compete(agent) {
  await Promise.all(Array.from({ length: +agents }, agent));
  console.log(`tools=${calls} sum=${sum} text=${text}`);
  process.exit(0);
}
