"""What another policy, or another setting, would have made of a recorded stretch of time.

A history (`headgate.history`) tells when tuples came, what runs did and how long they took. From it is learned what
runs cost and give (`learned`); then the scheduler is driven again, in virtual time, over the same arrivals (`replay`).
The recorded policy is replayed too: how far that is off tells how far the rest can be believed (`comparison`).
"""
