#!/usr/bin/env sh
# Have a pdfLaTeX with the packages of our tables: Debian's, installed when there is none.
set -eu
if command -v pdflatex >/dev/null 2>&1 && kpsewhich longtable.sty booktabs.sty xcolor.sty lmodern.sty >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "There is no pdflatex here. Install TeX Live (texlive-latex-recommended, lmodern) and run make latex again." >&2
    exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    texlive-latex-base texlive-latex-recommended lmodern >/dev/null
