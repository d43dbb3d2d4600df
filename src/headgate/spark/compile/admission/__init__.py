"""What a query may contain once Spark has analysed it: allowed plan nodes, bounded constants and patterns."""
