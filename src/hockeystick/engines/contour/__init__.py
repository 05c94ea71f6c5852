"""The contour engine: the trapezoid rule on the saddle-point contour, at a cost independent of the number of rounds."""
