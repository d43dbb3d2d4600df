"""Commands that ask a server: `headgate --server URL stream ls`, and so on; one module for each noun."""
