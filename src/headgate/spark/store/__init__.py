"""What an engine keeps on disk: stream logs, the commit log, dead letters, the journal. For a map see `directory`.

Nothing here knows Spark or the scheduler. All files are changed through `disk`, so that tests can let it fail.
"""
