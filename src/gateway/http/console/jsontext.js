/* jsontext.js -- formats JSON without parsing it into values.
 *
 * Parsing and serializing would round long numbers and drop duplicate members. These
 * functions change only the white space between tokens. */

const jsonTokens = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/* Removes white space; throws if the text is not valid JSON. */
export function compact(text) {
  JSON.parse(text);
  return text.match(jsonTokens).join("");
}

/* One line per value; unchanged if the text is not valid JSON. */
export function indented(text) {
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

/* The elements of an array, or the members of an object, as texts. */
export function parts(text) {
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

/* The members of an object, by name. */
export function members(text) {
  return new Map(parts(text).map((one) => {
    const [name] = /^"(?:[^"\\]|\\.)*"/.exec(one);
    return [JSON.parse(name), one.slice(name.length + 1)];
  }));
}

export function objectOf(map) {
  return `{${[...map].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}
