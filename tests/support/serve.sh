# serve.sh -- a gateway for one test, and curl. Source it after e2e.sh.
#
#     serve [FLAG...]       start it in $space; $gateway is its address, $gateway_pid
#     stop_serving          SIGTERM, and wait; sets $status
#     workers               the processes that the gateway started
#     start_node NODE DIR   start one of several gateways with DIR/chela.yaml; its log is $tmp/NODE.log; sets $pid_NODE, $at_NODE
#     call METHOD PATH [CURL-FLAG...]   with the token; sets $code, $out, $err (headers)
#     post PATH JSON [CURL-FLAG...]     the same
#     anon METHOD PATH [...]            without the token
# shellcheck disable=SC2034,SC2120
token=gateway-SENTINEL-0123456789abcdef
serve_log=$tmp/serve.log

workers() { pgrep -P "$gateway_pid"; }

# At the end of the test. A test that starts more has a function of its own.
clean_up() {
    # shellcheck disable=SC2046
    kill -9 "$gateway_pid" $(workers) 2>/dev/null
    # shellcheck disable=SC2086
    kill $server_pid 2>/dev/null
    rm -rf "$tmp"
}

serve() {
    : >"$serve_log"
    : >"$tmp/serve.pid"
    gateway=
    # As a service does it: a file that is named needs no record of trust, also when it is read again.
    local named=()
    if [ -f "$space/chela.yaml" ] && [ -z "${untrusted-}" ]; then named=(--config chela.yaml); fi
    # shellcheck disable=SC2016
    (cd "$space" && with_env CHELA_TOKEN="${serve_token-$token}" sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/serve.pid" \
        "$program" serve --listen 127.0.0.1:0 -v "${named[@]}" "$@" >>"$serve_log" 2>&1 </dev/null) &
    until [ -s "$tmp/serve.pid" ]; do sleep 0.01; done
    gateway_pid=$(cat "$tmp/serve.pid")
    trap clean_up EXIT
    for _ in {1..200}; do
        gateway=$(sed -n 's|^.*listening on \(https*://[0-9.:]*\).*|\1|p' "$serve_log")
        [ -n "$gateway" ] && return
        kill -0 "$gateway_pid" 2>/dev/null || return
        sleep 0.05
    done
}

start_node() {
    local at=
    : >"$tmp/$1.log"
    # shellcheck disable=SC2016
    (cd "$2" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$1.pid" \
        "$program" serve --listen 127.0.0.1:0 -v --config chela.yaml >>"$tmp/$1.log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(https*://[0-9.:]*\).*|\1|p' "$tmp/$1.log")
        [ -n "$at" ] && break
        sleep 0.05
    done
    eval "pid_$1=$(cat "$tmp/$1.pid") at_$1=$at"
}

stop_serving() {
    kill -"${1:-TERM}" "$gateway_pid"
    for _ in {1..200}; do
        kill -0 "$gateway_pid" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

anon() {
    local method=$1 path=$2
    shift 2
    code=$(curl -sS -m 20 -X "$method" -o "$out" -D "$err" -w '%{http_code}' "$@" "$gateway$path" 2>"$tmp/curl")
}

call() {
    anon "$@" -H "Authorization: Bearer $token"
}

post() {
    local path=$1 body=$2
    shift 2
    call POST "$path" -H 'Content-Type: application/json' --data-binary "$body" "$@"
}

# The data lines of a stream, except [DONE].
chunks() {
    sed -n 's/^data: //p' "$out" | grep -vxF '[DONE]'
}

answers() {
    if [ "$code" = "$2" ]; then
        ok "$1: $2"
    else
        not_ok "$1: $2" "$(printf 'answered %s\n' "$code"; head -c 1000 "$out"; tail -n 5 "$serve_log")"
    fi
}

# eventually COMMAND...: repeat the command until it succeeds, for a minute.
eventually() {
    for _ in {1..600}; do
        "$@" && return
        sleep 0.1
    done
    return 1
}

# eventually_shows SOURCE COMMAND...: run SOURCE until the command accepts its output, for a
# minute. The command reads only output that is new, since jq starts slowly.
eventually_shows() {
    local source=$1 text last=
    shift
    for _ in {1..600}; do
        text=$($source)
        if [ "$text" != "$last" ]; then
            last=$text
            "$@" <<<"$text" && return
        fi
        sleep 0.1
    done
    return 1
}

# lock_store [SECONDS]: nobody can write to the SQLite store of the gateway, in the background, for that
# time or until unlock_store.
lock_store() {
    rm -f "$tmp/locked"
    {
        printf '.timeout 5000\nBEGIN IMMEDIATE;\n.shell touch "%s"\n' "$tmp/locked"
        until [ -e "$tmp/locked" ]; do sleep 0.01; done
        if [ $# = 1 ]; then sleep "$1"; fi
        while [ $# = 0 ] && [ -e "$tmp/locked" ]; do sleep 0.01; done
    } | sqlite3 "$space/chela.db" &
    until [ -e "$tmp/locked" ]; do sleep 0.01; done
}
unlock_store() { rm "$tmp/locked"; }

status_is() { # KEY STATUS: of a session
    call GET "/api/sessions/$1"
    grep -qF "\"status\":\"$2\"" "$out" && [ "$(jq -r .status "$out")" = "$2" ]
}
