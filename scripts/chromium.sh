#!/bin/sh
# Make sure a chromium is there for the browser tests, or fail and say so.
set -eu
if command -v chromium >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi
command -v chromium >/dev/null 2>&1 || {
  echo "The browser tests need chromium, and it could not be installed. Install the package 'chromium' and run again." >&2
  exit 1
}
