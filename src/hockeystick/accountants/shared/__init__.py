"""What several published accountants stand on: lattices, tilting, normal forms, guarantees of single rounds."""
