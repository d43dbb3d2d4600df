"""Where the time of results goes, and who delayed whom: read from a history, whichever driver wrote it.

`parts` divides the time of results, `timeline` knows which runs held the workers, `why` explains one result,
`attribution` says which runs delayed a class that answers later than a less important one.
"""
