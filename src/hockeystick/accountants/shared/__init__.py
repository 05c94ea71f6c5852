"""Parts that several published accountants share: lattices, exponential tilting, and guarantees of single rounds."""
