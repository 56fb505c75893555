#!/usr/bin/env bash
# Runs mcp-conform, writes the job summary, the annotations and the outputs, and ends with its exit code.
#
# It has to run in the bash 3.2 of macOS: no mapfile, and an empty array is unset under `set -u`.
set -euo pipefail

: "${GITHUB_OUTPUT:?}" "${GITHUB_STEP_SUMMARY:?}"
folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/mcp-conform-run.XXXXXX")"
result="$folder/result.json"
summary="$folder/summary.md"

arguments=(run)
given() {
    if [[ -n "$2" ]]; then
        arguments+=("--$1=$2")
    fi
}
given server "${MCP_CONFORM_SERVER:-}"
given url "${MCP_CONFORM_URL:-}"
given config "${MCP_CONFORM_CONFIG:-}"
# A glob in an input is a name, not a pattern for files of this machine.
set -f
revisions="${MCP_CONFORM_REVISION:-}"
for revision in ${revisions//,/ }; do
    arguments+=("--revision=$revision")
done
requirements="${MCP_CONFORM_REQUIREMENTS:-}"
for chosen in ${requirements//,/ }; do
    arguments+=("--requirements=$chosen")
done
set +f
given baseline "${MCP_CONFORM_BASELINE:-}"
arguments+=("--fail-on=${MCP_CONFORM_FAIL_ON:-fail}" "--report=json:$result" "--report=markdown:$summary")
arguments+=("--report=html:$folder/report.html" "--report=sarif:$folder/report.sarif" "--report=github:$folder/annotations")
while IFS= read -r report || [[ -n "$report" ]]; do
    report="${report#"${report%%[![:space:]]*}"}"
    report="${report%"${report##*[![:space:]]}"}"
    given report "$report"
done <<<"${MCP_CONFORM_REPORTS:-}"
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
# What a server says is shown; it must not be taken for a command to the runner, which knows this word alone as the end.
word="mcp-conform-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$word"
mcp-conform "${arguments[@]}" || code=$?
printf '\n::%s::\n' "$word"
# The renderer lets no text of a server begin a command.
if [[ -s "$folder/annotations" ]]; then
    cat "$folder/annotations"
fi

# A path goes into the outputs as it is: it is ours, and has no line feed.
output() {
    if [[ -s "$2" ]]; then
        echo "$1=$2" >>"$GITHUB_OUTPUT"
    fi
}
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
output result-file "$result"
output html-file "$folder/report.html"
output sarif-file "$folder/report.sarif"
if [[ -s "$result" ]]; then
    # The result file has one member a line, and no string of a server holds a line feed: no JSON reader is needed.
    sed -n '/^  "summary": {/,/^  }/s/^    "\([a-z-]*\)": \([0-9]*\),\{0,1\}$/\1=\2/p' "$result" >>"$GITHUB_OUTPUT"
    mcp-conform report "$result" --quiet --format terminal -o "$folder/comment.txt"
    output comment-file "$folder/comment.txt"
fi
if [[ -s "$summary" ]]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
else
    printf '## MCP conformance\n\nmcp-conform ended with exit code %s and left no report: see the log of this step.\n' \
        "$code" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
