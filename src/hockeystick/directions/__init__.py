"""Numbers from dominating pairs: each direction and its mass at infinity separately, the maximum last."""
