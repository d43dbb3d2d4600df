"""Who may do what: roles, principals, tokens and logins."""
