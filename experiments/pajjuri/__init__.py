"""Pajjuri 2004 (MavStream): memory and latency."""

from headgate.reproduction import Document

DOCUMENT = Document("pajjuri", "Pajjuri 2004 (MavStream)")
