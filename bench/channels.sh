#!/usr/bin/env bash
# channels.sh -- memory of an idle connected channel, and 1,000 chats on one connection, with the
# stand-ins of the services:
#
#     bench/channels.sh [BUILD]
#
# Memory is the anonymous memory of the gateway (smaps_rollup), over a gateway without channels.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/.." || exit 2
BUILD=${1:-build}
export BUILD
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/channels/all.sh
program=$(realpath "$BUILD/chela")
chats=1000 tells=()
server_pid='' gateway_pid=''
start_services
printf 'rules:\n  - { say: "heard: {{user}}" }\n' >"$space/rules.yaml"
configure() { # NAME...
    echo 'store: sqlite:./chela.db'
    echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml }] }'
    [ $# = 0 ] || echo 'channels:'
    for name in "$@"; do channel_yaml "$name"; done
}
start() {
    rm -f "$space"/chela.db*
    configure "$@" >"$space/chela.yaml"
    serve
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_services; rm -rf "$tmp"' EXIT
}
memory() { awk '/^Anonymous:/ { print $2 }' "/proc/$gateway_pid/smaps_rollup"; }
cpu() { awk '{ print $14 + $15 }' "/proc/$gateway_pid/stat"; } # in hundredths of a second
idle() { # of several starts the least, in $least: the kB of an idle gateway
    local now
    least=''
    for _ in 1 2 3; do
        start "$@"
        sleep 3
        now=$(memory)
        if [ -z "$least" ] || [ "$now" -lt "$least" ]; then least=$now; fi
        stop_serving
    done
}
idle
none=$least
echo "a gateway without channels: $none kB"
for name in $channel_names; do
    idle "$name"
    echo "$name, connected and idle: $((least - none)) kB"
done

# shellcheck disable=SC2086
idle $channel_names
echo "all six: $((least - none)) kB, $(((least - none) / 6)) kB each"

for name in $channel_names; do
    start "$name"
    sleep 2
    before=$(memory) cpu_before=$(cpu) began=$(date +%s%3N)
    for ((i = 1; i <= chats; i++)); do
        # Discord's stand-in knows channels from 100000 on
        tell "$name" $((1000 + i)) "line $i." "$([ "$name" = discord ] && echo $((100000 + i)) || echo "$i")" &
        tells+=($!)
        if [ ${#tells[@]} -ge 25 ] || [ "$i" -eq $chats ]; then
            wait "${tells[@]}"
            tells=()
        fi
    done
    for _ in {1..1200}; do
        n=$(said "$name" | grep -c 'heard: .*line')
        [ "$n" -ge $chats ] && break
        sleep 0.1
    done
    echo "$name: $chats chats on one connection: $n answers, $(said "$name" | sort -u | grep -c 'heard: .*line') of them different," \
        "in $(($(date +%s%3N) - began)) ms, $(($(cpu) - cpu_before))0 ms CPU," \
        "$(connections "$name") connection(s), $(($(memory) - before)) kB more"
    stop_serving
done
