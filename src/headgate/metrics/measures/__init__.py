"""One module per family of measures: what is computed from records, and the published definition it follows."""
