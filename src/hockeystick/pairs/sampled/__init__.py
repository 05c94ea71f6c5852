"""Dominating pairs and curves of rounds that see a random sample of the records."""
