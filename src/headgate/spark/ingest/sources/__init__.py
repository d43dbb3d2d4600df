"""Sources: what feeds the stream logs."""

from headgate.spark.ingest.parsing.records import to_table
from headgate.spark.ingest.sources.base import Bad, Batch, Reader
from headgate.spark.ingest.sources.iterator import IteratorReader, iterator_source
from headgate.spark.ingest.sources.registry import open_source
from headgate.spark.ingest.sources.structured_streaming import StructuredReader

__all__ = [
    "Bad",
    "Batch",
    "IteratorReader",
    "Reader",
    "StructuredReader",
    "iterator_source",
    "open_source",
    "to_table",
]
