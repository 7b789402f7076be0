"""Runs the command line: `python -m tracelode`."""

from tracelode.reports.cli import main

if __name__ == "__main__":
    main()
