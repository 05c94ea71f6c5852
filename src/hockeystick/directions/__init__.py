"""From dominating pairs to numbers: each direction and its mass at infinity apart, the maximum last."""
