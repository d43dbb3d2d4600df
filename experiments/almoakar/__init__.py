"""Al Moakar 2013: class-based scheduling."""
