#!/usr/bin/env bash
# Posts the text that a workflow of a pull request left, as plain text of bounded length.
#
# The text comes from a run of somebody else's code: it is data. It stands in a code block that it cannot end, so that it
# mentions nobody and links nowhere. Which pull request it belongs to is asked of GitHub, never of the artifact.
set -euo pipefail

: "${GH_TOKEN:?}" "${GITHUB_REPOSITORY:?}" "${RUN_ID:?}" "${HEAD_SHA:?}"
most=50000
marker="<!-- mcp-conform -->"

if [[ "${EVENT:-}" != pull_request ]]; then
    echo "the run was not for a pull request: there is nothing to comment on"
    exit 0
fi
folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/mcp-conform-comment.XXXXXX")"
if ! gh run download "$RUN_ID" --repo "$GITHUB_REPOSITORY" --name "$MCP_CONFORM_ARTIFACT" --dir "$folder/artifact"; then
    echo "::notice title=mcp-conform::the run left no text for a comment"
    exit 0
fi
text="$folder/artifact/comment.txt"
if [[ ! -f "$text" || -L "$text" ]]; then
    echo "::error title=mcp-conform::the artifact holds no comment.txt"
    exit 1
fi

# Of the same commit: what was pushed meanwhile has a run of its own.
pull="$(gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" -f state=open -f "head=$HEAD_OWNER:$HEAD_BRANCH" |
    jq -r --arg sha "$HEAD_SHA" '[.[] | select(.head.sha == $sha) | .number] | first // empty')"
if [[ ! "$pull" =~ ^[0-9]+$ ]]; then
    echo "::notice title=mcp-conform::no open pull request has this commit"
    exit 0
fi

# Neither control characters nor half a character at the end.
head -c "$most" "$text" | LC_ALL=C tr -d '\000-\010\013-\037\177' | iconv -c -f UTF-8 -t UTF-8 >"$folder/text" || true
fence="$({ echo '``'; grep -o '``*' "$folder/text" || true; } | awk '{ if (length > most) { most = length; run = $0 } } END { print run "`" }')"
{
    printf '%s\n**MCP conformance** of %s\n\n%stext\n' "$marker" "$HEAD_SHA" "$fence"
    cat "$folder/text"
    printf '\n%s\n' "$fence"
    if [[ "$(wc -c <"$text")" -gt "$most" ]]; then
        printf '\nThe rest stands in the summary of the run.\n'
    fi
} >"$folder/body"
jq -n --rawfile body "$folder/body" '{body: $body}' >"$folder/comment.json"

# One comment that is kept up to date, and only one of ours.
known="$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$pull/comments" |
    jq -rs --arg marker "$marker" \
        '[.[][] | select(.user.login == "github-actions[bot]" and (.body | startswith($marker))) | .id] | first // empty')"
if [[ "$known" =~ ^[0-9]+$ ]]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" --input "$folder/comment.json" >/dev/null
else
    gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$pull/comments" --input "$folder/comment.json" >/dev/null
fi
