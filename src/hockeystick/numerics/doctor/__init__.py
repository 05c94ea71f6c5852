"""What the certificate assumes of the machine, measured: elementary functions, transforms, roundings of arithmetic."""
