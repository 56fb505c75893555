#!/usr/bin/env bash
# Runs mcp-conform, writes the job summary and the outputs, and ends with its exit code.
#
# It has to run in the bash 3.2 of macOS: no mapfile, and an empty array is unset under `set -u`.
set -euo pipefail

: "${GITHUB_OUTPUT:?}" "${GITHUB_STEP_SUMMARY:?}"
folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/mcp-conform-run.XXXXXX")"
result="$folder/result.json"
summary="$folder/summary.md"

arguments=(run)
if [[ -n "${MCP_CONFORM_SERVER:-}" ]]; then
    arguments+=("--server=$MCP_CONFORM_SERVER")
fi
if [[ -n "${MCP_CONFORM_URL:-}" ]]; then
    arguments+=("--url=$MCP_CONFORM_URL")
fi
# A glob in an input is a name, not a pattern for files of this machine.
set -f
revisions="${MCP_CONFORM_REVISION:-}"
for revision in ${revisions//,/ }; do
    arguments+=("--revision=$revision")
done
set +f
arguments+=("--fail-on=${MCP_CONFORM_FAIL_ON:-fail}" "--report=json:$result" "--report=markdown:$summary")
if [[ "${MCP_CONFORM_ARGS:-}" =~ [^[:space:]] ]]; then
    # xargs knows the quotes of a shell, but neither variables nor commands.
    if ! printf '%s\n' "$MCP_CONFORM_ARGS" | xargs printf '%s\0' >"$folder/arguments"; then
        echo "::error title=mcp-conform::the input args has a quote without its end"
        exit 2
    fi
    while IFS= read -r -d '' argument; do
        arguments+=("$argument")
    done <"$folder/arguments"
fi

code=0
mcp-conform "${arguments[@]}" || code=$?

echo "exit-code=$code" >>"$GITHUB_OUTPUT"
if [[ -s "$result" ]]; then
    echo "result-file=$result" >>"$GITHUB_OUTPUT"
    # The result file has one member a line, and no string of a server holds a line feed: no JSON reader is needed.
    sed -n '/^  "summary": {/,/^  }/s/^    "\([a-z-]*\)": \([0-9]*\),\{0,1\}$/\1=\2/p' "$result" >>"$GITHUB_OUTPUT"
fi
if [[ -s "$summary" ]]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
else
    printf '## MCP conformance\n\nmcp-conform ended with exit code %s and left no report: see the log of this step.\n' \
        "$code" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
