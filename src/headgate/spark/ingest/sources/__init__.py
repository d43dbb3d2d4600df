"""Sources, which feed the stream logs. A new one is one new module in this folder, see `registry`."""

from headgate.spark.ingest.sources.base import Batch, Reader
from headgate.spark.ingest.sources.iterator import IteratorReader, iterator_source
from headgate.spark.ingest.sources.registry import open_source
from headgate.spark.ingest.sources.structured_streaming import StructuredReader

__all__ = [
    "Batch",
    "IteratorReader",
    "Reader",
    "StructuredReader",
    "iterator_source",
    "open_source",
]
