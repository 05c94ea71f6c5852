"""Dominating pairs and curves of rounds that use a random sample of the records."""
