"""Sources: what feeds the stream logs."""

from headgate.spark.sources.base import Bad, Batch, Reader
from headgate.spark.sources.iterators import IteratorReader, iterator_source
from headgate.spark.sources.opening import open_source
from headgate.spark.sources.records import to_table
from headgate.spark.sources.structured import StructuredReader

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
