"""The grid engine: two-sided connect-the-dots on a tilted loss grid, composed by Fourier transform."""
