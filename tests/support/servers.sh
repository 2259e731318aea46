# servers.sh -- database servers for one test. Source it after e2e.sh.
#
#     start_postgres            $postgres: its URL; false: not installed here
#     postgres_url DATABASE     URL of another database of the server
#     postgres_sql SQL [DATABASE]  run SQL as the owner
#     start_redis [SETTING...]  $redis: its URL, $redis_port; false likewise
#     redis_tell WORD...        send a command to the server
#     stop_servers              at the end; also called when the test exits
#
# All processes of a server: freeze_server PID, thaw_server PID, kill_server PID.
# shellcheck disable=SC2034
servers=$(mktemp -d)
server_pids=()
trap 'stop_servers; rm -rf "$tmp"' EXIT

# --- PostgreSQL refuses to run as root, and has a socket instead of a port
postgres_as() {
    local as=()
    if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid "$postgres_user" --regid "$(id -g "$postgres_user")" --clear-groups); fi
    (cd "$servers/pg" && exec "${as[@]}" "$@")
}

start_postgres() {
    postgres_bin=$(find /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/bin -maxdepth 1 -name initdb 2>/dev/null | tail -n 1)
    postgres_bin=${postgres_bin%/initdb}
    [ -n "$postgres_bin" ] && [ -e "$BUILD/libchela-store-postgres.so" ] || return 1
    if [ ! -d "$servers/pg" ]; then
        postgres_user=$(id -un postgres 2>/dev/null || echo nobody)
        mkdir "$servers/pg"
        chmod 755 "$servers"
        if [ "$(id -u)" = 0 ]; then chown "$postgres_user" "$servers/pg"; fi
        postgres_as "$postgres_bin/initdb" -D "$servers/pg/data" -U chela -E UTF8 --no-locale --no-sync --auth=trust \
            >"$servers/pg.log" 2>&1 || return 1
    fi
    postgres_as "$postgres_bin/postgres" -D "$servers/pg/data" -k "$servers/pg" -c listen_addresses= -c fsync=off \
        -c shared_buffers=1MB -c max_connections=40 >>"$servers/pg.log" 2>&1 &
    postgres_pid=$!
    server_pids+=($postgres_pid)
    postgres=$(postgres_url postgres)
    for _ in {1..1200}; do # after a crash it has a log to read first
        [ "$(postgres_sql 'SELECT 42' 2>/dev/null)" = 42 ] && return
        kill -0 $postgres_pid 2>/dev/null || break
        sleep 0.05
    done
    cat "$servers/pg.log" >&2
    return 1
}

postgres_url() {
    echo "postgres:///$1?host=$servers/pg&user=chela"
}

postgres_sql() {
    "$postgres_bin/psql" -X -q -A -t -h "$servers/pg" -U chela -d "${2:-postgres}" -c "$1"
}

# --- Redis
# shellcheck disable=SC2120
start_redis() {
    command -v redis-server >/dev/null && [ -e "$BUILD/libchela-store-redis.so" ] || return 1
    mkdir -p "$servers/redis"
    for _ in {1..20}; do
        redis_port=${redis_port:-$((20000 + RANDOM % 12000))}
        redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$servers/redis" --save '' --appendonly yes \
            --appendfsync always "$@" >"$servers/redis.log" 2>&1 &
        redis_pid=$!
        for _ in {1..200}; do
            kill -0 $redis_pid 2>/dev/null || break
            if [ "$(redis_tell PING 2>/dev/null)" = PONG ] && # else it is still reading its data
                [ "$(redis_tell CONFIG GET dir 2>/dev/null | tail -n 1)" = "$servers/redis" ]; then
                server_pids+=($redis_pid)
                redis=redis://127.0.0.1:$redis_port
                return
            fi
            sleep 0.05
        done
        redis_port= # somebody else has it
    done
    cat "$servers/redis.log" >&2
    return 1
}

redis_tell() {
    redis-cli -h 127.0.0.1 -p "$redis_port" "$@"
}

# --- faults of servers
family() {
    local stat pid
    for stat in /proc/[0-9]*/stat; do
        # shellcheck disable=SC2162
        read pid _ _ parent _ 2>/dev/null <"$stat" || continue
        if [ "$parent" = "$1" ]; then echo "$pid"; fi
    done
    echo "$1"
}

freeze_server() {
    kill -STOP "$1"
    # shellcheck disable=SC2046
    kill -STOP $(family "$1") 2>/dev/null
}

thaw_server() {
    # shellcheck disable=SC2046
    kill -CONT $(family "$1") 2>/dev/null
}

kill_server() {
    local all
    kill -STOP "$1"
    all=$(family "$1")
    # shellcheck disable=SC2086
    kill -KILL $all 2>/dev/null
    wait "$1" 2>/dev/null
    for _ in {1..100}; do # its children are not ours to wait for
        # shellcheck disable=SC2086
        kill -0 $all 2>/dev/null || break
        sleep 0.05
    done
}

stop_servers() {
    local pid
    for pid in "${server_pids[@]}"; do
        kill_server "$pid" 2>/dev/null
    done
    server_pids=()
    rm -rf "$servers"
}
