"""Al Moakar 2013: class-based scheduling."""

from headgate.reproduction import Document

DOCUMENT = Document("almoakar", "Al Moakar 2013")
