"""Published results, run again: a folder for each document."""
