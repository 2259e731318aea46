// A server that passes requests on, keeps what went by, and may answer itself.
import http from 'node:http';

// `target()` is where to; `answer(request)` gives { status, headers, body }, or null to pass it on.
export async function relay(target, answer = () => null) {
  const requests = [];
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const data = Buffer.concat(chunks);
    const text = data.toString();
    const request = { method: req.method, path: req.url, headers: req.headers, text, reply: '' };
    try { request.body = JSON.parse(text); } catch { /* it has none */ }
    requests.push(request);
    const own = answer(request);
    if (own) {
      request.status = own.status;
      res.writeHead(own.status, { 'content-type': 'application/json', ...own.headers }).end(own.body);
      return;
    }
    const { hostname, port } = new URL(target());
    const onward = http.request({ hostname, port, path: req.url, method: req.method, headers: { ...req.headers, host: `${hostname}:${port}` } }, (from) => {
      Object.assign(request, { status: from.statusCode, answered: from.headers });
      res.writeHead(from.statusCode, from.headers);
      from.on('data', (piece) => { request.reply += piece; res.write(piece); });
      from.on('end', () => res.end());
      from.on('error', () => res.destroy());
    });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    onward.end(data);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
