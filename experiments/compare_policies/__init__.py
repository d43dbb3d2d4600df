"""All policies on all documents' workloads: who is best for which measure, and how far from a lower bound.

`plan` says which simulations, `simulations` runs them, `ranking` compares them, `page` and `picture` show it.
"""
