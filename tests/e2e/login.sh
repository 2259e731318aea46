#!/usr/bin/env bash
# chela login: a key in a file that only the user can read, tested, and used by other commands.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cp tests/conversations/models/*.json "$tmp"
start_server
secret=sk-login-SENTINEL-0123456789abcdef
secrets=$tmp/.config/chela/secrets
cat >"$space/chela.yaml" <<YAML
providers:
  mine: { api: openai, baseUrl: "$url/mine/i1/v1", apiKeyEnv: MINE_API_KEY }
  good: { api: openai, baseUrl: "$url/probe/i2/v1", apiKeyEnv: GOOD_API_KEY }
  none: { api: openai, baseUrl: "$url/none/i1/v1" }
YAML
login() { # KEY ARG...
    printf '%s\n' "$1" >"$tmp/key"
    shift
    stdin=$tmp/key chela login "$@"
}

login "$secret" mine --no-test
exits "login without a test" 0
same "the file has the key" "$secret" "$(cat "$secrets/MINE_API_KEY")"
same "only the user can read the file" "600 700" "$(stat -c %a "$secrets/MINE_API_KEY") $(stat -c %a "$secrets")"
check "the key is not printed" sh -c "! grep -q SENTINEL '$out' '$err'"
chela models list --json
holds "the provider has a key now" '.[0].providers | map(select(.name == "mine"))[0].key'
chmod 644 "$secrets/MINE_API_KEY"
chela models list --json
holds "a file that others can read is not used" '.[0].providers | map(select(.name == "mine"))[0].key | not'
login "other-$secret" mine --no-test --json
exits "login again" 0
same "the new key replaces the old one" "other-$secret 600" "$(cat "$secrets/MINE_API_KEY") $(stat -c %a "$secrets/MINE_API_KEY")"
holds "as JSON" '.[0] | .provider == "mine" and .variable == "MINE_API_KEY" and (.file | test("secrets/MINE_API_KEY$")) and .models == null'
same "nothing else lies in the folder" 1 "$(find "$secrets" -type f | wc -l)"
chela login mine --remove
exits "login --remove" 0
check "login --remove removes the file" test ! -e "$secrets/MINE_API_KEY"
chela login mine --remove
exits "login --remove of nothing" 2

# --- with a test
login "$secret" good
exits "login with a test" 0
check "the account is shown" grep -q 'offers 2 models: big, gpt-test' "$out"
same "the service was asked with the key" 1 "$(grep -c 'Bearer sk-login-SENTINEL' "$log")"
same "the key is kept" "$secret" "$(cat "$secrets/GOOD_API_KEY")"

# --- what is wrong
login "$secret" mine
exits "a service that does not answer as it should" 1
check "a key that was not accepted is not kept" test ! -e "$secrets/MINE_API_KEY"
login "" mine
exits "an empty key" 2
login "two words" mine
exits "a key with a space" 2
login "$secret" nobody
exits "an unknown provider" 2
login "$secret" none
exits "a provider without a variable" 2
chela login
exits "no provider" 2
chela login mine </dev/null
exits "nobody to ask" 2
tap_done
