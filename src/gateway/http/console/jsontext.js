/* jsontext.js -- JSON as text: what is shown, changed and sent is the same.
 *
 * Reading it and writing it again would round long numbers and lose what stands
 * there twice. Here nothing changes but the space between tokens. */

const jsonTokens = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/* Without any space; throws if it is no JSON. */
function compact(text) {
  JSON.parse(text);
  return text.match(jsonTokens).join("");
}

/* A line for each value; as it is, if it is no JSON. */
function indented(text) {
  let out = "", depth = 0, opened = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  try { JSON.parse(text); } catch { return text; }
  for (const t of text.match(jsonTokens)) {
    const closes = t === "}" || t === "]";
    if (closes) depth--;
    if (opened !== closes) out += line();
    opened = t === "{" || t === "[";
    if (opened) depth++;
    out += t === ":" ? ": " : t;
    if (t === ",") out += line();
  }
  return out;
}

/* The elements of an array, or the members of an object, each a text. */
function parts(text) {
  const all = [];
  let depth = 0, one = "";
  for (const t of text.match(jsonTokens) ?? []) {
    if (t === "}" || t === "]") depth--;
    if (depth === 0 || (depth === 1 && t === ",")) {
      if (one) all.push(one);
      one = "";
    } else one += t;
    if (t === "{" || t === "[") depth++;
  }
  return all;
}

/* An object's members, by name. */
function members(text) {
  return new Map(parts(text).map((one) => {
    const [name] = /^"(?:[^"\\]|\\.)*"/.exec(one);
    return [JSON.parse(name), one.slice(name.length + 1)];
  }));
}

function objectOf(map) {
  return `{${[...map].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}
