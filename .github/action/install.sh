#!/usr/bin/env bash
# Sees to it that mcp-conform is on the PATH: what is there already, else the release asset of the version with its
# checksum, else built from the sources of this action.
set -euo pipefail

wanted="${MCP_CONFORM_WANTED:-}"
wanted="${wanted#v}"
releases="${MCP_CONFORM_RELEASES:-https://github.com/mcp-conform/mcp-conform/releases/download}"

fail() {
    echo "::error title=mcp-conform::$1"
    exit 1
}

# A version becomes part of an address and of a path.
if [[ -n "$wanted" && ! "$wanted" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
    fail "the input version is no version such as 1.2.3"
fi

if command -v mcp-conform >/dev/null; then
    there="$(mcp-conform --version)"
    there="${there##* }"
    if [[ -z "$wanted" || "$there" == "$wanted" ]]; then
        echo "mcp-conform $there is there already"
        exit 0
    fi
fi

own="$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml")"
version="${wanted:-$own}"
root="${RUNNER_TEMP:?}/mcp-conform-$version"

target() {
    case "$(uname -s)/$(uname -m)" in
        Linux/x86_64) echo x86_64-unknown-linux-musl ;;
        Linux/aarch64 | Linux/arm64) echo aarch64-unknown-linux-musl ;;
        Darwin/x86_64) echo x86_64-apple-darwin ;;
        Darwin/arm64) echo aarch64-apple-darwin ;;
        MINGW*/x86_64 | MSYS*/x86_64) echo x86_64-pc-windows-msvc ;;
        *) return 1 ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi
}

# Takes the asset of the release. 1: there is none. A checksum that is wrong or missing is an end, not a reason to go on.
asset() {
    local name folder sum known
    name="mcp-conform-$(target).tar.gz" || return 1
    command -v curl >/dev/null || return 1
    folder="$(mktemp -d "$RUNNER_TEMP/mcp-conform-asset.XXXXXX")"
    curl --fail --silent --show-error --location --retry 3 --max-time 300 -o "$folder/$name" \
        "$releases/v$version/$name" || return 1
    curl --fail --silent --show-error --location --retry 3 --max-time 60 -o "$folder/SHA256SUMS" \
        "$releases/v$version/SHA256SUMS" || fail "the release $version has $name and no SHA256SUMS"
    known="$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")"
    sum="$(sha256 "$folder/$name")"
    sum="${sum%% *}"
    [[ -n "$known" && "${sum#\\}" == "$known" ]] || fail "the checksum of $name of release $version is not the published one"
    mkdir -p "$root/bin"
    tar -xzf "$folder/$name" -C "$root/bin"
    rm -rf "$folder"
    echo "took $name of release $version, its checksum is right"
}

# The release is that of these sources only where the action was named by its tag.
if [[ -n "$wanted" || "${MCP_CONFORM_REF:-}" == "v$own" ]] && asset; then
    echo "$root/bin" >>"${GITHUB_PATH:?}"
    exit 0
fi

if [[ "$own" != "$version" ]]; then
    fail "there is no release $version for this machine, and this action is version $own: use the action at the tag of that version"
fi
command -v cargo >/dev/null || fail "mcp-conform is not on the PATH, and there is no cargo to build it"

CARGO_TARGET_DIR="$root/target" cargo install --path "$GITHUB_ACTION_PATH/harness" --locked --root "$root"
rm -rf "$root/target"
echo "$root/bin" >>"${GITHUB_PATH:?}"
