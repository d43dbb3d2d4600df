"""Freshening at any size: plans, profiles and change rates as Spark jobs over DataFrames.

Only aggregates come to the driver.
"""
