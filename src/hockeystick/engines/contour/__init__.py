"""The contour engine: the trapezoid rule on the saddle-point contour, its cost independent of the number of rounds."""
