"""`python -m graphnetz`."""

from graphnetz.cli import main

main()
