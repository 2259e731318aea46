// The types of the vendors' clients, as the TypeScript compiler reads them: the members that a request may hold, and those that an
// answer must have.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const files = {
  completions: 'openai/resources/chat/completions/completions.d.ts',
  responses: 'openai/resources/responses/responses.d.ts',
  embeddings: 'openai/resources/embeddings.d.ts',
  messages: '@anthropic-ai/sdk/resources/messages/messages.d.ts',
  beta: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
};
const program = ts.createProgram(Object.values(files).map((file) => join(modules, file)), {
  noEmit: true, skipLibCheck: true, strict: true, types: [], module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
});
const checker = program.getTypeChecker();
const has = (type, flag) => (type.flags & flag) !== 0;
const optional = (symbol) => (symbol.flags & ts.SymbolFlags.Optional) !== 0;
const literal = (type) => (type && type.isStringLiteral() ? type.value : null);

export function typeOf(file, name) {
  const source = program.getSourceFile(join(modules, files[file]));
  const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(source)).find((s) => s.name === name);
  if (!symbol) throw new Error(`${file} has no type ${name}`);
  return checker.getDeclaredTypeOfSymbol(symbol);
}

const parts = (type) => (type.isUnion() ? type.types : [type]);
const element = (type) => (checker.isArrayType(type) ? checker.getTypeArguments(type)[0] : null);
const isObject = (type) => has(type, ts.TypeFlags.Object | ts.TypeFlags.Intersection) && !element(type) && checker.getPropertiesOfType(type).length > 0;
const member = (type, name) => { const s = checker.getPropertyOfType(type, name); return s && checker.getTypeOfSymbol(s); };
/** The word that a variant of a union has as its type. */
export const variant = (type) => { const t = member(type, 'type'); return t ? parts(t).map(literal).find(Boolean) ?? null : null; };

/** Calls visit(path, list) for every member of an object, and of the objects in it, as far as visit returns true: a path as in
 * docs/v1.md; the name of its variant, for an element of a list. */
export function members(type, visit, prefix = '', depth = 0) {
  if (depth > 6) return;
  for (const symbol of checker.getPropertiesOfType(type)) {
    const path = prefix + symbol.name;
    const value = checker.getTypeOfSymbol(symbol);
    if (!visit(path)) continue;
    for (const part of parts(value)) {
      const of = element(part);
      for (const e of of ? parts(of).filter(isObject) : []) if (visit(`${path}[]`, variant(e))) members(e, visit, `${path}[].`, depth + 1);
      if (!of && isObject(part)) members(part, visit, `${path}.`, depth + 1);
    }
  }
}

function matches(type, value) {
  if (has(type, ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return true;
  if (value === null) return has(type, ts.TypeFlags.Null);
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value === value;
  if (has(type, ts.TypeFlags.BooleanLiteral)) return checker.typeToString(type) === String(value);
  if (has(type, ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) return typeof value === 'string';
  if (has(type, ts.TypeFlags.Number)) return typeof value === 'number';
  if (element(type)) return Array.isArray(value);
  if (type.isIntersection() && typeof value !== 'object') return type.types.some((t) => matches(t, value)); // string & {}
  return has(type, ts.TypeFlags.Object | ts.TypeFlags.Intersection) && typeof value === 'object' && !Array.isArray(value);
}

/** What an answer lacks, or has in another form, as paths; empty: it is of this type. ignore: members that only the client has. */
export function problems(type, value, path = '', ignore = []) {
  const all = parts(type).filter((t) => matches(t, value));
  const named = value?.type === undefined ? [] : all.filter((t) => variant(t) === value.type);
  const fitting = named.length ? named : all;
  if (!fitting.length) return [`${path}: ${JSON.stringify(value)} is no ${checker.typeToString(type)}`];
  const found = fitting.map((t) => {
    const of = element(t);
    if (of) return value.flatMap((e, i) => problems(of, e, `${path}[${i}]`, ignore));
    if (!isObject(t) || value === null || typeof value !== 'object') return [];
    return checker.getPropertiesOfType(t).filter((s) => !ignore.includes(s.name)).flatMap((s) => {
      const inner = `${path}.${s.name}`;
      if (!(s.name in value)) return optional(s) ? [] : [`${inner} is missing`];
      if (value[s.name] === null && optional(s)) return []; // as the services themselves send it
      return problems(checker.getTypeOfSymbol(s), value[s.name], inner, ignore);
    });
  });
  return found.reduce((a, b) => (b.length < a.length ? b : a));
}
