#!/usr/bin/env python3
"""material.py FILE... -- the data that documents print, one JSON object a line.

{"kind": ..., "where": "FILE:LINE", ...}: prompt {name, version, text}, case {name, input_vars,
assertions}, tool {definition}, plan {steps}, reply {body}, event {body}, beat {text}, call {name,
input}, json {value}, left {why}: a block that is no data, or is not printed in full.
Markdown is read by its fences; a page without fences by its braces. Python is parsed, never run.
"""
import ast
import json
import re
import sys

ELIDED = re.compile(r'\.\.\.|…|<[a-z0-9-]+ |<one |\{\{|<explanation>')


def put(kind, where, **more):
    print(json.dumps({"kind": kind, "where": where, **more}, ensure_ascii=False))


def without_comments(text):
    out, i = [], 0
    while i < len(text):
        if text[i] == '"':
            end = i + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == '\\' else 1
            out.append(text[i:end + 1])
            i = end + 1
        elif text.startswith('//', i) or text[i] in '#←':
            i = text.find('\n', i) if '\n' in text[i:] else len(text)
        else:
            out.append(text[i])
            i += 1
    return ''.join(out)


def load(text):
    """The JSON value, or None and the reason."""
    for candidate in (text, without_comments(text)):
        try:
            return json.loads(candidate, strict=False), None
        except ValueError as e:
            why = str(e)
    if ELIDED.search(text):
        return None, "not printed in full"
    return None, "not JSON: " + why


def is_step(v):
    return isinstance(v, dict) and ('step_id' in v or 'depends_on' in v)


def classify(v, where):
    if isinstance(v, list) and v and all(is_step(e) for e in v):
        put("plan", where, steps=v)
    elif not isinstance(v, dict):
        put("json", where, value=v)
    elif isinstance(v.get('header'), dict) and 'event' in v:
        put("event", where, body=v)
    elif 'actions' in v and ('thoughts' in v or 'request_heartbeat' in v):
        put("beat", where, text=json.dumps(v, ensure_ascii=False))
    elif isinstance(v.get('plan'), list):
        put("plan", where, steps=v)
    elif isinstance(v.get('function'), dict) and 'description' in v['function']:
        put("tool", where, definition=v)
    elif 'name' in v and 'description' in v and ('parameters' in v or 'input_schema' in v):
        put("tool", where, definition=v)
    elif v.get('type') == 'tool_use':
        put("call", where, name=v['name'], input=v['input'])
    elif 'stop_reason' in v and 'content' in v:
        put("reply", where, body=v)
    else:
        put("json", where, value=v)


def json_block(text, where):
    v, why = load(text)
    if why:
        put("left", where, why=why)
    else:
        classify(v, where)


# --- Python

def constant(node):
    """The value of a literal; names and calls become their text."""
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        pass
    if isinstance(node, ast.Dict):
        return {constant(k): constant(v) for k, v in zip(node.keys, node.values) if k}
    if isinstance(node, ast.List):
        return [constant(e) for e in node.elts]
    return ast.unparse(node)


def python_call(node, where):
    name = node.func.id if isinstance(node.func, ast.Name) else ''
    given = {k.arg: constant(k.value) for k in node.keywords if k.arg}
    if name == 'PromptTemplate' and 'template' in given:
        put("prompt", where, name=given['name'], version=given['version'], text=given['template'])
    elif name == 'PromptTestCase':
        put("case", where, **{k: given[k] for k in ('name', 'input_vars', 'assertions')})
    elif name in ('Tool', 'register_tool') and 'parameters' in given:
        put("tool", where, definition={k: given[k] for k in ('name', 'description', 'parameters')})
    else:
        return False
    return True


def role_of(name):
    for role in ('router', 'planner', 'executor', 'reflector'):
        if name.lower().startswith(role):
            return role
    return 'router' if name == 'SCRATCHPAD_PROMPT' else None


def examples_in(text, where):
    for m in re.finditer(r'^\[\n.*?^\]$', text.replace('{{', '{').replace('}}', '}'), re.S | re.M):
        json_block(m.group(0), where)


def python_block(text, where):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        put("left", where, why="a piece of a program")
        return
    found = False
    line = int(where.rsplit(':', 1)[1])
    for node in ast.walk(tree):
        here = "%s:%d" % (where.rsplit(':', 1)[0], line + getattr(node, 'lineno', 1))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) \
                and isinstance(node.value.value, str) and isinstance(node.targets[0], ast.Name):
            role = role_of(node.targets[0].id)
            if role:
                put("prompt", here, name=role, version=None, text=node.value.value)
                examples_in(node.value.value, here)
                found = True
        elif isinstance(node, ast.Call):
            found |= python_call(node, here)
        elif isinstance(node, ast.Dict):
            v = constant(node)
            inner = v.get('function') if isinstance(v.get('function'), dict) else v
            if 'description' in inner and isinstance(inner.get('parameters'), dict) \
                    and 'properties' in inner['parameters'] and isinstance(inner.get('name'), str):
                put("tool", here, definition=v)
                found = True
            elif v.get('role') == 'tool' and 'tool_call_id' in v:
                put("json", here, value=v)
                found = True
    if not found:
        put("left", where, why="a program, which holds no data")


# --- pages

def fenced(page, name):
    kind, begin, lines = None, 0, []
    for n, line in enumerate(page.split('\n'), 1):
        m = re.match(r'\s*```(\w*)\s*$', line)
        if kind is None and m:
            kind, begin, lines = m.group(1) or 'text', n, []
        elif kind is not None and m:
            block(kind, '\n'.join(lines), "%s:%d" % (name, begin))
            kind = None
        elif kind is not None:
            lines.append(line)


def block(kind, text, where):
    if kind == 'python':
        python_block(text, where)
    elif kind == 'json':
        json_block(text, where)
    else:
        put("left", where, why="a drawing, a text or a program in " + kind)


def braced(page, name):
    """JSON of a page without fences: from a line that begins with a brace to its closing brace."""
    lines = page.split('\n')
    n = 0
    while n < len(lines):
        if not re.match(r'[{\[]\s*$', lines[n]):
            n += 1
            continue
        depth, end = 0, n
        while end < len(lines):
            bare = re.sub(r'"(\\.|[^"\\])*"', '', lines[end])
            depth += sum(bare.count(c) for c in '{[') - sum(bare.count(c) for c in '}]')
            end += 1
            if depth <= 0:
                break
        json_block('\n'.join(lines[n:end]), "%s:%d" % (name, n + 1))
        n = end


def main():
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as f:
            page = f.read()
        name = path.rsplit('/', 1)[-1]
        if len(re.findall(r'^\s*```\w*\s*$', page, re.M)) > 12 or 'fenced' in name:
            fenced(page, name)
        else:
            braced(page, name)


main()
