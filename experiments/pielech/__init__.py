"""Pielech 2004 (Raindrop): adaptive scheduling."""

from headgate.reproduction import Document

DOCUMENT = Document("pielech", "Pielech 2004 (Raindrop)")
