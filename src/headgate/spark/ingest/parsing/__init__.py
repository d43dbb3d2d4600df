"""Turns text, mappings and Arrow tables into rows of a stream; a value that would lose something is refused."""
