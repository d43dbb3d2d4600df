"""Sharaf et al. 2006: continuous queries' slowdown."""

from headgate.reproduction import Document

DOCUMENT = Document("sharaf", "Sharaf et al. 2006")
