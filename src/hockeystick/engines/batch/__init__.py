"""The batch engine: the contour of many plans at once, each with a certificate of its own."""
