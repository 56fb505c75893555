#!/bin/bash
# Builds every target of fuzz/Cargo.toml into $OUT, with its seeds and its dictionary. SRC, OUT and WORK come from the image.
set -euo pipefail
cd "$SRC/mcp-conform"

cargo fuzz build --release --target-dir "$WORK/target"

sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"$|\1|p' fuzz/Cargo.toml | while read -r target; do
    cp "$WORK/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    if [[ -d "fuzz/seeds/$target" ]]; then
        zip -jqr "$OUT/${target}_seed_corpus.zip" "fuzz/seeds/$target"
    fi
    if [[ -f "fuzz/dictionaries/$target.dict" ]]; then
        cp "fuzz/dictionaries/$target.dict" "$OUT/$target.dict"
    fi
done
