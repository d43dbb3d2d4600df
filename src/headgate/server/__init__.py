"""The server: one engine that people share over HTTP.

access/      who may do what: tokens, roles, tenants, logins, limits
workspace/   what one tenant sees of the engine, by its own names; the only way from a route into the engine
routes/      the REST interface under `/v1`, one module for each noun
"""
