#!/usr/bin/env bash
# Runs mcp-conform, writes the job summary, the annotations and the outputs, and ends with its exit code.
#
# It has to run in the bash 3.2 of macOS: no mapfile, and an empty array is unset under `set -u`.
set -euo pipefail

: "${GITHUB_OUTPUT:?}" "${GITHUB_STEP_SUMMARY:?}"
folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/mcp-conform-run.XXXXXX")"
result="$folder/result.json"
summary="$folder/summary.md"

# A text as the message of an annotation, in which nothing is a command.
annotate() {
    local text
    text="$(printf '%s' "$1" | head -c 2000 | tr -d '\000-\010\013-\037\177')"
    text="${text//'%'/%25}"
    text="${text//$'\n'/%0A}"
    text="${text//'##['/## [}"
    printf '::error title=mcp-conform::%s\n' "$text"
}

# The run ended with CODE before there was a report.
unreported() {
    printf '## MCP conformance\n\nmcp-conform ended with exit code %s and left no report: see the log of this step.\n' \
        "$1" >>"$GITHUB_STEP_SUMMARY"
}

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
    if ! printf '%s\n' "$MCP_CONFORM_ARGS" | xargs printf '%s\0' >"$folder/arguments" 2>/dev/null; then
        annotate "the input args has a quote without its end"
        echo "exit-code=2" >>"$GITHUB_OUTPUT"
        unreported 2
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
# What it says of itself is kept beside the log, for an annotation where there is no report.
set +e
{
    mcp-conform "${arguments[@]}" 2>&1 >&3 3>&- | tee "$folder/errors" >&2 3>&-
    code="${PIPESTATUS[0]}"
} 3>&1
set -e
printf '\n::%s::\n' "$word"
# The renderer lets no text of a server begin a command.
if [[ -s "$folder/annotations" ]]; then
    cat "$folder/annotations"
elif [[ "$code" != 0 ]]; then
    annotate "exit code $code
$(cat "$folder/errors")"
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
    # Where they are read, the result file lies beside them: its path on this machine would be of no use.
    (
        cd "$folder"
        mcp-conform report result.json --quiet --format terminal -o comment.txt
        if [[ -s report.html ]]; then
            mcp-conform report result.json --format html -o report.html
        fi
    )
    output comment-file "$folder/comment.txt"
fi
if [[ -s "$summary" ]]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
else
    unreported "$code"
fi
exit "$code"
