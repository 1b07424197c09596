#!/bin/bash -eu
# Run by OSS-Fuzz in its own image: one executable and one corpus for each harness.
pip3 install --require-hashes -r requirements/fleet.txt
pip3 install --no-deps .
for harness in fuzz/fuzz_*.py; do
  name="$(basename "$harness" .py)"
  compile_python_fuzzer "$harness" --paths fuzz --hidden-import irloop_cli.baseline \
    --collect-submodules irloop --collect-data irloop
  (cd "fuzz/corpus/$(tr _ - <<< "${name#fuzz_}")" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
done
