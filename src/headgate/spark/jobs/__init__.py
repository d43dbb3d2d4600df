"""How a plan and the offsets of a run become one Spark job. No files, no scheduler."""
