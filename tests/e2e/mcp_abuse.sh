#!/usr/bin/env bash
# An MCP server over HTTP and clients that abuse it: others are served, and memory stays bounded.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "clients that abuse a server" python3
"$BUILD/examples/mcp_server" --listen 127.0.0.1:0 >"$tmp/address" 2>&1 &
server_pid=$!
trap 'kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    port=$(sed -n 's|.*127\.0\.0\.1:\([0-9]*\).*|\1|p' "$tmp/address" | head -n 1)
    [ -n "$port" ] && break
    sleep 0.05
done
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$server_pid/status"; }
before=$(memory)
python3 tests/support/mcp/abuse.py "$port" >"$tmp/cases"
while read -r line; do
    case $line in
        "not ok "*) not_ok "${line#not ok }" ;;
        "ok "*) ok "${line#ok }" ;;
    esac
done <"$tmp/cases"
same "all were played" 8 "$(wc -l <"$tmp/cases")"
if [ -z "${ASAN_OPTIONS-}" ]; then
    check "the server grew by less than 48 MB" test $(($(memory) - before)) -lt 49152
fi
kill $server_pid
check "the server ends" eval 'wait $server_pid; [ $? -lt 200 ]'
tap_done
