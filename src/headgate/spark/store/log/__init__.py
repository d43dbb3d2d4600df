"""The log of a stream, to which its tuples are appended durably and from which queries read them by offset.

`stream_log` is what others use; `segments` and `files` are the format on disk, `index` and `cache` what is in memory,
`event_time` decides which tuples are late.
"""
