"""From text and foreign tables to rows of a stream, strictly: what would lose something is refused."""
