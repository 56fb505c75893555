#!/usr/bin/env bash
# Sees to it that mcp-conform is on the PATH: what is there already, else built from the sources of this action.
set -euo pipefail

wanted="${MCP_CONFORM_WANTED:-}"
wanted="${wanted#v}"

fail() {
    echo "::error title=mcp-conform::$1"
    exit 1
}

if command -v mcp-conform >/dev/null; then
    there="$(mcp-conform --version)"
    there="${there##* }"
    if [[ -z "$wanted" || "$there" == "$wanted" ]]; then
        echo "mcp-conform $there is there already"
        exit 0
    fi
fi

own="$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml")"
if [[ -n "$wanted" && "$own" != "$wanted" ]]; then
    fail "version $wanted was asked for, but this action is version $own: use the action at the tag of that version"
fi
command -v cargo >/dev/null || fail "mcp-conform is not on the PATH, and there is no cargo to build it"

root="${RUNNER_TEMP:?}/mcp-conform-$own"
CARGO_TARGET_DIR="$root/target" cargo install --path "$GITHUB_ACTION_PATH/harness" --locked --root "$root"
rm -rf "$root/target"
echo "$root/bin" >>"${GITHUB_PATH:?}"
