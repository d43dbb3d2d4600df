"""The commit log: what runs have done, in order."""
