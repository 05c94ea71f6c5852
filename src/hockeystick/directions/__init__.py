"""From dominating pairs in each direction to numbers: directions apart, mass at infinity apart, the maximum last."""
