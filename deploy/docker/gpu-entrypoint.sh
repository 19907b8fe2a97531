#!/bin/sh
# Builds the plans that this GPU lacks, then becomes `antiphon`; plans that are still good are kept.
set -eu
if [ "${1:-}" = "serve" ]; then
  antiphon build-engines "$ANTIPHON_ENGINE__BUNDLE_DIR" --backend "$ANTIPHON_ENGINE__BACKEND" \
    --plans "$ANTIPHON_ENGINE__PLANS_DIR" --slots "$ANTIPHON_ENGINE__SLOT_COUNT"
fi
exec antiphon "$@"
