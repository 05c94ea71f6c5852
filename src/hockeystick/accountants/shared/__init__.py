"""Parts shared by published accountants: lattices, tilting, normal forms, guarantees of single rounds."""
