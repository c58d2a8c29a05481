"""Counts the words of a file."""

import argparse

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", help="the file to read")
parser.add_argument("--limit", type=int, help="stop counting at this number")
options = parser.parse_args()

with open(options.path, encoding="utf-8") as file:
    count = len(file.read().split())
if options.limit is not None:
    count = min(count, options.limit)
print(f"{options.path}: {count} words")
