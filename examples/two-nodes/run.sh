#!/bin/sh
# Two gateways on one PostgreSQL, on this machine, to watch: kill either of them
# with kill -9 and see the other go on. Ctrl-C ends both.
#
#     createdb chela && sh run.sh 'postgres:///chela'
set -eu
store=${1:?usage: run.sh postgres://USER@HOST/DATABASE [FLAG...]}
shift
CHELA_TOKEN=${CHELA_TOKEN:-$(openssl rand -hex 24)}
export CHELA_TOKEN
echo "token: $CHELA_TOKEN"

pids=
end() {
    trap - EXIT
    for pid in $pids; do kill "$pid" 2>/dev/null || :; done
    wait
}
trap end EXIT
trap 'exit 0' INT TERM
for port in 8787 8788; do
    chela serve --config chela.yaml --store "$store" --listen "127.0.0.1:$port" "$@" &
    pids="$pids $!"
    echo "process $! is http://127.0.0.1:$port"
done
wait
