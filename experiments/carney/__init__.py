"""Carney 2005: Aurora's scheduling, and the freshness of copies."""

from headgate.reproduction import Document

DOCUMENT = Document("carney", "Carney 2005 (Aurora)")
