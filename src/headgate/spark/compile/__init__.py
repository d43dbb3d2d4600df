"""From a SQL plan and the offsets of a run to one Spark job. No files, no scheduler."""
